"""Commands for workers: an agent's store with another base command than the configured one."""

from __future__ import annotations

import copy

from prong.agents.base import AgentStore, HasCommand
from prong.errors import Unsupported


def commanded(store: AgentStore, command: str | tuple[str, ...] | None) -> AgentStore:
    """The store, with launches made from this command; as it is when there is none."""
    if command is None:
        return store
    if not isinstance(store, HasCommand):
        raise Unsupported(f"{store.name} cannot be started by another command")
    other = copy.copy(store)
    assert isinstance(other, HasCommand)
    other.command = command
    return other
