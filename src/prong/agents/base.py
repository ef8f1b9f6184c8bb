"""What an agent is: `AgentStore`, and the protocols of what only some agents can do.

Callers ask `isinstance(store, CanFork)`, or `capable`, which raises `Unsupported`.
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
    """Reads the session files of one agent. Never writes to them."""

    @property
    def name(self) -> str:
        """The agent's name in `name:id`."""
        ...

    @property
    def roots(self) -> Sequence[Path]:
        """The configuration folders that are looked at, existing or not."""
        ...

    def scan(self, cache: ScanCache) -> Scan:
        """List every session, opening only files that differ from what the cache knows."""
        ...

    def session_at(self, path: Path) -> Session | None:
        """The session in this file, wherever it lies; None when it is not this agent's format.

        Raises `Corrupt` when it is, but nothing in it can be used.
        """
        ...

    def conversation(self, session: Session) -> Conversation:
        """The turns of a session."""
        ...

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        """The messages in order. `turn` (an id, also of an abandoned turn) keeps that turn only."""
        ...

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        """The lines behind `messages(view=HISTORY)`, byte for byte as the agent wrote them."""
        ...


@runtime_checkable
class HasTexts(Protocol):
    """The agent can give the words of its sessions in the same pass in which it scans them.

    Of other agents the search reads each session's turns and messages.
    """

    def scan_texts(self, cache: ScanCache, sink: TextSink) -> Scan:
        """Scan; the words of each file that is read go to the sink, if it wants them.

        Files that the cache knows are not opened, wanted or not: that is for `file_texts`.
        """
        ...

    def file_texts(self, path: str, *, output: bool = True) -> FileTexts | None:
        """The words of one file, with what tools gave back or without; None when it is gone."""
        ...


class SearchEngine(Protocol):
    """Answers queries. It never raises for what it could not do: that is part of the answer."""

    @property
    def name(self) -> str: ...

    def search(self, query: Query) -> Answer: ...


class AgentFactory(Protocol):
    """What an entry point of the group `prong.agents` names: roots in, store out.

    Without roots the agent looks where its own program would look.
    """

    def __call__(self, roots: Sequence[Path] | None = None) -> AgentStore: ...


@runtime_checkable
class HasProgram(Protocol):
    """The agent has a command-line program that prong will start."""

    @property
    def program(self) -> Program: ...


@runtime_checkable
class HasCommand(Protocol):
    """The command that starts the agent can be another one than the program's name."""

    command: str | Sequence[str]
    """A line for a shell, or a list of words; the registry sets it from the configuration."""


@runtime_checkable
class HasRetention(Protocol):
    """The agent deletes old sessions by itself."""

    def retention(self, root: Path) -> Retention | None:
        """None when nothing is deleted."""
        ...


TurnOver = Callable[[TurnKey, datetime, Mapping[str, str]], None]
"""Told of a turn of a sample that is over: when, and all files in its folder by name."""


@runtime_checkable
class HasSamples(Protocol):
    """The agent can write sample sessions, for `prong demo`."""

    def write_samples(
        self, cwd: str, now: datetime, turn_over: TurnOver | None = None, /
    ) -> SessionRef:
        """Write into the first root, which must be a throw-away folder; name the best session."""
        ...


@runtime_checkable
class HasActivity(Protocol):
    """The agent leaves traces that tell whether it is at work on a session."""

    def activity(self, session: Session) -> Activity: ...


HookScope = Literal["user", "project"]
"""For all sessions of the user, or for those in one folder."""


class HookedFiles(Record, frozen=True):
    """Settings files as they would be with our hooks, and what the user should know of it."""

    contents: Mapping[Path, bytes]
    notes: tuple[str, ...] = ()


class AgentHooks(Protocol):
    """How an agent is told to call a program when a turn begins and ends. Writes no settings."""

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        """The settings files that it needs, in the order in which they are to be written."""
        ...

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        """These files, which have nothing of ours, with hooks that call the command.

        Raises `ConfigError` for a file that cannot be changed without damage.
        """
        ...

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        """These files without our entries; all the rest as it is."""
        ...

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        """Our entries: the event, or whatever else it is, and what is written there."""
        ...

    def for_one_run(self, launch: Launch, command: Sequence[str], folder: Path) -> Launch:
        """The launch with hooks for this run only; no settings of the user are changed.

        `folder` is one of ours for what that needs. Raises `ConfigError` when their settings
        cannot be read.
        """
        ...


@runtime_checkable
class CanBeTurnedOff(Protocol):
    """The agent has a setting by which it runs no hooks at all."""

    def turned_off(self, scope: HookScope, folder: Path) -> ProngError | None:
        """What to say of it where it does so; None where hooks run."""
        ...


@runtime_checkable
class HasHooks(Protocol):
    """The agent calls programs when a turn begins and ends."""

    @property
    def hooks(self) -> AgentHooks: ...


class ForkSource(Protocol):
    """One reading of a session, to fork from. What is appended later is not part of it."""

    @property
    def conversation(self) -> Conversation: ...

    def extent(self, cut: Cut) -> Extent:
        """How much a fork at this cut would hold."""
        ...

    def messages(self, cut: Cut) -> Iterator[Message]:
        """What the model would get of it, as messages with their turn's number.

        With `full`, what a person reads, also from before a compaction.
        """
        ...

    def close(self) -> None: ...


@runtime_checkable
class CanFork(Protocol):
    """Sessions of this agent can be forked at any turn by writing a new session file."""

    def source(self, session: Session, cache: ScanCache | None = None) -> ForkSource:
        """Read a session to fork from it, or recall what a scan read. The source must be closed."""
        ...

    @property
    def writes_empty(self) -> bool:
        """True when a session without a turn can be written and resumed."""
        ...

    def fork_id(
        self, method: Method, source: ForkSource, cut: Cut, wanted: str | None
    ) -> str | None:
        """The id of a fork of this agent; None when the agent's own program will choose it.

        The source may be a session of another agent. Raises `UsageError` when the wanted id is
        not of the agent's kind, or when it takes none for this method.
        """
        ...

    def copy(self, source: ForkSource, cut: Cut, child: Child, publication: Publication) -> Session:
        """Write the fork, read it back, publish it. The source stays as it is."""
        ...


@runtime_checkable
class CanConvert(Protocol):
    """Conversations of other agents can be written down as sessions of this one."""

    def convert(
        self, messages: Iterable[Message], child: Child, publication: Publication
    ) -> Session:
        """Write a session: prompts and answers as messages, tool calls as labelled text.

        Images are read while the source of the messages is open.
        """
        ...


@runtime_checkable
class CanLaunch(Protocol):
    """The agent's program can be started on a session. Builds commands; starts nothing."""

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        """A new, empty session; with the child's id where the agent lets one choose."""
        ...

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        """The session itself, with all its flags."""
        ...

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        """The agent's own fork of the whole session, with the child's id."""
        ...


@runtime_checkable
class CanForkNatively(Protocol):
    """The agent's own fork chooses the id of the new session: so it is made at once."""

    def fork_natively(self, session: Session, child: Child) -> str:
        """Make it, without a prompt; the new id."""
        ...


@runtime_checkable
class CanSeed(Protocol):
    """A first prompt of any length can be given to the agent's program without a terminal."""

    @property
    def seed_flags(self) -> Sequence[str]:
        """The flags of its program that this needs, besides those of `HasProgram`."""
        ...

    @property
    def longest_seed(self) -> int:
        """How many characters its program takes."""
        ...

    def seed(self, child: Child) -> Launch:
        """The command that takes the prompt on standard input, without tools."""
        ...

    def seeded(self, child: Child, output: Iterable[str]) -> SeedReply:
        """What came of it, read line by line from the program's standard output."""
        ...


class SeedReply(Protocol):
    """The answer to a seed."""

    @property
    def session_id(self) -> str | None: ...

    @property
    def text(self) -> str:
        """What the agent said, its thoughts left out; put together when it came in pieces."""
        ...

    @property
    def error(self) -> str | None:
        """Why there is no answer."""
        ...


class ScanCache(Protocol):
    """Remembers what scans saw. May be deleted at any time; then the next scan is a cold one."""

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        """The files of the last scan, by path, without their `state`."""
        ...

    def file(self, agent: str, path: str) -> KnownFile | None:
        """One file, with its `state` where it has one."""
        ...

    def result(self, agent: str) -> bytes | None:
        """The result of the last scan that had one."""
        ...

    def save(self, agent: str, scan: Scan) -> None:
        """Remember a scan."""
        ...


T = TypeVar("T")


def capable(store: AgentStore, protocol: type[T], what: str) -> T:
    """The store, if it can do what is wanted; raises `Unsupported` otherwise."""
    if not isinstance(store, protocol):
        raise Unsupported(f"sessions of {store.name} cannot {what}")
    return store
