"""Arguments and options that several commands share, with shell completion."""

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import click

from prong.cli.output import open_app
from prong.errors import NotFound, ProngError, UsageError
from prong.model.times import EXAMPLES, moment
from prong.views.text import clean, cut, short_path

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from prong.model.workers import Placement, RunOptions

C = TypeVar("C", bound=Callable[..., Any])
R = TypeVar("R")

_MOST_COMPLETIONS = 50
_HELP_COLUMNS = 60
_PLACES = ("split", "window", "tab")
READY_SECONDS = 60.0

# -- types -----------------------------------------------------------------------------------


class _Known(click.ParamType[str]):
    """A name or reference that the shell completes."""

    def __init__(self, name: str, known: "Callable[[str], Iterable[CompletionItem]]") -> None:
        self.name = name
        self._known = known

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        try:
            return list(self._known(incomplete))
        except ProngError:
            return []  # errors have no place in completion; the command itself reports them


def _item(value: str, text: str | None = None, kind: str = "plain") -> "CompletionItem":
    from click.shell_completion import CompletionItem

    return CompletionItem(value, kind, text and cut(clean(text), _HELP_COLUMNS))


def _starting(names: Iterable[str], incomplete: str) -> "list[CompletionItem]":
    return [_item(name) for name in names if name.startswith(incomplete)]


def _workers(incomplete: str) -> "list[CompletionItem]":
    app = open_app()
    if not (app.state_dir / "state.db").exists():
        return []  # no workers, whose records need not be loaded
    return [
        _item(clean(worker.name), f"{worker.agent} in {short_path(str(worker.workspace))}")
        for worker in app.workers.records.all()
        if worker.name.startswith(incomplete)
    ]


def _sessions(incomplete: str) -> "list[CompletionItem]":
    """Complete session ids, `%N` and worker names."""
    app = open_app()
    sessions = app.sessions.all()
    if incomplete.startswith("%"):
        titles = {(session.agent, session.id): session.title for session in sessions}
        items: list[CompletionItem] = []
        for number in range(1, _MOST_COMPLETIONS + 1):
            try:
                hit = app.last_search.hit(number)
            except NotFound:
                continue
            title = titles.get((hit.agent, hit.session))
            if title is not None and f"%{number}".startswith(incomplete):
                items.append(_item(f"%{number}", title))
        return items
    matches = [
        session
        for session in sessions
        if str(session.ref).startswith(incomplete) or session.id.startswith(incomplete)
    ]
    # A worker's name also selects its session.
    workers = _workers(incomplete) if incomplete else []
    if not (matches or workers):
        return [_item(incomplete, kind="file")]
    shown = matches[:_MOST_COMPLETIONS]
    return [*workers, *(_item(clean(str(one.ref)), one.title) for one in shown)]


SESSION = _Known("session", _sessions)
WORKER = _Known("name", _workers)
AGENT = _Known("name", lambda incomplete: _starting(open_app().stores, incomplete))
TERMINAL = _Known("name", lambda incomplete: _starting(open_app().terminals.names(), incomplete))


class _Since(click.ParamType[datetime]):
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


SINCE = _Since()

# -- commands whose words click cannot parse alone ---------------------------------------------


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
            # More digits are the beginning of a session id.
            missing = alone and not re.fullmatch(r"\d{1,6}(\.\d*)?", following)
            words.append(f"{word}={self.ALONE[word]}" if missing else word)
        return super().parse_args(ctx, words)


class WithRest(click.Command):
    """Command that gets the words after `--` as a parameter of its own."""

    def __init__(self, *args: Any, rest: str, **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._rest = rest

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        end = args.index("--") if "--" in args else len(args)
        remaining = super().parse_args(ctx, args[:end])
        ctx.params[self._rest] = tuple(args[end + 1 :])
        return remaining


# -- arguments and options -----------------------------------------------------------------------


def together(*options: Callable[[Any], Any]) -> Callable[[C], C]:
    """Combine options to one decorator."""

    def add(command: C) -> C:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def filter_options(project: Any = None, what: str = "sessions changed") -> Callable[[C], C]:
    """Add the options that exclude sessions; `project` is the type of a folder."""
    return together(
        click.option("-a", "--agent", type=AGENT, help="Only sessions of this agent."),
        click.option(
            "-p",
            "--project",
            type=project,
            metavar="FOLDER",
            help="Only sessions that ran in this folder or below it.",
        ),
        click.option(
            "-s",
            "--since",
            type=SINCE,
            help=f"Only {what} since: 3d, 12h, yesterday, 2026-11-01.",
        ),
    )


def seconds_option(name: str, text: str, default: float | None = None) -> Callable[[C], C]:
    seconds = click.FloatRange(min=0)
    return click.option(name, type=seconds, default=default, metavar="SECONDS", help=text)


def settings_option(text: str) -> Callable[[C], C]:
    file = click.Path(path_type=Path, exists=True, dir_okay=False)
    return click.option("--settings", type=file, metavar="FILE", help=text)


worker_argument = click.argument("name", type=WORKER, metavar="NAME")
worker_arguments = click.argument("names", type=WORKER, metavar="NAME...", nargs=-1, required=True)
session_argument = click.argument("session", type=SESSION, metavar="SESSION[@TURN]")
json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON value, for scripts."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
yes_option = click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts.")
terminal_option = click.option(
    "--terminal",
    type=TERMINAL,
    metavar="NAME",
    help="Terminal for the pane: tmux, kitty, wezterm, iterm2.",
)
pane_options = together(
    terminal_option,
    click.option("--split", is_flag=True, help="Open a pane next to this one."),
    click.option("--window", is_flag=True, help="Open a new window."),
    click.option("--tab", is_flag=True, help="Open a new tab."),
)
ready_option = seconds_option(
    "--ready-timeout", "Time limit for the agent to start (default: 60).", READY_SECONDS
)
answer_timeout_option = seconds_option("--timeout", "Time limit of --wait (default: 1800).", 1800)

# -- what options mean -----------------------------------------------------------------------------


def request(kind: Callable[..., R], given: dict[str, Any], **fields: Any) -> R:
    """Build a request from `fields` and the options that are named like its other fields."""
    names: tuple[str, ...] = getattr(kind, "__struct_fields__", ()) or getattr(kind, "_fields", ())
    return kind(**{name: given[name] for name in names if name in given} | fields)


def run_options(given: dict[str, Any], **fields: Any) -> "RunOptions":
    """Return how to start the agent."""
    from prong.model.workers import RunOptions

    settings = given["settings"]
    return request(RunOptions, given, settings=settings and settings.absolute(), **fields)


def placement(given: dict[str, Any]) -> "Placement | None":
    """Return where the pane opens; None leaves it to the configuration and the terminal."""
    chosen = [name for name in _PLACES if given[name]]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} or --{chosen[1]}, not both", hint=f"--{chosen[0]}")
    from prong.model.workers import Placement

    return Placement(chosen[0]) if chosen else None
