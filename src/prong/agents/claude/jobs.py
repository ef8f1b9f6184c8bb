"""Jobs of `/fork`: what it writes into `jobs/<job>/state.json`.

    {"forkSessionId": "4eea96be-...", "forkParentSessionId": "0e99c965-...",
     "forkBoundaryAt": "2026-11-18T06:27:27.311Z", "sessionId": ..., "state": "working", ...}

`/fork` continues a copy of the conversation in the background. The boundary is the time of the last
line that both share. Other jobs have none of these fields. Every scan lists the jobs, so this
module loads no reader of sessions.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from prong.agents.common import parse_time
from prong.files.regular import read_regular

_LARGEST = 1 << 20
"""Maximum bytes of a state file; real ones have about a thousand."""


class ClaudeJob(NamedTuple):
    """The folder of a job. The inode distinguishes folders that reuse a name."""

    folder: str
    inode: int


class JobFork(NamedTuple):
    """A session created by `/fork`."""

    child: str
    parent: str
    boundary: int
    """Time in milliseconds, like the times of turns."""


class _State(msgspec.Struct, rename="camel"):
    fork_parent_session_id: str | None = None
    fork_boundary_at: str | None = None
    fork_session_id: str | None = None
    session_id: str | None = None


def listed(roots: Iterable[Path]) -> list[ClaudeJob]:
    """List the jobs of all roots, without opening files.

    The fields we read are written when the folder is created and never change, so a scan can tell
    from this list alone whether anything is new.
    """
    jobs: list[ClaudeJob] = []
    for root in roots:
        try:
            with os.scandir(root / "jobs") as entries:
                jobs += (ClaudeJob(entry.path, entry.inode()) for entry in entries)
        except OSError:
            continue  # no jobs, as before 2.1.212, or unreadable
    return sorted(jobs)


def forks(jobs: Iterable[ClaudeJob]) -> list[JobFork]:
    """Read the forks among some jobs, skipping what cannot be read."""
    return [fork for job in jobs if (fork := _fork(f"{job.folder}/state.json"))]


def _fork(path: str) -> JobFork | None:
    try:
        state = msgspec.json.decode(read_regular(path, _LARGEST), type=_State)
    except (OSError, ValueError, RecursionError):
        return None
    child = state.fork_session_id or state.session_id
    cut = parse_time(state.fork_boundary_at)
    if not child or not state.fork_parent_session_id or cut is None:
        return None
    return JobFork(child, state.fork_parent_session_id, int(cut.timestamp() * 1000))
