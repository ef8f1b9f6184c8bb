"""The `Terminal` protocol, and a protocol for each optional capability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement


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


class TerminalFactory(Protocol):
    """The type of an entry point in the group `prong.terminals`."""

    def __call__(self, environ: Mapping[str, str]) -> Terminal: ...
