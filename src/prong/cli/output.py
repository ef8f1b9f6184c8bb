"""What all commands share: the application, `--json`, colours, questions, errors."""

import json
import os
import sys
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, NoReturn, cast

import click

from prong.errors import ProngError, Unavailable, UsageError
from prong.views.text import cells, clean, cut, escaped, wrapped

if TYPE_CHECKING:  # importing these takes longer than `prong --help`
    from prong.app import App
    from prong.model.forks import Launch

_UNKNOWN_WIDTH = 80
_LEAST_WIDTH = 20
_PATIENCE_SECONDS = 1.0


def _make_app() -> "App":
    from prong.app import App

    return App()


_factory: ContextVar[Callable[[], "App"]] = ContextVar("factory", default=_make_app)


def open_app() -> "App":
    """Return the application of this command, which is closed with the command."""
    context = click.get_current_context(silent=True)
    if context is not None and context.obj is not None:
        return cast("App", context.obj)
    app = _factory.get()()
    if context is not None:
        context.obj = app
        context.call_on_close(app.close)
        # Runs before app.close. With --json, the notices are in the result instead.
        if not context.params.get("as_json"):
            context.call_on_close(lambda: _print_notices(app.state_dir))
    return app


def _print_notices(state: Path) -> None:
    from prong.setup.database import notices

    for notice in notices(state):
        click.echo(f"{styled('prong:', fg='yellow')} {clean(notice)}", err=True)


def _with_notices(value: Any) -> Any:
    context = click.get_current_context(silent=True)
    if context is None or context.obj is None or not isinstance(value, dict):
        return value
    from prong.setup.database import notices

    answer, warnings = cast(dict[str, Any], value), notices(open_app().state_dir)
    return {**answer, "warnings": [*answer.get("warnings", ()), *warnings]} if warnings else answer


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


def fitted(text: str, room: int | None) -> str:
    """Cut text to the room; None is unlimited."""
    return text if room is None else cut(text, room)


def print_rows(
    rows: Iterable[tuple[str, str]],
    *,
    size: int = 10,
    indent: str = "",
    wraps: str | None = None,
    err: bool = False,
) -> None:
    """Print labels and texts, cut to fit; those with the label `wraps` get as many lines as needed.

    Rows without text are left out.
    """
    room = width()
    room = room and room - size - len(indent)
    for name, text in rows:
        line = clean(text)
        lines = [fitted(line, room)] if room is None or name != wraps else wrapped(line, room)
        for number, part in enumerate(lines if line else ()):
            label = styled(("" if number else name).ljust(size), dim=True)
            click.echo(f"{indent}{label}{part}", err=err)


class StatusLine:
    """The line of stderr at the cursor, a terminal."""

    def __init__(self) -> None:
        self._shown = 0
        self._lock = Lock()

    def begin(self, text: str) -> None:
        """Draw the text if the line is still empty."""
        if not self._shown:
            self.draw(text)

    def draw(self, text: str) -> None:
        # Keep the last column free: the cursor would move to the next line.
        text = cut(text, self._columns() - 1)
        with self._lock:
            padding = " " * max(self._shown - cells(text), 0)
            start = "\r" if self._shown else ""
            click.echo(f"{start}{styled(text, dim=True)}{padding}", err=True, nl=False)
            self._shown = cells(text)

    def clear(self) -> None:
        if self._shown:
            # Also erase the `^C` that the terminal shows.
            columns = min(self._shown + len("^C"), self._columns())
            click.echo(f"\r{' ' * columns}\r", err=True, nl=False)

    def _columns(self) -> int:
        try:
            return os.get_terminal_size(sys.stderr.fileno()).columns or _UNKNOWN_WIDTH
        except OSError:
            return _UNKNOWN_WIDTH


@contextmanager
def patience(text: str = "reading sessions ...") -> Generator[StatusLine | None]:
    """Show what takes so long after a second, and erase it when done.

    Yields the line, to draw something better; None without a terminal.
    """
    if not is_terminal(sys.stderr):
        yield None
        return
    line = StatusLine()
    timer = Timer(_PATIENCE_SECONDS, line.begin, [text])
    timer.daemon = True
    timer.start()
    try:
        yield line
    finally:
        timer.cancel()
        timer.join()
        line.clear()


def is_terminal(stream: Any) -> bool:
    # A stream that was closed before prong started is None.
    return stream is not None and stream.isatty()


def can_ask() -> bool:
    return is_terminal(sys.stdin) and is_terminal(sys.stderr)


def agree(question: str, refusal: str, hint: str, *, quiet: bool) -> None:
    """Ask before something is changed: only a person, or --yes, may agree."""
    if quiet or not can_ask():
        raise UsageError(refusal, hint=hint)
    click.confirm(question, default=False, abort=True, err=True)


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


def note_error(error: ProngError, about: str = "") -> None:
    """Print an error that stops only a part of the work, and its hint."""
    note(f"{about}: {error.message}" if about else error.message)
    if error.hint:
        note(f"try: {error.hint}")


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


def become(launch: "Launch") -> NoReturn:
    """Replace this process with a program."""
    from prong.agents.run import environment

    for stream in (sys.stdout, sys.stderr):
        if stream is not None:  # closed with `prong >&-`
            stream.flush()
    try:
        os.chdir(launch.cwd)
        os.execvpe(launch.argv[0], list(launch.argv), environment(launch))  # noqa: S606
    except OSError as error:
        raise Unavailable(
            f"{launch.argv[0]} does not start: {error.strerror}", hint="prong doctor"
        ) from None
