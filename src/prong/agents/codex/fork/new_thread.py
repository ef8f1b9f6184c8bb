"""A thread that is about to be written: where its file goes, and that its id is free."""

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
    """Where a new thread lives. The time in a name is a local one."""
    local = now.astimezone()
    name = f"rollout-{local:%Y-%m-%dT%H-%M-%S}-{id_}.jsonl"
    return root / "sessions" / f"{local:%Y/%m/%d}" / name


def check_free(root: Path, id_: str) -> None:
    """Raise `Taken` when a file below a configuration root has the id."""
    shelf = RolloutLibrary(root)
    taken = [*shelf.by_thread.get(id_, ()), *filter(None, [shelf.by_rollout.get(id_)])]
    if taken:
        raise Taken(f"thread id {id_} is in use", path=taken[0])


@contextmanager
def claimed(root: Path, id_: str) -> Generator[None]:
    """Publish in here: one process at a time, and only under an id that is free."""
    with alone(root / "sessions"):
        # The time is a part of the name: two files of one id do not get in each other's way.
        check_free(root, id_)
        yield


def uuid7() -> str:
    """A new id: 48 bits of milliseconds, then random ones."""
    milliseconds = time.time_ns() // 1_000_000
    number = milliseconds << 80 | int.from_bytes(os.urandom(10))
    number = number & ~(0xF << 76) | 7 << 76
    number = number & ~(0b11 << 62) | 0b10 << 62
    return str(UUID(int=number))
