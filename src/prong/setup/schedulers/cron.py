"""A prong job in the user's crontab. Other lines stay unchanged, byte for byte."""

import re
import shlex
import shutil
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from prong.errors import Corrupt, Dirty, External, UsageError
from prong.files.edits import Edit
from prong.setup.schedulers.job import MARKER, Job, ScheduledJob, Scheduler, ask, demand, failed

_BEGIN = f"# {MARKER} Begin."
_END = "# prong schedule: end."
_BLOCK = re.compile(
    rb"^" + re.escape(_BEGIN).encode() + rb"\n(.*?)^" + re.escape(_END).encode() + rb"(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_MINUTE = 17
"""Not on the full hour, when most other jobs start."""
_HOUR = 3
_DAY = timedelta(days=1)


class Cron(Scheduler):
    name = "cron"

    def __init__(self, _backups: Path) -> None:
        pass

    def missing(self) -> str | None:
        return None if shutil.which("crontab") else "crontab is not on PATH"

    def entry(self) -> ScheduledJob | None:
        if self.missing() is not None:
            return None
        block = _BLOCK.search(_table())
        if block is None:
            return None
        line = block[1].decode("utf-8", "replace").strip()
        fields = line.split(None, 5)
        if len(fields) < 6:
            return ScheduledJob(None, (), active=True)
        times = " ".join(fields[:5])
        every = next((span for span in _spans() if _times(span) == times), None)
        return ScheduledJob(every, (fields[5],), active=True, next_run=_next_run(every))

    def edits(self, job: Job | None) -> tuple[Edit, ...]:
        table = _table()
        rest = _BLOCK.sub(b"", table)
        if _BEGIN.encode() in rest or _END.encode() in rest:
            raise Corrupt(
                "the prong lines in the crontab are incomplete",
                hint="take the rest out: crontab -e",
            )
        after = rest
        if job is not None:
            # At the top: variables that the user sets for later lines must not affect this job, and
            # none of their lines has to move.
            line = f"{_times(job.every)} {self._line(job)}"
            after = f"{_BEGIN}\n{line}\n{_END}\n".encode() + rest
        return (Edit(Path("crontab"), table or None, after or None),)

    def apply(self, edits: Sequence[Edit], *, remove: bool) -> None:
        (edit,) = edits
        if (_table() or None) != edit.before:
            message = "the crontab was changed just now; nothing was written"
            raise Dirty(message, hint="try again")
        if edit.after is None:
            demand("crontab", "-r")
        else:
            demand("crontab", "-", given=edit.after)
        table = _table()
        # Some versions of crontab add a header line.
        if not table.endswith(edit.after or b"") or bool(_BLOCK.search(table)) == remove:
            raise External("the crontab is not what was written", hint="look at it: crontab -l")

    def written(self, command: Sequence[str]) -> str:
        # An unescaped % would end the command.
        return shlex.join(command).replace("%", r"\%")

    def _line(self, job: Job) -> str:
        # Cron mails all output, so only errors are printed.
        commands = (f"{self.written(_in_json(command))} >/dev/null" for command in job.commands)
        return " && ".join(commands)


def _in_json(command: tuple[str, ...]) -> tuple[str, ...]:
    """Insert `--json` before `--`, after which nothing is an option."""
    position = command.index("--") if "--" in command else len(command)
    return (*command[:position], "--json", *command[position:])


def _table() -> bytes:
    answer = ask("crontab", "-l")
    if answer.status == 0:
        return answer.output
    if "no crontab" in answer.complaint.lower():
        return b""
    # Not the same as empty: the crontab would be overwritten.
    raise failed(("crontab", "-l"), answer)


def _times(every: timedelta) -> str:
    """Return the five time fields. Cron supports only even divisions of an hour or a day."""
    minutes = round(every.total_seconds()) // 60
    if minutes < 60 and 60 % minutes == 0:
        return f"*/{minutes} * * * *"
    hours = minutes // 60
    if minutes % 60 == 0 and hours < 24 and 24 % hours == 0:
        return f"{_MINUTE} {'*' if hours == 1 else f'*/{hours}'} * * *"
    if every == _DAY:
        return f"{_MINUTE} {_HOUR} * * *"
    raise UsageError(
        "cron cannot run a job at that interval",
        hint="--every 10m, 15m, 20m, 30m, 1h, 2h, 3h, 4h, 6h, 8h, 12h or 1d",
    )


def _spans() -> list[timedelta]:
    minutes = [10, 12, 15, 20, 30, *(60 * hours for hours in (1, 2, 3, 4, 6, 8, 12, 24))]
    return [timedelta(minutes=count) for count in minutes]


def _next_run(every: timedelta | None) -> datetime | None:
    """Compute the next run in local time, which cron uses."""
    if every is None:
        return None
    now = datetime.now().astimezone()
    start = now.replace(hour=0, minute=0, second=0, microsecond=0)
    if every == _DAY:
        start += timedelta(hours=_HOUR)
    if every >= timedelta(hours=1):
        start += timedelta(minutes=_MINUTE)
    times = (start + number * every for number in range(24 * 60))
    return next(time for time in times if time > now)
