"""A turn as a commit on the branch of a worker, made by `prong-hook`. It has little time."""

from pathlib import Path

from prong.errors import ProngError
from prong.snapshot import Snapshot
from prong.vcs import worktree_commits, worktree_push

Told = dict[str, str | None]
"""For the spool: the commit, why there is none or not all is well, where it is being pushed to."""


def nothing(reason: str) -> Told:
    return {"commit": None, "reason": reason, "push": None}


def make(snapshot: Snapshot, prompt: str, number: int | None, remote: str | None) -> Told:
    """Commit what the snapshot saw, in a worktree that prong made and nowhere else; then push."""
    told = nothing("")
    try:
        made = worktree_commits.commit_turn(snapshot, prompt, number)
        told.update(commit=made.commit, reason=made.reason)
        if remote and (made.commit or _is_behind(snapshot.repo)):
            worktree_push.start(snapshot.repo, remote)
            told["push"] = remote
    except ProngError as error:
        told["reason"] = error.message
    return told


def _is_behind(repo: Path) -> bool:
    """True when the last push failed: the next one takes all that is not there yet."""
    last = worktree_push.last(repo)
    return last is not None and last.failure is not None
