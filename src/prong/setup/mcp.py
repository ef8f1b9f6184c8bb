"""Registration of the prong MCP server with agents.

Each agent's own commands write the settings, so the agent is sure to understand them.
"""

from __future__ import annotations

import difflib
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from prong.agents.settings.mcp_base import (
    AgentMcp,
    McpChange,
    McpEntry,
    McpScope,
    McpServer,
)
from prong.agents.stores import AgentStores
from prong.errors import External, NotFound, ProngError, Taken, Unavailable, Unsupported, UsageError
from prong.model.findings import SetupState
from prong.model.record import Record
from prong.setup.schedule import prong_command

NAME = "prong"
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")
_SCOPES: dict[McpScope, str] = {
    "user": "for all folders",
    "local": "for this repository, and for you alone",
    "project": "for everyone who works in this folder",
}
_HANDED_ON = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"),
    *("TMUX", "TMUX_PANE", "TMUX_TMPDIR", "PRONG_TMUX_SOCKET"),
    *("KITTY_WINDOW_ID", "KITTY_LISTEN_ON", "PRONG_KITTY_SOCKET"),
    *("WEZTERM_PANE", "WEZTERM_UNIX_SOCKET", "ITERM_SESSION_ID", "TERM_PROGRAM"),
    *("DISPLAY", "WAYLAND_DISPLAY", "SSH_AUTH_SOCK", "PRONG_PLUGINS", "PRONG_WORKER"),
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_OAUTH_TOKEN"),
    *("OPENAI_API_KEY", "OPENAI_BASE_URL", "CODEX_API_KEY"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)
"""Variables for folders, terminals and the credentials that workers' agents need."""


class McpStatus(Record, frozen=True):
    agent: str
    state: SetupState
    entry: McpEntry | None = None
    plug_in: str | None = None
    """The plug-in that provides it."""


class McpPlan(Record, frozen=True):
    """What installing or removing would do. Planning writes nothing."""

    agent: str
    change: McpChange | None
    commands: tuple[tuple[str, ...], ...] = ()
    """The commands to run."""
    notes: tuple[str, ...] = ()
    error: ProngError | None = None
    """Why this agent must be skipped; others can proceed."""

    @property
    def needed(self) -> bool:
        change = self.change
        return change is not None and _server_of(change.before) != _server_of(change.after)

    @property
    def path(self) -> Path | None:
        """The file that changes."""
        entry = self.change and (self.change.after or self.change.before)
        return entry.path if entry else None

    @property
    def kind(self) -> str:
        """What happens to the entry, not to its file: none, create, change or delete."""
        change = self.change
        if change is None or not self.needed:
            return "none"
        if change.before is None:
            return "create"
        return "delete" if change.after is None else "change"

    @property
    def diff(self) -> str:
        """Diff of the entry, without file names and line numbers."""
        if self.change is None:
            return ""
        old, new = (_lines(entry) for entry in (self.change.before, self.change.after))
        # The first three lines name files and positions.
        lines = list(difflib.unified_diff(old, new, lineterm="", n=len(old)))
        return "\n".join(lines[3:])


class McpSetup(Record, frozen=True):
    """Registration and removal of the MCP server."""

    stores: AgentStores

    def plan_install(
        self,
        agent: str | None = None,
        *,
        scope: McpScope = "user",
        name: str = NAME,
        read_only: bool = False,
        env: Sequence[str] = (),
    ) -> list[McpPlan]:
        """Plan registration with one agent, or with all installed ones.

        `env` has `NAME=VALUE` for variables to set, and `NAME` for variables to pass on.
        """
        cwd = Path.cwd()
        server = self._server(scope, read_only=read_only, env=env)
        _check_name(name)

        def plan(agent: str) -> list[McpPlan]:
            servers = self._servers(agent, scope)
            before = servers.entry(name, scope, cwd)
            if before is not None and not is_ours(before):
                message = f"{before.path} has another server of the name {name}"
                raise Taken(message, hint="--name prong-sessions, or any other name")
            after = servers.planned(name, scope, cwd, server)
            change = McpChange(name, scope, cwd, before, after)
            return [_plan(agent, servers, change, tuple(_notes(agent, servers, change)))]

        return self._planned(agent, plan)

    def plan_remove(
        self,
        agent: str | None = None,
        *,
        scope: McpScope | None = None,
        name: str = NAME,
    ) -> list[McpPlan]:
        """Plan removal from one scope, or from every scope that applies to this folder."""
        cwd = Path.cwd()
        _check_name(name)

        def plans(agent: str) -> list[McpPlan]:
            servers = self._servers(agent, scope)
            scopes = (scope,) if scope else servers.scopes
            entries = [entry for item in scopes if (entry := servers.entry(name, item, cwd))]
            ours = [item for item in entries if is_ours(item)]
            if entries and not ours:
                message = f"{entries[0].path} has another program's server {name}: left unchanged"
                raise NotFound(message, hint=f"the agent's own command: {agent} mcp remove {name}")
            changes = [McpChange(name, item.scope, cwd, item, None) for item in ours]
            planned = [_plan(agent, servers, change) for change in changes]
            return planned or [McpPlan(agent, None)]

        return self._planned(agent, plans)

    def change(self, plan: McpPlan) -> None:
        """Carry out a plan with the agent's own commands, and verify the result."""
        if plan.change is None or not plan.needed:
            return
        change = plan.change
        servers = self._servers(plan.agent, change.scope)
        self._require_program(plan.agent)
        servers.carry_out(change)
        entry = servers.entry(change.name, change.scope, change.folder)
        if _server_of(entry) != _server_of(change.after):
            message = f"{plan.agent} reported success, but its settings did not change"
            raise External(message, hint=f"{plan.agent} mcp get {change.name}")

    def status(self, agent: str) -> McpStatus:
        """Whether the server is registered here. Raises `ConfigError` for a broken file."""
        cwd = Path.cwd()
        servers = self._servers(agent, None)
        for scope in servers.scopes:
            entry = servers.entry(NAME, scope, cwd)
            if entry is None or entry.server is None or not is_ours(entry):
                continue
            read_only = "--read-only" in entry.server.command
            server = self._server(scope, read_only=read_only)
            after = servers.planned(NAME, scope, cwd, server)
            current = after.server == entry.server
            return McpStatus(agent, SetupState.INSTALLED if current else SetupState.OUTDATED, entry)
        plug_in = servers.plug_in(NAME)
        return McpStatus(
            agent, SetupState.INSTALLED if plug_in else SetupState.NONE, plug_in=plug_in
        )

    def _planned(self, agent: str | None, plan: Callable[[str], list[McpPlan]]) -> list[McpPlan]:
        if agent is not None:
            self._require_program(agent)
            return plan(agent)
        plans: list[McpPlan] = []
        for name, store in self.stores.items():
            if store.mcp_servers is None:
                continue
            try:
                self._require_program(name)
                plans += plan(name)
            except ProngError as error:
                plans.append(McpPlan(name, None, error=error))
        return plans

    def _servers(self, agent: str, scope: McpScope | None) -> AgentMcp:
        store = self.stores.named(agent)
        servers = store.mcp_servers
        if servers is None:
            raise store.unsupported("have MCP servers")
        if scope is not None and scope not in servers.scopes:
            scopes = ", ".join(servers.scopes)
            message = f"{agent} keeps no MCP servers {_SCOPES[scope]}"
            raise Unsupported(message, hint=f"--scope {scopes}")
        return servers

    def _require_program(self, agent: str) -> None:
        program = self.stores.named(agent).program
        if program is not None and shutil.which(program.name) is None:
            raise Unavailable(f"{program.name} is not on PATH", hint=program.install)

    def _server(self, scope: McpScope, *, read_only: bool, env: Sequence[str] = ()) -> McpServer:
        # A shared file must not contain a path of one user's machine.
        program = ("prong",) if scope == "project" else prong_command()
        command = (*program, "mcp", *(["--read-only"] if read_only else []))
        pairs = dict(item.split("=", 1) for item in env if "=" in item)
        names = [item for item in env if "=" not in item]
        for name in (*pairs, *names):
            if not re.fullmatch(r"[A-Za-z_]\w*", name):
                raise UsageError(
                    f"{name!r} is not a variable name", hint="--env NAME or NAME=VALUE"
                )
        passed_on = dict.fromkeys([*self.stores.root_variables(), *_HANDED_ON, *names])
        return McpServer(command, pairs, tuple(passed_on))


def is_ours(entry: McpEntry) -> bool:
    """Whether the server is a prong, whichever installation."""
    words = entry.server.command if entry.server is not None else ()
    if words and words[0].rpartition("/")[2] == "prong":
        return words[1:2] == ("mcp",)
    return words[1:5] == ("-P", "-m", "prong", "mcp")


def _plan(agent: str, servers: AgentMcp, change: McpChange, notes: tuple[str, ...] = ()) -> McpPlan:
    commands = tuple(tuple(words) for words in servers.commands(change))
    return McpPlan(agent, change, commands, notes)


def _notes(agent: str, servers: AgentMcp, change: McpChange) -> list[str]:
    notes: list[str] = []
    if change.scope == "project":
        notes.append("everyone who gets this file needs `prong` on PATH")
        if agent == "claude":
            notes.append("Claude Code asks once before it starts a server of a project")
        if shutil.which("prong") is None:
            notes.append("prong is not on your PATH, so the agent will not find it either")
    for scope in servers.scopes[: servers.scopes.index(change.scope)]:
        other = servers.entry(change.name, scope, change.folder)
        if other is not None:
            notes.append(f"in this folder the one of {other.path} counts ({_SCOPES[scope]})")
    if plug_in := servers.plug_in(NAME):
        notes.append(f"the plug-in {plug_in} brings the same server: one of the two is enough")
    if not servers.hands_on_all:
        notes.append(f"{agent} passes on only the variables that are named; keys are not stored")
    return notes


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        message = f"{name!r} is not a server name: use letters, digits, - and _"
        raise UsageError(message, hint=f"--name {NAME}")


def _server_of(entry: McpEntry | None) -> McpServer | None:
    return entry.server if entry is not None else None


def _lines(entry: McpEntry | None) -> list[str]:
    return entry.text.split("\n") if entry is not None else []
