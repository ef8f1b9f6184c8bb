"""The real Codex program with its terminal UI, driven through tmux."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from prong.testing.wait import PATIENCE, wait_until
from tests.drivers.codex_cli import CodexCli
from tests.drivers.tmux import Tmux

# The UI takes a fast run of keys for a paste, and an Enter inside a paste is no Enter.
SETTLE = 0.2

CURSOR = "\u203a "  # the sign before the input line

TURN_ENDS = (b'"type":"task_complete"', b'"type":"turn_aborted"')


class CodexTerminal:
    """One interactive `codex`. Ready for a prompt when `open` returns; gone after the `with`."""

    def __init__(self, cli: CodexCli, cwd: Path) -> None:
        self.cli = cli
        self.cwd = cwd
        self.tmux = Tmux(cli.home.root)
        self._known = set(cli.thread_ids())
        self._thread = ""
        self._ended = 0

    @classmethod
    def open(
        cls, cli: CodexCli, cwd: Path, arguments: Sequence[str] = (), thread: str = ""
    ) -> Self:
        """Start the program (give `thread` when resuming one) and wait until it takes input."""
        cli.trust(cwd)
        terminal = cls(cli, cwd)
        terminal._thread = thread
        try:
            terminal.tmux.start([str(cli.program), "--no-alt-screen", *arguments], cwd, cli.env())
            terminal.tmux.wait_for(_has_input, what="the input line of Codex")
        except BaseException:
            terminal.tmux.kill()
            raise
        return terminal

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.tmux.kill()

    # -- what it is doing ---------------------------------------------------------------------

    def thread_id(self) -> str:
        """The thread that is open; a new one has an id once its first turn has begun."""
        if not self._thread:
            fresh = [name for name in self.cli.thread_ids() if name not in self._known]
            self._thread = fresh[0] if fresh else ""
        return self._thread

    def ended_turns(self) -> int:
        """How many turns the files of the thread call ended."""
        if not self.thread_id():
            return 0
        raw = b"".join(path.read_bytes() for path in self.cli.rollouts(self.thread_id()))
        return sum(raw.count(mark) for mark in TURN_ENDS)

    def wait_idle(self, timeout: float = PATIENCE) -> None:
        """Wait until the turn that the last `submit` began is over."""
        try:
            wait_until(lambda: self.ended_turns() > self._ended, timeout)
        except TimeoutError as error:
            raise TimeoutError(f"the turn did not end:\n{self.tmux.capture()}") from error

    # -- input --------------------------------------------------------------------------------

    def type(self, text: str) -> None:
        """Put the text on the input line and wait until it is shown there."""
        self.tmux.send_text(text)
        shown = text[-40:]
        self.tmux.wait_for(lambda screen: shown in _input_part(screen), what=shown)
        time.sleep(SETTLE)

    def submit(self, text: str) -> None:
        """Type and press Enter; does not wait for anything that follows."""
        self.type(text)
        self._ended = self.ended_turns()
        self.tmux.key("Enter")
        for _ in range(5):
            try:
                self.tmux.wait_for(lambda screen: text not in _input_part(screen), timeout=1)
            except TimeoutError:
                self.tmux.key("Enter")
            else:
                return
        raise TimeoutError(f"{text!r} could not be submitted:\n{self.tmux.capture()}")

    def prompt(self, text: str, timeout: float = PATIENCE) -> None:
        """One whole turn: submit, then wait until it is over."""
        self.submit(text)
        self.wait_idle(timeout)

    def shell(self, command: str) -> None:
        """Shell mode: `!command`, until Codex has written down that it ran."""
        self.tmux.send_text("!")
        self.tmux.wait_for("Shell mode")
        self.prompt(command)

    def rewind(self, prompt: str) -> None:
        """Esc Esc Enter: take back the last prompt, which is `prompt`, and empty the input line."""
        self.tmux.wait_for(lambda screen: _WORKING not in screen, what="the end of the turn")
        for _ in range(10):
            # A key that comes while Codex still tidies up after a turn is lost, and the hint of
            # the first Escape goes away again after a while: so look, and begin anew. An Escape
            # too many would go one prompt further back.
            self.tmux.key("Escape")
            with suppress(TimeoutError):
                self.tmux.wait_for(_ESCAPE_AGAIN, timeout=3)
                self.tmux.key("Escape")
                self.tmux.wait_for(_BROWSING, timeout=10)
                break
        self.tmux.wait_for(_BROWSING)
        time.sleep(SETTLE)
        self.tmux.key("Enter")
        self.tmux.wait_for("Conversation reverted to this point")
        self.tmux.wait_for(lambda screen: prompt in _input_part(screen), what=prompt)
        self.tmux.key("C-u")
        self.tmux.wait_for(lambda screen: prompt not in _input_part(screen), what="an empty line")

    def wait_busy(self) -> None:
        """Wait until a turn runs."""
        wait_until(lambda: bool(self.thread_id()) and self._running() > 0, what="a running turn")

    def wait_quiet(self) -> None:
        """Wait until no turn runs: as many have ended as have begun."""
        wait_until(lambda: self._running() == 0, what="the end of all turns")

    def _running(self) -> int:
        raw = b"".join(path.read_bytes() for path in self.cli.rollouts(self.thread_id()))
        return raw.count(b'"type":"task_started"') - self.ended_turns()

    def interrupt(self) -> None:
        """Esc while the agent works; returns when the turn is over."""
        self.wait_busy()
        for _ in range(5):
            # The file says that a turn runs a little before the UI knows it.
            time.sleep(SETTLE)
            self.tmux.key("Escape")
            try:
                self.wait_idle(timeout=2)
            except TimeoutError:
                continue
            return
        self.wait_idle()

    def exit(self) -> None:
        """Leave with /quit, so that everything is on disk and the thread is free."""
        self.submit("/quit")
        self.tmux.wait_gone()


def _has_input(screen: str) -> bool:
    return any(line.startswith(CURSOR) for line in screen.splitlines())


_WORKING = "esc to interrupt"
_ESCAPE_AGAIN = "esc again to edit previous message"
_BROWSING = "Browsing transcript"


def _input_part(screen: str) -> str:
    """The screen from the last input line on (a long text wraps, so rows are joined)."""
    rows = screen.splitlines()
    starts = [index for index, row in enumerate(rows) if row.startswith((CURSOR, "! "))]
    return "".join(row.removeprefix("  ") for row in rows[starts[-1] :]) if starts else ""
