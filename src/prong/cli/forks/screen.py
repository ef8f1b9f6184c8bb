"""Full-screen drawing and key input."""

import os
import select
import signal
import termios
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from types import FrameType
from typing import Any, Self

_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l"
"""Switch to the alternate screen, hide the cursor, disable line wrap."""
_LEAVE = b"\x1b[?7h\x1b[?25h\x1b[?1049l"
_SIGNALS = (signal.SIGWINCH, signal.SIGCONT, signal.SIGTERM, signal.SIGHUP)
_ESCAPE_SECONDS = 0.05
"""Seconds after an Escape in which the rest of a key sequence may arrive."""
_UNKNOWN_SIZE = 80, 24
_NAMES = {
    "enter": (b"\r", b"\n"),
    "leave": (b"\x03", b"\x04"),
    "down": (b"\x0e", b"\x1b[B", b"\x1bOB"),
    "up": (b"\x10", b"\x1b[A", b"\x1bOA"),
    "clear": (b"\x15",),
    "suspend": (b"\x1a",),
    "backspace": (b"\x7f", b"\x08"),
    "page up": (b"\x1b[5~",),
    "page down": (b"\x1b[6~",),
    "home": (b"\x1b[H", b"\x1bOH", b"\x1b[1~", b"\x1b[7~"),
    "end": (b"\x1b[F", b"\x1bOF", b"\x1b[4~", b"\x1b[8~"),
}
_KEYS = {raw: name for name, sequences in _NAMES.items() for raw in sequences}


class Screen:
    """Full screen that draws lines and reads keys. The `with` block restores the terminal."""

    def __init__(self, reading: int, writing: int) -> None:
        """Use the terminal with these file descriptors for input and output."""
        self._reading = reading
        self._writing = writing
        self._typed = b""
        self._before: list[Any] = []
        self._handlers: dict[int, Any] = {}
        self._wake = -1, -1
        self._wake_before = -1
        self._waking = Lock()
        self._is_taken = False

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._reading)
        self._wake = os.pipe()
        for end in self._wake:
            os.set_blocking(end, False)
        try:
            # Signals write to a pipe, so that they interrupt the wait for a key.
            self._wake_before = signal.set_wakeup_fd(self._wake[1], warn_on_full_buffer=False)
            for number in _SIGNALS:
                self._handlers[number] = signal.signal(number, _nothing)
            self._take()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _take(self) -> None:
        mode = termios.tcgetattr(self._reading)
        mode[0] &= ~(termios.ICRNL | termios.IXON)
        # Ctrl-C arrives as a key, not a signal, so that the terminal is always restored.
        mode[3] &= ~(termios.ECHO | termios.ICANON | termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(self._reading, termios.TCSADRAIN, mode)
        if not self._is_taken:
            self._write(_ENTER)
        self._is_taken = True

    def _give_back(self) -> None:
        self._is_taken = False
        try:
            self._write(_LEAVE)
            termios.tcsetattr(self._reading, termios.TCSADRAIN, self._before)
        except (OSError, termios.error):
            pass  # the terminal is closed

    def _end(self) -> None:
        self._give_back()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._wake_before)
        # A late thread must not write to a file that reuses the descriptor.
        with self._waking:
            ends, self._wake = self._wake, (-1, -1)
            for end in ends:
                os.close(end)

    def size(self) -> tuple[int, int]:
        try:
            columns, lines = os.get_terminal_size(self._writing)
        except OSError:
            return _UNKNOWN_SIZE
        return columns or _UNKNOWN_SIZE[0], lines or _UNKNOWN_SIZE[1]

    def draw(self, lines: Sequence[str]) -> None:
        # Clear each line first: clearing after a full line would erase its last character.
        rows = "\x1b[0m\r\n".join(f"\x1b[2K{line}" for line in lines)
        self._write(f"\x1b[H{rows}\x1b[0m".encode("utf-8", "replace"))

    def key(self, seconds: float | None = None) -> str | None:
        """Wait for a key: a character, or a name such as `page up`; `""` for an unknown key.

        Return `resize` after a resize or `wake`, and None after `seconds` without a key.
        """
        while True:
            if self._typed and (name := self._taken()) is not None:
                if name != "suspend":
                    return name
                self._suspend()
                return "resize"
            partial = bool(self._typed)
            ready, _, _ = select.select(
                [self._reading, self._wake[0]], [], [], _ESCAPE_SECONDS if partial else seconds
            )
            if self._wake[0] in ready:
                return self._signalled(os.read(self._wake[0], 4096))
            if self._reading in ready:
                typed = os.read(self._reading, 4096)
                if not typed:
                    return "leave"
                self._typed += typed
            elif partial:
                # Nothing followed: it was the Escape key, or a broken character.
                key = "escape" if self._typed == b"\x1b" else ""
                self._typed = b""
                return key
            else:
                return None

    def wake(self) -> None:
        """Make a waiting `key` return `resize`, from another thread."""
        with self._waking, suppress(BlockingIOError):  # full: already awake
            if self._wake[1] >= 0:
                os.write(self._wake[1], b"\0")

    def _taken(self) -> str | None:
        """Take one whole key from the input; None if part of it has not arrived."""
        typed = self._typed
        length = _length(typed)
        if length is None or len(typed) < length:
            return None
        raw, self._typed = typed[:length], typed[length:]
        if raw in _KEYS:
            return _KEYS[raw]
        text = raw.decode("utf-8", "ignore")
        return text if text.isprintable() else ""

    def _signalled(self, numbers: bytes) -> str:
        for number in numbers:
            if number in (signal.SIGTERM, signal.SIGHUP):
                raise SystemExit(128 + number)
            if number == signal.SIGINT:
                raise KeyboardInterrupt
            if number == signal.SIGCONT:
                self._take()
        return "resize"

    def _suspend(self) -> None:
        self._give_back()
        os.kill(0, signal.SIGTSTP)
        # Execution continues here after `fg`.
        self._take()

    def _write(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._writing, data) :]


def _nothing(number: int, frame: FrameType | None) -> None:
    """Do nothing: the byte in the wakeup pipe reports the signal."""


def _length(typed: bytes) -> int | None:
    """Return the length of the first key in bytes; None if it is not known yet."""
    first = typed[0]
    if first != 0x1B:
        return 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    if len(typed) == 1:
        return None
    if typed[1:2] == b"O":
        return 3
    if typed[1:2] != b"[":
        return 2  # Alt and a key
    end = next((i for i in range(2, len(typed)) if 0x40 <= typed[i] <= 0x7E), None)
    return None if end is None else end + 1
