"""The homes that are searched, and their words."""

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.app import App
from prong.model.turn_text import FileTexts

_TITLES = frozenset({"ai-title", "custom-title", "agent-name", "summary"})
"""The lines of Claude Code that hold a session's title."""


def unpack(archive: Path, target: Path) -> Path:
    """Unpack an archive with a `home` in a folder of its own name; that folder."""
    with tarfile.open(archive) as packed:
        if hasattr(tarfile, "data_filter"):  # Python 3.11.2, which Debian has, does not know it
            packed.extraction_filter = tarfile.data_filter
        packed.extractall(target)  # noqa: S202 -- ours
    return target / archive.name.partition(".")[0]


def stores(home: Path) -> dict[str, AgentStore]:
    """The agents of a home."""
    both = (ClaudeStore([home / ".claude"]), CodexStore([home / ".codex"]))
    return {store.name: store for store in both}


def texts(home: Path) -> Iterator[FileTexts]:
    """The words of the sessions that there are. What sub-agents have written is no session."""
    known = stores(home)
    with App(stores=known, remember=False) as app:
        sessions = app.sessions.all()
    for session in sessions:
        store = known[session.agent]
        found = store.file_texts(session.file, output=False)
        if found is not None:
            yield found


def without_titles(home: Path, target: Path) -> Path:
    """A copy in which no session has a title: for queries that are titles."""
    shutil.copytree(home, target)
    for path in (target / ".claude").rglob("*.jsonl"):
        lines = path.read_bytes().split(b"\n")
        kept = [line for line in lines if not _is_title(line)]
        if len(kept) < len(lines):
            path.write_bytes(b"\n".join(kept))
    return target


def _is_title(line: bytes) -> bool:
    if not any(name.encode() in line[:200] for name in _TITLES):
        return False
    try:
        record: Any = json.loads(line)
    except ValueError:
        return False
    return record.get("type") in _TITLES
