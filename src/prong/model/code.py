"""Snapshots of code, as values.

`prong-hook` loads this module inside somebody's turn, so it needs no other of ours, and its
values are named tuples: data classes take a sixth of the time that the hook has.
"""

from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class TurnKey(NamedTuple):
    """Names one turn of one session for good: what a snapshot is kept under."""

    agent: str
    session: str
    turn_id: str

    BASELINE = "0"
    """The turn id of the code before the first prompt."""
    START = "start"
    """The turn id of the code that a fork was first asked in: it need not be that of a turn."""
    NEXT = "next-"
    """Before the id of a turn: the code at the prompt that came after it."""

    @property
    def is_turn(self) -> bool:
        """Whether it is the end of a turn, and not what was there before one."""
        return self.turn_id not in (self.BASELINE, self.START) and not self.turn_id.startswith(
            self.NEXT
        )


class LeftOut(NamedTuple):
    """A file whose content is not in a snapshot, and why.

    In the tree it is as it was staged, or not at all.
    """

    path: str
    size: int
    reason: str


class NestedSnapshot(NamedTuple):
    """The snapshot of a repository inside the repository, kept in the inner one."""

    path: str
    """From the top of the outer repository. Undecodable bytes are surrogates, as in `os`."""
    commit: str


class Snapshot(NamedTuple):
    """The code as it stood at the end of a turn. All of it can be read back from the commit."""

    repo: Path
    """The top of a working tree of its repository: of that it was taken of, when just taken."""
    ref: str
    commit: str
    tree: str
    """Every file as it lay in the working tree, byte for byte."""
    staged_tree: str | None
    """What was staged; None during a merge conflict, which has no such tree."""
    head: str | None
    """None where nothing was committed yet."""
    branch: str | None
    """None when the head was detached."""
    agent: str
    session: str
    turn_id: str
    number: int | None
    message_id: str | None
    taken: datetime
    changed: bool
    """Whether the tree differs from that of the snapshot before it in the session."""
    degraded: str | None = None
    """Why it is not the whole truth; None when it is."""
    left_out: tuple[LeftOut, ...] = ()
    nested: tuple[NestedSnapshot, ...] = ()
    late: bool = False
    """Taken some time after the turn: what happened in between is in it, too."""

    @property
    def key(self) -> TurnKey:
        return TurnKey(self.agent, self.session, self.turn_id)


class DiffStat(NamedTuple):
    """How much differs between two trees: files, and lines where the files are text."""

    files: int
    added: int
    removed: int
