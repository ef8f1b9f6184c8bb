"""Forks as values: fork points, plans and finished forks."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import ClassVar

from prong.model.code import Snapshot
from prong.model.record import Record, field
from prong.model.sessions import CodeGap, Session, SessionRef


class ForkPoint(Record, frozen=True):
    """A turn to fork from. The fork includes it; number 0 is before the first turn."""

    session: SessionRef
    turn: int | None
    """None for a turn on an abandoned branch, which has only an id."""
    turn_id: str | None = None
    """None before the first turn."""

    def __str__(self) -> str:
        return f"{self.session}@{self.turn_id if self.turn is None else self.turn}"


class Method(StrEnum):
    """How a fork gets its history."""

    COPY = "copy"
    """A new session file, written by prong or by the agent's own fork at a turn."""
    NATIVE = "native"
    """The agent's own command-line fork, which takes the whole session."""
    SEED = "seed"
    """The transcript as first prompt."""


class Code(StrEnum):
    """Which state of the code a fork starts from."""

    TURN = "turn"
    NOW = "now"
    HEAD = "head"
    NONE = "none"
    """Leave the code alone and create no workspace."""


class Cut(Record, frozen=True):
    """The part of a session that a fork inherits: everything up to and including one turn."""

    turn: str | None
    """The id of the last turn, which may be on an abandoned branch; None before the first turn."""
    full: bool = False
    """Undo compactions: the original messages instead of the summaries."""


class Extent(Record, frozen=True):
    """The size of a conversation up to a cut, as the model would receive it."""

    turns: int
    characters: int
    tokens: int | None = None
    """The context size that the agent last reported before the cut."""
    window: int | None = None
    """The model's context window, if the session records it."""
    warnings: tuple[str, ...] = ()
    """What a fork here would lose or change."""


class Child(Record, frozen=True):
    """The session that a fork will create."""

    id: str | None
    """None when the agent's own program will choose it."""
    cwd: Path
    parent: ForkPoint
    title: str | None = None
    root: Path | None = None
    """The agent's root to write it to; None for the first one."""


class Launch(Record, frozen=True):
    """How to start a program: an argument list, never a shell command line."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables to set in addition to the current environment."""
    title: str = ""


UNKNOWN_ID = "<new id>"
"""Placeholder in a planned command for an id that the agent will choose."""


class CodeSince(Record, frozen=True):
    """Code changes since a turn that has no snapshot."""

    age: timedelta
    commits: int
    files: int


class WorktreePlan(Record, frozen=True):
    """The worktree that a fork would get: its path, branch and code."""

    code: Code
    repo: Path
    path: Path
    branch: str
    folder: Path
    """Where in the worktree the agent runs: the same subfolder as in the source repository."""
    snapshot: "Snapshot | None" = None
    """None for the current code, or for the code of a commit."""
    commit: str | None = None
    is_exact: bool = True
    """False for a commit that only approximates the code of the turn."""
    late: timedelta | None = None
    """How long after the turn its code was captured, if late."""
    since: CodeSince | None = None
    """Changes since the turn, when its code is unavailable and the current code is used instead."""
    name: str = ""
    """Base name of the folder and branch; a number is appended to make them unique."""
    is_chosen: bool = False
    """True when the user named the branch: it is never replaced by another."""
    gaps: tuple[CodeGap, ...] = ()


class ForkPlan(Record, frozen=True):
    """What a fork would do. Planning writes nothing."""

    point: ForkPoint
    source: Session
    agent: str
    method: Method
    new_id: str | None
    """None when the agent's own program will choose it."""
    workspace: Path
    launch: Launch
    """Contains `<new id>` while the id is unknown."""
    tokens: int
    window: int | None
    code: Code = Code.NONE
    title: str | None = None
    prompt: str | None = None
    is_command: bool = False
    """True when the prompt repeats a slash command that the user typed."""
    before_compaction: bool = False
    trim: bool = False
    root: Path | None = None
    worktree: WorktreePlan | None = None
    unopened: str | None = None
    """Why git cannot provide a worktree for code that exists."""
    missing: str | None = None
    """Why the agent cannot be started, and what to install. The fork is written anyway."""
    command: str | tuple[str, ...] | None = None
    """The base command to run it with, if not the configured one."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """The environment of the source worker, so that its fork reaches the model the same way."""
    worker: str | None = None
    """The name of the worker that has or had the source open."""
    warnings: tuple[str, ...] = ()

    @property
    def child(self) -> Child:
        return Child(self.new_id, self.workspace, self.point, self.title, self.root)

    @property
    def cut(self) -> Cut:
        return Cut(self.point.turn_id, self.before_compaction)


class Fork(Record, frozen=True):
    """A recorded fork and, right after its creation, how to run it."""

    id: str
    parent: ForkPoint
    parent_workspace: str | None
    child: SessionRef
    method: Method
    created: datetime
    tokens: int
    window: int | None = None
    seed_hash: str | None = None
    seed_path: str | None = None
    seed_ack_filtered: bool = False
    # Not stored: these can be derived from the child session.
    code: Code = Code.NONE
    path: Path | None = None
    """The new session file; None when the agent writes it with the first prompt."""
    workspace: Path | None = None
    branch: str | None = None
    launch: Launch | None = None
    warnings: tuple[str, ...] = ()


class SeedHeader(Record, frozen=True):
    """The first line of a seed prompt, which names the source of the transcript.

    It is part of the fork's session file, so lineage survives the loss of every other record.
    """

    parent: ForkPoint
    digest: str
    """SHA-256 of the transcript, in hexadecimal."""

    MARKER: ClassVar[str] = "[PRONG_FORK_SEED]"

    def __str__(self) -> str:
        return f"{self.MARKER} {self.parent} sha256:{self.digest}"

    @property
    def title(self) -> str:
        """Title of a session that starts with the seed and has no title of its own."""
        session, turn = self.parent.session, self.parent.turn
        at = (self.parent.turn_id or "")[:8] if turn is None else turn
        return f"seed of {session.agent}:{session.id[:8]}@{at}"

    @classmethod
    def parse(cls, text: str) -> "SeedHeader | None":
        """Parse the header at the start of a prompt; None if it is not a seed."""
        match = text.startswith(cls.MARKER) and re.match(_SEED, text)
        if not match:
            return None
        agent, id_, turn, digest = match.groups()
        number = int(turn) if turn.isdigit() and len(turn) < 9 else None
        point = ForkPoint(SessionRef(agent, id_), number, turn if number is None else None)
        return cls(point, digest)


_SEED = (
    rf"{re.escape(SeedHeader.MARKER)} ([\w-]+):([^\s@]+)@([\w-]+) sha256:([0-9a-f]{{64}})(?=\n|\Z)"
)
