"""What Claude Code starts in the background, and how a test ends all of it."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from prong.processes.process import end, process_of
from prong.testing.home import IsolatedHome

_PROC = Path("/proc")


def processes(home: IsolatedHome) -> dict[int, str]:
    """The processes that were started in this home, and their command lines."""
    mark = b"\0HOME=" + os.fsencode(home.root) + b"\0"
    found: dict[int, str] = {}
    for folder in _PROC.glob("[0-9]*"):
        try:
            environment = (folder / "environ").read_bytes()
            words = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        # A daemon of Claude Code keeps its sockets in a folder that is named after its home.
        if mark in b"\0" + environment or os.fsencode(sockets(home)) in words:
            found[int(folder.name)] = words.replace(b"\0", b" ").decode(errors="replace")
    return found


def sockets(home: IsolatedHome) -> Path:
    """Where the daemon puts its sockets: outside of the home, and no setting changes that."""
    name = hashlib.sha256(os.fsencode(home.claude)).hexdigest()[:8]
    return Path(f"/tmp/cc-daemon-{os.getuid()}", name)  # noqa: S108 -- it is theirs


@contextmanager
def ended(home: IsolatedHome) -> Generator[None]:
    """When the block is left, no process of the home is there any more."""
    try:
        yield
    finally:
        # One that sees another go may start a new one.
        while found := processes(home):
            for pid in sorted(found):
                end(process_of(pid), patience=2)
        shutil.rmtree(sockets(home), ignore_errors=True)
