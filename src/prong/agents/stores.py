"""The agents of this installation, by name."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from prong.agents.base import AgentStore
from prong.errors import NotFound


class AgentStores(dict[str, AgentStore]):
    """Agent stores by name, built-in ones first."""

    def named(self, agent: str) -> AgentStore:
        try:
            return self[agent]
        except KeyError:
            names = ", ".join(self)
            raise NotFound(f"unknown agent {agent!r}", hint=f"one of {names}") from None

    def roots(self, agent: str | None = None) -> list[Path]:
        """List the roots of one agent, or of all."""
        return [root for store in self._chosen(agent) for root in store.roots]

    def root_variables(self, agent: str | None = None) -> list[str]:
        """List the environment variables that set the roots."""
        variables: list[str] = []
        for store in self._chosen(agent):
            # A plug-in may fail even here; `prong doctor` reports it.
            with suppress(Exception):
                if store.program:
                    variables.append(store.program.root_variable)
        return variables

    def _chosen(self, agent: str | None) -> list[AgentStore]:
        return [store for name, store in self.items() if agent in (None, name)]
