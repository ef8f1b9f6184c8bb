"""The MCP servers of Codex: `[mcp_servers.NAME]` in config.toml.

Measured: `codex mcp add` silently replaces an entry of the same name, including the user's
settings in it. Codex passes a server a dozen of its own variables (HOME, PATH, TERM, ...) and
those listed in `env_vars`; listing an unset one is harmless. `codex mcp add` has no flag for
`env_vars`, so Codex's app-server writes it, which keeps comments.
"""

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from prong.agents.argv import Command
from prong.agents.codex.app_server import AppServer
from prong.agents.codex.launch import server_argv
from prong.agents.codex.settings import config_file
from prong.agents.common import as_dict
from prong.agents.settings import mcp_base
from prong.agents.settings.mcp_base import AgentMcp, McpChange, McpEntry, McpScope, McpServer
from prong.errors import External
from prong.files.edits import read

_SERVERS = "mcp_servers"
_HANDED_ON = "env_vars"
_WIDTH = 88


class CodexMcp(AgentMcp):
    """The MCP servers of a configuration root, and the commands that change them."""

    scopes: Sequence[McpScope] = ("user",)
    hands_on_all = False

    def __init__(self, root: Path, command: Command, program: str, env: Mapping[str, str]) -> None:
        self._root = root
        self._command = command
        self._program = program
        self._env = env

    def entry(self, name: str, scope: McpScope, folder: Path) -> McpEntry | None:
        settings = self._tables(_SERVERS).get(name)
        return self._entry(name, settings) if settings is not None else None

    def planned(self, name: str, scope: McpScope, folder: Path, server: McpServer) -> McpEntry:
        settings = mcp_base.settings_for(server, self.entry(name, scope, folder), {})
        # Existing variables, ours, and API keys of model providers.
        providers = self._tables("model_providers").values()
        keys = [key for provider in providers if isinstance(key := provider.get("env_key"), str)]
        existing = list(settings.get(_HANDED_ON) or [])
        if names := list(dict.fromkeys([*existing, *server.handed_on, *keys])):
            settings[_HANDED_ON] = names
        return self._entry(name, settings)

    def commands(self, change: McpChange) -> Sequence[Sequence[str]]:
        if change.after is None:
            return [(self._program, "mcp", "remove", change.name)]
        if change.before is not None:
            return []  # see carry_out
        return [self._add(change.name, mcp_base.without_values(change.after.settings))]

    def carry_out(self, change: McpChange) -> None:
        name = change.name
        if change.after is None:
            (remove,) = self.commands(change)
            mcp_base.run(remove, change.folder, self._env)
            return
        settings = change.after.settings
        written: Mapping[str, Any] = change.before.settings if change.before else {}
        if change.before is None:
            mcp_base.run(self._add(name, settings), change.folder, self._env)
            written = {key: settings.get(key) for key in ("command", "args", "env")}
        changed = {key: value for key, value in settings.items() if written.get(key) != value}
        if not changed:
            return
        try:
            with AppServer(server_argv(self._command), self._root) as server:
                for key, value in changed.items():
                    path = f"{_SERVERS}.{name}.{key}"
                    server.call(
                        "config/value/write", keyPath=path, value=value, mergeStrategy="replace"
                    )
        except External as error:
            path = self._root / "config.toml"
            message = f"{path}: {', '.join(changed)} of {name} could not be written ({error})"
            raise External(message, hint="update it: npm install -g @openai/codex") from error

    def _add(self, name: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
        pairs: dict[str, str] = settings.get("env", {})
        env = [word for key, value in pairs.items() for word in ("--env", f"{key}={value}")]
        argv = (self._program, "mcp", "add", *env, name)
        return (*argv, "--", settings["command"], *settings["args"])

    def _tables(self, key: str) -> dict[str, dict[str, Any]]:
        path = self._root / "config.toml"
        tables = as_dict(config_file.table(path, read(path)).get(key))
        return {name: table for name, table in tables.items() if isinstance(table, dict)}

    def _entry(self, name: str, settings: Mapping[str, Any]) -> McpEntry:
        text = _toml(f"{_SERVERS}.{name}", mcp_base.without_values(settings))
        server = mcp_base.server(settings)
        return McpEntry("user", self._root / "config.toml", server, settings, text)


editor = CodexMcp


def _toml(name: str, table: Mapping[str, Any]) -> str:
    """Format a table for display; a JSON string is a valid TOML string."""
    lines = [f"[{name}]"]
    inner: list[str] = []
    for key, value in table.items():
        if isinstance(value, dict):
            inner += ["", _toml(f"{name}.{key}", cast(dict[str, Any], value))]
        else:
            lines.append(f"{key} = {_value(value)}")
    return "\n".join([*lines, *inner])


def _value(value: Any) -> str:
    text = mcp_base.as_json(value)
    if not isinstance(value, list) or len(text) <= _WIDTH:
        return text
    lines = textwrap.wrap(text[1:-1], _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(["[", *(f"  {line}" for line in lines), "]"])
