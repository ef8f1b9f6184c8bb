"""Use of state.db by several applications in one process, each of which can repair it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Protocol
from weakref import WeakSet

_NAME = "state.db"


class StateUser(Protocol):
    """An application with a folder for state.db."""

    @property
    def state_dir(self) -> Path: ...


_open: WeakSet[StateUser] = WeakSet()
"""Open applications: those with the same state folder share a connection."""


def opened(user: StateUser) -> None:
    _open.add(user)


def closed(user: StateUser) -> None:
    """Close state.db, unless another application of this process uses it."""
    _open.discard(user)
    connection = sys.modules.get("prong.storage.connection")
    if connection is not None and all(other.state_dir != user.state_dir for other in _open):
        connection.close(user.state_dir / _NAME)


def of(state: Path, rebuild: Callable[[], dict[str, int]] | None) -> Path:
    """Return the path of state.db. After a repair, `rebuild` restores records."""
    from prong.storage import connection

    path = state / _NAME
    if rebuild is not None:
        connection.when_repaired(path, rebuild)
    return path


def notices(state: Path) -> list[str]:
    """Return notices for the user; none unless this process has used the file."""
    connection = sys.modules.get("prong.storage.connection")
    return connection.notices(state / _NAME) if connection is not None else []
