"""What `/fork` of Claude Code writes into `jobs/<job>/state.json`: parent, child and boundary.

    {"forkSessionId": "4eea96be-...", "forkParentSessionId": "0e99c965-...",
     "forkBoundaryAt": "2026-11-18T06:27:27.311Z", "sessionId": ..., "state": "working", ...}

`/fork` continues a copy of the conversation in the background. The boundary is the time of the last
line that both share. Jobs that began otherwise have none of these fields.
"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from prong.agents.times import parse_time

_LARGEST = 1 << 20
"""Bytes of a state that is read; real ones have about a thousand."""


class Job(NamedTuple):
    """The folder of a job. The inode tells apart two that had the same name."""

    folder: str
    inode: int


class JobFork(NamedTuple):
    """A session that `/fork` made."""

    child: str
    parent: str
    boundary: int
    """In milliseconds, as the times of turns are."""


class _State(msgspec.Struct, rename="camel"):
    fork_parent_session_id: str | None = None
    fork_boundary_at: str | None = None
    fork_session_id: str | None = None
    session_id: str | None = None


def listed(roots: Iterable[Path]) -> list[Job]:
    """The jobs of all roots. One listing for each: no file is opened, or even looked at.

    What is read of a state is written when its folder is made and stays the same, so a scan may
    rely on this list to tell whether anything is new.
    """
    found: list[Job] = []
    for root in roots:
        try:
            with os.scandir(root / "jobs") as entries:
                found += (Job(entry.path, entry.inode()) for entry in entries)
        except OSError:
            continue  # no jobs, as before 2.1.212, or nothing that may be read
    return sorted(found)


def forks(jobs: Iterable[Job]) -> list[JobFork]:
    """The forks among some jobs. What cannot be read is passed over."""
    return [fork for job in jobs if (fork := _fork(f"{job.folder}/state.json"))]


def _fork(path: str) -> JobFork | None:
    try:
        state = msgspec.json.decode(_read(path), type=_State)
    except (OSError, ValueError, RecursionError):
        return None
    child = state.fork_session_id or state.session_id
    cut = parse_time(state.fork_boundary_at)
    if not child or not state.fork_parent_session_id or cut is None:
        return None
    return JobFork(child, state.fork_parent_session_id, int(cut.timestamp() * 1000))


def _read(path: str) -> bytes:
    # Whatever has that name: opening a pipe must not wait for who writes into it.
    with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:  # noqa: PTH123
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
            raise ValueError(path)
        return file.read(_LARGEST)
