"""Which worker an agent is that calls `prong-hook`. Agents hand their environment on.

An agent that a worker starts, as one of its commands, is not that worker, and has its name all the
same. It is known by the agent above it that has the name, too.

The hook has the standard library alone, so this reads /proc itself. Without it (macOS) the name in
the environment is believed.
"""

import os
import re
from pathlib import Path

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,31}")
_AGENTS = ("claude", "codex")
_HIGHEST = 24


def worker_name(proc: Path = Path("/proc"), parent: int | None = None) -> str | None:
    name = os.environ.get("PRONG_WORKER", "")
    if not _NAME.fullmatch(name) or _is_below(name, proc, parent or os.getppid()):
        return None
    return name


def _is_below(name: str, proc: Path, pid: int) -> bool:
    """True when the agent was started by another one that has the name."""
    seen = between = False
    for _ in range(_HIGHEST):
        try:
            before, _, after = (proc / str(pid) / "stat").read_text().rpartition(")")
            program, above = before.partition("(")[2], int(after.split()[1])
        except (OSError, ValueError, IndexError):
            return False
        is_agent = program.startswith(_AGENTS)
        # A program may start itself again before it does anything.
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
