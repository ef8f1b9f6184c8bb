"""Actions on workers: ask for input, run in a thread, report the result."""

import subprocess
from collections.abc import Callable
from contextlib import suppress
from typing import Literal, TypeVar

from textual.app import SuspendNotSupported

from prong.agents.run import environment
from prong.app import App
from prong.errors import Busy, Unavailable
from prong.model.forks import Launch
from prong.model.workers import WorkerState
from prong.tui.lanes import Lanes
from prong.tui.screens.dialogs import QuestionDialog, TextDialog
from prong.tui.screens.view import MainScreen
from prong.views.command_line import command_line
from prong.views.text import clean

T = TypeVar("T")

_SLICE = 0.5
"""Seconds between checks that a wait is still wanted."""
_LONG = 30.0
"""Seconds that a notification stays which the user waited for, or wants to copy."""


class WorkerActs:
    """Actions on a worker; those that create or rename one return the new name."""

    def __init__(self, view: MainScreen, lanes: Lanes) -> None:
        self._view = view
        self._lanes = lanes

    async def attach(self, name: str) -> None:
        """Focus its pane in the same terminal, or show it here for a while."""
        launch = await self._aside(lambda app: app.workers.attach(name))
        if launch is None:
            self._say(f"switched to the pane of {name}")
            return
        if not self._view.is_current:
            return  # the user has left this screen, and would not expect the UI to disappear
        error: OSError | None = None
        status = 0
        try:
            with self._view.ui.suspend():
                # Nothing may raise here: Textual would not restore the screen.
                try:
                    status = _shown_here(launch)
                except OSError as raised:
                    error = raised
        except SuspendNotSupported:
            self._say(f"type in a terminal: {command_line(launch)}", timeout=_LONG)
            return
        self._view.ui.refresh()
        if error is not None:
            message = f"{launch.argv[0]} does not start: {error.strerror}"
            raise Unavailable(message, hint="prong doctor")
        if status:
            self._say(f"{launch.argv[0]} ended with {status}", severity="warning")

    async def send(self, name: str) -> None:
        dialog = TextDialog(f"Send to {name}", placeholder="its next prompt")
        text = await self._view.ui.push_screen_wait(dialog)
        if text is not None and text.strip():
            await self._aside(lambda app: app.workers.prompts.send(name, text))
            self._say(f"sent to {name}")

    async def wait(self, name: str, is_wanted: Callable[[], bool]) -> None:
        """Notify when the worker is idle, needs input or is gone. Ends its thread."""
        lane = self._lanes.aside("wait", finishes=False)
        try:
            status = None
            while status is None and is_wanted():
                with suppress(Busy):
                    (status,) = await lane.do(
                        lambda app: app.workers.states.wait([name], timeout=_SLICE)
                    )
        finally:
            lane.close()
        if status is not None and is_wanted():
            request = f": {status.evidence.detail}" if status.evidence.detail else ""
            severity = "information" if status.state is WorkerState.IDLE else "warning"
            self._say(f"{name} is {status.state.value}{request}", severity=severity, timeout=_LONG)
            self._view.ui.bell()

    async def stop(self, name: str) -> None:
        try:
            await self._aside(lambda app: app.workers.stop(name))
        except Busy as error:
            if not self._view.is_current:
                # Keys typed on another screen must not answer this question.
                self._say(f"{error.message}; press x to try again", severity="warning")
                return
            question = f"{error.message}. Stop it?"
            dialog = QuestionDialog(question, yes="Stop it", no="Keep it running")
            if not await self._view.ui.push_screen_wait(dialog):
                return
            await self._aside(lambda app: app.workers.stop(name, force=True))
        self._say(f"{name} stopped; R resumes its session")

    async def restart(self, name: str) -> None:
        await self._aside(lambda app: app.workers.starter.restart(name))
        self._say(f"{name} restarted")

    async def forget(self, name: str) -> None:
        await self._aside(lambda app: app.workers.forget(name))
        self._say(f"{name} forgotten; its session and workspace are kept")

    async def rename(self, name: str) -> str | None:
        dialog = TextDialog(f"New name for {name}", name)
        new = (await self._view.ui.push_screen_wait(dialog) or "").strip()
        if not new or new == name:
            return None
        return (await self._aside(lambda app: app.workers.rename(name, new))).name

    async def clone(self, name: str) -> str:
        """Clone the worker as soon as it is idle."""
        self._say(f"cloning {name} ...")
        is_told = False
        while True:
            try:
                worker = await self._aside(
                    lambda app: app.workers.cloner.clone(name, timeout=_SLICE)
                )
                break
            except Busy:
                if not is_told:
                    self._say(f"{name} is busy; it is cloned as soon as it is idle")
                is_told = True
        for warning in worker.warnings:
            self._say(warning, severity="warning")
        self._say(f"{worker.name} is a clone of {name}")
        return worker.name

    async def _aside(self, act: Callable[[App], T]) -> T:
        """Run in a lane of its own, so that worker statuses are still refreshed."""
        lane = self._lanes.aside("worker")
        try:
            return await lane.do(act)
        finally:
            lane.close()

    def _say(
        self,
        text: str,
        *,
        severity: Literal["information", "warning"] = "information",
        timeout: float | None = None,
    ) -> None:
        self._view.notify(clean(text), severity=severity, timeout=timeout, markup=False)


def _shown_here(launch: Launch) -> int:
    """Run a program in this terminal until the user detaches or ends it; return its status."""
    argv, variables = launch.argv, environment(launch)
    return subprocess.run(argv, cwd=launch.cwd, env=variables, check=False).returncode
