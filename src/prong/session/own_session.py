"""The session of the agent that started this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import islice

from prong.agents.base import AgentStore
from prong.errors import ProngError
from prong.model.sessions import SessionRef
from prong.processes import process

_HIGHEST = 4
"""Maximum number of processes between the agent and this one, such as a shell."""


def of(stores: Mapping[str, AgentStore], pids: Iterable[int]) -> SessionRef | None:
    """Find the session that the first of these processes with one has open."""
    for pid in dict.fromkeys(pids):
        for agent, store in stores.items():
            with suppress(ProngError, OSError):
                open_session = store.open_sessions([pid]).get(pid)
                if open_session is not None:
                    return SessionRef(agent, open_session.session)
    return None


def ancestors(pid: int) -> list[int]:
    """List the ancestors of a process, nearest first, without pid 1."""
    return [ancestor for ancestor in islice(process.ancestors(pid), _HIGHEST) if ancestor > 1]
