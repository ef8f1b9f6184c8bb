"""A prong job as a systemd user service with a timer."""

import json
import re
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prong import paths
from prong.errors import ProngError
from prong.files.edits import Edit
from prong.setup.schedulers.job import MARKER, FileScheduler, Job, ScheduledJob, ask, demand

_NAME = "prong-refresh"
_TIMER = f"{_NAME}.timer"
_PLAIN = re.compile(r"[A-Za-z0-9_@+=:,./-]+")
_UNSAFE = re.compile(r"[\"'\\]")
_HEAD = f"""# {MARKER}
[Unit]
Description=prong: bring the search index and the exports up to date
"""
_SERVICE = """
[Service]
Type=oneshot
Nice=10
{commands}"""
_TIMES = """
[Timer]
OnActiveSec=5min
OnUnitActiveSec={seconds}s

[Install]
WantedBy=timers.target
"""


class Systemd(FileScheduler):
    name = "systemd"

    def __init__(self, backups: Path) -> None:
        folder = paths.config_file().parent.parent / "systemd" / "user"
        super().__init__(backups, folder / f"{_NAME}.service", folder / _TIMER)

    def missing(self) -> str | None:
        if shutil.which("systemctl") is None:
            return "systemctl is not on PATH"
        try:
            answer = ask("systemctl", "--user", "show", "--property=Version")
        except ProngError as error:
            return error.message
        return None if answer.status == 0 else "systemd is not running for this user"

    def entry(self) -> ScheduledJob | None:
        own = self._own()
        if own is None:
            return None
        service, timer = (content.decode("utf-8", "replace") for content in own)
        commands = tuple(re.findall(r"^ExecStart=(.*)$", service, re.MULTILINE))
        seconds = re.search(r"^OnUnitActiveSec=(\d+)s$", timer, re.MULTILINE)
        every = timedelta(seconds=int(seconds[1])) if seconds else None
        active = False
        if shutil.which("systemctl"):
            with suppress(ProngError):
                active = ask("systemctl", "--user", "is-active", "--quiet", _TIMER).status == 0
        return ScheduledJob(every, commands, active, _next_run() if active else None)

    def _contents(self, job: Job) -> list[bytes]:
        commands = "".join(f"ExecStart={self.written(command)}\n" for command in job.commands)
        texts = (_SERVICE.format(commands=commands), _TIMES.format(seconds=job.seconds))
        return [(_HEAD + text).encode() for text in texts]

    def apply(self, edits: Sequence[Edit], *, remove: bool) -> None:
        if remove:
            # The timer may be off already, or systemd gone; remove the files anyway.
            with suppress(ProngError):
                ask("systemctl", "--user", "disable", "--now", _TIMER)
            self._backups.remove(edits)
            with suppress(ProngError):
                ask("systemctl", "--user", "daemon-reload")
            return
        self._backups.install(edits, [None for _ in edits])
        try:
            demand("systemctl", "--user", "daemon-reload")
            demand("systemctl", "--user", "enable", "--now", _TIMER)
            if any(edit.before is not None for edit in edits):
                # A running timer keeps its old interval until restarted.
                demand("systemctl", "--user", "restart", _TIMER)
        except BaseException:
            if all(edit.before is None for edit in edits):
                self.apply([Edit(edit.path, edit.after, None) for edit in edits], remove=True)
            raise

    def written(self, command: Sequence[str]) -> str:
        if _UNSAFE.search(command[0]):
            # systemd rejects such program names, but accepts any argument.
            command = ("/usr/bin/env", *command)
        # The colon disables variable expansion; older versions do not support it.
        prefix = ":" if any("$" in word for word in command) else ""
        return prefix + " ".join(map(_word, command))


def _word(word: str) -> str:
    escaped = word.replace("%", "%%")
    if _PLAIN.fullmatch(word.replace("%", "")):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _next_run() -> datetime | None:
    """Ask `list-timers`; None for versions that cannot print JSON."""
    try:
        answer = ask("systemctl", "--user", "list-timers", "--output=json", _TIMER)
        rows: Any = json.loads(answer.output)
        return datetime.fromtimestamp(rows[0]["next"] / 1_000_000, UTC)
    except (ProngError, ValueError, TypeError, LookupError, OverflowError, OSError):
        return None
