"""The session of the agent that started this process."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from prong.agents.worker_base import CanWork
from prong.errors import ProngError
from prong.model.sessions import SessionRef
from prong.processes import process

if TYPE_CHECKING:
    from prong.app import App

_HIGHEST = 4
"""Maximum number of processes between the agent and this one, such as a shell."""


def of(app: App, pids: Iterable[int]) -> SessionRef | None:
    """Find the session that the first of these processes with one has open."""
    for pid in dict.fromkeys(pids):
        for agent, store in app.stores.items():
            if not isinstance(store, CanWork):
                continue
            with suppress(ProngError, OSError):
                open_session = store.open_sessions([pid]).get(pid)
                if open_session is not None:
                    return SessionRef(agent, open_session.session)
    return None


def ancestors(pid: int) -> list[int]:
    """List the ancestors of a process, nearest first, without pid 1."""
    return [ancestor for ancestor in islice(process.ancestors(pid), _HIGHEST) if ancestor > 1]
