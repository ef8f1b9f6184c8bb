"""Which process belongs to which: a pane may run a shell that runs the agent. Linux only."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_DEEPEST = 8


def descendants(pid: int) -> Iterator[int]:
    """The children of a process, then their children."""
    level = [pid]
    for _ in range(_DEEPEST):
        level = [child for parent in level for child in _children(parent)]
        yield from level


def ancestor(pid: int, wanted: Collection[int]) -> int | None:
    """The process itself, or the nearest above it, that is one of these."""
    for _ in range(_DEEPEST):
        if pid in wanted:
            return pid
        parent = _parent(pid)
        if parent is None or parent <= 1:
            return None
        pid = parent
    return None


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for thread in (_PROC / str(pid) / "task").iterdir():
            with suppress(OSError):
                found += map(int, (thread / "children").read_text().split())
    return found


def _parent(pid: int) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        # The second field, the program's name, may hold spaces and brackets.
        return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    return None
