"""The session that the agent has open which started this process."""

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
"""So many processes may stand between an agent and us: a shell, a launcher."""


def of(app: App, pids: Iterable[int]) -> SessionRef | None:
    """What the first of these processes has open that has anything open."""
    for pid in dict.fromkeys(pids):
        for agent, store in app.stores.items():
            if not isinstance(store, CanWork):
                continue
            with suppress(ProngError, OSError):
                found = store.open_sessions([pid]).get(pid)
                if found is not None:
                    return SessionRef(agent, found.session)
    return None


def ancestors(pid: int) -> list[int]:
    """The processes above one, the nearest first; never the first process of the system."""
    return [above for above in islice(process.ancestors(pid), _HIGHEST) if above > 1]
