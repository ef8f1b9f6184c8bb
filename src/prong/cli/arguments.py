"""Arguments that several commands take."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

import click

from prong.errors import NotFound, ProngError
from prong.model.times import EXAMPLES, moment

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from prong.app import App

_MOST_COMPLETIONS = 50
_HELP_COLUMNS = 60


class SessionArgument(click.ParamType[str]):
    """A SESSION; shells complete it from the sessions there are."""

    name = "session"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from prong.cli.output import open_app
        from prong.views.text import clean, cut

        try:
            app = open_app()
            sessions = app.sessions()
        except ProngError:
            return []  # a shell is no place to complain; the command itself will
        if incomplete.startswith("%"):
            titles = {(session.agent, session.id): session.title for session in sessions}
            return [
                CompletionItem(f"%{number}", help=cut(clean(title), _HELP_COLUMNS))
                for number, title in _hits(app, titles)
                if f"%{number}".startswith(incomplete)
            ]
        fitting = [
            session
            for session in sessions
            if str(session.ref).startswith(incomplete) or session.id.startswith(incomplete)
        ]
        # A worker's name is the name of its session as well.
        workers = _workers(app, incomplete) if incomplete else []
        if not (fitting or workers):
            return [CompletionItem(incomplete, type="file")]
        named = [
            CompletionItem(clean(str(session.ref)), help=cut(clean(session.title), _HELP_COLUMNS))
            for session in fitting[:_MOST_COMPLETIONS]
        ]
        return [*workers, *named]


def _hits(app: "App", titles: Mapping[tuple[str, str], str]) -> Iterator[tuple[int, str]]:
    """The hits of the last search whose sessions are there, with the titles of these."""
    for number in range(1, _MOST_COMPLETIONS + 1):
        try:
            place = app.last_search.hit(number)
        except NotFound:
            continue
        if (place.agent, place.session) in titles:
            yield number, titles[place.agent, place.session]


class WorkerArgument(click.ParamType[str]):
    """The name of a worker; shells complete it from those that are recorded."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from prong.cli.output import open_app

        try:
            return _workers(open_app(), incomplete)
        except ProngError:
            return []


def _workers(app: "App", incomplete: str) -> "list[CompletionItem]":
    """Where no worker was ever started, there is nothing to load."""
    from click.shell_completion import CompletionItem

    from prong.views.text import clean, cut, short_path

    if not (app.state_dir / "state.db").exists():
        return []
    return [
        CompletionItem(
            clean(one.name),
            help=cut(f"{one.agent} in {short_path(str(one.workspace))}", _HELP_COLUMNS),
        )
        for one in app.workers.records.all()
        if one.name.startswith(incomplete)
    ]


class TerminalArgument(click.ParamType[str]):
    """The name of a terminal."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from prong.cli.output import open_app

        try:
            names = open_app().terminals.names()
        except ProngError:
            return []
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]


class AgentArgument(click.ParamType[str]):
    """The name of an agent."""

    name = "name"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from prong.cli.output import open_app

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
        try:
            return moment(str(value))
        except ValueError:
            self.fail(f"{value!r} is not a time; try {EXAMPLES}", param, ctx)


class OptionalNumbers(click.Command):
    """A command with options that may stand alone: `--wait` then means for ever.

    click would take the word behind them for the number, whatever it is.
    """

    ALONE: ClassVar = {"--wait": "inf", "--fork": "1"}
    """What they mean without a number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        options = [param for param in self.params if isinstance(param, click.Option)]
        taking = {name for option in options if not option.is_flag for name in option.opts}
        words: list[str] = []
        for before, word, following in zip(["", *args], args, [*args[1:], ""], strict=False):
            alone = word in self.ALONE and word in taking and before not in taking - {*self.ALONE}
            missing = alone and not _is_number(following)
            words.append(f"{word}={self.ALONE[word]}" if missing else word)
        return super().parse_args(ctx, words)


def _is_number(word: str) -> bool:
    # A longer one is the beginning of a session's id.
    return re.fullmatch(r"\d{1,6}(\.\d*)?", word) is not None


worker_argument = click.argument("name", type=WorkerArgument(), metavar="NAME")
session_argument = click.argument("session", type=SessionArgument(), metavar="SESSION[@TURN]")
