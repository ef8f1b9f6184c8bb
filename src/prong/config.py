"""The user's configuration: `config.toml`, checked. A missing file is an empty one.

[agents.claude]
roots = ["~/laptop/.claude"]      # looked at besides the agent's own folder
command = "claude --model opus"   # how the agent is started
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from prong import paths
from prong.errors import ConfigError

_HINT = "the settings there are: agents.NAME.roots = [FOLDER, ...], agents.NAME.command = COMMAND"


@dataclass(frozen=True)
class Config:
    extra_roots: Mapping[str, tuple[Path, ...]] = field(default_factory=dict[str, tuple[Path, ...]])
    """Agent name -> folders besides its own: other accounts, copies from other machines."""
    commands: Mapping[str, str | tuple[str, ...]] = field(
        default_factory=dict[str, str | tuple[str, ...]]
    )
    """Agent name -> how its program is started: a line for a shell, or a list of words."""


def load(path: Path | None = None) -> Config:
    path = path or paths.config_file()
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return Config()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    import tomllib

    try:
        table = tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: {error}", hint=_HINT) from None
    return _Checker(path).config(table)


class _Checker:
    """Turns a table into a `Config`; anything unknown is an error that names its place."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def config(self, table: dict[str, Any]) -> Config:
        self._only(table, {"agents"}, "")
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
        return Config(roots, commands)

    def _roots(self, value: Any, where: str) -> tuple[Path, ...]:
        folders: list[Path] = []
        for root in self._texts(value, f"{where} must be a list of folders"):
            folder = Path(os.path.expanduser(root))  # noqa: PTH111 -- Path's fails on `~nobody`
            if not folder.is_absolute():
                raise self._wrong(f"{where}: {root!r} must begin with / or ~")
            folders.append(folder)
        return tuple(folders)

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
