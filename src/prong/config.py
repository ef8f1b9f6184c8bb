"""User configuration from `config.toml`, validated. A missing file counts as empty.

[agents.claude]
roots = ["~/laptop/.claude"]      # searched besides the agent's own folder
command = "claude --model opus"   # starts the agent

[workspace]
root = "~/worktrees"              # where the worktrees of forks are created
copy = [".env"]                   # ignored files to copy into a worktree
link = ["node_modules"]           # ignored files to link into a worktree

[picker]
program = "fzf"                   # picks turns, instead of the built-in list

[snapshots]
limit_mb = 50                     # snapshots skip, and list, larger files

[search]
engines = ["builtin"]             # tried in order until one answers
tool_output = true                # index the output of tools

[terminal]
default = "tmux"                  # where workers run, instead of the current terminal
place = "tab"                     # or "split" or "window"
tmux_socket = "~/.tmux/prong"     # socket of another tmux server
kitty_socket = "unix:/tmp/kitty"  # listen_on of kitty.conf, for use outside of kitty

[mcp]
allow_skip_permissions = false    # let agents start workers that skip permission checks
allow_trust = false               # let agents mark the folders of workers as trusted
allow_commands = false            # let agents send workers commands such as /clear

[ui]
theme = "textual-light"           # theme of prong ui, as its palette lists them
fork_keys = ["alt+shift+f", "F"]  # keys that open the fork dialog
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from prong import paths
from prong.errors import ConfigError
from prong.files.regular import read_regular
from prong.files.size_limit import SNAPSHOT_LIMIT, in_bytes
from prong.model.record import Record, field

_HINT = (
    "the settings there are: agents.NAME.roots = [FOLDER, ...], agents.NAME.command = COMMAND, "
    "workspace.root = FOLDER, workspace.copy = [PATTERN, ...], workspace.link = [PATTERN, ...], "
    'picker.program = "builtin" or "fzf", snapshots.limit_mb = NUMBER, '
    'search.engines = ["builtin" or "qmd", ...], search.tool_output = true or false, '
    'terminal.default = NAME, terminal.place = "split", "tab" or "window", '
    "terminal.tmux_socket = FILE, terminal.kitty_socket = ADDRESS, "
    "mcp.allow_skip_permissions = true or false, mcp.allow_trust = true or false, "
    "mcp.allow_commands = true or false, "
    "ui.theme = NAME, ui.fork_keys = [KEY, ...]"
)
_PICKERS = ("builtin", "fzf")
_ENGINES = ("builtin", "qmd")
_PLACES = ("split", "tab", "window")
_TABLES = ("agents", "workspace", "picker", "snapshots", "search", "terminal", "mcp", "ui")


class Workspace(Record, frozen=True):
    """Settings of new worktrees."""

    root: Path | None = None
    """Folder in which they are created; None: the one in prong's data folder."""
    copy: tuple[str, ...] = ()
    """Gitignore patterns of ignored files to copy into them."""
    link: tuple[str, ...] = ()
    """Gitignore patterns of ignored files to link into them."""


class Snapshots(Record, frozen=True):
    """Settings of snapshots. Hooks read them with `prong.files.size_limit`."""

    limit: int = SNAPSHOT_LIMIT
    """Bytes. Larger files are left out and listed."""


class SearchSettings(Record, frozen=True):
    engines: tuple[str, ...] = ("builtin",)
    """Tried in this order until one answers."""
    output: bool = True
    """Index the output of tools."""


class McpSettings(Record, frozen=True):
    """Permissions of agents that call the MCP server."""

    allow_skip_permissions: bool = False
    """Start workers that skip permission checks."""
    allow_trust: bool = False
    """Mark the folder of a new worker as trusted, in the agent's own settings."""
    allow_commands: bool = False
    """Send commands of the agent's prompt: `/clear`, or `!` and a shell line."""


class UiSettings(Record, frozen=True):
    theme: str | None = None
    fork_keys: tuple[str, ...] = ("alt+shift+f", "F")
    """Key names of Textual. Some terminals do not send the first one."""


class TerminalSettings(Record, frozen=True):
    default: str | None = None
    """Name of a terminal; None: the current one."""
    place: str = "tab"
    tmux_socket: Path | None = None
    kitty_socket: str | None = None


class Config(Record, frozen=True):
    extra_roots: Mapping[str, tuple[Path, ...]] = field(default_factory=dict[str, tuple[Path, ...]])
    """Agent name -> additional roots: other accounts, copies from other machines."""
    commands: Mapping[str, str | tuple[str, ...]] = field(
        default_factory=dict[str, str | tuple[str, ...]]
    )
    """Agent name -> start command: a shell line, or a list of words."""
    workspace: Workspace = field(default_factory=Workspace)
    picker: str = _PICKERS[0]
    """Program that picks turns."""
    snapshots: Snapshots = field(default_factory=Snapshots)
    search: SearchSettings = field(default_factory=SearchSettings)
    terminal: TerminalSettings = field(default_factory=TerminalSettings)
    mcp: McpSettings = field(default_factory=McpSettings)
    ui: UiSettings = field(default_factory=UiSettings)


def load(path: Path | None = None) -> Config:
    path = path or paths.config_file()
    try:
        data = read_regular(path)
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from None
    if not any(line.strip() and not line.lstrip().startswith(b"#") for line in data.split(b"\n")):
        # Nothing but comments. Importing the parser takes longer than all else here.
        return Config()
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint=_HINT) from None
    return _Checker(path).config(table)


class _Checker:
    """Parser of a TOML table into a `Config`; any unknown setting is an error that names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def config(self, table: dict[str, Any]) -> Config:
        self._only(table, {*_TABLES}, "")
        agents = self._table(table.get("agents", {}), "agents")
        roots: dict[str, tuple[Path, ...]] = {}
        commands: dict[str, str | tuple[str, ...]] = {}
        for name, value in agents.items():
            where = f"agents.{name}"
            settings = self._table(value, where)
            self._only(settings, {"roots", "command"}, where)
            roots[name] = self._roots(settings.get("roots", []), f"{where}.roots")
            if "command" in settings:
                commands[name] = self._command(settings["command"], f"{where}.command")
        workspace = self._workspace(table.get("workspace", {}))
        picker = self._picker(table.get("picker", {}))
        snapshots = self._snapshots(table.get("snapshots", {}))
        search = self._search(table.get("search", {}))
        terminal = self._terminal(table.get("terminal", {}))
        mcp = self._mcp(table.get("mcp", {}))
        ui = self._ui(table.get("ui", {}))
        return Config(roots, commands, workspace, picker, snapshots, search, terminal, mcp, ui)

    def _ui(self, value: Any) -> UiSettings:
        table = self._table(value, "ui")
        self._only(table, {"theme", "fork_keys"}, "ui")
        theme = table.get("theme")
        if theme is not None and (not isinstance(theme, str) or not theme.strip()):
            raise self._wrong("ui.theme must be the name of a theme")
        values = table.get("fork_keys", list(UiSettings().fork_keys))
        keys = self._texts(values, "ui.fork_keys must be a list of keys")
        if not keys or not all(re.fullmatch(r"[A-Za-z0-9_+]+", key) for key in keys):
            raise self._wrong("ui.fork_keys must be keys such as alt+shift+f, F or ctrl+f")
        return UiSettings(theme, keys)

    def _mcp(self, value: Any) -> McpSettings:
        table = self._table(value, "mcp")
        self._only(table, {"allow_skip_permissions", "allow_trust", "allow_commands"}, "mcp")
        for name, setting in table.items():
            if not isinstance(setting, bool):
                raise self._wrong(f"mcp.{name} must be true or false")
        return McpSettings(**table)

    def _terminal(self, value: Any) -> TerminalSettings:
        table = self._table(value, "terminal")
        self._only(table, {"default", "place", "tmux_socket", "kitty_socket"}, "terminal")
        for name, setting in table.items():
            if not isinstance(setting, str) or not setting.strip():
                raise self._wrong(f"terminal.{name} must be a text")
        place = table.get("place", TerminalSettings().place)
        if place not in _PLACES:
            raise self._wrong(f"terminal.place must be one of {', '.join(_PLACES)}")
        socket = table.get("tmux_socket")
        return TerminalSettings(
            table.get("default"),
            place,
            self._folder(socket, "terminal.tmux_socket") if socket else None,
            table.get("kitty_socket"),
        )

    def _search(self, value: Any) -> SearchSettings:
        table = self._table(value, "search")
        self._only(table, {"engines", "tool_output"}, "search")
        output = table.get("tool_output", True)
        if not isinstance(output, bool):
            raise self._wrong("search.tool_output must be true or false")
        values = table.get("engines", list(SearchSettings().engines))
        engines = cast(list[Any], values) if isinstance(values, list) else []
        if not engines or any(engine not in _ENGINES for engine in engines):
            raise self._wrong(f"search.engines must be a list of {' and '.join(_ENGINES)}")
        return SearchSettings(tuple(dict.fromkeys(map(str, engines))), output)

    def _snapshots(self, value: Any) -> Snapshots:
        table = self._table(value, "snapshots")
        self._only(table, {"limit_mb"}, "snapshots")
        if "limit_mb" not in table:
            return Snapshots()
        limit = in_bytes(table["limit_mb"])
        if limit is None:
            raise self._wrong("snapshots.limit_mb must be a number above 0")
        return Snapshots(limit)

    def _picker(self, value: Any) -> str:
        table = self._table(value, "picker")
        self._only(table, {"program"}, "picker")
        program = table.get("program", _PICKERS[0])
        if program not in _PICKERS:
            raise self._wrong(f"picker.program must be one of {', '.join(_PICKERS)}")
        return program

    def _workspace(self, value: Any) -> Workspace:
        table = self._table(value, "workspace")
        self._only(table, {"root", "copy", "link"}, "workspace")
        root = table.get("root")
        if root is not None and not isinstance(root, str):
            raise self._wrong("workspace.root must be a folder")
        return Workspace(
            self._folder(root, "workspace.root") if root is not None else None,
            self._patterns(table.get("copy", []), "workspace.copy"),
            self._patterns(table.get("link", []), "workspace.link"),
        )

    def _patterns(self, value: Any, where: str) -> tuple[str, ...]:
        patterns = self._texts(value, f"{where} must be a list of patterns")
        for pattern in patterns:
            # Negation is pointless: nothing is copied or linked unless it is named.
            if not pattern.strip() or pattern.startswith("!") or not pattern.isprintable():
                raise self._wrong(f"{where}: {pattern!r} is not a file pattern")
        return patterns

    def _roots(self, value: Any, where: str) -> tuple[Path, ...]:
        texts = self._texts(value, f"{where} must be a list of folders")
        return tuple(self._folder(text, where) for text in texts)

    def _folder(self, text: str, where: str) -> Path:
        folder = Path(os.path.expanduser(text))  # noqa: PTH111 -- Path's fails on `~nobody`
        if not folder.is_absolute():
            raise self._wrong(f"{where}: {text!r} must begin with / or ~")
        return folder

    def _command(self, value: Any, where: str) -> str | tuple[str, ...]:
        words = [value] if isinstance(value, str) else value
        wrong = f"{where} must be a text or a list of words"
        texts = self._texts(words, wrong)
        if not texts or not texts[0].strip():
            raise self._wrong(f"{where} must not be empty")
        return value if isinstance(value, str) else texts

    def _texts(self, value: Any, wrong: str) -> tuple[str, ...]:
        if not isinstance(value, list):
            raise self._wrong(wrong)
        texts = tuple(text for text in cast(list[Any], value) if isinstance(text, str))
        if len(texts) < len(cast(list[Any], value)):
            raise self._wrong(wrong)
        return texts

    def _table(self, value: Any, where: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._wrong(f"{where} must be a table")
        return cast(dict[str, Any], value)

    def _only(self, table: dict[str, Any], allowed: set[str], where: str) -> None:
        for key in table:
            if key not in allowed:
                name = f"{where}.{key}".lstrip(".")
                raise self._wrong(f"unknown setting {name}")

    def _wrong(self, message: str) -> ConfigError:
        return ConfigError(f"{self.path}: {message}", hint=_HINT)
