"""Override the configured start command of an agent, for one worker."""

from __future__ import annotations

import copy

from prong.agents.base import AgentStore, HasCommand
from prong.errors import Unsupported


def commanded(store: AgentStore, command: str | tuple[str, ...] | None) -> AgentStore:
    """Return a copy of the store that launches this command; the store itself for None."""
    if command is None:
        return store
    if not isinstance(store, HasCommand):
        raise Unsupported(f"{store.name} cannot be started by another command")
    copied = copy.copy(store)
    assert isinstance(copied, HasCommand)
    copied.command = command
    return copied
