"""What is to be run, how often, and what a scheduler must be able to do with it."""

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
"""By this our own entries are known."""
_TIMEOUT = 30.0
_LAST_LINES = 5
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Job:
    """Commands, run one after the other until one fails."""

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
    """A job of ours, as it was found with a scheduler."""

    every: timedelta | None
    commands: tuple[str, ...]
    """As they are written there."""
    active: bool
    """False when the scheduler does not run it, though it is written down."""
    next_run: datetime | None = None
    """None when it cannot be known cheaply."""


class Scheduler(Protocol):
    """One way to have a job run. Asking changes nothing."""

    @property
    def name(self) -> str: ...

    def missing(self) -> str | None:
        """Why it cannot be used here; None when it can."""
        ...

    def entry(self) -> ScheduledJob | None:
        """Our job, if there is one."""
        ...

    def edits(self, job: Job | None) -> tuple[Edit, ...]:
        """What would be written to have the job run, and no other of ours; None: no job at all.

        Raises `Taken` when what has our name is not ours, and `UsageError` for an interval that
        the scheduler does not know.
        """
        ...

    def apply(self, edits: Sequence[Edit], *, remove: bool) -> None:
        """Write it, and turn it on or off. Raises `Dirty` when somebody wrote there meanwhile."""
        ...

    def written(self, command: Sequence[str]) -> str:
        """A command as it is written there."""
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
        done = subprocess.run(
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
    lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
    return CommandResult(done.returncode, done.stdout, "\n".join(lines[-_LAST_LINES:]))


def demand(*argv: str, given: bytes | None = None) -> CommandResult:
    """The same; raise `External` unless it works."""
    answer = ask(*argv, given=given)
    if answer.status != 0:
        raise failed(argv, answer)
    return answer


def failed(argv: Sequence[str], answer: CommandResult) -> External:
    said = f": {answer.complaint.splitlines()[-1]}" if answer.complaint else ""
    return External(
        f"{' '.join(argv)} ended with status {answer.status}{said}",
        argv=list(argv),
        status=answer.status,
        stderr=answer.complaint,
    )
