"""Per-worker lock for sending prompts and starting programs."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prong.errors import Busy
from prong.files.atomic import held
from prong.paths import private_dir

if TYPE_CHECKING:
    from prong.app import App

_PATIENCE = 90.0
"""Seconds: another sender may wait a minute for the agent to start, then paste."""


@contextmanager
def alone(app: App, name: str) -> Generator[None]:
    """Hold the lock of a worker.

    Two texts pasted at once would become one prompt; two programs would write one session.
    """
    folder = private_dir(app.state_dir / "workers")
    with held(folder / f"{name}.lock", _PATIENCE) as is_free:
        if not is_free:
            raise Busy(f"another process is talking to {name}", hint=f"prong status {name}")
        yield
