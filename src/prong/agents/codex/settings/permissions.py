"""Permissions for resuming a thread that `codex exec` made.

Codex stores the sandbox and the approval policy with a thread. `codex exec` never asks, and a seed
is read-only: resumed like that, the agent could do little and not ask for more. So such a thread
is resumed with the permissions that the configuration gives to a new one.
"""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from prong.agents import jsonl
from prong.agents.codex.settings import trust
from prong.files.regular import read_regular

_ASKS = "on-request"
"""Codex's default."""
_TRUSTED_SANDBOX = "workspace-write"
"""Codex's default in a trusted folder."""


class _Project(msgspec.Struct):
    trust_level: str | None = None


class _Config(msgspec.Struct):
    approval_policy: str | None = None
    sandbox_mode: str | None = None
    default_permissions: str | None = None
    projects: dict[str, _Project] = {}


def settings(root: Path, cwd: Path, profile: str | None) -> list[str]:
    """Return the flags. Any flags that override them must come later."""
    config = jsonl.salvage(_Config, config_of(root, profile))
    values = {"approval_policy": config.approval_policy or _ASKS}
    if config.sandbox_mode:
        values["sandbox_mode"] = config.sandbox_mode
    elif not config.default_permissions and _is_trusted(config, cwd):
        values["sandbox_mode"] = _TRUSTED_SANDBOX
    return [word for key, value in values.items() for word in ("-c", f"{key}={json.dumps(value)}")]


def config_of(root: Path, profile: str | None) -> dict[str, Any]:
    """Read the user's settings, overridden by a profile."""
    import tomllib

    files = [root / "config.toml", *([root / f"{profile}.config.toml"] if profile else [])]
    merged: dict[str, Any] = {}
    for file in files:
        with suppress(OSError, ValueError):
            merged |= tomllib.loads(read_regular(file).decode())
    return merged


def _is_trusted(config: _Config, cwd: Path) -> bool:
    """Check whether the folder or its repository is trusted, including that of a worktree."""
    projects = [config.projects.get(str(folder), _Project()) for folder in trust.folders(cwd)]
    return any(project.trust_level == "trusted" for project in projects)
