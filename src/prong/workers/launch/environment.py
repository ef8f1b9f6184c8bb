"""Environment variables of workers, and the hash of their settings."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from prong.files.regular import read_regular
from prong.model.forks import Launch
from prong.model.workers import WorkerInfo

NAME = "PRONG_WORKER"
"""Name of the worker, for hooks that run in it."""
AGENT = "PRONG_AGENT"
"""Its agent: another one that it starts is not the worker."""
COMMIT_TURNS = "PRONG_COMMIT_TURNS"
PUSH = "PRONG_PUSH"
BADGE = "PRONG_BADGE"
ISSUE = "PRONG_ISSUE"

_OF_THE_SHELL = re.compile(
    r"TMUX\w*|STY|KITTY_\w+|WEZTERM_\w+|ITERM_\w+|LC_TERMINAL\w*|WINDOWID|TERM(_\w+|INFO)?|COLORTERM"
    r"|COLUMNS|LINES|SHLVL|PWD|OLDPWD|SSH_TTY|GPG_TTY|_"
)
"""Variables that locate the calling shell; the worker runs elsewhere."""
_OF_ONE_RUN = re.compile(
    r"AI_AGENT|TRACEPARENT|CLAUDECODE|CLAUDE_(PID|PROJECT_DIR|EFFORT)"
    r"|CLAUDE_CODE_(ENTRYPOINT|SESSION_(ID|ATTENDED)|CHILD_SESSION|MESSAGING_\w+|INVOKED_SKILLS)"
    r"|CLAUDE_CODE_CHROME_MCP_ORG_DENIED"
    r"|PRONG_(WORKER|AGENT|PUSH|COMMIT_TURNS|BADGE|ISSUE)"
)
"""Variables that an agent or a worker sets for its own child processes."""
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|HEADER|COOKIE|BEARER", re.IGNORECASE
)
"""Includes ANTHROPIC_CUSTOM_HEADERS, which contains a gateway's token."""
_STORED = re.compile(r"(ANTHROPIC|CLAUDE|CODEX|OPENAI)_\w+|\w+_(PROXY|proxy)")
"""Variables that a fork needs again from any shell: the base URL, the proxy."""


def carried(environ: Mapping[str, str]) -> dict[str, str]:
    """Return what a worker inherits from the shell: that of a long-running terminal is outdated."""
    return {
        name: value
        for name, value in environ.items()
        if not _OF_THE_SHELL.fullmatch(name) and not _OF_ONE_RUN.fullmatch(name)
    }


def stored(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables to store for forks and restarts: explicit ones and endpoints.

    Secrets are not written to disk: neither variables with a telling name, nor values that look
    like a key, nor URLs with user name and password.
    """
    from prong.redaction.secrets import mask

    shell = {name: value for name, value in carried(environ).items() if _STORED.fullmatch(name)}
    combined = {**shell, **given}
    return {
        name: value
        for name, value in combined.items()
        if not _SECRET.search(name) and not re.search(r"//[^/@\s]+@", value)
        if mask(value) == value
    }


def complete(worker: WorkerInfo, launch: Launch, env: Mapping[str, str]) -> dict[str, str]:
    """Return all variables for a launch, with those that identify the worker to prong's hooks."""
    marks = {NAME: worker.name, AGENT: worker.agent}
    if worker.commit_turns:
        marks[COMMIT_TURNS] = "1"
    if worker.push:
        marks[PUSH] = worker.push
    return {**carried(os.environ), **worker.env, **launch.env, **env, **marks}


def settings_hash(files: Iterable[Path]) -> str:
    """Hash settings files by content, whatever their location and formatting."""
    digest = hashlib.sha256()
    for path in files:
        try:
            content = _settings(path, read_regular(path))
        except OSError:
            content = b""
        digest.update(b"%d\0" % len(content) + content)
    return digest.hexdigest()


def _settings(path: Path, content: bytes) -> bytes:
    """Normalize settings, without trusted folders: each new folder adds itself."""
    import tomllib

    try:
        read = tomllib.loads if path.suffix == ".toml" else json.loads
        settings: Any = read(content.decode())
    except (ValueError, RecursionError):
        return content  # the agent may still understand it
    if isinstance(settings, dict):
        cast(dict[str, Any], settings).pop("projects", None)
    return json.dumps(settings, sort_keys=True, default=str).encode()
