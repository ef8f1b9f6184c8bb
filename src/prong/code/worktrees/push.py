"""Push the branch of a worktree to a remote, in a background process.

A failure is recorded and retried with the next turn, whose push includes all missing commits.
Nothing is ever forced: if the branch lacks commits of the remote, a person must merge them.
"""

import json
import os
import re
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.code.git import Deadline, Git, GitResult
from prong.code.worktrees import record as worktree_record
from prong.code.worktrees.record import entry_of
from prong.errors import NotFound, ProngError
from prong.files import atomic
from prong.files.atomic import held
from prong.files.regular import read_regular

_RESULT = "prong-push.json"
_LOCK = "prong-push.lock"
_started: list[subprocess.Popen[bytes]] = []
"""Kept so that Python can reap them when they end."""
_PATIENCE = 300.0
"""Seconds after which a push is aborted."""
_IDLE = re.compile(r"hint:|error: failed to push some refs")
"""Lines of git's output that do not say why a push failed."""
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_LONGEST = 1000


@dataclass(frozen=True)
class Push:
    commit: str
    remote: str
    when: datetime
    failure: str | None


def start(path: Path, remote: str) -> None:
    """Start a push in the background. Raises `NotFound` for an unknown remote."""
    tip = _tip(path)
    if remote not in os.fsdecode(Git(path).run("remote")).splitlines():
        message = f"unknown remote {remote}"
        if tip is not None:
            _write(path, Push(tip, remote, datetime.now(UTC), message))
        raise NotFound(message, hint="git remote -v", remote=remote)
    _started[:] = [process for process in _started if process.poll() is None]
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "prong.code.worktrees.push", str(path), remote),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    _started.append(process)


def last(path: Path) -> Push | None:
    try:
        record: Any = json.loads(read_regular(entry_of(path) / _RESULT))
        when = datetime.fromisoformat(record["when"])
        return Push(record["commit"], record["remote"], when, record["failure"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_ahead(path: Path, remote: str) -> bool:
    """Tell whether the branch has own commits that, as far as known, the remote lacks.

    A push by anybody moves the remote-tracking branch. If git is configured to have none, the
    last push decides.
    """
    tip = _tip(path)
    if tip is None:
        return False
    prior = last(path)
    if prior is not None and (prior.commit, prior.remote, prior.failure) == (tip, remote, None):
        return False
    worktree = worktree_record.read(path)
    git = Git(path)
    tracking = f"refs/remotes/{remote}/{worktree.branch}"
    pushed = [tracking] if git.has(tracking) else []
    base = [worktree.base] if worktree.base else []
    command = ("rev-list", "--count", "--ignore-missing", tip, "--not", *base, *pushed)
    return int(git.run(*command)) > 0


def failure(path: Path, remote: str) -> str | None:
    """Return why the branch is not on the remote; None if it is, or was never pushed."""
    prior = last(path)
    if prior is None or prior.failure is None:
        return None
    with suppress(ProngError):  # the worktree or its repository is gone
        if is_ahead(path, remote):
            return prior.failure
    return None


def push(path: Path, remote: str, patience: float = _PATIENCE) -> Push | None:
    """Push and wait; None if another process pushes for too long."""
    with held(entry_of(path) / _LOCK, patience) as is_free:
        # Commits made since another push began are not in it.
        if not is_free:
            return None
        tip = _tip(path)
        if tip is None:
            raise NotFound(f"{path} has no branch to push", path=str(path))
        ref = f"refs/heads/{worktree_record.read(path).branch}"
        # As the user: their hook may refuse it, and the LFS hook uploads its files first.
        deadline = Deadline(patience)
        git = Git(path, deadline=deadline, as_user=True)
        answer = git.ask("push", "--quiet", "--porcelain", remote, f"{tip}:{ref}")
        slow = f"not done after {patience:.0f} seconds" if deadline.over else ""
        failed = None if answer.ok else slow or _reason(answer)
        deadline.lift()
        done = Push(tip, remote, datetime.now(UTC), failed)
        _write(path, done)
        return done


def _tip(path: Path) -> str | None:
    ref = f"refs/heads/{worktree_record.read(path).branch}"
    answer = Git(path).ask("rev-parse", "--verify", "--quiet", ref)
    return answer.output.decode().strip() if answer.ok else None


def _reason(answer: GitResult) -> str:
    """Summarize git's error in one line, as in `[rejected] (fetch first)`, without passwords."""
    refused = [
        line.rpartition("\t")[2]
        for line in answer.output.decode(errors="replace").splitlines()
        if line.startswith("!\t")
    ]
    errors = [line for line in answer.complaint.splitlines() if not _IDLE.match(line)]
    lines = (" ".join(line.split()) for line in (*refused, *errors))
    text = "; ".join(line for line in lines if line) or f"git ended with status {answer.status}"
    return _CREDENTIALS.sub("", text)[:_LONGEST]


def _write(path: Path, done: Push) -> None:
    content = json.dumps({**vars(done), "when": done.when.isoformat()}).encode()
    atomic.write(entry_of(path) / _RESULT, content, mode=0o666, sync=False)


if __name__ == "__main__":
    push(Path(sys.argv[1]), sys.argv[2])
