"""A prong job as a launchd agent on macOS: a property list in the user's library."""

import os
import plistlib
import shlex
import shutil
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from prong.errors import ProngError
from prong.files.edits import Edit
from prong.setup.schedulers.job import MARKER, FileScheduler, Job, ScheduledJob, ask, failed

_LABEL = "prong.refresh"


class Launchd(FileScheduler):
    name = "launchd"

    def __init__(self, backups: Path) -> None:
        super().__init__(backups, Path.home() / "Library" / "LaunchAgents" / f"{_LABEL}.plist")
        self._domain = f"gui/{os.getuid()}"

    def missing(self) -> str | None:
        return None if shutil.which("launchctl") else "launchctl is not on PATH"

    def entry(self) -> ScheduledJob | None:
        own = self._own()
        if own is None:
            return None
        table = _table(own[0])
        seconds, words = table.get("StartInterval"), table.get("ProgramArguments")
        every = timedelta(seconds=seconds) if isinstance(seconds, int) else None
        commands: tuple[str, ...] = ()
        if isinstance(words, list):
            commands = (shlex.join(map(str, cast(list[Any], words))),)
        active = False
        if self.missing() is None:
            with suppress(ProngError):
                active = ask("launchctl", "print", f"{self._domain}/{_LABEL}").status == 0
        return ScheduledJob(every, commands, active)

    def _contents(self, job: Job) -> list[bytes]:
        words = list(job.commands[0])
        if len(job.commands) > 1:
            # A launchd job runs a single program.
            words = ["/bin/sh", "-c", " && ".join(map(shlex.join, job.commands))]
        table = {
            "Label": _LABEL,
            "ProgramArguments": words,
            "StartInterval": job.seconds,
            "ProcessType": "Background",
            "LowPriorityIO": True,
            "Nice": 10,
        }
        head, plist, rest = plistlib.dumps(table, sort_keys=False).partition(b"<plist")
        return [head + f"<!-- {MARKER} -->\n".encode() + plist + rest]

    def apply(self, edits: Sequence[Edit], *, remove: bool) -> None:
        if remove:
            self._turn_off()
            self._backups.remove(edits)
            return
        replaced = any(edit.before is not None for edit in edits)
        if replaced:
            self._turn_off()
        self._backups.install(edits, [None for _ in edits])
        # Older systems know only `load`.
        (file,) = map(str, self._files)
        modern = ("launchctl", "bootstrap", self._domain, file)
        answer = ask(*modern)
        if answer.status and ask("launchctl", "load", "-w", file).status:
            if not replaced:
                self._backups.remove([Edit(edit.path, edit.after, None) for edit in edits])
            raise failed(modern, answer)

    def _turn_off(self) -> None:
        """Unload the job, if it is loaded."""
        with suppress(ProngError):
            if ask("launchctl", "bootout", f"{self._domain}/{_LABEL}").status:
                ask("launchctl", "unload", "-w", str(self._files[0]))


def _table(content: bytes) -> dict[str, Any]:
    try:
        table: Any = plistlib.loads(content)
    except Exception:  # noqa: BLE001 -- plistlib lets through what its parsers raise
        return {}
    return cast(dict[str, Any], table) if isinstance(table, dict) else {}
