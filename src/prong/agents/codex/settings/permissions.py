"""What a thread from `codex exec` is told when a person goes on with it.

Codex keeps the sandbox and the approval policy with a thread. `codex exec` never asks, and a seed
may only read: resumed like that, the agent could neither do much nor ask for leave. So such a
thread is resumed with what the configuration gives to a new one.
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
"""The default of Codex."""
_TRUSTED_SANDBOX = "workspace-write"
"""The default of Codex in a folder that the user trusts."""


class _Project(msgspec.Struct):
    trust_level: str | None = None


class _Config(msgspec.Struct):
    approval_policy: str | None = None
    sandbox_mode: str | None = None
    default_permissions: str | None = None
    projects: dict[str, _Project] = {}


def settings(root: Path, cwd: Path, profile: str | None) -> list[str]:
    """The flags. Those of a base command that say something else must stand behind them."""
    config = jsonl.salvage(_Config, config_of(root, profile))
    given = {"approval_policy": config.approval_policy or _ASKS}
    if config.sandbox_mode:
        given["sandbox_mode"] = config.sandbox_mode
    elif not config.default_permissions and _is_trusted(config, cwd):
        given["sandbox_mode"] = _TRUSTED_SANDBOX
    return [word for key, value in given.items() for word in ("-c", f"{key}={json.dumps(value)}")]


def config_of(root: Path, profile: str | None) -> dict[str, Any]:
    """The settings of the user, with a profile on top of them."""
    import tomllib

    files = [root / "config.toml", *([root / f"{profile}.config.toml"] if profile else [])]
    merged: dict[str, Any] = {}
    for file in files:
        with suppress(OSError, ValueError):
            merged |= tomllib.loads(read_regular(file).decode())
    return merged


def _is_trusted(config: _Config, cwd: Path) -> bool:
    """Also by the repository that it lies in, or is a worktree of."""
    levels = [config.projects.get(str(one), _Project()) for one in trust.folders(cwd)]
    return any(project.trust_level == "trusted" for project in levels)
