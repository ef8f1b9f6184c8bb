"""Commit a turn on a worker's branch, within the short time limit of `prong-hook`."""

from pathlib import Path

from prong.code.worktrees import commits, push
from prong.errors import ProngError
from prong.model.code import Snapshot

Told = dict[str, str | None]
"""For the spool: the commit, the reason if something failed, and the remote it is pushed to."""


def nothing(reason: str) -> Told:
    return {"commit": None, "reason": reason, "push": None}


def make(snapshot: Snapshot, prompt: str, number: int | None, remote: str | None) -> Told:
    """Commit a snapshot in a worktree that prong created, and nowhere else, then push."""
    result = nothing("")
    try:
        turn_commit = commits.commit_turn(snapshot, prompt, number)
        result.update(commit=turn_commit.commit, reason=turn_commit.reason)
    except ProngError as error:
        result["reason"] = error.message
    try:
        result["push"] = push_ahead(snapshot.repo, remote)
    except ProngError as error:
        result["reason"] = result["reason"] or error.message
    return result


def push_ahead(worktree: Path, remote: str | None) -> str | None:
    """Start to push commits that the remote lacks, and return the remote; None if it has all.

    Only for a worktree that prong created; others raise `NotFound`.
    """
    if remote is None or not push.is_ahead(worktree, remote):
        return None
    push.start(worktree, remote)
    return remote
