"""What a worker is started with: environment, version of its program, settings in force."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from prong.files.regular import read_regular

NAME = "PRONG_WORKER"
"""Tells hooks which worker they run in."""
COMMIT_TURNS = "PRONG_COMMIT_TURNS"
PUSH = "PRONG_PUSH"
BADGE = "PRONG_BADGE"
"""A label that somebody gave to the worker."""
ISSUE = "PRONG_ISSUE"
"""What it was told to work on."""

_OF_THE_SHELL = re.compile(
    r"TMUX\w*|STY|KITTY_\w+|WEZTERM_\w+|ITERM_\w+|LC_TERMINAL\w*|WINDOWID|TERM(_\w+|INFO)?|COLORTERM"
    r"|COLUMNS|LINES|SHLVL|PWD|OLDPWD|SSH_TTY|GPG_TTY|_"
)
"""What says where the calling shell is; the worker is in another place."""
_OF_ONE_RUN = re.compile(
    r"AI_AGENT|TRACEPARENT|CLAUDECODE|CLAUDE_(PID|PROJECT_DIR|EFFORT)"
    r"|CLAUDE_CODE_(ENTRYPOINT|SESSION_(ID|ATTENDED)|CHILD_SESSION|MESSAGING_\w+|INVOKED_SKILLS)"
    r"|CLAUDE_CODE_CHROME_MCP_ORG_DENIED"
    r"|PRONG_(WORKER|PUSH|COMMIT_TURNS|BADGE|ISSUE)"
)
"""What an agent or a worker sets for the programs that it starts itself."""
_SECRET = re.compile(
    r"KEY|TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|HEADER|COOKIE|BEARER", re.IGNORECASE
)
"""ANTHROPIC_CUSTOM_HEADERS is where a gateway's token goes."""
_STORED = re.compile(r"(ANTHROPIC|CLAUDE|CODEX|OPENAI)_\w+|\w+_(PROXY|proxy)")
"""What a fork needs again, whichever shell it is made in: the base URL, the proxy."""


def carried(environ: Mapping[str, str]) -> dict[str, str]:
    """What goes along from the shell that a worker is started in.

    A terminal that was started long ago has another environment than the person's shell of now.
    """
    return {
        name: value
        for name, value in environ.items()
        if not _OF_THE_SHELL.fullmatch(name) and not _OF_ONE_RUN.fullmatch(name)
    }


def stored(given: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """What is kept for forks and restarts: what a person gave, and where requests go.

    Keys and tokens are not written to the disk, wherever they come from: neither what a name says
    is one, nor what looks like one, nor user names and passwords in the address of a proxy.
    """
    from prong.redaction.secrets import mask

    shell = {name: value for name, value in carried(environ).items() if _STORED.fullmatch(name)}
    both = {**shell, **given}
    return {
        name: value
        for name, value in both.items()
        if not _SECRET.search(name) and not re.search(r"//[^/@\s]+@", value)
        if mask(value) == value
    }


def marked(name: str, *, commit_turns: bool, push: str | None) -> dict[str, str]:
    """What tells our hooks about the worker that they run in."""
    marks = {NAME: name}
    if commit_turns:
        marks[COMMIT_TURNS] = "1"
    if push:
        marks[PUSH] = push
    return marks


def settings_hash(files: Iterable[Path]) -> str:
    """The same for the same settings, wherever they lie and however they are written."""
    digest = hashlib.sha256()
    for path in files:
        try:
            content = _settings(path, read_regular(path))
        except OSError:
            content = b""
        digest.update(b"%d\0" % len(content) + content)
    return digest.hexdigest()


def _settings(path: Path, content: bytes) -> bytes:
    """What is set, without the folders that the agent was told to trust: each adds itself."""
    try:
        found: Any = (_toml if path.suffix == ".toml" else json.loads)(content.decode())
    except (ValueError, RecursionError):
        return content  # the agent may know what to make of it
    if isinstance(found, dict):
        cast(dict[str, Any], found).pop("projects", None)
    return json.dumps(found, sort_keys=True, default=str).encode()


def _toml(text: str) -> Any:
    import tomllib

    return tomllib.loads(text)
