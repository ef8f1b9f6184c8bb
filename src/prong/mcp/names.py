"""Validation of session names, folders, times and prompts from agents."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from prong.errors import UsageError
from prong.model.times import EXAMPLES, moment
from prong.redaction.visible import safe

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:@-]{0,199}")
"""Excludes paths: an agent may not be allowed to read the file."""
Model = Annotated[str, Meta(pattern="^[^-]")]
"""Excludes values that a program would take for an option."""
SkipPermissions = Annotated[
    bool, Meta(description="Bypass permission checks. Refused unless the user allowed it.")
]
Trust = Annotated[bool, Meta(description="Trust its folder. Refused unless the user allowed it.")]
StartCode = Annotated[
    Literal["turn", "now", "head", "none"] | None,
    Meta(
        description="Code to start from: turn, as of the turn; now, the current code; head, "
        "the last commit; none, the folder itself without a worktree."
    ),
]
_HINT = "claude:60309e1e, an id, or the name of a worker; @12 behind it is a turn"
_LONGEST_PATH = 4096


def session(text: str, turn: int | None = None) -> str:
    """Return the session and turn as `App.resolve` takes them."""
    if not _SESSION.fullmatch(text):
        raise UsageError(f"{safe(text)[:100]!r} is not a session name", hint=_HINT)
    if turn is None:
        return text
    if "@" in text:
        raise UsageError("the turn is named twice", hint="leave turn out, or what is behind the @")
    return f"{text}@{turn}"


def folder(text: str | None) -> Path | None:
    """Return a folder; None for `auto` or nothing, which mean the server's folder."""
    if text is None or text in ("", "auto"):
        return None
    if "\0" in text or len(text) > _LONGEST_PATH:
        raise UsageError("that is not a folder", hint="project_path: /home/ada/shop")
    return Path(text)


def prompt(text: str | None) -> str | None:
    """Return a prompt; None if blank, as some agents send when they have none."""
    return text if text is not None and text.strip() else None


def time(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        return moment(text)
    except ValueError:
        raise UsageError(f"{safe(text)[:100]!r} is not a time", hint=f"one of {EXAMPLES}") from None


def here() -> Path | None:
    """Return the folder that the agent was started in; None if it was deleted."""
    try:
        return Path.cwd()
    except OSError:
        return None
