"""A turn as a commit on the branch of a worker, made by `prong-hook`. It has little time."""

from pathlib import Path

from prong.code.worktrees import commits, push
from prong.errors import ProngError
from prong.model.code import Snapshot

Told = dict[str, str | None]
"""For the spool: the commit, why there is none or not all is well, where it is being pushed to."""


def nothing(reason: str) -> Told:
    return {"commit": None, "reason": reason, "push": None}


def make(snapshot: Snapshot, prompt: str, number: int | None, remote: str | None) -> Told:
    """Commit what the snapshot saw, in a worktree that prong made and nowhere else; then push."""
    told = nothing("")
    try:
        made = commits.commit_turn(snapshot, prompt, number)
        told.update(commit=made.commit, reason=made.reason)
    except ProngError as error:
        told["reason"] = error.message
    try:
        told["push"] = push_ahead(snapshot.repo, remote)
    except ProngError as error:
        told["reason"] = told["reason"] or error.message
    return told


def push_ahead(worktree: Path, remote: str | None) -> str | None:
    """Begin to push what the remote has not, whoever committed it; the remote, if that is needed.

    Only of a worktree that prong made: `NotFound` for any other.
    """
    if remote is None or not push.is_ahead(worktree, remote):
        return None
    push.start(worktree, remote)
    return remote
