"""User configuration from `config.toml`, validated. A missing file counts as empty.

docs/reference/config.md describes the settings.
"""

import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from prong import paths
from prong.errors import ConfigError
from prong.files.regular import read_regular
from prong.files.size_limit import SNAPSHOT_LIMIT, in_bytes
from prong.model.record import Record, field


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
    picker: str = "builtin"
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
        return _config(tomllib.loads(data.decode("utf-8")))
    except ValueError as error:  # from the parser and the decoder, too
        raise ConfigError(f"{path}: {error}", hint=_HINT) from None


def _config(table: dict[str, Any]) -> Config:
    _only(table, {"agents", *_TABLES}, "")
    roots: dict[str, tuple[Path, ...]] = {}
    commands: dict[str, str | tuple[str, ...]] = {}
    for name, value in _table(table.get("agents", {}), "agents").items():
        settings = _values(value, f"agents.{name}", _AGENT)
        roots[name] = settings.get("roots", ())
        if "command" in settings:
            commands[name] = settings["command"]
    values = {name: _values(table.get(name, {}), name, _TABLES[name]) for name in _TABLES}
    picker = values.pop("picker").get("program", Config().picker)
    records = {name: _RECORDS[name](**fields) for name, fields in values.items()}
    return Config(roots, commands, picker=picker, **records)


def _values(value: Any, where: str, settings: "Mapping[str, _Setting]") -> dict[str, Any]:
    """Check a table and return its values by field."""
    table = _table(value, where)
    _only(table, settings, where)
    values: dict[str, Any] = {}
    for name, item in table.items():
        try:
            values[settings[name].field or name] = settings[name].read(item)
        except ValueError as error:
            raise ValueError(f"{where}.{name}{error}") from None
    return values


def _table(value: Any, where: str) -> dict[str, Any]:
    _check(isinstance(value, dict), f"{where} must be a table")
    return value


def _only(table: Mapping[str, Any], allowed: Iterable[str], where: str) -> None:
    for key in table:
        _check(key in allowed, f"unknown setting {f'{where}.{key}'.lstrip('.')}")


def _check(is_right: object, message: str) -> None:
    if not is_right:
        raise ValueError(message)


# Readers of values. Each raises `ValueError` with what follows the name of the setting.


def _text(value: Any, noun: str = "a text") -> str:
    _check(isinstance(value, str) and value.strip(), f" must be {noun}")
    return value


def _texts(value: Any, noun: str) -> tuple[str, ...]:
    items = cast(list[Any], value) if isinstance(value, list) else [None]
    _check(all(isinstance(item, str) for item in items), f" must be {noun}")
    return cast(tuple[str, ...], tuple(items))


def _flag(value: Any) -> bool:
    _check(isinstance(value, bool), " must be true or false")
    return value


def _one_of(value: Any, *names: str) -> str:
    _check(value in names, f" must be one of {', '.join(names)}")
    return value


def _picker(value: Any) -> str:
    return _one_of(value, "builtin", "fzf")


def _place(value: Any) -> str:
    return _one_of(_text(value), "split", "tab", "window")


def _absolute(text: str) -> Path:
    path = Path(os.path.expanduser(text))  # noqa: PTH111 -- Path's fails on `~nobody`
    _check(path.is_absolute(), f": {text!r} must begin with / or ~")
    return path


def _file(value: Any) -> Path:
    return _absolute(_text(value))


def _folder(value: Any) -> Path:
    return _absolute(_texts([value], "a folder")[0])


def _folders(value: Any) -> tuple[Path, ...]:
    return tuple(map(_absolute, _texts(value, "a list of folders")))


def _patterns(value: Any) -> tuple[str, ...]:
    patterns = _texts(value, "a list of patterns")
    for pattern in patterns:
        # Negation is pointless: nothing is copied or linked unless it is named.
        is_usable = pattern.strip() and not pattern.startswith("!") and pattern.isprintable()
        _check(is_usable, f": {pattern!r} is not a file pattern")
    return patterns


def _command(value: Any) -> str | tuple[str, ...]:
    is_text = isinstance(value, str)
    words = _texts([value] if is_text else value, "a text or a list of words")
    _check(words and words[0].strip(), " must not be empty")
    return words[0] if is_text else words


def _limit(value: Any) -> int:
    limit = in_bytes(value)
    _check(limit, " must be a number above 0")
    return limit or 0


def _engines(value: Any) -> tuple[str, ...]:
    engines = cast(list[Any], value) if isinstance(value, list) else []
    is_right = engines and all(engine in ("builtin", "qmd") for engine in engines)
    _check(is_right, " must be a list of builtin and qmd")
    return tuple(dict.fromkeys(engines))


def _keys(value: Any) -> tuple[str, ...]:
    keys = _texts(value, "a list of keys")
    is_right = keys and all(re.fullmatch(r"[A-Za-z0-9_+]+", key) for key in keys)
    _check(is_right, " must be keys such as alt+shift+f, F or ctrl+f")
    return keys


class _Setting(NamedTuple):
    form: str
    """Its values, as in hints."""
    read: Callable[[Any], Any]
    field: str = ""
    """Its field, if named differently."""


_FLAG = _Setting("true or false", _flag)
_PATTERNS = _Setting("[PATTERN, ...]", _patterns)
_AGENT = {
    "roots": _Setting("[FOLDER, ...]", _folders),
    "command": _Setting("COMMAND", _command),
}
_TABLES: dict[str, dict[str, _Setting]] = {
    "workspace": {"root": _Setting("FOLDER", _folder), "copy": _PATTERNS, "link": _PATTERNS},
    "picker": {"program": _Setting('"builtin" or "fzf"', _picker)},
    "snapshots": {"limit_mb": _Setting("NUMBER", _limit, "limit")},
    "search": {
        "engines": _Setting('["builtin" or "qmd", ...]', _engines),
        "tool_output": _FLAG._replace(field="output"),
    },
    "terminal": {
        "default": _Setting("NAME", _text),
        "place": _Setting('"split", "tab" or "window"', _place),
        "tmux_socket": _Setting("FILE", _file),
        "kitty_socket": _Setting("ADDRESS", _text),
    },
    "mcp": {"allow_skip_permissions": _FLAG, "allow_trust": _FLAG, "allow_commands": _FLAG},
    "ui": {
        "theme": _Setting("NAME", partial(_text, noun="the name of a theme")),
        "fork_keys": _Setting("[KEY, ...]", _keys),
    },
}
_RECORDS: dict[str, Callable[..., Any]] = {
    "workspace": Workspace,
    "snapshots": Snapshots,
    "search": SearchSettings,
    "terminal": TerminalSettings,
    "mcp": McpSettings,
    "ui": UiSettings,
}
_HINT = "the settings there are: " + ", ".join(
    f"{table}.{name} = {setting.form}"
    for table, settings in {"agents.NAME": _AGENT, **_TABLES}.items()
    for name, setting in settings.items()
)
