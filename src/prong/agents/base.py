"""What an agent is: `AgentStore`, the base class of the stores of all agents.

Five methods are required; they read sessions. Everything else is optional: it raises
`Unsupported`, or has a default that fits agents without it (no program, no hooks, nothing to
trust). Callers call it; who has to know beforehand asks `store.program is None` or
`store.supports("convert")`.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, Self

from prong.errors import ProngError, Unsupported
from prong.model.code import TurnKey
from prong.model.forks import Child, Cut, Extent, Launch, Method
from prong.model.record import Record
from prong.model.sessions import (
    Activity,
    Conversation,
    KnownFile,
    Message,
    Program,
    Retention,
    Scan,
    Session,
    SessionRef,
    View,
)

if TYPE_CHECKING:
    from prong.agents.headless import ProgramAnswer, TurnOutput
    from prong.agents.settings.mcp_base import AgentMcp
    from prong.files.publication import Publication
    from prong.model.turn_text import FileTexts, TextSink
    from prong.model.workers import LastWords, NewSession, OpenSession, Route, RunOptions

TurnOver = Callable[[TurnKey, datetime, Mapping[str, str]], None]
"""Called at the end of each sample turn with its key, the time and all files by name."""

HookScope = Literal["user", "project"]
"""All sessions of the user, or those in one folder."""


class AgentStore(ABC):
    """The sessions of one agent, and what its program can do. Session files are only read."""

    name: str
    """The agent's name in `name:id`."""
    roots: Sequence[Path]
    """The configuration folders to search, existing or not."""
    command: str | tuple[str, ...] = ()
    """How to start the agent: a shell command line or a list of words; empty if unknown.

    The registry sets it from the configuration.
    """

    # -- reading -------------------------------------------------------------------------------

    @abstractmethod
    def scan(self, cache: ScanCache) -> Scan:
        """List every session, opening only files that differ from the cache."""

    @abstractmethod
    def session_at(self, path: Path) -> Session | None:
        """Read the session in any file; None when it is not in this agent's format.

        Raises `Corrupt` when the format is right but nothing in the file is usable.
        """

    @abstractmethod
    def conversation(self, session: Session) -> Conversation:
        """Read the turns of a session."""

    @abstractmethod
    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        """Yield the messages in order, or those of one turn (an id, abandoned turns included)."""

    @abstractmethod
    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        """Yield the lines behind `messages(view=HISTORY)`, byte for byte."""

    # -- what it can do ------------------------------------------------------------------------

    def supports(self, method: str) -> bool:
        """Return whether the agent has its own version of an optional method."""
        return getattr(type(self), method) is not getattr(AgentStore, method)

    def unsupported(self, what: str) -> Unsupported:
        return Unsupported(f"sessions of {self.name} cannot {what}")

    @property
    def program(self) -> Program | None:
        """The command-line program of the agent."""
        return None

    def with_command(self, command: str | tuple[str, ...] | None) -> Self:
        """Return a copy of the store that starts the agent by this command; itself for None."""
        if command is None:
            return self
        if not self.command:
            raise Unsupported(f"{self.name} cannot be started by another command")
        store = copy.copy(self)
        store.command = command
        return store

    def activity(self, session: Session) -> Activity:
        """Return whether a process of the agent has the session open, and works on it."""
        return Activity.CLOSED

    def retention(self, root: Path) -> Retention | None:
        """Return when old sessions are deleted; None when nothing is deleted."""
        return None

    @property
    def hooks(self) -> AgentHooks | None:
        """The editor of the settings that make the agent call `prong-hook`."""
        return None

    @property
    def mcp_servers(self) -> AgentMcp | None:
        """The editor of the agent's list of MCP servers."""
        return None

    def write_samples(
        self, cwd: str, now: datetime, turn_over: TurnOver | None = None, /
    ) -> SessionRef:
        """Write sample sessions into the first root, for `prong demo`; return the first to show."""
        raise self.unsupported("be made up")

    # -- texts to index: without these, search reads the messages of each session ----------------

    def scan_texts(self, cache: ScanCache, sink: TextSink) -> Scan:
        """Scan, and pass the text of each file that is read to the sink, if it wants it.

        Unchanged files are not opened even if the sink wants them: use `file_texts` for those.
        """
        return self.scan(cache)

    def file_texts(self, path: str, *, output: bool = True) -> FileTexts | None:
        """Extract the text of one file, with or without tool output; None when it is gone."""
        raise self.unsupported("be indexed by file")

    # -- forks -----------------------------------------------------------------------------------

    writes_empty: bool = False
    """Whether a session without turns can be written and resumed."""

    def source(self, session: Session, cache: ScanCache | None = None) -> ForkSource:
        """Read a session to fork, or reuse what a scan read. Close the source after use."""
        raise self.unsupported("be forked")

    def fork_id(
        self, method: Method, source: ForkSource, cut: Cut, wanted: str | None
    ) -> str | None:
        """Return the id of the new fork; None when the agent's program will choose it.

        The source may be a session of another agent. Raises `UsageError` when the wanted id is
        malformed for this agent, or when this method does not accept one.
        """
        raise self.unsupported("be the fork of another one")

    def copy(self, source: ForkSource, cut: Cut, child: Child, publication: Publication) -> Session:
        """Write the fork, verify it by reading it back, and publish it."""
        raise self.unsupported("be forked")

    def convert(
        self, messages: Iterable[Message], child: Child, publication: Publication
    ) -> Session:
        """Write another agent's conversation: tool calls become labelled text.

        Images are read lazily, so keep the source of the messages open.
        """
        raise self.unsupported("be written from another agent's")

    def fork_natively(self, session: Session, child: Child) -> str:
        """Fork by the agent's own command at once, without a prompt; return the id it chose."""
        raise self.unsupported("be forked by its own program")

    longest_seed: int = 0
    """The maximum number of characters of a first prompt without a terminal."""

    @property
    def seed_flags(self) -> Sequence[str]:
        """The program flags that a seed needs, besides those of `program`."""
        return ()

    def seed(self, child: Child) -> Launch:
        """Build the command that reads the prompt from standard input and runs no tools."""
        raise self.unsupported("be seeded")

    def seeded(self, child: Child, output: Iterable[str]) -> ProgramAnswer:
        """Parse the answer from the standard output of that command."""
        raise self.unsupported("be seeded")

    # -- launches: these build commands and start nothing ----------------------------------------

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        """Start an empty session, with the child's id if the agent accepts one."""
        raise self.unsupported("be started")

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        """Resume the session itself."""
        raise self.unsupported("be started")

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        """Fork the whole session with the agent's own command, under the child's id."""
        raise self.unsupported("be started")

    # -- workers: the agent in a pane, or one process for each prompt -----------------------------

    chooses_ids: bool = False
    """Whether the program always chooses the id of a new session."""

    def command_with(self, options: RunOptions) -> str | tuple[str, ...]:
        """Add the options to the command, and remove its session flags and prompt.

        Raises `Unsupported` for an option that the agent does not have.
        """
        raise self.unsupported("be a worker")

    def session_in(self, command: str | Sequence[str]) -> str | None:
        """Return the session id that a user's command names."""
        return None

    def begin(self, new: NewSession, prompt: str | None = None) -> Launch:
        """Build the launch of a new session in a terminal."""
        raise self.unsupported("be a worker")

    def headless(self, session: NewSession, *, resume: bool) -> Launch:
        """Build the launch of one headless turn: prompt on standard input, events on output."""
        raise self.unsupported("be a worker")

    def headless_events(self, output: Iterable[str]) -> TurnOutput:
        """Parse the output of a headless turn so far."""
        raise self.unsupported("be a worker")

    def open_sessions(self, pids: Iterable[int]) -> Mapping[int, OpenSession]:
        """Return the sessions that these processes have open, by pid."""
        return {}

    def live_folders(self, sessions: Iterable[str], /) -> Iterable[Path]:
        """Return the folders where a file changes once the agent starts, stops or waits."""
        return ()

    def last_words(self, session: Session) -> LastWords | None:
        """Read the last prompt and answer from the end of the file, if that is cheap."""
        return None

    def settings_files(self, folder: Path, root: Path | None = None) -> Sequence[Path]:
        """Return the settings files that apply in a folder, existing or not."""
        return ()

    def is_trusted(self, folder: Path, root: Path | None = None) -> bool:
        """Return False if the agent would ask before it works in this folder."""
        return True

    def trusting(self, folder: Path, root: Path | None = None) -> tuple[Path, bytes | None, bytes]:
        """Return the agent's trust file: path, content, and content with trust added."""
        raise self.unsupported("be told which folders to trust")

    def dialog_on(self, screen: str) -> str | None:
        """Return the kind of dialog: `trust`, `permission`, `question`; None without one."""
        return None

    input_column: int = 0
    """The column of the first character in the input line."""

    def input_on(self, screen: str) -> str | None:
        """Return the text in the input line, after the sign of a mode (`!`); None if not visible.

        A suggestion of the agent reads like a draft; only the cursor, which precedes a
        suggestion, tells them apart.
        """
        return None

    def as_prompt(self, text: str, route: Route) -> str:
        """Change the text as little as necessary to make it a prompt, not a command (`/clear`)."""
        return text


class HookedFiles(Record, frozen=True):
    """Settings files with prong's hooks added, and notes for the user."""

    contents: Mapping[Path, bytes]
    notes: tuple[str, ...] = ()


class AgentHooks(ABC):
    """Editor of the settings that make an agent call a program at turn start and end.

    It computes new file contents; the caller writes them.
    """

    @abstractmethod
    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        """Return the settings files to change, in the order to write them."""

    @abstractmethod
    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        """Add hooks that call the command to files that contain none of prong's.

        Raises `ConfigError` for a file that cannot be changed safely.
        """

    @abstractmethod
    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        """Remove prong's entries and change nothing else."""

    @abstractmethod
    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        """Return prong's entries: command by event (or other key)."""

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """Add hooks to one launch without changing the user's settings.

        Extra files go into `folder`. Raises `ConfigError` when the settings that the launch
        names cannot be read.
        """
        return launch

    def turned_off(self, scope: HookScope, folder: Path) -> ProngError | None:
        """Return the error to show when a setting disables all hooks; None when they run."""
        return None


class ForkSource(Protocol):
    """A session as read at one moment, to fork from. Lines appended later are not part of it."""

    @property
    def conversation(self) -> Conversation: ...

    def extent(self, cut: Cut) -> Extent:
        """Measure a fork at this cut."""
        ...

    def messages(self, cut: Cut) -> Iterator[Message]:
        """Yield the messages the model would get, with their turn numbers.

        With `cut.full`, yield the history instead, including what precedes a compaction.
        """
        ...

    def close(self) -> None: ...


class ScanCache(Protocol):
    """Results of earlier scans. Deleting it only makes the next scan slower."""

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        """Return the files of the last scan by path, without their `state`."""
        ...

    def file(self, agent: str, path: str) -> KnownFile | None:
        """Return one file, with its `state` if it has one."""
        ...

    def result(self, agent: str) -> bytes | None:
        """Return the result of the last scan that had one."""
        ...

    def save(self, agent: str, scan: Scan) -> None:
        """Store a scan."""
        ...
