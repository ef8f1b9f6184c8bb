"""state.db, as applications share it: repaired and rebuilt by whichever finds it damaged."""

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
"""Applications that were not closed: those of one state folder share a connection."""


def opened(app: App) -> None:
    _open.add(app)


def closed(app: App) -> None:
    """Close state.db, unless another application of this process uses it."""
    _open.discard(app)
    connection = sys.modules.get("prong.storage.connection")
    if connection is not None and all(one.state_dir != app.state_dir for one in _open):
        connection.close(app.state_dir / _NAME)


def of(state: Path, another: Callable[[], App] | None) -> Path:
    """The file. What a repair loses is rebuilt by another application, in whichever thread."""
    from prong.storage import connection

    path = state / _NAME
    if another is not None:
        connection.when_repaired(path, lambda: _rebuilt(another))
    return path


def notices(state: Path) -> list[str]:
    """What a person should know of it; nothing as long as this process has not used it."""
    connection = sys.modules.get("prong.storage.connection")
    return connection.notices(state / _NAME) if connection is not None else []


def _rebuilt(another: Callable[[], App]) -> dict[str, int]:
    from prong.setup.rebuild import rebuild

    with another() as app:
        return rebuild(app)
