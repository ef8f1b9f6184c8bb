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
    """The application, imported when a command runs: `prong --help` does without it."""
    app = _factory.get()()
    if context := click.get_current_context(silent=True):
        context.find_root().meta[_APP] = app
        context.call_on_close(app.close)
        # Before that. With --json, standard error has nothing but a problem, and answers have them.
        if not context.params.get("as_json"):
            context.call_on_close(lambda: _tell(app))
    return app


def _tell(app: "App") -> None:
    """Say what is wrong with the records, or was."""
    from prong.setup.database import notices

    for notice in notices(app.state_dir):
        click.echo(f"{styled('prong:', fg='yellow')} {clean(notice)}", err=True)


def _with_notices(value: Any) -> Any:
    context = click.get_current_context(silent=True)
    app = context.find_root().meta.get(_APP) if context else None
    if app is None or not isinstance(value, dict):
        return value
    from prong.setup.database import notices

    answer, told = cast(dict[str, Any], value), notices(app.state_dir)
    return {**answer, "warnings": [*answer.get("warnings", ()), *told]} if told else answer


def _make_app() -> "App":
    from prong.app import App

    return App()


_factory: ContextVar[Callable[[], "App"]] = ContextVar("factory", default=_make_app)


@contextmanager
def using(factory: Callable[[], "App"]) -> Generator[None]:
    """Let the commands inside work with another application, as `prong demo` does."""
    token = _factory.set(factory)
    try:
        yield
    finally:
        _factory.reset(token)


def is_on_samples() -> bool:
    """True inside of `prong demo`, where nothing is started."""
    return _factory.get() is not _make_app


def json_option(command: C) -> C:
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON value, for scripts."
    )(command)


def print_json(value: Any) -> None:
    """One JSON value on stdout, with nothing in it that a terminal would obey."""
    plain = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(_with_notices(value), ensure_ascii=plain, indent=indent)
    click.echo(escaped(text))


def styled(text: str, **style: Any) -> str:
    """Coloured text, unless the user wants none; click drops colours when there is no terminal."""
    return text if os.environ.get("NO_COLOR") or not text else click.style(text, **style)


def width() -> int | None:
    """The columns of the terminal; None when the output goes elsewhere and must not be cut.

    COLUMNS overrules both. A terminal that does not know its size says 0.
    """
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return max(int(wanted), _LEAST_WIDTH)
    if not sys.stdout.isatty():
        return None
    known = os.get_terminal_size(sys.stdout.fileno()).columns
    return max(known or _UNKNOWN_WIDTH, _LEAST_WIDTH)


@contextmanager
def patience(text: str = "reading sessions ...") -> Generator[None]:
    """Say what takes so long, on a terminal, if it does; the words go away when it is done."""
    if not _is_terminal(sys.stderr):
        yield
        return
    from threading import Event, Timer

    said = Event()

    def say() -> None:
        said.set()
        click.echo(styled(text, dim=True), err=True, nl=False)

    timer = Timer(_PATIENCE_SECONDS, say)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        if said.is_set():
            click.echo(f"\r{' ' * len(text)}\r", err=True, nl=False)


def can_ask() -> bool:
    """True when somebody sits there."""
    return _is_terminal(sys.stdin) and _is_terminal(sys.stderr)


def is_shown() -> bool:
    """True when the answer goes to a terminal."""
    return _is_terminal(sys.stdout)


def _is_terminal(stream: Any) -> bool:
    # A stream that was closed before we began is None.
    return stream is not None and stream.isatty()


def read_prompt(given: str | None, hint: str = "--prompt TEXT") -> str | None:
    """A prompt as it was typed, or from standard input where `-` asks for that."""
    if given == "-":
        stdin: Any = sys.stdin
        given = stdin.read() if stdin is not None else ""
    if given is not None and not given.strip():
        raise UsageError("the prompt is empty", hint=hint)
    return given


def note(text: str) -> None:
    """Something beside the answer: to stderr, so that stdout holds the answer only."""
    click.echo(styled(clean(text), dim=True), err=True)


def fail(error: ProngError, words: Sequence[str]) -> int:
    """Say what went wrong and what to type next; the exit status comes back."""
    if "--json" in words:
        text = json.dumps(error.problem(), ensure_ascii=True, default=str)
        click.echo(escaped(text), err=True)
    else:
        click.echo(f"{styled('prong:', fg='red')} {clean(error.message)}", err=True)
        if error.hint:
            hint = clean(error.hint, lines=True)
            click.echo(f"{styled('try:', fg='yellow')} {hint}", err=True)
    return error.exit_code
