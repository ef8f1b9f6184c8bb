"""What all commands share: the application, `--json`, colours, errors."""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.text import clean
from prong.errors import ProngError

if TYPE_CHECKING:
    from prong.app import App

C = TypeVar("C", bound=Callable[..., Any])

_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def open_app() -> "App":
    """The application, imported when a command runs: `prong --help` does without it."""
    return _factory.get()()


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


def json_option(command: C) -> C:
    return click.option(
        "--json", "as_json", is_flag=True, help="Print one JSON value, for scripts."
    )(command)


def print_json(value: Any) -> None:
    """One JSON value on stdout, with nothing in it that a terminal would obey."""
    text = json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None)
    click.echo(_UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def styled(text: str, **style: Any) -> str:
    """Coloured text, unless the user wants none; click drops colours when there is no terminal."""
    return text if os.environ.get("NO_COLOR") else click.style(text, **style)


def width() -> int | None:
    """The columns of the terminal; None when the output goes elsewhere and must not be cut."""
    wanted = os.environ.get("COLUMNS", "")
    if wanted.isdecimal() and int(wanted):
        return max(int(wanted), 20)
    if not sys.stdout.isatty():
        return None
    return max(os.get_terminal_size(sys.stdout.fileno()).columns, 20)


def note(text: str) -> None:
    """Something beside the answer: to stderr, so that stdout holds the answer only."""
    click.echo(styled(clean(text), dim=True), err=True)


def fail(error: ProngError, words: Sequence[str]) -> int:
    """Say what went wrong and what to type next; the exit status comes back."""
    if "--json" in words:
        text = json.dumps(error.problem(), ensure_ascii=True)
        click.echo(text, err=True)
    else:
        click.echo(f"{styled('prong:', fg='red')} {clean(error.message)}", err=True)
        if error.hint:
            hint = clean(error.hint, lines=True)
            click.echo(f"{styled('try:', fg='yellow')} {hint}", err=True)
    return error.exit_code
