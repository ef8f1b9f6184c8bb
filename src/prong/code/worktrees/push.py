"""The branch of a worktree pushed to a remote, by a process of its own that nobody waits for.

What fails is written down and tried again with the next turn: a push takes all that is not there
yet. Nothing is ever forced: what the remote has and the branch has not is for a person to merge.
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
from typing import Any, cast

from prong.code.git import Deadline, Git, GitResult
from prong.code.worktrees import record as worktree_record
from prong.code.worktrees.record import entry_of
from prong.errors import NotFound, ProngError
from prong.files.lock import locked
from prong.files.regular import read_regular

_RESULT = "prong-push.json"
_LOCK = "prong-push.lock"
_started: list[subprocess.Popen[bytes]] = []
"""Nobody waits for them, but Python wants to be told of those that ended."""
_PATIENCE = 300.0
"""Seconds after which a push is given up."""
_IDLE = re.compile(r"hint:|error: failed to push some refs")
"""Lines of git that do not say why a push failed."""
_CREDENTIALS = re.compile(r"(?<=//)[^/@\s]+@")
_LONGEST = 1000


@dataclass(frozen=True)
class Push:
    """How the last push ended."""

    commit: str
    remote: str
    when: datetime
    failure: str | None


def start(path: Path, remote: str) -> None:
    """Begin to push; returns at once. Raises `NotFound` for a remote that git does not know."""
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
        decoded: Any = json.loads(read_regular(entry_of(path) / _RESULT))
        record = cast(dict[str, Any], decoded)
        when = datetime.fromisoformat(record["when"])
        return Push(record["commit"], record["remote"], when, record["failure"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def is_ahead(path: Path, remote: str) -> bool:
    """Whether the branch has commits of its own that the remote, as far as is known, has not.

    A push, by prong or by anybody else, moves the remote's branch as git knows it; where git is
    told to follow no branches of the remote, the last push says it.
    """
    tip = _tip(path)
    if tip is None:
        return False
    before = last(path)
    if before is not None and (before.commit, before.remote, before.failure) == (tip, remote, None):
        return False
    worktree = worktree_record.read(path)
    git = Git(path)
    there = f"refs/remotes/{remote}/{worktree.branch}"
    known = [there] if git.ask("rev-parse", "--verify", "--quiet", there).ok else []
    begun = [worktree.base] if worktree.base else []
    words = ("rev-list", "--count", "--ignore-missing", tip, "--not", *begun, *known)
    return int(git.run(*words)) > 0


def failure(path: Path, remote: str) -> str | None:
    """Why the branch is not in the remote; None when it is, or was never pushed."""
    before = last(path)
    if before is None or before.failure is None:
        return None
    with suppress(ProngError):  # the worktree is gone, or its repository
        if is_ahead(path, remote):
            return before.failure
    return None


def push(path: Path, remote: str, patience: float = _PATIENCE) -> Push | None:
    """Push and wait for it; None when another process is at it for too long."""
    with (entry_of(path) / _LOCK).open("wb") as lock:
        # What came since another one began is not in its push.
        if not locked(lock.fileno(), patience):
            return None
        tip = _tip(path)
        if tip is None:
            raise NotFound(f"{path} has no branch to push", path=str(path))
        ref = f"refs/heads/{worktree_record.read(path).branch}"
        # As a push of the user: their hook may refuse it, and that of LFS sends its files first.
        deadline = Deadline(patience)
        git = Git(path, deadline=deadline, as_user=True)
        answer = git.ask("push", "--quiet", "--porcelain", remote, f"{tip}:{ref}")
        failed = None
        if not answer.ok:
            slow = deadline.over
            failed = f"not done after {patience:.0f} seconds" if slow else _reason(answer)
        deadline.lift()
        done = Push(tip, remote, datetime.now(UTC), failed)
        _write(path, done)
        return done


def _tip(path: Path) -> str | None:
    ref = f"refs/heads/{worktree_record.read(path).branch}"
    answer = Git(path).ask("rev-parse", "--verify", "--quiet", ref)
    return answer.output.decode().strip() if answer.ok else None


def _reason(answer: GitResult) -> str:
    """What git says about it, in one line: `[rejected] (fetch first)`. Passwords are left out."""
    refused = [
        line.rpartition("\t")[2]
        for line in answer.output.decode(errors="replace").splitlines()
        if line.startswith("!\t")
    ]
    said = [line for line in answer.complaint.splitlines() if not _IDLE.match(line)]
    plain = (" ".join(line.split()) for line in (*refused, *said))
    text = "; ".join(line for line in plain if line) or f"git ended with status {answer.status}"
    return _CREDENTIALS.sub("", text)[:_LONGEST]


def _write(path: Path, done: Push) -> None:
    record = {
        "commit": done.commit,
        "remote": done.remote,
        "when": done.when.isoformat(),
        "failure": done.failure,
    }
    result = entry_of(path) / _RESULT
    new = result.with_suffix(f".{os.getpid()}")
    new.write_text(json.dumps(record), encoding="ascii")
    new.replace(result)


if __name__ == "__main__":
    push(Path(sys.argv[1]), sys.argv[2])
