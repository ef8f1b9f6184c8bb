"""Choose the file and id of a new thread, and check that the id is free."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from uuid import UUID

from prong.agents.codex.library import RolloutLibrary
from prong.agents.common import alone
from prong.errors import Taken


def file_of(root: Path, id_: str, now: datetime) -> Path:
    """Return the path of a new thread's file. The time in its name is local."""
    local = now.astimezone()
    name = f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{id_}.jsonl"
    return root / "sessions" / f"{local:%Y/%m/%d}" / name


def check_free(root: Path, id_: str) -> None:
    """Raise `Taken` if a file below a configuration root has the id."""
    library = RolloutLibrary(root)
    paths = [*library.by_thread.get(id_, ()), *filter(None, [library.by_rollout.get(id_)])]
    if paths:
        raise Taken(f"thread id {id_} is in use", path=paths[0])


@contextmanager
def claimed(root: Path, id_: str) -> Generator[None]:
    """Hold a lock while publishing under an id that is free."""
    with alone(root / "sessions"):
        # File names contain the time, so two files with one id would not collide.
        check_free(root, id_)
        yield


def uuid7() -> str:
    """Generate an id: 48 bits of milliseconds, then random ones."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | int.from_bytes(os.urandom(10))
    number = number & ~(0xF << 76) | 7 << 76
    number = number & ~(0b11 << 62) | 0b10 << 62
    return str(UUID(int=number))
