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


class SessionArgument(click.ParamType[str]):
    """A SESSION; shells complete it from the sessions there are."""

    name = "session"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        from prong.cli.output import open_app
        from prong.cli.text import clean

        found: list[CompletionItem] = []
        for session in open_app().sessions():
            ref = str(session.ref)
            if ref.startswith(incomplete) or session.id.startswith(incomplete):
                found.append(CompletionItem(ref, help=clean(session.title)))
            if len(found) >= _MOST_COMPLETIONS:
                break
        return found


class SinceArgument(click.ParamType[datetime]):
    """A point in time: `3d`, `12h`, `2w`, `yesterday`, or a date."""

    name = "when"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        if isinstance(value, datetime):
            return value
        now = datetime.now(UTC)
        text = str(value).strip().lower()
        if found := _SPAN.fullmatch(text):
            try:
                return now - int(found[1]) * _UNITS[found[2]]
            except OverflowError:
                return datetime.min.replace(tzinfo=UTC)
        # Days begin at midnight of the person's own clock.
        midnight = datetime.now().astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        if text in ("today", "yesterday"):
            return (midnight - timedelta(days=text == "yesterday")).astimezone(UTC)
        try:
            time = datetime.fromisoformat(text)
        except ValueError:
            self.fail(f"{value!r} is no time; try 3d, 12h, 2w, yesterday or 2026-11-01", param, ctx)
        return time.astimezone(UTC)


session_argument = click.argument("session", type=SessionArgument(), metavar="SESSION[@TURN]")
