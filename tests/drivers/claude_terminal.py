"""The real Claude Code program with its terminal UI, driven through tmux."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from prong.testing.wait import PATIENCE, wait_until
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.tmux import Tmux

# The UI takes a fast run of keys for a paste, and an Enter inside a paste is no Enter.
SETTLE = 0.08

CURSOR = "\u276f"  # the sign before the input line
MENU_CURSOR = f"   {CURSOR} "  # menus are indented, which tells them from prompts

# The head of the menu that asks what to restore: in older versions, and in current ones.
RESTORE_MENU = ("Confirm you want to restore", "Restore to the point before you sent this message")

# What the program writes when a turn is over: normally, by an API failure, by an interrupt.
TURN_ENDS = (
    b'"subtype":"turn_duration"',
    b'"isApiErrorMessage":true',
    b"[Request interrupted by user",
)


class ClaudeTerminal:
    """One interactive `claude`. Ready for a prompt when `open` returns; gone after the `with`."""

    def __init__(self, cli: ClaudeCli, cwd: Path) -> None:
        self.cli = cli
        self.cwd = cwd
        self.tmux = Tmux(cli.home.root)
        self._offset = 0
        self._pid = 0

    @classmethod
    def open(
        cls,
        cli: ClaudeCli,
        cwd: Path,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
    ) -> Self:
        """Start the program and wait until it takes input."""
        cli.prepare(cwd)
        terminal = cls(cli, cwd)
        argv = [str(cli.program), "--dangerously-skip-permissions", *arguments]
        try:
            terminal.tmux.start(argv, cwd, cli.env(env))
            terminal.tmux.wait_for(_has_input, what="the input line of Claude Code")
            terminal._pid = terminal.tmux.pid()
            wait_until(lambda: terminal.status() == "idle", what="an idle Claude Code")
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

    def registry(self) -> dict[str, Any]:
        """The program's own entry in `sessions/<pid>.json`, {} while there is none."""
        path = self.cli.home.claude / "sessions" / f"{self._pid}.json"
        try:
            entry: dict[str, Any] = json.loads(path.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return entry

    def status(self) -> str:
        """`idle`, `busy`, or "" when the program has not said."""
        return str(self.registry().get("status", ""))

    def session_id(self) -> str:
        """The session that is open now (/branch and /clear change it)."""
        return str(self.registry()["sessionId"])

    def wait_busy(self, timeout: float = PATIENCE) -> None:
        """Wait until the agent says that it works."""
        wait_until(lambda: self.status() == "busy", timeout, "a busy agent")

    def wait_idle(self, timeout: float = PATIENCE, written: Sequence[bytes] = TURN_ENDS) -> None:
        """Wait until the turn that the last `submit` began is over.

        The registry alone is not enough: it never says `busy` for a very short turn. So one of
        the marks in `written` must have been added to the session file as well.
        """

        def over() -> bool:
            new = self._new_bytes()
            return any(mark in new for mark in written) and self.status() == "idle"

        try:
            wait_until(over, timeout)
        except TimeoutError as error:
            screen = self.tmux.capture()
            raise TimeoutError(f"the turn did not end ({self.status()})\n{screen}") from error

    def wait_turns(self, count: int, timeout: float = PATIENCE) -> None:
        """Wait until that many turns have ended since the last `submit`."""
        wait_until(
            lambda: self._new_bytes().count(TURN_ENDS[0]) >= count and self.status() == "idle",
            timeout,
            f"the end of {count} turns",
        )

    def wait_quiet(self, timeout: float = PATIENCE) -> None:
        """Wait until the agent has been idle, with nothing more to come, for half a second."""
        since = 0.0

        def quiet() -> bool:
            nonlocal since
            if self.status() != "idle":
                since = 0.0
            elif not since:
                since = time.monotonic()
            return bool(since) and time.monotonic() - since > 0.5

        wait_until(quiet, timeout, "a quiet agent")

    def wait_written(self, *marks: bytes, timeout: float = PATIENCE) -> None:
        """Wait until the conversation has lines with all these since the last `submit`.

        Lines beside it do not count: Claude Code logs the request that it sends
        (`api-request-blob`) just before it writes the prompt.
        """

        def written() -> bool:
            *lines, _ = self._new_bytes().split(b"\n")
            said = [line for line in lines if line and "uuid" in json.loads(line)]
            return all(any(mark in line for line in said) for mark in marks)

        wait_until(written, timeout, f"{marks!r} in the session file")

    def wait_session_change(self, before: str, timeout: float = PATIENCE) -> None:
        """Wait until the program has another session open."""
        wait_until(lambda: self.session_id() != before, timeout, "another session")

    def wait_path(self, path: Path, timeout: float = PATIENCE) -> None:
        """Wait until a tool has made this file."""
        wait_until(path.exists, timeout, str(path))

    def mark(self) -> None:
        """From here on, what is added to the session file counts as new for `wait_idle`."""
        path = self.session_path()
        self._offset = path.stat().st_size if path else 0

    def session_path(self) -> Path | None:
        """The file of the open session, once there is one."""
        found = list((self.cli.home.claude / "projects").glob(f"*/{self.session_id()}.jsonl"))
        return found[0] if found else None

    def _new_bytes(self) -> bytes:
        path = self.session_path()
        if path is None:
            return b""
        with path.open("rb") as file:
            file.seek(self._offset)
            return file.read()

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
        self.mark()
        self._enter(lambda screen: text not in _input_part(screen), text)

    def accept(self, entry: str) -> None:
        """Wait for a menu whose cursor stands on this entry, and take it."""
        self.tmux.wait_for(f"{CURSOR} {entry}")
        self._enter(lambda screen: f"{CURSOR} {entry}" not in screen, entry)

    def _enter(self, taken: Callable[[str], bool], what: str) -> None:
        """Enter, again until it is taken: the UI swallows one now and then while it draws."""
        for _ in range(5):
            self.tmux.key("Enter")
            try:
                self.tmux.wait_for(taken, timeout=1)
            except TimeoutError:
                continue
            return
        raise TimeoutError(f"{what!r} could not be submitted:\n{self.tmux.capture()}")

    def prompt(self, text: str, timeout: float = PATIENCE) -> None:
        """One whole turn: submit, then wait until the agent is idle again."""
        self.submit(text)
        self.wait_idle(timeout)

    def command(self, text: str, shown: str, timeout: float = PATIENCE) -> None:
        """A built-in command that asks the model nothing; done when `shown` is on the screen."""
        self.submit(text)
        self.tmux.wait_for(shown, timeout)

    def queue(self, text: str) -> None:
        """Submit while the agent is busy, and wait until the program says that it is queued."""
        self.type(text)
        self.tmux.key("Enter")
        mark = text.encode()
        wait_until(
            lambda: any(
                b'"operation":"enqueue"' in row and mark in row
                for row in self._new_bytes().split(b"\n")
            ),
            what=f"the queued prompt {text!r}",
        )

    def bash(self, command: str) -> None:
        """Bash mode: `!command`, and the answer that the model gives to its output."""
        self.tmux.send_text("!")
        self.tmux.wait_for("! for shell mode")
        self.prompt(command)

    def clear_input(self) -> None:
        """Empty the input line."""
        self.tmux.key("C-u")
        self.tmux.wait_for(lambda screen: _input_text(screen) == "", what="an empty input line")

    def rewind(self, prompt: str, option: str = "Restore conversation") -> None:
        """Esc Esc, choose the point before `prompt`, take `option`, and empty the input line."""
        self.tmux.key("Escape")
        time.sleep(SETTLE)
        self.tmux.key("Escape")
        self.tmux.wait_for("Restore the code and/or conversation")
        self._choose(prompt, "Up")
        self.tmux.key("Enter")
        self.tmux.wait_for(_asks_what_to_restore, what="the menu of what to restore")
        self._choose(option, "Down")
        self.mark()
        self.tmux.key("Enter")
        self.tmux.wait_for(lambda now: not _asks_what_to_restore(now) and _has_input(now))
        if option == "Restore conversation":
            self.tmux.wait_for(lambda now: prompt in _input_part(now), what=prompt)
            self.clear_input()

    def _choose(self, entry: str, key: str) -> None:
        """Move the cursor of a menu with `key` until it stands on the entry."""
        for _ in range(30):
            row = _cursor_row(self.tmux.wait_for(lambda now: _cursor_row(now) != ""))
            if entry in row:
                return
            self.tmux.key(key)
            self.tmux.wait_for(lambda now, old=row: _cursor_row(now) not in ("", old), what=entry)
        raise TimeoutError(f"no entry {entry!r}:\n{self.tmux.capture()}")

    def interrupt(self) -> None:
        """Esc while the agent works; returns when it is idle."""
        self.wait_busy()
        self.tmux.key("Escape")
        wait_until(lambda: self.status() == "idle", what="an idle agent after Esc")

    def choose_mode(self, shown: str) -> None:
        """Shift+Tab until the last row says that this permission mode is on."""
        for _ in range(6):
            before = _mode_row(self.tmux.capture())
            if shown in before:
                return
            self.tmux.key("BTab")
            self.tmux.wait_for(lambda now, old=before: _mode_row(now) != old, what=shown)
        raise TimeoutError(f"no mode {shown!r}:\n{self.tmux.capture()}")

    def compact(self, timeout: float = PATIENCE) -> None:
        """/compact, until the summary is in the session file."""
        self.submit("/compact")
        self.wait_idle(timeout, written=[b"<local-command-stdout>"])

    def branch(self) -> None:
        """/branch, until the new session is open. What the program prints differs by version."""
        before = self.session_id()
        self.submit("/branch")
        self.wait_session_change(before)
        self.wait_quiet()

    def kill(self) -> None:
        """End the program at once (SIGKILL), as a crash would."""
        os.kill(self._pid, signal.SIGKILL)
        self.tmux.wait_gone()

    def exit(self) -> None:
        """Leave with /exit, so that everything is on disk."""
        self.submit("/exit")
        self.tmux.wait_gone()


def _has_input(screen: str) -> bool:
    return any(line.startswith(CURSOR) for line in screen.splitlines())


def _asks_what_to_restore(screen: str) -> bool:
    return any(head in screen for head in RESTORE_MENU)


def _input_part(screen: str) -> str:
    """The screen from the last input line on (a long text wraps, so rows are joined)."""
    rows = screen.splitlines()
    starts = [index for index, row in enumerate(rows) if row.startswith((CURSOR, "!"))]
    return "".join(row.removeprefix("  ") for row in rows[starts[-1] :]) if starts else ""


def _input_text(screen: str) -> str:
    """What stands on the last input line."""
    rows = [row for row in screen.splitlines() if row.startswith(CURSOR)]
    return rows[-1].removeprefix(CURSOR).strip() if rows else ""


def _mode_row(screen: str) -> str:
    return screen.rstrip().rsplit("\n", maxsplit=1)[-1]


def _cursor_row(screen: str) -> str:
    """The row of a menu that the cursor stands on. Menus are indented, prompts are not."""
    rows = [row for row in screen.splitlines() if row.startswith(MENU_CURSOR)]
    return rows[-1] if rows else ""
