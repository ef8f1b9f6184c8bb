"""Protocols that agents implement: `AgentStore`, and one for each optional capability.

Test for a capability with `isinstance(store, CanFork)`, or call `capable`, which raises.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol, TypeVar, runtime_checkable

from prong.errors import ProngError, Unsupported
from prong.model.code import TurnKey
from prong.model.forks import Child, Cut, Extent, Launch, Method
from prong.model.record import Record
from prong.model.search import Answer, Query
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
    from prong.files.publication import Publication
    from prong.model.turn_text import FileTexts, TextSink


class AgentStore(Protocol):
    """Read-only access to the session files of one agent."""

    @property
    def name(self) -> str:
        """The agent's name in `name:id`."""
        ...

    @property
    def roots(self) -> Sequence[Path]:
        """The configuration folders to search, existing or not."""
        ...

    def scan(self, cache: ScanCache) -> Scan:
        """List every session, opening only files that differ from the cache."""
        ...

    def session_at(self, path: Path) -> Session | None:
        """Read the session in any file; None when it is not in this agent's format.

        Raises `Corrupt` when the format is right but nothing in the file is usable.
        """
        ...

    def conversation(self, session: Session) -> Conversation:
        """Read the turns of a session."""
        ...

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        """Yield the messages in order, or those of one turn (an id, abandoned turns included)."""
        ...

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        """Yield the lines behind `messages(view=HISTORY)`, byte for byte."""
        ...


@runtime_checkable
class HasTexts(Protocol):
    """Agents that extract the text to index in the same pass as the scan.

    For other agents, search reads the turns and messages of each session.
    """

    def scan_texts(self, cache: ScanCache, sink: TextSink) -> Scan:
        """Scan, and pass the text of each file that is read to the sink, if it wants it.

        Unchanged files are not opened even if the sink wants them: use `file_texts` for those.
        """
        ...

    def file_texts(self, path: str, *, output: bool = True) -> FileTexts | None:
        """Extract the text of one file, with or without tool output; None when it is gone."""
        ...


class SearchEngine(Protocol):
    """A search back end. It reports failures in the answer instead of raising."""

    @property
    def name(self) -> str: ...

    def search(self, query: Query) -> Answer: ...


class AgentFactory(Protocol):
    """The object an entry point of the group `prong.agents` names: roots in, store out.

    Without roots, the store uses the folders that the agent's own program uses.
    """

    def __call__(self, roots: Sequence[Path] | None = None) -> AgentStore: ...


@runtime_checkable
class HasProgram(Protocol):
    """Agents with a command-line program that prong can start."""

    @property
    def program(self) -> Program: ...


@runtime_checkable
class HasCommand(Protocol):
    """Agents whose start command can be configured."""

    command: str | Sequence[str]
    """A shell command line, or a list of words; the registry sets it from the configuration."""


@runtime_checkable
class HasRetention(Protocol):
    """Agents that delete old sessions."""

    def retention(self, root: Path) -> Retention | None:
        """Return the retention period; None when nothing is deleted."""
        ...


TurnOver = Callable[[TurnKey, datetime, Mapping[str, str]], None]
"""Called at the end of each sample turn with its key, the time and all files by name."""


@runtime_checkable
class HasSamples(Protocol):
    """Agents that can write sample sessions, for `prong demo`."""

    def write_samples(
        self, cwd: str, now: datetime, turn_over: TurnOver | None = None, /
    ) -> SessionRef:
        """Write into the first root, a throw-away folder; return the session to show first."""
        ...


@runtime_checkable
class HasActivity(Protocol):
    """Agents that record whether they are working on a session."""

    def activity(self, session: Session) -> Activity: ...


HookScope = Literal["user", "project"]
"""All sessions of the user, or those in one folder."""


class HookedFiles(Record, frozen=True):
    """Settings files with prong's hooks added, and notes for the user."""

    contents: Mapping[Path, bytes]
    notes: tuple[str, ...] = ()


class AgentHooks(Protocol):
    """Editor of the settings that make an agent call a program at turn start and end.

    It computes new file contents; the caller writes them.
    """

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        """Return the settings files to change, in the order to write them."""
        ...

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        """Add hooks that call the command to files that contain none of prong's.

        Raises `ConfigError` for a file that cannot be changed safely.
        """
        ...

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        """Remove prong's entries and change nothing else."""
        ...

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        """Return prong's entries: command by event (or other key)."""
        ...

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """Add hooks to one launch without changing the user's settings.

        Extra files go into `folder`. Raises `ConfigError` when the settings that the launch
        names cannot be read.
        """
        ...


@runtime_checkable
class CanBeTurnedOff(Protocol):
    """Agents with a setting that disables all hooks."""

    def turned_off(self, scope: HookScope, folder: Path) -> ProngError | None:
        """Return the error to show when hooks are disabled; None when they run."""
        ...


@runtime_checkable
class HasHooks(Protocol):
    """Agents that call programs when a turn begins and ends."""

    @property
    def hooks(self) -> AgentHooks: ...


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


@runtime_checkable
class CanFork(Protocol):
    """Agents whose sessions can be forked at any turn by writing a new session file."""

    def source(self, session: Session, cache: ScanCache | None = None) -> ForkSource:
        """Read a session to fork, or reuse what a scan read. Close the source after use."""
        ...

    @property
    def writes_empty(self) -> bool:
        """Whether a session without turns can be written and resumed."""
        ...

    def fork_id(
        self, method: Method, source: ForkSource, cut: Cut, wanted: str | None
    ) -> str | None:
        """Return the id of the new fork; None when the agent's program will choose it.

        The source may be a session of another agent. Raises `UsageError` when the wanted id is
        malformed for this agent, or when this method does not accept one.
        """
        ...

    def copy(self, source: ForkSource, cut: Cut, child: Child, publication: Publication) -> Session:
        """Write the fork, verify it by reading it back, and publish it."""
        ...


@runtime_checkable
class CanConvert(Protocol):
    """Agents that can store the conversations of other agents as their own sessions."""

    def convert(
        self, messages: Iterable[Message], child: Child, publication: Publication
    ) -> Session:
        """Write a session: prompts and answers as messages, tool calls as labelled text.

        Images are read lazily, so keep the source of the messages open.
        """
        ...


@runtime_checkable
class CanLaunch(Protocol):
    """Agents whose program can open a session. Builds commands; starts nothing."""

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        """Start an empty session, with the child's id if the agent accepts one."""
        ...

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        """Resume the session itself."""
        ...

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        """Fork the whole session with the agent's own command, under the child's id."""
        ...


@runtime_checkable
class CanForkNatively(Protocol):
    """Agents whose own fork chooses the new id, so that it must be created at once."""

    def fork_natively(self, session: Session, child: Child) -> str:
        """Create the fork without a prompt and return its id."""
        ...


@runtime_checkable
class CanSeed(Protocol):
    """Agents that accept a long first prompt without a terminal."""

    @property
    def seed_flags(self) -> Sequence[str]:
        """The program flags this needs, besides those of `HasProgram`."""
        ...

    @property
    def longest_seed(self) -> int:
        """The maximum number of characters the program accepts."""
        ...

    def seed(self, child: Child) -> Launch:
        """Build the command that reads the prompt from standard input and runs no tools."""
        ...

    def seeded(self, child: Child, output: Iterable[str]) -> SeedReply:
        """Parse the answer from the program's standard output."""
        ...


class SeedReply(Protocol):
    """The answer to a seed."""

    @property
    def session_id(self) -> str | None: ...

    @property
    def text(self) -> str:
        """The agent's answer without its thinking, joined if it came in pieces."""
        ...

    @property
    def error(self) -> str | None:
        """Why there is no answer."""
        ...


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


T = TypeVar("T")


def capable(store: AgentStore, protocol: type[T], what: str) -> T:
    """Return the store if it implements the protocol; raise `Unsupported` otherwise."""
    if not isinstance(store, protocol):
        raise Unsupported(f"sessions of {store.name} cannot {what}")
    return store
