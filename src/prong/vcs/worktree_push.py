"""The branch of a worktree pushed to a remote, by a process of its own that nobody waits for.

What fails is tried again with the next turn: a push takes all that is not there yet.
"""

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prong.errors import NotFound
from prong.regular import read_regular
from prong.vcs import worktree_record
from prong.vcs.git import Deadline, Git
from prong.vcs.worktree_record import entry_of

_RESULT = "prong-push.json"
_LOCK = "prong-push.lock"
_started: list[subprocess.Popen[bytes]] = []
"""Nobody waits for them, but Python wants to be told of those that ended."""
_PATIENCE = 300.0
"""Seconds after which a push is given up."""


@dataclass(frozen=True)
class Push:
    """How the last push ended."""

    commit: str
    remote: str
    when: datetime
    failure: str | None


def start(path: Path, remote: str) -> None:
    """Begin to push; returns at once."""
    worktree_record.read(path)
    remotes = os.fsdecode(Git(path).run("remote")).splitlines()
    if remote not in remotes:
        raise NotFound(f"there is no remote {remote}", hint="git remote -v", remote=remote)
    _started[:] = [process for process in _started if process.poll() is None]
    process = subprocess.Popen(
        (sys.executable, "-P", "-m", "prong.vcs.worktree_push", str(path), remote),
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


def push(path: Path, remote: str) -> Push | None:
    """Push and wait for it; None when another process is at it."""
    worktree = worktree_record.read(path)
    entry = entry_of(path)
    with (entry / _LOCK).open("wb") as lock:
        try:
            fcntl.flock(lock.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        ref = f"refs/heads/{worktree.branch}"
        commit = Git(path).run("rev-parse", "--verify", ref).decode().strip()
        # As a push of the user: their hook may refuse it, and that of LFS sends its files first.
        git = Git(path, deadline=Deadline(_PATIENCE), as_user=True)
        answer = git.ask("push", "--quiet", "--porcelain", remote, f"{commit}:{ref}")
        failure = None if answer.ok else answer.complaint.strip() or f"status {answer.status}"
        done = Push(commit, remote, datetime.now(UTC), failure)
        record = {
            "commit": done.commit,
            "remote": done.remote,
            "when": done.when.isoformat(),
            "failure": done.failure,
        }
        new = (entry / _RESULT).with_suffix(".new")
        new.write_text(json.dumps(record), encoding="ascii")
        new.replace(entry / _RESULT)
        return done


if __name__ == "__main__":
    push(Path(sys.argv[1]), sys.argv[2])
