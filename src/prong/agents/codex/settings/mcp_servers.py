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
from prong.agents.codex.launch import environment, server_argv
from prong.agents.codex.settings import config_file
from prong.agents.settings import mcp_servers
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

    def __init__(self, root: Path, command: Command, program: str) -> None:
        self._root = root
        self._command = command
        self._program = program

    def entry(self, name: str, scope: McpScope, folder: Path) -> McpEntry | None:
        settings = self._tables(_SERVERS).get(name)
        return self._entry(name, settings) if settings is not None else None

    def planned(self, name: str, scope: McpScope, folder: Path, server: McpServer) -> McpEntry:
        command, *args = server.command
        current = self.entry(name, scope, folder)
        kept = dict(current.settings) if current else {}
        settings = {**kept, "command": command, "args": args}
        if env := {**(current.server.env if current and current.server else {}), **server.env}:
            settings["env"] = env
        if names := self._handed_on(kept, server):
            settings[_HANDED_ON] = names
        return self._entry(name, settings)

    def plug_in(self, name: str) -> str | None:
        return None

    def commands(self, change: McpChange) -> Sequence[Sequence[str]]:
        if change.after is None:
            return [(self._program, "mcp", "remove", change.name)]
        if change.before is not None:
            return []  # see carry_out
        return [self._add(change.name, mcp_servers.without_values(change.after.settings))]

    def carry_out(self, change: McpChange) -> None:
        name, env = change.name, environment(self._root)
        if change.after is None:
            argv = (self._program, "mcp", "remove", name)
            mcp_servers.run(argv, change.folder, env)
            return
        settings = change.after.settings
        written: Mapping[str, Any] = change.before.settings if change.before else {}
        if change.before is None:
            mcp_servers.run(self._add(name, settings), change.folder, env)
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

    def _handed_on(self, kept: Mapping[str, Any], server: McpServer) -> list[Any]:
        """Return the variables to pass on: existing ones, ours, and API keys of model providers."""
        providers = self._tables("model_providers").values()
        keys = [key for provider in providers if isinstance(key := provider.get("env_key"), str)]
        existing = list(kept.get(_HANDED_ON) or [])
        return list(dict.fromkeys([*existing, *server.handed_on, *keys]))

    def _tables(self, key: str) -> dict[str, dict[str, Any]]:
        path = self._root / "config.toml"
        value: Any = config_file.table(path, read(path)).get(key)
        tables = cast(dict[str, Any], value) if isinstance(value, dict) else {}
        return {name: table for name, table in tables.items() if isinstance(table, dict)}

    def _entry(self, name: str, settings: Mapping[str, Any]) -> McpEntry:
        text = _toml(f"{_SERVERS}.{name}", mcp_servers.without_values(settings))
        server = mcp_servers.server(settings)
        return McpEntry("user", self._root / "config.toml", server, settings, text)


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
    text = mcp_servers.as_json(value)
    if not isinstance(value, list) or len(text) <= _WIDTH:
        return text
    lines = textwrap.wrap(text[1:-1], _WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n".join(["[", *(f"  {line}" for line in lines), "]"])
