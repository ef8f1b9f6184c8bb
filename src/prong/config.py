"""The user's configuration: `config.toml`, checked. A missing file is an empty one.

[agents.claude]
roots = ["~/laptop/.claude"]      # looked at besides the agent's own folder
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from prong import paths
from prong.errors import ConfigError

_HINT = "the one setting there is: agents.NAME.roots = [FOLDER, ...]"


@dataclass(frozen=True)
class Config:
    extra_roots: Mapping[str, tuple[Path, ...]] = field(default_factory=dict[str, tuple[Path, ...]])
    """Agent name -> folders besides its own: other accounts, copies from other machines."""


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
        return Config({name: self._roots(name, value) for name, value in agents.items()})

    def _roots(self, agent: str, value: Any) -> tuple[Path, ...]:
        where = f"agents.{agent}"
        settings = self._table(value, where)
        self._only(settings, {"roots"}, where)
        roots: Any = settings.get("roots", [])
        if not isinstance(roots, list):
            raise self._wrong(f"{where}.roots must be a list of folders")
        folders: list[Path] = []
        for root in cast(list[Any], roots):
            if not isinstance(root, str):
                raise self._wrong(f"{where}.roots must be a list of folders")
            folder = Path(os.path.expanduser(root))  # noqa: PTH111 -- Path's fails on `~nobody`
            if not folder.is_absolute():
                raise self._wrong(f"{where}.roots: {root!r} must begin with / or ~")
            folders.append(folder)
        return tuple(folders)

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
