"""What all commands share: the application, `--json`, colours, errors."""

import json
import os
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from prong.errors import ProngError, UsageError
from prong.views.text import clean, escaped

if TYPE_CHECKING:
    from prong.app import App

C = TypeVar("C", bound=Callable[..., Any])

_UNKNOWN_WIDTH = 80
_APP = "prong.app"
_LEAST_WIDTH = 20
_PATIENCE_SECONDS = 1.0


def open_app() -> "App":
    """Create the application. Imported here, because `prong --help` does not need it."""
    app = _factory.get()()
    if context := click.get_current_context(silent=True):
        context.find_root().meta[_APP] = app
        context.call_on_close(app.close)
        # Runs before app.close. With --json, the notices are in the result instead.
        if not context.params.get("as_json"):
            context.call_on_close(lambda: _tell(app))
    return app


def _tell(app: "App") -> None:
    """Print notices about damaged or repaired records."""
    from prong.setup.database import notices

    for notice in notices(app.state_dir):
        click.echo(f"{styled('prong:', fg='yellow')} {clean(notice)}", err=True)


def _with_notices(value: Any) -> Any:
    context = click.get_current_context(silent=True)
    app = context.find_root().meta.get(_APP) if context else None
    if app is None or not isinstance(value, dict):
        return value
    from prong.setup.database import notices

    answer, warnings = cast(dict[str, Any], value), notices(app.state_dir)
    return {**answer, "warnings": [*answer.get("warnings", ()), *warnings]} if warnings else answer


def _make_app() -> "App":
    from prong.app import App

    return App()


_factory: ContextVar[Callable[[], "App"]] = ContextVar("factory", default=_make_app)


@contextmanager
def using(factory: Callable[[], "App"]) -> Generator[None]:
    """Make commands use another application, as `prong demo` does."""
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)


def is_on_samples() -> bool:
    """Return whether this is `prong demo`, where nothing is started."""
    return _factory.get() is not _make_app


def json_option(command: C) -> C:
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON value, for scripts."
    )(command)


def print_json(value: Any) -> None:
    """Print a JSON value to stdout, without control characters."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(_with_notices(value), ensure_ascii=plain, indent=indent)
    click.echo(escaped(text))


def styled(text: str, **style: Any) -> str:
    """Colour text, unless NO_COLOR is set; click drops colours when there is no terminal."""
    return text if os.environ.get("NO_COLOR") or not text else click.style(text, **style)


def width() -> int | None:
    """Return the terminal's columns; None if the output is not a terminal and must not be cut.

    COLUMNS overrides both. A terminal that does not know its size reports 0.
    """
    override = os.environ.get("COLUMNS", "")
    if override.isdecimal() and int(override):
        return max(int(override), _LEAST_WIDTH)
    if not sys.stdout.isatty():
        return None
    columns = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(columns or _UNKNOWN_WIDTH, _LEAST_WIDTH)


@contextmanager
def patience(text: str = "reading sessions ...") -> Generator[None]:
    """On a terminal, show what takes so long after a second; erase it when done."""
    if not _is_terminal(sys.stderr):
        yield
        return
    from threading import Event, Timer

    printed = Event()

    def say() -> None:
        printed.set()
        click.echo(styled(text, dim=True), err=True, nl=False)

    timer = Timer(_PATIENCE_SECONDS, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if printed.is_set():
            click.echo(f"\r{' ' * len(text)}\r", err=True, nl=False)


def can_ask() -> bool:
    """Return whether a person can answer a question."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def is_shown() -> bool:
    """Return whether stdout is a terminal."""
    return _is_terminal(sys.stdout)


def _is_terminal(stream: Any) -> bool:
    # A stream that was closed before prong started is None.
    return stream is not None and stream.isatty()


def read_prompt(given: str | None, hint: str = "--prompt TEXT") -> str | None:
    """Return the prompt, read from stdin if it is `-`."""
    if given == "-":
        stdin: Any = sys.stdin
        given = stdin.read() if stdin is not None else ""
    if given is not None and not given.strip():
        raise UsageError("the prompt is empty", hint=hint)
    return given


def note(text: str) -> None:
    """Print a note to stderr; stdout is for results only."""
    click.echo(styled(clean(text), dim=True), err=True)


def fail(error: ProngError, words: Sequence[str]) -> int:
    """Print an error and its hint; return the exit status."""
    if "--json" in words:
        text = json.dumps(error.problem(), ensure_ascii=True, default=str)
        click.echo(escaped(text), err=True)
    else:
        click.echo(f"{styled('prong:', fg='red')} {clean(error.message)}", err=True)
        if error.hint:
            hint = clean(error.hint, lines=True)
            click.echo(f"{styled('try:', fg='yellow')} {hint}", err=True)
    return error.exit_code
