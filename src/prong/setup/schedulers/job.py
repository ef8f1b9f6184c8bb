"""A scheduled job, and the interface of schedulers."""

import os
import re
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from prong.errors import External, Taken, Unavailable, UsageError
from prong.files import edits
from prong.files.edits import Backups, Edit

MARKER = "Written by prong schedule; prong schedule remove takes it away."
"""Identifies prong's own entries."""
_TIMEOUT = 30.0
_LAST_LINES = 5
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Job:
    """Commands to run one after another until one fails."""

    commands: tuple[tuple[str, ...], ...]
    every: timedelta

    def __post_init__(self) -> None:
        for word in (word for command in self.commands for word in command):
            if _CONTROL.search(word):
                raise UsageError(f"{word!r} has a control character in its name")

    @property
    def seconds(self) -> int:
        return round(self.every.total_seconds())


class ScheduledJob(NamedTuple):
    """A prong job, as read from a scheduler."""

    every: timedelta | None
    commands: tuple[str, ...]
    """As the scheduler stores them."""
    active: bool
    """False when the job exists, but the scheduler does not run it."""
    next_run: datetime | None = None
    """None when it is expensive to determine."""


class Scheduler(ABC):
    """A system service that runs jobs. Queries change nothing."""

    name: str

    @abstractmethod
    def missing(self) -> str | None:
        """Return why it cannot be used here, or None."""

    @abstractmethod
    def entry(self) -> ScheduledJob | None:
        """Return prong's job, if any."""

    @abstractmethod
    def edits(self, job: Job | None) -> tuple[Edit, ...]:
        """Return the edits that make this prong's only job; None removes it.

        Raises `Taken` when prong's file name is used by someone else, and `UsageError` for an
        interval that the scheduler does not support.
        """

    @abstractmethod
    def apply(self, edits: Sequence[Edit], *, remove: bool) -> None:
        """Write the edits and enable or disable the job. Raises `Dirty` if files have changed."""

    def written(self, command: Sequence[str]) -> str:
        """Return a command in the scheduler's own syntax."""
        return shlex.join(command)


class FileScheduler(Scheduler):
    """A scheduler that reads the job from files of its own."""

    def __init__(self, backups: Path, *files: Path) -> None:
        self._files = files
        self._backups = Backups(backups, self.name)

    @abstractmethod
    def _contents(self, job: Job) -> Sequence[bytes]:
        """Return the contents of the files."""

    def _own(self) -> list[bytes] | None:
        """Return what the files contain; None if none of them is prong's."""
        contents = [edits.read(path) or b"" for path in self._files]
        return contents if any(MARKER.encode() in content for content in contents) else None

    def edits(self, job: Job | None) -> tuple[Edit, ...]:
        after = self._contents(job) if job is not None else [None for _ in self._files]
        planned = [
            Edit(path, edits.read(path), content)
            for path, content in zip(self._files, after, strict=True)
        ]
        for edit in planned:
            if edit.before is not None and MARKER.encode() not in edit.before:
                where = str(edit.path)
                raise Taken(f"prong did not write {where}", hint="rename it", path=where)
        return tuple(planned)


class CommandResult(NamedTuple):
    status: int
    output: bytes
    complaint: str


def ask(*argv: str, given: bytes | None = None) -> CommandResult:
    """Run the scheduler's own program."""
    program = shutil.which(argv[0])
    if program is None:
        raise Unavailable(f"{argv[0]} is not on PATH")
    try:
        process = subprocess.run(
            [program, *argv[1:]],
            input=given,
            stdin=subprocess.DEVNULL if given is None else None,
            capture_output=True,
            timeout=_TIMEOUT,
            env={**os.environ, "LC_ALL": "C", "SYSTEMD_PAGER": "", "SYSTEMD_COLORS": "0"},
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise External(f"{argv[0]} does not answer: {error}", argv=list(argv)) from None
    lines = process.stderr.decode("utf-8", "replace").strip().splitlines()
    return CommandResult(process.returncode, process.stdout, "\n".join(lines[-_LAST_LINES:]))


def demand(*argv: str, given: bytes | None = None) -> CommandResult:
    """Run the scheduler's own program; raise `External` if it fails."""
    answer = ask(*argv, given=given)
    if answer.status != 0:
        raise failed(argv, answer)
    return answer


def failed(argv: Sequence[str], answer: CommandResult) -> External:
    detail = f": {answer.complaint.splitlines()[-1]}" if answer.complaint else ""
    return External(
        f"{' '.join(argv)} ended with status {answer.status}{detail}",
        argv=list(argv),
        status=answer.status,
        stderr=answer.complaint,
    )
