"""Argument types that several commands share, with shell completion."""

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
    """A SESSION argument; completes session ids, `%N` and worker names."""

    name = "session"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        from click.shell_completion import CompletionItem

        from prong.cli.output import open_app
        from prong.views.text import clean, cut

        try:
            app = open_app()
            sessions = app.sessions.all()
        except ProngError:
            return []  # errors have no place in completion; the command itself reports them
        if incomplete.startswith("%"):
            titles = {(session.agent, session.id): session.title for session in sessions}
            return [
                CompletionItem(f"%{number}", help=cut(clean(title), _HELP_COLUMNS))
                for number, title in _hits(app, titles)
                if f"%{number}".startswith(incomplete)
            ]
        matches = [
            session
            for session in sessions
            if str(session.ref).startswith(incomplete) or session.id.startswith(incomplete)
        ]
        # A worker's name also selects its session.
        workers = _workers(app, incomplete) if incomplete else []
        if not (matches or workers):
            return [CompletionItem(incomplete, type="file")]
        completions = [
            CompletionItem(clean(str(session.ref)), help=cut(clean(session.title), _HELP_COLUMNS))
            for session in matches[:_MOST_COMPLETIONS]
        ]
        return [*workers, *completions]


def _hits(app: "App", titles: Mapping[tuple[str, str], str]) -> Iterator[tuple[int, str]]:
    """Yield the numbers and titles of the last search's hits whose sessions still exist."""
    for number in range(1, _MOST_COMPLETIONS + 1):
        try:
            hit = app.search.last.hit(number)
        except NotFound:
            continue
        if (hit.agent, hit.session) in titles:
            yield number, titles[hit.agent, hit.session]


class WorkerArgument(click.ParamType[str]):
    """A worker name; completes recorded workers."""

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
    """Complete worker names. Without a database there are no workers to load."""
    from click.shell_completion import CompletionItem

    from prong.views.text import clean, cut, short_path

    if not (app.state_dir / "state.db").exists():
        return []
    return [
        CompletionItem(
            clean(worker.name),
            help=cut(f"{worker.agent} in {short_path(str(worker.workspace))}", _HELP_COLUMNS),
        )
        for worker in app.workers.records.all()
        if worker.name.startswith(incomplete)
    ]


class TerminalArgument(click.ParamType[str]):
    """A terminal name."""

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
    """An agent name."""

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
    """Command with options whose number is optional: `--wait` alone means without limit.

    click would take the next word for the number, whatever it is.
    """

    ALONE: ClassVar = {"--wait": "inf", "--fork": "1"}
    """Values of these options without a number."""

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
    # More digits are the beginning of a session id.
    return re.fullmatch(r"\d{1,6}(\.\d*)?", word) is not None


worker_argument = click.argument("name", type=WorkerArgument(), metavar="NAME")
session_argument = click.argument("session", type=SessionArgument(), metavar="SESSION[@TURN]")
