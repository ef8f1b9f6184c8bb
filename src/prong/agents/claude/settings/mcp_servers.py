"""MCP servers of Claude Code: `mcpServers` in `.claude.json` and in a project's `.mcp.json`.

Measured: `claude mcp add` refuses a name that exists in the same scope. `local` entries belong to
the repository, and those of a worktree to its main repository. Servers inherit the whole
environment of Claude Code.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from prong.agents.argv import Command
from prong.agents.claude.settings import trust
from prong.agents.common import as_dict
from prong.agents.settings import mcp_base
from prong.agents.settings import trust as trusting
from prong.agents.settings.file import SettingsText
from prong.agents.settings.mcp_base import AgentMcp, McpChange, McpEntry, McpScope, McpServer
from prong.errors import ConfigError, External
from prong.files.edits import read

_SERVERS = "mcpServers"


class ClaudeMcp(AgentMcp):
    """Editor of Claude Code's list of MCP servers."""

    scopes: Sequence[McpScope] = ("local", "project", "user")
    hands_on_all = True

    def __init__(self, root: Path, program: str, env: Mapping[str, str]) -> None:
        self._root = root
        self._program = program
        self._env = env

    def entry(self, name: str, scope: McpScope, folder: Path) -> McpEntry | None:
        table: Any = _loaded(self._file(scope, folder))
        for key in (*self._place(scope, folder), name):
            table = as_dict(table).get(key)
        if table is None:
            return None
        settings = as_dict(table) if isinstance(table, dict) else {"": table}
        return self._entry(name, scope, folder, settings)

    def planned(self, name: str, scope: McpScope, folder: Path, server: McpServer) -> McpEntry:
        new: dict[str, Any] = {"type": "stdio", "command": "", "args": [], "env": {}}
        settings = mcp_base.settings_for(server, self.entry(name, scope, folder), new)
        return self._entry(name, scope, folder, settings)

    def plug_in(self, name: str) -> str | None:
        plug_ins = as_dict(as_dict(_loaded(self._root / "settings.json")).get("enabledPlugins"))
        # `prong@marketplace`
        enabled = (key for key, on in plug_ins.items() if on and key.partition("@")[0] == name)
        return next(enabled, None)

    def commands(self, change: McpChange) -> Sequence[Sequence[str]]:
        hidden = change.after and mcp_base.without_values(change.after.settings)
        return self._commands(change, hidden)

    def carry_out(self, change: McpChange) -> None:
        first, *second = self._commands(change, change.after and change.after.settings)
        mcp_base.run(first, change.folder, self._env)
        try:
            for words in second:
                mcp_base.run(words, change.folder, self._env)
        except External:
            # Restore the old entry.
            if change.before is not None:
                restore = self._add_json(change, change.before.settings)
                mcp_base.run(restore, change.folder, self._env)
            raise

    def _commands(
        self, change: McpChange, settings: Mapping[str, Any] | None
    ) -> list[tuple[str, ...]]:
        remove = (self._program, "mcp", "remove", "-s", change.scope, change.name)
        if settings is None:
            return [remove]
        if change.before is not None:
            # No command changes an entry, and only `add-json` keeps its other settings.
            return [remove, self._add_json(change, settings)]
        pairs = [
            word for name, value in settings["env"].items() for word in ("-e", f"{name}={value}")
        ]
        # The name precedes `-e`, which takes all words up to the next flag.
        words = (self._program, "mcp", "add", "-s", change.scope, change.name, *pairs)
        return [(*words, "--", settings["command"], *settings["args"])]

    def _add_json(self, change: McpChange, settings: Mapping[str, Any]) -> tuple[str, ...]:
        words = (self._program, "mcp", "add-json", "-s", change.scope, change.name)
        return (*words, mcp_base.as_json(settings))

    def _file(self, scope: McpScope, folder: Path) -> Path:
        return folder / ".mcp.json" if scope == "project" else trust.file_of(self._root)

    def _place(self, scope: McpScope, folder: Path) -> tuple[str, ...]:
        if scope == "local":
            return ("projects", str(trusting.project(folder)), _SERVERS)
        return (_SERVERS,)

    def _entry(
        self, name: str, scope: McpScope, folder: Path, settings: Mapping[str, Any]
    ) -> McpEntry:
        table: Any = {name: mcp_base.without_values(settings)}
        for key in reversed(self._place(scope, folder)):
            table = {key: table}
        text = json.dumps(table, indent=2, ensure_ascii=False)
        server = mcp_base.server(settings)
        return McpEntry(scope, self._file(scope, folder), server, settings, text)


def editor(root: Path, _: Command, program: str, env: Mapping[str, str]) -> ClaudeMcp:
    return ClaudeMcp(root, program, env)


def _loaded(path: Path) -> Any:
    try:
        return json.loads(SettingsText.decode(path, read(path)).text or "{}")
    except (ValueError, RecursionError) as error:
        message = f"{path} is not JSON ({error}): prong leaves it unchanged"
        raise ConfigError(message, path=str(path)) from None
