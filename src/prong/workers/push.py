"""Pushes of workers' branches: failures and retries."""

from collections.abc import Iterable

from prong.code.worktrees import push
from prong.errors import ProngError
from prong.hook.turn_commit import push_ahead
from prong.log import debug
from prong.model.findings import Finding, Level
from prong.model.workers import WorkerInfo
from prong.redaction.secrets import mask


def failure(worker: WorkerInfo) -> str | None:
    """Return why the last push failed, masked, as it is the remote's text; None if up to date."""
    if worker.push is None or worker.worktree is None:
        return None
    reason = push.failure(worker.worktree, worker.push) or ""
    return mask("".join(char if char.isprintable() else " " for char in reason)) or None


def again(worker: WorkerInfo) -> None:
    """Push missing commits in the background. A failure is recorded, for `prong status`."""
    try:
        if worker.worktree is not None:
            push_ahead(worker.worktree, worker.push)
    except ProngError as error:
        debug(__name__, "%s: %s", worker.name, error.message)


def examine(workers: Iterable[WorkerInfo]) -> Iterable[Finding]:
    """Report failed pushes for `prong doctor`."""
    for worker in workers:
        reason = failure(worker)
        if reason is not None:
            message = f"{worker.name}: {worker.branch} was not pushed to {worker.push}: {reason}"
            hint = f"git -C {worker.worktree} push {worker.push} {worker.branch}"
            yield Finding("workers", Level.WARNING, message, hint)
