"""Find the last turn of a Codex thread from the end of its file, for `prong-hook`."""

import os
import re
from datetime import UTC, datetime
from pathlib import Path

from prong.agents.last_turn import (
    LastTurn,
    LastTurnReader,
    Line,
    backwards,
    first_line,
    table,
    text_of,
    words_of,
)

_DEPTH = 4
"""Path parts from the folder of all sessions to a thread: year, month, day, file."""
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class CodexLastTurn(LastTurnReader):
    def last(self, path: Path, running: str | None = None) -> LastTurn | None:
        return _last(path, running)

    def answer(self, path: Path, turn: str) -> tuple[str | None, str]:
        """Return the id and text of the last answer in a turn at the end of the file."""
        message: str | None = None
        answer = ""
        for line, _ in backwards(path):
            payload = table(line.get("payload"))
            if payload.get("type") == "task_started":
                return (message, answer) if payload.get("turn_id") == turn else (None, "")
            if message is None and payload.get("role") == "assistant":
                message, answer = text_of(payload.get("id")), words_of(payload)
        return None, ""

    def prompt(self, path: Path, turn: str) -> str:
        """Return the prompt of a turn near the end of the file, even if a compaction follows it."""
        prompt = ""
        for line, _ in backwards(path):
            payload = table(line.get("payload"))
            if payload.get("type") == "task_started":
                if payload.get("turn_id") == turn:
                    return prompt.strip()
                prompt = ""
            item = table(payload.get("item"))
            if item.get("type") == "UserMessage":
                prompt = words_of(item)
            elif payload.get("type") == "user_message":
                prompt = text_of(payload.get("message")) or ""
        return ""

    def file(self, session: str) -> Path | None:
        """Locate the file of a session by the date in its id, a UUID that begins with the time."""
        if not _THREAD.fullmatch(session):
            return None
        root = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "sessions"
        try:
            created = int(session.replace("-", "")[:12], 16) / 1000
            days = [datetime.fromtimestamp(created + day * 86400, UTC) for day in (-1, 0, 1)]
        except (ValueError, OverflowError, OSError):
            return None
        names = [f"{day:%Y/%m/%d}/rollout-*{session}*.jsonl" for day in days]
        files = [path for name in names for path in root.glob(name)]
        return max(files, key=lambda path: path.stat().st_mtime_ns, default=None)

    def folder(self, path: Path | None) -> str | None:
        return text_of(table(first_line(path).get("payload")).get("cwd")) if path else None


def _last(path: Path, running: str | None = None, before: int | None = None) -> LastTurn | None:
    """Find the last turn of a Codex thread, other than the running one.

    After a rewind it is in an earlier file of the thread, which is read up to `before`.
    """
    prompted = False
    message: str | None = None
    answer = ""
    for line, _ in backwards(path, before):
        payload = table(line.get("payload"))
        kind = payload.get("type")
        if kind == "task_started":
            turn = payload.get("turn_id")
            if prompted and isinstance(turn, str) and turn != running:
                if _time(line) < _began(path):
                    return _nameless(path)
                return LastTurn(turn, (), message, answer)
            prompted, message, answer = False, None, ""
        elif kind == "user_message" or table(payload.get("item")).get("type") == "UserMessage":
            prompted = True
        elif kind == "message" and payload.get("role") == "assistant" and message is None:
            message, answer = text_of(payload.get("id")), words_of(payload)
        elif payload.get("history_base"):
            return _in_base(path, payload) or _nameless(path)
    # Old files have prompts without `task_started`.
    return _nameless(path) if prompted else None


def _in_base(path: Path, meta: Line) -> LastTurn | None:
    """Find the last turn before a rewind, in the file that the thread continues."""
    base = table(meta.get("history_base"))
    name, end = text_of(base.get("thread_id")), base.get("end_byte_offset")
    if meta.get("forked_from_id") or not isinstance(end, int):
        return None
    if name is None or not _THREAD.fullmatch(name) or len(path.parents) < _DEPTH:
        return None
    files = list(path.parents[_DEPTH - 1].glob(f"*/*/*/rollout-*{name}.jsonl"))
    return _last(files[0], before=end) if files and files[0] != path else None


def _nameless(path: Path) -> LastTurn:
    """Describe a turn of another session, or of a file of this one that was not found."""
    meta = table(first_line(path).get("payload"))
    return LastTurn("", is_inherited=bool(meta.get("forked_from_id")))


def _began(path: Path) -> str:
    """Return when the file was created. Turns copied into a fork are older."""
    return _time(first_line(path))


def _time(line: Line) -> str:
    # Codex writes all times in one format, so they compare as text.
    return text_of(line.get("timestamp")) or ""
