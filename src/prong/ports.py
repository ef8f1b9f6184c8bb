"""The seams. An agent, built in or from a plug-in, is anything that fits `AgentStore`.

The core protocol is small; what only some agents can do is a protocol of its own, and callers
ask `isinstance(store, HasProgram)` before they use it. `prong.testing.contract` has the suite
that every store must pass.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Protocol, runtime_checkable

from prong.model import (
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

    def scan(self, cache: "ScanCache") -> Scan:
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
class HasRetention(Protocol):
    """The agent deletes old sessions by itself."""

    def retention(self, root: Path) -> Retention | None:
        """None when nothing is deleted."""
        ...


@runtime_checkable
class HasSamples(Protocol):
    """The agent can write sample sessions, for `prong demo`."""

    def write_samples(self, cwd: str, now: datetime) -> SessionRef:
        """Write into the first root, which must be a throw-away folder; name the best session."""
        ...


class ScanCache(Protocol):
    """Remembers what scans saw. May be deleted at any time; then the next scan is a cold one."""

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        """The files of the last scan, by path, without their `state`."""
        ...

    def state(self, agent: str, path: str) -> bytes | None:
        """The stored state of one file."""
        ...

    def result(self, agent: str) -> bytes | None:
        """The result of the last scan that had one."""
        ...

    def save(self, agent: str, scan: Scan) -> None:
        """Remember a scan."""
        ...
