"""Identify the worker whose agent calls `prong-hook`.

An agent that a worker starts as one of its commands inherits PRONG_WORKER but is not that worker.
It is recognized by its kind, which PRONG_AGENT tells, or by another agent of its kind above it that
has the same name.

The hook has only the standard library, so this reads /proc. Without it (macOS), the environment
variables are trusted.
"""

import os
import re
from pathlib import Path

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_HIGHEST = 24


def worker_name(agent: str, proc: Path = Path("/proc"), parent: int | None = None) -> str | None:
    name = os.environ.get("PRONG_WORKER", "")
    if not _NAME.fullmatch(name) or os.environ.get("PRONG_AGENT", agent) != agent:
        return None
    return None if _is_below(agent, name, proc, parent or os.getppid()) else name


def _is_below(agent: str, name: str, proc: Path, pid: int) -> bool:
    """Check whether the agent was started by another one of its kind with the name."""
    seen = between = False
    for _ in range(_HIGHEST):
        try:
            before, _, after = (proc / str(pid) / "stat").read_text().rpartition(")")
            program, above = before.partition("(")[2], int(after.split()[1])
        except (OSError, ValueError, IndexError):
            return False
        is_agent = program.startswith(agent)
        # A program may re-execute itself at startup, so require another program in between.
        if is_agent and between and _has(name, proc / str(pid) / "environ"):
            return True
        between = between or (seen and not is_agent)
        seen = seen or is_agent
        if above <= 1:
            return False
        pid = above
    return False


def _has(name: str, environ: Path) -> bool:
    try:
        return f"PRONG_WORKER={name}".encode() in environ.read_bytes().split(b"\0")
    except OSError:
        return False
