"""Which folders a person lets Codex work in: `projects` in config.toml.

    [projects."/home/ada/shop"]
    trust_level = "trusted"

Measured: the terminal UI asks before anything else, also when it is told to bypass
approvals. It does not ask in a folder without git. `codex exec` never asks.
"""

import json
import os
import re
from pathlib import Path
from typing import Any, cast

from prong.agents.codex.settings import config_file
from prong.agents.settings import trust
from prong.agents.settings.file import SettingsText
from prong.errors import ConfigError
from prong.files.edits import read

_LEVEL = "trust_level"
_TRUSTED = "trusted"


def file_of(root: Path) -> Path:
    return root / "config.toml"


def is_trusted(folder: Path, root: Path) -> bool:
    """True where Codex does not ask."""
    if not trust.repositories(folder):
        return True
    path = file_of(root)
    try:
        projects = _projects(config_file.table(path, read(path)))
    except ConfigError:
        return False
    return any(_level(projects, str(one)) == _TRUSTED for one in folders(folder))


def folders(folder: Path) -> list[Path]:
    """Where Codex looks: the folder itself, then the repository."""
    return [Path(os.path.realpath(folder)), *trust.repositories(folder)]


def edited(folder: Path, root: Path) -> tuple[Path, bytes | None, bytes]:
    """The file as it is, and with the folder trusted; nothing else of it changes."""
    path = file_of(root)
    before = read(path)
    decoded = SettingsText.decode(path, before)
    data = config_file.table(path, before)
    key = str(trust.project(folder))
    text = _with_entry(decoded.text, key, known=key in _projects(data))
    projects = _projects(data)
    project: Any = projects.get(key, {})
    if not isinstance(project, dict) or data.get("projects", {}) != projects:
        raise _refusal(path)
    new = {**cast(dict[str, Any], project), _LEVEL: _TRUSTED}
    expected = {**data, "projects": {**projects, key: new}}
    if not config_file.says(text, expected):
        raise _refusal(path)
    return path, before, decoded.encode(text)


def _with_entry(text: str, key: str, *, known: bool) -> str:
    """As Codex does it: a table at the end, or another level in the table that is there."""
    end = config_file.line_end(text)
    if not known:
        if text and not text.endswith("\n"):
            text += end
        name = json.dumps(key, ensure_ascii=False)
        gap = end if text else ""
        return f'{text}{gap}[projects.{name}]{end}{_LEVEL} = "{_TRUSTED}"{end}'
    lines = config_file.LINE.findall(text)
    at = next((at for at, line in enumerate(lines) if _opens(line, key)), None)
    if at is None:
        return text
    for below in range(at + 1, len(lines)):
        if lines[below].lstrip().startswith("["):
            break
        if re.match(rf"\s*{_LEVEL}\s*=", lines[below]):
            lines[below] = f'{_LEVEL} = "{_TRUSTED}"{end}'
            return "".join(lines)
    lines.insert(at + 1, f'{_LEVEL} = "{_TRUSTED}"{end}')
    return "".join(lines)


def _opens(line: str, key: str) -> bool:
    """True for the header of the table of a project."""
    return line.lstrip().startswith("[") and config_file.says(line, {"projects": {key: {}}})


def _level(projects: dict[str, Any], key: str) -> str | None:
    project: Any = projects.get(key)
    return cast(dict[str, Any], project).get(_LEVEL) if isinstance(project, dict) else None


def _projects(data: dict[str, Any]) -> dict[str, Any]:
    projects: Any = data.get("projects")
    return cast(dict[str, Any], projects) if isinstance(projects, dict) else {}


def _refusal(path: Path) -> ConfigError:
    return ConfigError(
        f'{path} has "projects" in a form that prong cannot add to: it leaves it unchanged',
        hint="start the agent there yourself, and answer its question",
        path=str(path),
    )
