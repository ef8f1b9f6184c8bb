"""Running `prong ui`, and what comes after it."""

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
"""Seconds that the screen has to end by itself after a signal."""


def run(query: str = "") -> Launch | None:
    """Show it until it is left. What comes back is to run in this terminal, instead of prong."""
    with App() as app:
        ui = ProngUi(app.settings, agents=list(app.stores), query=query)
    return _Showing(ui).run()


class _Showing:
    """The screen, from its start to its end. Nothing is left half done, however it ends."""

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
            # The thread that reads the keys may wait for ever for a terminal that is gone.
            os._exit(128 + self._signal)
        if self._ui.return_code:
            # It broke, and Textual has said how.
            raise SystemExit(self._ui.return_code)
        return self._ui.return_value

    async def _shown(self) -> None:
        loop = asyncio.get_running_loop()

        def leave(number: int, _: object) -> None:
            self._signal = number
            with suppress(RuntimeError):  # the loop has ended: so has the screen
                loop.call_soon_threadsafe(self._ui.exit)
            Thread(target=self._leave_anyway, args=(number,), daemon=True).start()

        # Not by the event loop: it may wait for the terminal, which may be gone.
        for number in (signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, leave)
        await self._ui.run_async()

    def _leave_anyway(self, number: int) -> None:
        if not self._left.wait(_PATIENCE):
            self._tidy()
            os._exit(128 + number)

    def _tidy(self) -> None:
        """End the programs that were started for a fork; then the fork is finished or undone."""
        end_all()
        self._ui.close()


@contextmanager
def _line_of_its_own() -> Generator[None]:
    """Give Textual a way to the terminal that nobody else uses.

    It would draw on standard error, which is sent nowhere while the sentence model is loaded: what
    was drawn in that moment was never seen. And who keeps errors in a file has a screen all the
    same.
    """
    before, encoding, errors = sys.__stderr__, sys.stdout.encoding, os.dup(2)
    line = os.fdopen(os.dup(1), "w", encoding=encoding, errors="backslashreplace")
    sys.__stderr__ = line
    try:
        yield
    finally:
        sys.__stderr__ = before
        # What comes next may be an agent, and the model may be still at being loaded.
        os.dup2(errors, 2)
        os.close(errors)
        with suppress(OSError):  # the terminal is gone, and something was still to be drawn
            line.close()
