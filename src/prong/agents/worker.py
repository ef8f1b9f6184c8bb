"""Store methods that run an agent as a worker; the modules behind them are imported on use."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from prong.agents.argv import Command
    from prong.agents.headless import TurnOutput
    from prong.agents.worker_base import LastWords, NewSession, OpenSession, Route
    from prong.model.forks import Launch
    from prong.model.sessions import Session
    from prong.model.workers import RunOptions


class WorkerModule(Protocol):
    """The interface of an agent's module `worker`."""

    def command_with(self, command: "Command", options: "RunOptions") -> tuple[str, ...]: ...

    def session_in(self, command: "Command") -> str | None: ...

    def begin(
        self,
        command: "Command",
        roots: Sequence[Path],
        new: "NewSession",
        prompt: str | None = None,
    ) -> "Launch": ...

    def one_turn(
        self, command: "Command", roots: Sequence[Path], session: "NewSession", *, resume: bool
    ) -> "Launch": ...

    def turn_output(self, output: Iterable[str]) -> "TurnOutput": ...

    def open_sessions(
        self, roots: Sequence[Path], pids: Iterable[int]
    ) -> "Mapping[int, OpenSession]": ...

    def settings_files(self, command: "Command", folder: Path, root: Path) -> list[Path]: ...

    def dialog_on(self, screen: str) -> str | None: ...

    def input_on(self, screen: str) -> str | None: ...

    def last_words(self, path: Path) -> "LastWords": ...

    def as_prompt(self, text: str, route: "Route") -> str: ...


class Trust(Protocol):
    """The interface of an agent's module `settings.trust`."""

    def is_trusted(self, folder: Path, root: Path) -> bool: ...

    def edited(self, folder: Path, root: Path) -> tuple[Path, bytes | None, bytes]: ...


class WorkerStore:
    """Base class that implements `CanWork`, `HasTrust` and the like with two modules."""

    roots: Sequence[Path]
    command: "Command"
    input_column: int = 2
    """After the prompt sign and a space."""

    @property
    def _working(self) -> WorkerModule:
        raise NotImplementedError

    @property
    def _trust(self) -> Trust:
        raise NotImplementedError

    def command_with(self, options: "RunOptions") -> tuple[str, ...]:
        return self._working.command_with(self.command, options)

    def session_in(self, command: "Command") -> str | None:
        return self._working.session_in(command)

    def begin(self, new: "NewSession", prompt: str | None = None) -> "Launch":
        return self._working.begin(self.command, self.roots, new, prompt)

    def headless(self, session: "NewSession", *, resume: bool) -> "Launch":
        return self._working.one_turn(self.command, self.roots, session, resume=resume)

    def headless_events(self, output: Iterable[str]) -> "TurnOutput":
        return self._working.turn_output(output)

    def open_sessions(self, pids: Iterable[int]) -> "Mapping[int, OpenSession]":
        return self._working.open_sessions(self.roots, pids)

    def settings_files(self, folder: Path, root: Path | None = None) -> list[Path]:
        return self._working.settings_files(self.command, folder, root or self.roots[0])

    def dialog_on(self, screen: str) -> str | None:
        return self._working.dialog_on(screen)

    def input_on(self, screen: str) -> str | None:
        return self._working.input_on(screen)

    def as_prompt(self, text: str, route: "Route") -> str:
        return self._working.as_prompt(text, route)

    def last_words(self, session: "Session") -> "LastWords":
        return self._working.last_words(session.path)

    def is_trusted(self, folder: Path, root: Path | None = None) -> bool:
        return self._trust.is_trusted(folder, root or self.roots[0])

    def trusting(self, folder: Path, root: Path | None = None) -> tuple[Path, bytes | None, bytes]:
        return self._trust.edited(folder, root or self.roots[0])
