"""The folders that the user trusts Codex with: `projects` in config.toml.

    [projects."/home/ada/shop"]
    trust_level = "trusted"

Measured: the terminal UI asks before anything else, even when told to bypass approvals, but not in
a folder without git. `codex exec` never asks.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from prong.agents.codex.settings import config_file
from prong.agents.common import as_dict
from prong.agents.settings import trust
from prong.agents.settings.file import SettingsText
from prong.errors import ConfigError
from prong.files.edits import read

_LEVEL = "trust_level"
_TRUSTED = "trusted"


def is_trusted(folder: Path, root: Path) -> bool:
    """Check that Codex will not ask for trust in the folder."""
    if not trust.repositories(folder):
        return True
    path = root / "config.toml"
    try:
        return is_listed(folder, config_file.table(path, read(path)))
    except ConfigError:
        return False


def is_listed(folder: Path, config: Mapping[str, Any]) -> bool:
    """Check whether the settings trust the folder, its repository or that of a worktree."""
    projects = as_dict(config.get("projects"))
    places = [Path(os.path.realpath(folder)), *trust.repositories(folder)]
    return any(as_dict(projects.get(str(place))).get(_LEVEL) == _TRUSTED for place in places)


def edited(folder: Path, root: Path) -> tuple[Path, bytes | None, bytes]:
    """Return the path and content of config.toml, and the content that also trusts the folder."""
    path = root / "config.toml"
    before = read(path)
    decoded = SettingsText.decode(path, before)
    data = config_file.table(path, before)
    key = str(trust.project(folder))
    projects = as_dict(data.get("projects"))
    text = _with_entry(decoded.text, key, known=key in projects)
    new = {**as_dict(projects.get(key)), _LEVEL: _TRUSTED}
    if not config_file.says(text, {**data, "projects": {**projects, key: new}}):
        raise ConfigError(
            f'{path} has "projects" in a form that prong cannot add to: it leaves it unchanged',
            hint="start the agent there yourself, and answer its question",
            path=str(path),
        )
    return path, before, decoded.encode(text)


def _with_entry(text: str, key: str, *, known: bool) -> str:
    """Edit as Codex does: add a table at the end, or change the level in an existing one."""
    end = config_file.line_end(text)
    setting = f'{_LEVEL} = "{_TRUSTED}"{end}'
    if not known:
        if text and not text.endswith("\n"):
            text += end
        gap = end if text else ""
        return f"{text}{gap}[projects.{json.dumps(key, ensure_ascii=False)}]{end}{setting}"
    lines = config_file.LINE.findall(text)
    headers = [i for i, line in enumerate(lines) if line.lstrip().startswith("[")]
    start = next((i for i in headers if config_file.says(lines[i], {"projects": {key: {}}})), None)
    if start is None:
        return text
    stop = next((i for i in headers if i > start), len(lines))
    levels = [i for i in range(start, stop) if re.match(rf"\s*{_LEVEL}\s*=", lines[i])]
    lines[slice(levels[0], levels[0] + 1) if levels else slice(start + 1, start + 1)] = [setting]
    return "".join(lines)
