"""Running the terminal UI: start, signals and cleanup."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from prong.agents.run import end_all
from prong.app import App
from prong.tui.ui import ProngUi

if TYPE_CHECKING:
    from prong.model.forks import Launch

_PATIENCE = 3.0
"""Seconds after a signal until the UI is ended by force."""


def run(query: str = "") -> Launch | None:
    """Run the UI. Returns a command to run in this terminal instead of prong, if any."""
    with App() as app:
        ui = ProngUi(app.settings, agents=list(app.stores), query=query)
    return _Showing(ui).run()


class _Showing:
    """A run of the UI that cleans up however it ends."""

    def __init__(self, ui: ProngUi) -> None:
        self._ui = ui
        self._left = Event()
        self._signal: int | None = None

    def run(self) -> Launch | None:
        try:
            with _line_of_its_own():
                asyncio.run(self._shown())
        finally:
            self._left.set()
            self._tidy()
        if self._signal is not None:
            # The thread that reads keys may block forever if the terminal is closed.
            os._exit(128 + self._signal)
        if self._ui.return_code:
            # Textual has already printed the error.
            raise SystemExit(self._ui.return_code)
        return self._ui.return_value

    async def _shown(self) -> None:
        loop = asyncio.get_running_loop()

        def leave(number: int, _: object) -> None:
            self._signal = number
            with suppress(RuntimeError):  # the loop, and so the UI, has ended
                loop.call_soon_threadsafe(self._ui.exit)
            Thread(target=self._leave_anyway, args=(number,), daemon=True).start()

        # Not with the event loop, which may block on a terminal that is closed.
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, leave)
        await self._ui.run_async()

    def _leave_anyway(self, number: int) -> None:
        if not self._left.wait(_PATIENCE):
            self._tidy()
            os._exit(128 + number)

    def _tidy(self) -> None:
        """End programs started for a fork, so that the fork is finished or rolled back."""
        end_all()
        self._ui.close()


@contextmanager
def _line_of_its_own() -> Generator[None]:
    """Give Textual its own descriptor of the terminal.

    Textual draws on standard error, which is redirected to /dev/null while the sentence model
    loads, so what it drew then would be lost. It also makes the UI work with `2> FILE`.
    """
    stderr, encoding, errors = sys.__stderr__, sys.stdout.encoding, os.dup(2)
    terminal = os.fdopen(os.dup(1), "w", encoding=encoding, errors="backslashreplace")
    sys.__stderr__ = terminal
    try:
        yield
    finally:
        sys.__stderr__ = stderr
        # An agent may run next, and the model may still be loading with stderr redirected.
        os.dup2(errors, 2)
        os.close(errors)
        with suppress(OSError):  # the terminal was closed with output pending
            terminal.close()
