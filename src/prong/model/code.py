"""Code snapshots and diff statistics, as values.

`prong-hook` loads this module while the agent waits, so it imports nothing else of prong and uses
named tuples: importing data classes takes a sixth of the time that the hook may use.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class TurnKey(NamedTuple):
    """The permanent identity of a turn, under which its snapshot is stored."""

    agent: str
    session: str
    turn_id: str

    BASELINE = "0"
    """The turn id of the code before the first prompt."""
    START = "start"
    """The turn id of the code in which a fork got its first prompt; it may match no turn."""
    NEXT = "next-"
    """Prefix of a turn id: the code at the prompt that followed that turn."""

    @property
    def is_turn(self) -> bool:
        """Whether this is the end of a turn, not the code before one."""
        return self.turn_id not in (self.BASELINE, self.START) and not self.turn_id.startswith(
            self.NEXT
        )


class LeftOut(NamedTuple):
    """A file whose content is not in a snapshot, and why.

    The snapshot has its staged version, or nothing.
    """

    path: str
    size: int
    reason: str


class NestedSnapshot(NamedTuple):
    """The snapshot of a repository inside the repository, stored in the inner one."""

    path: str
    """Relative to the top of the outer repository. Undecodable bytes are surrogates, as in `os`."""
    commit: str


class Snapshot(NamedTuple):
    """The code at the end of a turn. Every field can be restored from the commit."""

    repo: Path
    """The top of a working tree of the repository; for a new snapshot, the one it was taken of."""
    ref: str
    commit: str
    tree: str
    """Every file of the working tree, byte for byte."""
    staged_tree: str | None
    """The index as a tree; None during a merge conflict, which has no tree."""
    head: str | None
    """None in a repository without commits."""
    branch: str | None
    """None when HEAD was detached."""
    agent: str
    session: str
    turn_id: str
    number: int | None
    message_id: str | None
    taken: datetime
    changed: bool
    """Whether the tree differs from the previous snapshot of the session."""
    degraded: str | None = None
    """Why the snapshot is incomplete; None when it is complete."""
    left_out: tuple[LeftOut, ...] = ()
    nested: tuple[NestedSnapshot, ...] = ()
    late: bool = False
    """Taken some time after the turn, so it includes changes made in between."""

    @property
    def key(self) -> TurnKey:
        return TurnKey(self.agent, self.session, self.turn_id)


class DiffStat(NamedTuple):
    """The size of the difference between two trees; lines are counted in text files only."""

    files: int
    added: int
    removed: int
