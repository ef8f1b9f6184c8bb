"""Use of state.db by several applications in one process, each of which can repair it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

if TYPE_CHECKING:
    from collections.abc import Callable

    from prong.app import App

_NAME = "state.db"
_open: WeakSet[App] = WeakSet()
"""Open applications: those with the same state folder share a connection."""


def opened(app: App) -> None:
    _open.add(app)


def closed(app: App) -> None:
    """Close state.db, unless another application of this process uses it."""
    _open.discard(app)
    connection = sys.modules.get("prong.storage.connection")
    if connection is not None and all(user.state_dir != app.state_dir for user in _open):
        connection.close(app.state_dir / _NAME)


def of(state: Path, another: Callable[[], App] | None) -> Path:
    """Return the path of state.db. After a repair, an app from `another` rebuilds records."""
    from prong.storage import connection

    path = state / _NAME
    if another is not None:
        connection.when_repaired(path, lambda: _rebuilt(another))
    return path


def notices(state: Path) -> list[str]:
    """Return notices for the user; none unless this process has used the file."""
    connection = sys.modules.get("prong.storage.connection")
    return connection.notices(state / _NAME) if connection is not None else []


def _rebuilt(another: Callable[[], App]) -> dict[str, int]:
    from prong.setup.rebuild import rebuild

    with another() as app:
        return rebuild(app)
