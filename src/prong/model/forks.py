"""Forks as values: the point, the plan, and what was made."""

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
    """A place to fork from. The turn is included; number 0 is before the first."""

    session: SessionRef
    turn: int | None
    """None for a turn on an abandoned branch, which only its id names."""
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
    """No code is touched and no workspace is made."""


class Cut(Record, frozen=True):
    """Which part of a session a fork gets: everything up to and with one turn."""

    turn: str | None
    """The id of the last turn, also of one on an abandoned branch; None: before the first."""
    full: bool = False
    """Undo compactions: the words that were said instead of the summaries."""


class Extent(Record, frozen=True):
    """How much lies before a cut, as the model would get it."""

    turns: int
    characters: int
    tokens: int | None = None
    """The size of the context that the agent itself reported last before the cut."""
    window: int | None = None
    """The size of the model's window, where the session tells."""
    warnings: tuple[str, ...] = ()
    """What a fork here will not have, or will have changed."""


class Child(Record, frozen=True):
    """The session that a fork is going to be."""

    id: str | None
    """None when the agent's own program will choose it."""
    cwd: Path
    parent: ForkPoint
    title: str | None = None
    root: Path | None = None
    """The configuration folder that it will lie in; None: the agent's first one."""


class Launch(Record, frozen=True):
    """How to start a program: an argument list, never a line for a shell."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to set in addition to the environment there is."""
    title: str = ""


UNKNOWN_ID = "<new id>"
"""Stands in the command of a plan while only the agent can know the id."""


class CodeSince(Record, frozen=True):
    """What has changed since a turn of which no code was kept."""

    age: timedelta
    """How long ago the turn was over."""
    commits: int
    files: int


class WorktreePlan(Record, frozen=True):
    """The worktree that a fork would get: of which code, and where."""

    code: Code
    repo: Path
    """A working tree of the repository."""
    path: Path
    branch: str
    folder: Path
    """Where in the worktree the agent runs: as deep as it ran in the repository."""
    snapshot: "Snapshot | None" = None
    """None where the code is to be taken now, or is that of a commit."""
    commit: str | None = None
    is_exact: bool = True
    """False for a commit that only comes near to the code of the turn."""
    late: timedelta | None = None
    """How long after the turn its code was kept, where that was late."""
    since: CodeSince | None = None
    """What the code of now has that the turn did not, where nobody asked for the code of now."""
    name: str = ""
    """What folder and branch are named after; a number behind it makes them unique."""
    is_chosen: bool = False
    """True when a person chose the branch: it is never another one."""
    gaps: tuple[CodeGap, ...] = ()
    """What the captured code of the turn lacks."""


class ForkPlan(Record, frozen=True):
    """What a fork would do. A pure value: making it wrote nothing."""

    point: ForkPoint
    source: Session
    agent: str
    """The agent of the fork."""
    method: Method
    new_id: str | None
    """None when the agent's own program will choose it."""
    workspace: Path
    launch: Launch
    """With `<new id>` in it while the id is not known."""
    tokens: int
    window: int | None
    code: Code = Code.NONE
    title: str | None = None
    prompt: str | None = None
    """The first prompt of the fork."""
    is_command: bool = False
    """True when the prompt repeats a command of the agent that a person gave."""
    before_compaction: bool = False
    trim: bool = False
    root: Path | None = None
    worktree: WorktreePlan | None = None
    """None when no code is touched and no worktree is made."""
    unopened: str | None = None
    """Why there is no worktree although there is code: git does not give it."""
    missing: str | None = None
    """Why the agent cannot be started, and what to install. The fork is written all the same."""
    command: str | tuple[str, ...] | None = None
    """The base command that it is run with, where that is not the configured one."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the source worker was started with: its fork goes the same way to the model."""
    worker: str | None = None
    """The name of the worker that has the source open, or had it."""
    warnings: tuple[str, ...] = ()

    @property
    def child(self) -> Child:
        return Child(self.new_id, self.workspace, self.point, self.title, self.root)

    @property
    def cut(self) -> Cut:
        return Cut(self.point.turn_id, self.before_compaction)


class Fork(Record, frozen=True):
    """The fact that a session was forked, and, just after it was made, how to run the fork."""

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
    # What is not kept: it can be found again from the child.
    code: Code = Code.NONE
    path: Path | None = None
    """The new session file; None when the agent writes it with the first prompt."""
    workspace: Path | None = None
    branch: str | None = None
    launch: Launch | None = None
    warnings: tuple[str, ...] = ()


class SeedHeader(Record, frozen=True):
    """The first line of a seed prompt: it says where the transcript came from.

    It stands in the session file of the fork, so lineage survives the loss of everything else.
    """

    parent: ForkPoint
    digest: str
    """SHA-256 of the transcript, in hexadecimal."""

    MARKER: ClassVar[str] = "[PRONG_FORK_SEED]"

    def __str__(self) -> str:
        return f"{self.MARKER} {self.parent} sha256:{self.digest}"

    @property
    def title(self) -> str:
        """What to call a session that begins with the seed and has no title of its own."""
        session, turn = self.parent.session, self.parent.turn
        at = (self.parent.turn_id or "")[:8] if turn is None else turn
        return f"seed of {session.agent}:{session.id[:8]}@{at}"

    @classmethod
    def parse(cls, text: str) -> "SeedHeader | None":
        """The header that a prompt begins with, if it is a seed."""
        found = text.startswith(_SEED) and re.match(_SEED_HEADER, text)
        if not found:
            return None
        agent, id_, turn, digest = found.groups()
        number = int(turn) if turn.isdigit() and len(turn) < 9 else None
        point = ForkPoint(SessionRef(agent, id_), number, turn if number is None else None)
        return cls(point, digest)


_SEED = "[PRONG_FORK_SEED] "
_SEED_HEADER = rf"{re.escape(_SEED)}([\w-]+):([^\s@]+)@([\w-]+) sha256:([0-9a-f]{{64}})(?=\n|\Z)"
