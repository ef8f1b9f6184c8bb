"""Base class of stores whose agent prong can run as a worker.

The modules that know the agent's commands and screens are imported on use, since most commands
start nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from prong.agents.base import AgentStore

if TYPE_CHECKING:
    from prong.agents.headless import TurnOutput
    from prong.model.forks import Child, Launch
    from prong.model.sessions import Session
    from prong.model.workers import LastWords, NewSession, OpenSession, Route, RunOptions


class WorkerStore(AgentStore):
    """A store with modules beside it: `launch`, `worker`, and `trust` in `settings`.

    They have a function for each method here.
    """

    package: str
    input_column = 2  # after the prompt sign and a space

    def _module(self, name: str) -> ModuleType:
        return import_module(f"{self.package}.{name}")

    @property
    def _launch(self) -> ModuleType:
        return self._module("launch")

    @property
    def _worker(self) -> ModuleType:
        return self._module("worker")

    @property
    def _trust(self) -> ModuleType:
        return self._module("settings.trust")

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        return self._launch.start(self.command, self.roots, child, prompt)

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        return self._launch.resume(self.command, self.roots, session, cwd, prompt)

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        return self._launch.native_fork(self.command, self.roots, session, child, prompt)

    @property
    def seed_flags(self) -> Sequence[str]:
        return self._launch.SEED_FLAGS

    def seed(self, child: Child) -> Launch:
        return self._launch.seed(self.command, self.roots, child)

    def command_with(self, options: RunOptions) -> tuple[str, ...]:
        return self._worker.command_with(self.command, options)

    def session_in(self, command: str | Sequence[str]) -> str | None:
        return self._worker.session_in(command)

    def begin(self, new: NewSession, prompt: str | None = None) -> Launch:
        return self._worker.begin(self.command, self.roots, new, prompt)

    def headless(self, session: NewSession, *, resume: bool) -> Launch:
        return self._worker.one_turn(self.command, self.roots, session, resume=resume)

    def headless_events(self, output: Iterable[str]) -> TurnOutput:
        return self._worker.turn_output(output)

    def open_sessions(self, pids: Iterable[int]) -> Mapping[int, OpenSession]:
        return self._worker.open_sessions(self.roots, pids)

    def settings_files(self, folder: Path, root: Path | None = None) -> Sequence[Path]:
        return self._worker.settings_files(self.command, folder, root or self.roots[0])

    def dialog_on(self, screen: str) -> str | None:
        return self._worker.dialog_on(screen)

    def input_on(self, screen: str) -> str | None:
        return self._worker.input_on(screen)

    def as_prompt(self, text: str, route: Route) -> str:
        return self._worker.as_prompt(text, route)

    def last_words(self, session: Session) -> LastWords:
        return self._worker.last_words(session.path)

    def is_trusted(self, folder: Path, root: Path | None = None) -> bool:
        return self._trust.is_trusted(folder, root or self.roots[0])

    def trusting(self, folder: Path, root: Path | None = None) -> tuple[Path, bytes | None, bytes]:
        return self._trust.edited(folder, root or self.roots[0])
