"""Folders that the user trusts Claude Code with: `projects` in `.claude.json`.

    {"projects": {"/home/ada/shop": {"hasTrustDialogAccepted": true, ...}}}

Measured: in other folders Claude Code first asks, even with permissions skipped, and the default
answer is "No, exit". `claude -p` never asks.
"""

import json
import os
from pathlib import Path
from typing import Any

from prong.agents.common import as_dict
from prong.agents.settings import json_text, trust
from prong.agents.settings.file import SettingsText
from prong.errors import ConfigError
from prong.files.edits import read

_ACCEPTED = "hasTrustDialogAccepted"
_NEW: dict[str, Any] = {
    "allowedTools": [],
    "mcpContextUris": [],
    "mcpServers": {},
    "enabledMcpjsonServers": [],
    "disabledMcpjsonServers": [],
    _ACCEPTED: True,
    "hasClaudeMdExternalIncludesApproved": False,
    "hasClaudeMdExternalIncludesWarningShown": False,
}
"""The entry Claude Code creates when the user accepts."""


def file_of(root: Path) -> Path:
    """Locate `.claude.json`: beside the default root, inside any other or configured one."""
    home = Path.home()
    usual = os.path.realpath(root) == os.path.realpath(home / ".claude")
    if usual and not os.environ.get("CLAUDE_CONFIG_DIR"):
        return home / ".claude.json"
    return root / ".claude.json"


def is_trusted(folder: Path, root: Path) -> bool:
    path = file_of(root)
    try:
        data = _loaded(path, SettingsText.decode(path, read(path)).text)
    except ConfigError:
        return False
    projects = as_dict(data.get("projects"))
    return any(
        as_dict(projects.get(str(candidate))).get(_ACCEPTED) is True
        for candidate in trust.candidates(folder)
    )


def edited(folder: Path, root: Path) -> tuple[Path, bytes | None, bytes]:
    """Return the file, its content, and the content with the folder trusted."""
    path = file_of(root)
    before = read(path)
    decoded = SettingsText.decode(path, before)
    text = decoded.text if decoded.text.strip() else "{}"
    data = _loaded(path, text)
    key = str(trust.project(folder))
    projects: Any = data.get("projects", {})
    if not isinstance(projects, dict):
        raise _refusal(path, 'has "projects" that is not an object')
    if not isinstance(as_dict(projects).get(key, {}), dict):
        raise _refusal(path, f'has something for "{key}" that is not an object')
    project = {**as_dict(projects).get(key, _NEW), _ACCEPTED: True}
    text = _with_entry(text, key)
    if _loaded(path, text) != {**data, "projects": {**projects, key: project}}:
        raise _refusal(path, "is written in a way that prong cannot add to")
    return path, before, decoded.encode(text)


def _with_entry(text: str, key: str) -> str:
    top = json_text.parse(text)
    projects = top.get("projects")
    if projects is None:
        return json_text.appended(text, top, {key: _NEW}, "projects")
    project = projects.get(key)
    if project is None:
        return json_text.appended(text, projects, _NEW, key)
    accepted = project.get(_ACCEPTED)
    if accepted is None:
        return json_text.appended(text, project, content=True, key=_ACCEPTED)
    return text[: accepted.start] + "true" + text[accepted.end :]


def _loaded(path: Path, text: str) -> dict[str, Any]:
    try:
        data: Any = json.loads(text or "{}")
    except ValueError as error:
        raise _refusal(path, f"is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise _refusal(path, "is not a JSON object")
    return as_dict(data)


def _refusal(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{path} {what}: prong leaves it unchanged",
        hint="start the agent there yourself, and answer its question",
        path=str(path),
    )
