"""The `Terminal` protocol, a protocol for each optional capability, and what terminals share."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals import detect


class Terminal(Protocol):
    """A program that opens panes. Test for optional capabilities with `isinstance` and a protocol.

    One object serves all panes of its kind, including those opened by another process.
    `prong.testing.terminal_contract` is the test suite that every terminal must pass.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_here(self) -> bool:
        """Whether this process runs inside the terminal."""
        ...

    def problem(self) -> str | None:
        """Explain why no pane can be opened now; None when one can."""
        ...

    def open(self, launch: Launch, place: Placement) -> Pane:
        """Start a program, arguments unchanged, in a new pane. Raises `Unavailable`, `External`."""
        ...

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        """Return the panes whose program is running, with a single query to the terminal."""
        ...

    def close(self, pane: Pane) -> None:
        """End the program and close the pane; do nothing if the pane is gone."""
        ...


@runtime_checkable
class CanSend(Protocol):
    def send(self, pane: Pane, text: str) -> None:
        """Paste text of any length unchanged, without pressing Enter."""
        ...


@runtime_checkable
class CanPress(Protocol):
    def key(self, pane: Pane, *names: str) -> None:
        """Press keys: `Enter`, `Escape`, `C-c`, `Up`, or a single character."""
        ...


@runtime_checkable
class CanCapture(Protocol):
    def capture(self, pane: Pane, *, history: bool = False) -> str:
        """Return the text on the screen; with `history`, include the scrollback."""
        ...


@runtime_checkable
class HasCursor(Protocol):
    def cursor_column(self, pane: Pane) -> int:
        """Return the cursor's column, counted from 0, even if the cursor is hidden."""
        ...


@runtime_checkable
class HasExitCodes(Protocol):
    def exit_code(self, pane: Pane) -> int | None:
        """Return the exit status of a pane's program; None while it runs or when it is unknown."""
        ...


@runtime_checkable
class CanFocus(Protocol):
    def focus(self, pane: Pane) -> None:
        """Switch to the pane."""
        ...


@runtime_checkable
class CanAttach(Protocol):
    def attaching(self, pane: Pane) -> Launch:
        """Return the command that shows the pane from outside the terminal."""
        ...


@runtime_checkable
class TakesOver(Protocol):
    """A terminal without panes: `open` replaces this process with the program and never returns."""

    takes_over: bool


@runtime_checkable
class OnlyTells(Protocol):
    """A terminal without panes: `open` starts nothing; the pane's id is a command to type."""

    only_tells: bool


class PaneTerminal:
    """The common part of the built-in terminals, which find panes by server and id."""

    name: str

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ

    @property
    def is_here(self) -> bool:
        return self.name in detect.inside(self._environ)

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        alive: dict[Pane, LivePane] = {}
        for server in dict.fromkeys(pane.server for pane in panes):
            pids = self._pids(server)
            running = (pane for pane in panes if pane.server == server and pane.id in pids)
            alive.update((pane, LivePane(pids[pane.id])) for pane in running)
        return alive

    def _pids(self, server: str | None) -> Mapping[str, int | None]:
        """Return the running panes of a server, with the pids of their programs if known."""
        raise NotImplementedError


def title_of(launch: Launch) -> str:
    return launch.title or Path(launch.argv[0]).name


def trimmed(screen: str) -> str:
    """Remove trailing blanks and trailing empty lines."""
    return "\n".join(line.rstrip() for line in screen.split("\n")).rstrip("\n")
