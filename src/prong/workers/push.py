"""The branches of workers that are pushed: what became of it, and trying it again."""

from __future__ import annotations

from collections.abc import Iterable

from prong.code.worktrees import push
from prong.errors import ProngError
from prong.hook.turn_commit import push_ahead
from prong.log import debug
from prong.model.findings import Finding, Level
from prong.model.workers import WorkerInfo
from prong.redaction.secrets import mask


def failure(worker: WorkerInfo) -> str | None:
    """Why the branch of a worker could not be pushed; None when the remote has it.

    What a remote says is the text of others.
    """
    if worker.push is None or worker.worktree is None:
        return None
    found = push.failure(worker.worktree, worker.push) or ""
    plain = "".join(char if char.isprintable() else " " for char in found)
    return mask(plain) or None


def again(worker: WorkerInfo) -> None:
    """Push what the remote has not, in the background."""
    if worker.worktree is None:
        return
    try:
        push_ahead(worker.worktree, worker.push)
    except ProngError as error:
        debug(
            __name__, "%s: %s", worker.name, error.message
        )  # it is written down, and shown by `prong status`


def examine(workers: Iterable[WorkerInfo]) -> Iterable[Finding]:
    """What `prong doctor` says about pushes."""
    for worker in workers:
        reason = failure(worker)
        if reason is not None:
            message = f"{worker.name}: {worker.branch} was not pushed to {worker.push}: {reason}"
            hint = f"git -C {worker.worktree} push {worker.push} {worker.branch}"
            yield Finding("workers", Level.WARNING, message, hint)
