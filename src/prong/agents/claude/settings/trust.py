"""Folders that the user trusts Claude Code with: `projects` in `.claude.json`.

    {"projects": {"/home/ada/shop": {"hasTrustDialogAccepted": true, ...}}}

Measured: in other folders Claude Code first asks, even with permissions skipped, and the default
answer is "No, exit". `claude -p` never asks.
"""

import os
from pathlib import Path
from typing import Any, cast

from prong.agents.settings import json_text, trust
from prong.agents.settings.file import SettingsText
from prong.errors import ConfigError

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
        data = _loaded(path, SettingsText.decode(path, _read(path)).text)
    except ConfigError:
        return False
    projects: Any = data.get("projects")
    if not isinstance(projects, dict):
        return False
    entries = cast(dict[str, Any], projects)
    return any(_accepted(entries.get(str(candidate))) for candidate in trust.candidates(folder))


def edited(folder: Path, root: Path) -> tuple[Path, bytes | None, bytes]:
    """Return the file, its content, and the content with the folder trusted."""
    path = file_of(root)
    before = _read(path)
    decoded = SettingsText.decode(path, before)
    text = decoded.text if decoded.text.strip() else "{}"
    data = _loaded(path, text)
    key = str(trust.project(folder))
    expected = _with(path, data, key)
    text = _with_entry(text, key)
    if _loaded(path, text) != expected:
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


def _with(path: Path, data: dict[str, Any], key: str) -> dict[str, Any]:
    projects: Any = data.get("projects", {})
    if not isinstance(projects, dict):
        raise _refusal(path, 'has "projects" that is not an object')
    project: Any = cast(dict[str, Any], projects).get(key, _NEW)
    if not isinstance(project, dict):
        raise _refusal(path, f'has something for "{key}" that is not an object')
    new = {**cast(dict[str, Any], project), _ACCEPTED: True}
    return {**data, "projects": {**cast(dict[str, Any], projects), key: new}}


def _accepted(project: Any) -> bool:
    return isinstance(project, dict) and cast(dict[str, Any], project).get(_ACCEPTED) is True


def _read(path: Path) -> bytes | None:
    from prong.files.edits import read

    return read(path)


def _loaded(path: Path, text: str) -> dict[str, Any]:
    import json

    try:
        data: Any = json.loads(text or "{}")
    except ValueError as error:
        raise _refusal(path, f"is not JSON ({error})") from None
    if not isinstance(data, dict):
        raise _refusal(path, "is not a JSON object")
    return cast(dict[str, Any], data)


def _refusal(path: Path, what: str) -> ConfigError:
    return ConfigError(
        f"{path} {what}: prong leaves it unchanged",
        hint="start the agent there yourself, and answer its question",
        path=str(path),
    )
