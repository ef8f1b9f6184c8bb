"""The folders that the user trusts Codex with: `projects` in config.toml.

    [projects."/home/ada/shop"]
    trust_level = "trusted"

Measured: the terminal UI asks before anything else, even when told to bypass approvals, but not in
a folder without git. `codex exec` never asks.
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
    """Check that Codex will not ask for trust in the folder."""
    if not trust.repositories(folder):
        return True
    path = file_of(root)
    try:
        projects = _projects(config_file.table(path, read(path)))
    except ConfigError:
        return False
    return any(_level(projects, str(candidate)) == _TRUSTED for candidate in folders(folder))


def folders(folder: Path) -> list[Path]:
    """Return the folders that Codex looks up: the folder itself, then its repository."""
    return [Path(os.path.realpath(folder)), *trust.repositories(folder)]


def edited(folder: Path, root: Path) -> tuple[Path, bytes | None, bytes]:
    """Return the path and content of config.toml, and the content that also trusts the folder."""
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
    """Edit as Codex does: add a table at the end, or change the level in an existing one."""
    end = config_file.line_end(text)
    if not known:
        if text and not text.endswith("\n"):
            text += end
        name = json.dumps(key, ensure_ascii=False)
        gap = end if text else ""
        return f'{text}{gap}[projects.{name}]{end}{_LEVEL} = "{_TRUSTED}"{end}'
    lines = config_file.LINE.findall(text)
    index = next((index for index, line in enumerate(lines) if _opens(line, key)), None)
    if index is None:
        return text
    for position in range(index + 1, len(lines)):
        if lines[position].lstrip().startswith("["):
            break
        if re.match(rf"\s*{_LEVEL}\s*=", lines[position]):
            lines[position] = f'{_LEVEL} = "{_TRUSTED}"{end}'
            return "".join(lines)
    lines.insert(index + 1, f'{_LEVEL} = "{_TRUSTED}"{end}')
    return "".join(lines)


def _opens(line: str, key: str) -> bool:
    """Check for the table header of a project."""
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
