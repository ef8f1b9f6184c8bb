"""Arguments that several commands take."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from click.shell_completion import CompletionItem

_SPAN = re.compile(r"(\d+)\s*(m|min|h|d|w|mo|y)", re.IGNORECASE)
_UNITS = {
    "m": timedelta(minutes=1),
    "min": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
    "mo": timedelta(days=30),
    "y": timedelta(days=365),
}
_MOST_COMPLETIONS = 50
_HELP_COLUMNS = 60


class SessionArgument(click.ParamType[str]):
    """A SESSION; shells complete it from the sessions there are."""

    name = "session"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from prong.cli.output import open_app
        from prong.cli.text import clean, cut
        from prong.errors import ProngError

        try:
            sessions = open_app().sessions()
        except ProngError:
            return []  # a shell is no place to complain; the command itself will
        fitting = [
            session
            for session in sessions
            if str(session.ref).startswith(incomplete) or session.id.startswith(incomplete)
        ]
        if not fitting:
            return [CompletionItem(incomplete, type="file")]
        return [
            CompletionItem(clean(str(session.ref)), help=cut(clean(session.title), _HELP_COLUMNS))
            for session in fitting[:_MOST_COMPLETIONS]
        ]


class AgentArgument(click.ParamType[str]):
    """The name of an agent."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from prong.cli.output import open_app
        from prong.errors import ProngError

        try:
            names = list(open_app().stores)
        except ProngError:
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class SinceArgument(click.ParamType[datetime]):
    """A point in time: `3d`, `12h`, `2w`, `yesterday`, or a date."""

    name = "when"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        text = str(value).strip()
        try:
            return _moment(text)
        except OverflowError:
            return datetime.min.replace(tzinfo=UTC)
        except ValueError:
            self.fail(f"{value!r} is no time; try 3d, 12h, 2w, yesterday or 2026-11-01", param, ctx)


def _moment(text: str) -> datetime:
    now = datetime.now(UTC)
    if found := _SPAN.fullmatch(text):
        return now - int(found[1]) * _UNITS[found[2].lower()]
    # Days begin at midnight of the person's own clock.
    midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    if text.lower() in ("today", "yesterday"):
        return (midnight - timedelta(days=text.lower() == "yesterday")).astimezone(UTC)
    return datetime.fromisoformat(text).astimezone(UTC)


class OptionalSeconds(click.Command):
    """A command whose `--wait` may stand alone: then it means for ever.

    click would take the word behind it for the number, whatever it is.
    """

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [param for param in self.params if isinstance(param, click.Option)]
        taking = {name for option in options if not option.is_flag for name in option.opts}
        words: list[str] = []
        for before, word, following in zip(["", *args], args, [*args[1:], ""], strict=False):
            alone = word == "--wait" and before not in taking - {"--wait"}
            words.append("--wait=inf" if alone and not _is_number(following) else word)
        return super().parse_args(ctx, words)


def _is_number(word: str) -> bool:
    # A longer one is the beginning of a session's id.
    return re.fullmatch(r"\d{1,6}(\.\d*)?", word) is not None


session_argument = click.argument("session", type=SessionArgument(), metavar="SESSION[@TURN]")
