"""Base class of the stores of Claude Code and Codex: what the two have in common.

The modules that know the agent's commands and screens are imported on use, since most commands
start nothing.
"""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Protocol

from prong.agents import jsonl
from prong.agents.base import AgentHooks, AgentStore, ForkSource, ScanCache
from prong.model.sessions import Conversation, Message, Program, SessionRef, View

if TYPE_CHECKING:
    from datetime import datetime

    from prong.agents.base import TurnOver
    from prong.agents.headless import ProgramAnswer, TurnOutput
    from prong.agents.settings.mcp_base import AgentMcp
    from prong.model.forks import Child, Launch
    from prong.model.sessions import Scan, Session
    from prong.model.turn_text import TextSink
    from prong.model.workers import LastWords, NewSession, OpenSession, Route, RunOptions


class LazyModule(ModuleType):
    """A module that is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self.__name__), name)


def lazy_modules(package: str, *names: str) -> list[LazyModule]:
    return [LazyModule(f"{package}.{name}") for name in names]


class SessionSource(ForkSource, Protocol):
    """A source that can also show the session."""

    def shown(self, view: View, turn: str | None) -> Iterator[Message]:
        """Yield the messages of a view, or of one turn, without images."""
        ...

    def raw(self, turn: str | None) -> Iterator[bytes]: ...


class WorkerStore(AgentStore):
    """A store with modules beside it that know command lines, output, screens and settings."""

    package: str
    product: str
    install: str
    tested: tuple[str, ...]
    root_variable: str
    home: str
    """The name of the default root in the user's home."""
    shown_sample = 0
    """The most interesting of the sample sessions, by its place."""
    input_column = 2  # after the prompt sign and a space

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots: Sequence[Path] = tuple(roots) if roots else (self._default_root(),)
        self._launch, self._output, self._activity = lazy_modules(
            self.package, "launch", "output", "activity"
        )
        self._hooks, self._mcp, self._trust = lazy_modules(
            f"{self.package}.settings", "hooks", "mcp_servers", "trust"
        )

    def _default_root(self) -> Path:
        configured = os.environ.get(self.root_variable)
        return Path(configured) if configured else Path.home() / self.home

    @abstractmethod
    def source(self, session: Session, cache: ScanCache | None = None) -> SessionSource: ...

    @abstractmethod
    def _scan(self, cache: ScanCache, sink: TextSink | None) -> Scan: ...

    def scan(self, cache: ScanCache) -> Scan:
        return self._scan(cache, None)

    def scan_texts(self, cache: ScanCache, sink: TextSink) -> Scan:
        return self._scan(cache, sink)

    def conversation(self, session: Session) -> Conversation:
        with closing(self.source(session)) as source:
            return source.conversation

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        with closing(self.source(session)) as source:
            yield from source.shown(view, turn)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        with closing(self.source(session)) as source:
            yield from source.raw(turn)

    @property
    def program(self) -> Program:
        from prong.agents.argv import executable

        return Program(
            executable(self.command, self.name),
            self._launch.FLAGS,
            self.install,
            self.root_variable,
            self.product,
            self.tested,
        )

    @property
    def hooks(self) -> AgentHooks:
        return self._hooks.editor(self.roots[0], self.command)

    @property
    def mcp_servers(self) -> AgentMcp:
        root = self.roots[0]
        return self._mcp.editor(root, self.command, self.program.name, self.environment(root))

    def write_samples(
        self, cwd: str, now: datetime, turn_over: TurnOver | None = None, /
    ) -> SessionRef:
        from prong.agents.samples import Samples

        samples = Samples(self.package, cwd, now, self.tested[-1])
        if turn_over is not None:
            samples.replay(self.name, turn_over)
        ids = samples.write(partial(self._sample_path, cwd))
        return SessionRef(self.name, ids[self.shown_sample])

    def _sample_path(self, cwd: str, id_: str, text: str) -> Path:
        raise NotImplementedError

    # -- launches --------------------------------------------------------------------------------

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        return self._forked(self._launch.start(self.command, child, prompt), child)

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        root = self.root_of(session)
        words = self._launch.resume(self.command, root, session, cwd, prompt)
        return self._launched(words, cwd, root, f"{session.agent}:{session.id[:8]}")

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        root = self._native_root(session, child)
        words = self._launch.native_fork(self.command, root, session, child, prompt)
        return self._forked(words, child, root)

    @property
    def seed_flags(self) -> Sequence[str]:
        return self._launch.SEED_FLAGS

    def seed(self, child: Child) -> Launch:
        words = self._launch.seed(self.command, child.root or self.roots[0], child)
        return self._forked(words, child, env=self._launch.SEED_ENVIRONMENT)

    def seeded(self, child: Child, output: Iterable[str]) -> ProgramAnswer:
        return self._output.seed_answer(output)

    def begin(self, new: NewSession, prompt: str | None = None) -> Launch:
        return self._begun(self._launch.begin(self.command, new, prompt), new)

    def headless(self, session: NewSession, *, resume: bool) -> Launch:
        return self._begun(self._launch.one_turn(self.command, session, resume=resume), session)

    def _begun(self, words: Sequence[str], new: NewSession) -> Launch:
        title = new.title or (f"{self.name}:{new.id[:8]}" if new.id else self.name)
        return self._launched(words, new.cwd, new.root or self.roots[0], title)

    def _forked(
        self,
        words: Sequence[str],
        child: Child,
        root: Path | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Launch:
        parent = child.parent
        turn = (parent.turn_id or "")[:8] if parent.turn is None else parent.turn
        title = f"fork of {parent.session.id[:8]}@{turn}"
        return self._launched(words, child.cwd, root or child.root or self.roots[0], title, env)

    def _launched(
        self,
        words: Sequence[str],
        cwd: Path,
        root: Path,
        title: str,
        env: Mapping[str, str] | None = None,
    ) -> Launch:
        from prong.agents.argv import launch

        return launch(words, cwd, {**self.environment(root), **(env or {})}, title)

    def environment(self, root: Path) -> dict[str, str]:
        """Return the variable that sets the agent's root; nothing when it is the default."""
        same = os.path.realpath(root) == os.path.realpath(self._default_root())
        return {} if same else {self.root_variable: str(root.absolute())}

    def root_of(self, session: Session) -> Path:
        """Return the root that contains a session; the first one for files elsewhere."""
        path = session.path
        own = next((root for root in self.roots if path.is_relative_to(root)), None)
        return own or self._launch.root_around(path) or self.roots[0]

    def _native_root(self, session: Session, child: Child) -> Path:
        return self.root_of(session)

    # -- workers ---------------------------------------------------------------------------------

    def command_with(self, options: RunOptions) -> tuple[str, ...]:
        return self._launch.command_with(self.command, options)

    def session_in(self, command: str | Sequence[str]) -> str | None:
        return self._launch.session_in(command)

    def headless_events(self, output: Iterable[str]) -> TurnOutput:
        return self._output.turn_output(output)

    def open_sessions(self, pids: Iterable[int]) -> Mapping[int, OpenSession]:
        return self._activity.open_sessions(self.roots, pids)

    def settings_files(self, folder: Path, root: Path | None = None) -> Sequence[Path]:
        return self._launch.settings_files(self.command, folder, root or self.roots[0])

    def dialog_on(self, screen: str) -> str | None:
        return self._activity.dialog_on(screen)

    def input_on(self, screen: str) -> str | None:
        return self._activity.input_on(screen)

    def as_prompt(self, text: str, route: Route) -> str:
        return self._launch.as_prompt(text, route)

    def last_words(self, session: Session) -> LastWords:
        last_words = self._activity.last_words
        words: LastWords = last_words(jsonl.last_lines(session.path))
        # Long lines, such as lists of tools, may follow the answer.
        lines = jsonl.last_lines(session.path, jsonl.LARGE_TAIL)
        return words if words.said else last_words(lines)

    def is_trusted(self, folder: Path, root: Path | None = None) -> bool:
        return self._trust.is_trusted(folder, root or self.roots[0])

    def trusting(self, folder: Path, root: Path | None = None) -> tuple[Path, bytes | None, bytes]:
        return self._trust.edited(folder, root or self.roots[0])
