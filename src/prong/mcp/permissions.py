"""What an agent may request when it starts other agents; see `[mcp]`."""

from __future__ import annotations

from prong.agents.stores import AgentStores
from prong.config import McpSettings
from prong.errors import Unsupported, UsageError
from prong.model.record import Record
from prong.model.workers import RunOptions
from prong.paths import config_file
from prong.terminals.base import TakesOver
from prong.views.workers import words
from prong.workers.panes import Terminals

_GUARDED = {
    "allow_skip_permissions": "a worker that bypasses permission checks",
    "allow_trust": "a folder that is trusted",
    "allow_commands": "a command instead of a prompt",
}


class Permissions(Record, frozen=True):
    """Checks of requests, all of which raise `UsageError`."""

    settings: McpSettings
    stores: AgentStores
    terminals: Terminals

    def require(
        self, *, skip_permissions: bool = False, trust: bool = False, commands: bool = False
    ) -> None:
        """Refuse what is requested unless the user has allowed it."""
        requested = (skip_permissions, trust, commands)
        for (name, description), is_requested in zip(_GUARDED.items(), requested, strict=True):
            if is_requested and not getattr(self.settings, name):
                raise UsageError(
                    f"agents may not request {description}: the user has not allowed it",
                    hint=f"the user can: [mcp] {name} = true in {config_file()}",
                )

    def require_inherited(self, agent: str, command: str | tuple[str, ...] | None) -> None:
        """Refuse a source whose command skips permissions if the configured one does not.

        A fork inherits the command of its source. An agent must not spread a permission that the
        user gave to one worker.
        """
        if command and self._skips(agent, command) and not self._skips(agent, None):
            self.require(skip_permissions=True)

    def _skips(self, agent: str, command: str | tuple[str, ...] | None) -> bool:
        store = self.stores.named(agent).with_command(command)
        # If the flag changes nothing, the command has it already.
        try:
            plain, skipping = (
                store.command_with(RunOptions(skip_permissions=skips)) for skips in (False, True)
            )
        except Unsupported:
            return False
        return sorted(words(plain)) == sorted(words(skipping))

    def terminal(self, *, headless: bool = False) -> str | None:
        """Return the terminal for an unattended worker; None for the default one, or for no pane.

        Terminals that take over this process, or that only print what to type, need a person.
        """
        if headless:
            return None
        default = self.terminals.for_worker()
        if isinstance(default, TakesOver) or default.name == "print":
            return self.terminals.for_worker("tmux").name
        return None
