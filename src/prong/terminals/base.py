"""What a terminal is: `Terminal`, and the protocols of what only some terminals can do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement


class Terminal(Protocol):
    """Opens panes. What only some terminals can do is a protocol of its own, asked for first.

    One object serves all panes of its kind, also those that another process opened.
    `prong.testing.terminal_contract` has the suite that every terminal must pass.
    """

    @property
    def name(self) -> str: ...

    @property
    def is_here(self) -> bool:
        """True when this process runs inside of it."""
        ...

    def problem(self) -> str | None:
        """Why it cannot open a pane now; None when it can."""
        ...

    def open(self, launch: Launch, place: Placement) -> Pane:
        """Start a program in a new pane, each word as it is. Raises `Unavailable`, `External`."""
        ...

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        """Those of the panes whose program runs. One question to the terminal for all of them."""
        ...

    def close(self, pane: Pane) -> None:
        """End what runs there and take the pane away; nothing happens when it is gone."""
        ...


@runtime_checkable
class CanSend(Protocol):
    def send(self, pane: Pane, text: str) -> None:
        """Paste a text of any length, as it is; nothing is pressed behind it."""
        ...


@runtime_checkable
class CanPress(Protocol):
    def key(self, pane: Pane, *names: str) -> None:
        """Press keys: `Enter`, `Escape`, `C-c`, `Up`, or a single character."""
        ...


@runtime_checkable
class CanCapture(Protocol):
    def capture(self, pane: Pane, *, history: bool = False) -> str:
        """What is on the screen; with `history` also what has scrolled away."""
        ...


@runtime_checkable
class HasCursor(Protocol):
    def cursor_column(self, pane: Pane) -> int:
        """The column in which the cursor is, also where it is hidden; the first one is 0."""
        ...


@runtime_checkable
class HasExitCodes(Protocol):
    def exit_code(self, pane: Pane) -> int | None:
        """How the program of a pane ended; None while it runs, or when nobody knows."""
        ...


@runtime_checkable
class CanFocus(Protocol):
    def focus(self, pane: Pane) -> None:
        """Bring the pane before the person's eyes."""
        ...


@runtime_checkable
class CanAttach(Protocol):
    def attaching(self, pane: Pane) -> Launch:
        """The command that shows the pane to somebody who is outside of the terminal."""
        ...


@runtime_checkable
class TakesOver(Protocol):
    """There are no panes: `open` makes this very process the program, and does not return."""

    takes_over: bool


@runtime_checkable
class OnlyTells(Protocol):
    """There are no panes: the id of what `open` gives is a command for a person to type."""

    only_tells: bool


class TerminalFactory(Protocol):
    """What an entry point of the group `prong.terminals` names."""

    def __call__(self, environ: Mapping[str, str]) -> Terminal: ...
