"""A scheduled job, and the interface of schedulers."""

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from prong.errors import External, Unavailable, UsageError
from prong.files.edits import Edit

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


class Scheduler(Protocol):
    """A system service that runs jobs. Queries change nothing."""

    @property
    def name(self) -> str: ...

    def missing(self) -> str | None:
        """Return why it cannot be used here, or None."""
        ...

    def entry(self) -> ScheduledJob | None:
        """Return prong's job, if any."""
        ...

    def edits(self, job: Job | None) -> tuple[Edit, ...]:
        """Return the edits that make this prong's only job; None removes it.

        Raises `Taken` when prong's file name is used by someone else, and `UsageError` for an
        interval that the scheduler does not support.
        """
        ...

    def apply(self, edits: Sequence[Edit], *, remove: bool) -> None:
        """Write the edits and enable or disable the job. Raises `Dirty` if files have changed."""
        ...

    def written(self, command: Sequence[str]) -> str:
        """Return a command in the scheduler's own syntax."""
        ...


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
