"""Find the last turn of a session file by reading backwards, with the standard library only.

`prong-hook` runs inside an agent and cannot wait for the full readers in `prong.agents`. This
module finds the id of the last turn by the same rules; tests compare the two.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from prong.files.regular import open_regular

_BLOCK = 1 << 16
_LIMIT = 64 << 20
"""Maximum bytes to read backwards. Longer turns stay unidentified, to answer in time."""
_OLD_LIMIT = 1 << 20
"""How many bytes before an unmarked prompt to search for a marked one."""

INTERRUPTED = "[Request interrupted by user"

MACHINE_TEXT = (
    "<command-name>",
    "<command-args>",
    "<local-command-",
    "<bash-",
    "<task-notification>",
    "<system-reminder>",
    "Caveat: The messages below",
    INTERRUPTED,
    "This session is being continued from a previous conversation",
    "Stop hook feedback",
    "Operation stopped by hook",
    "Base directory for this skill:",
)
"""Prefixes of Claude Code user lines that neither a person nor another agent wrote."""

NOTICES = ("<teammate-message", "<observed_from_primary_session>", "<ci-monitor-event>")
"""Prefixes of messages from other agents and programs. The model answers, so they open a turn."""

_TERMINAL = ("cli", "sdk-cli")
_WRAPPERS = re.compile(
    r"(?:\s*<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>)+\s*", re.DOTALL
)
_EDITOR_WRAPPERS = re.compile(r"(?:\s*<(ide_opened_file|ide_selection)>.*?</\1>)+\s*", re.DOTALL)

_COMMAND_NAME = re.compile(r"<command-name>([^<]*)</command-name>")
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)

_DEPTH = 4
"""Path parts from the folder of all sessions to a thread: year, month, day, file."""
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")

Line = dict[str, Any]


class LastTurn(NamedTuple):
    """The turn at the end of a file."""

    id: str
    """Empty when it was inherited, or the file does not contain its id."""
    prompt_ids: tuple[str, ...] = ()
    """Ids that Claude Code hooks use for its prompt, or for prompts that were sent together."""
    message: str | None = None
    """The id of its last answer; None when there is none yet."""
    said: str = ""
    """The text of that answer."""
    number: int | None = None
    """The turn number by the agent's count, if recorded."""
    is_inherited: bool = False
    """It belongs to the session that this one was forked from."""
    prompt: str = ""
    """The prompt as typed."""

    def has_prompt(self, prompt_id: str | None) -> bool:
        """Return False only if both ids are known and differ."""
        return prompt_id is None or not self.prompt_ids or prompt_id in self.prompt_ids


def unwrapped(text: str, entrypoint: str | None = None) -> str:
    """Strip what Claude Code or an editor put before the text of a user block.

    With the entrypoint `cli` or `sdk-cli`, reminders have lines of their own, so a
    `<system-reminder>` in a prompt was typed. The desktop app puts one before the prompt.
    """
    if "<" not in text:
        return text
    wrappers = _EDITOR_WRAPPERS if entrypoint in _TERMINAL else _WRAPPERS
    match = wrappers.match(text)
    return text[match.end() :] if match else text


def claude(path: Path) -> LastTurn | None:
    """Find the last turn of a Claude Code session; its id is the uuid of the prompt's line."""
    message: Line | None = None
    unmarked: Line | None = None
    limit = 0
    for line, begin in _backwards(path):
        if unmarked is not None and begin < limit:
            break
        if line.get("isSidechain"):
            continue
        if line.get("type") == "assistant" and message is None and unmarked is None:
            message = line
        if line.get("type") != "user" or not _is_prompt(line):
            continue
        if line.get("turnPosition"):
            if unmarked is not None and line.get("version") != unmarked.get("version"):
                break
            return _claude_turn(_group(path, line, begin), message)
        if unmarked is None and _is_worded(line):
            # Old versions mark no prompts; if a marked one is near, this line is not a prompt.
            unmarked, limit = line, begin - _OLD_LIMIT
    return _claude_turn([unmarked], message) if unmarked is not None else None


def codex(path: Path, running: str | None = None, before: int | None = None) -> LastTurn | None:
    """Find the last turn of a Codex thread, other than the running one.

    After a rewind it is in an earlier file of the thread, which is read up to `before`.
    """
    prompted = False
    message: str | None = None
    answer = ""
    for line, _ in _backwards(path, before):
        payload = _table(line.get("payload"))
        kind = payload.get("type")
        if kind == "task_started":
            turn = payload.get("turn_id")
            if prompted and isinstance(turn, str) and turn != running:
                if _time(line) < _began(path):
                    return _nameless(path)
                return LastTurn(turn, (), message, answer)
            prompted, message, answer = False, None, ""
        elif kind == "user_message" or _table(payload.get("item")).get("type") == "UserMessage":
            prompted = True
        elif kind == "message" and payload.get("role") == "assistant" and message is None:
            message, answer = _text(payload.get("id")), _words(payload)
        elif payload.get("history_base"):
            return _in_base(path, payload) or _nameless(path)
    # Old files have prompts without `task_started`.
    return _nameless(path) if prompted else None


def _in_base(path: Path, meta: Line) -> LastTurn | None:
    """Find the last turn before a rewind, in the file that the thread continues."""
    base = _table(meta.get("history_base"))
    name, end = _text(base.get("thread_id")), base.get("end_byte_offset")
    if meta.get("forked_from_id") or not isinstance(end, int):
        return None
    if name is None or not _THREAD.fullmatch(name) or len(path.parents) < _DEPTH:
        return None
    files = list(path.parents[_DEPTH - 1].glob(f"*/*/*/rollout-*{name}.jsonl"))
    return codex(files[0], before=end) if files and files[0] != path else None


def _nameless(path: Path) -> LastTurn:
    """Describe a turn of another session, or of a file of this one that was not found."""
    meta = _table(_first(path).get("payload"))
    return LastTurn("", is_inherited=bool(meta.get("forked_from_id")))


def codex_answer(path: Path, turn: str) -> tuple[str | None, str]:
    """Return the id and text of the last answer in a turn at the end of the file."""
    message: str | None = None
    answer = ""
    for line, _ in _backwards(path):
        payload = _table(line.get("payload"))
        if payload.get("type") == "task_started":
            return (message, answer) if payload.get("turn_id") == turn else (None, "")
        if message is None and payload.get("role") == "assistant":
            message, answer = _text(payload.get("id")), _words(payload)
    return None, ""


def codex_prompt(path: Path, turn: str) -> str:
    """Return the prompt of a turn near the end of the file, even if a compaction follows it."""
    prompt = ""
    for line, _ in _backwards(path):
        payload = _table(line.get("payload"))
        if payload.get("type") == "task_started":
            if payload.get("turn_id") == turn:
                return prompt.strip()
            prompt = ""
        item = _table(payload.get("item"))
        if item.get("type") == "UserMessage":
            prompt = _words(item)
        elif payload.get("type") == "user_message":
            prompt = _text(payload.get("message")) or ""
    return ""


def codex_file(thread: str) -> Path | None:
    """Locate the file of a thread by the date in its id, a UUID that begins with the time."""
    if not _THREAD.fullmatch(thread):
        return None
    root = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "sessions"
    try:
        created = int(thread.replace("-", "")[:12], 16) / 1000
        days = [datetime.fromtimestamp(created + day * 86400, UTC) for day in (-1, 0, 1)]
    except (ValueError, OverflowError, OSError):
        return None
    names = [f"{day:%Y/%m/%d}/rollout-*{thread}*.jsonl" for day in days]
    files = [path for name in names for path in root.glob(name)]
    return max(files, key=lambda path: path.stat().st_mtime_ns, default=None)


def codex_folder(path: Path) -> str | None:
    """Return the folder in which a thread began."""
    return _text(_table(_first(path).get("payload")).get("cwd"))


def _claude_turn(openers: list[Line], message: Line | None) -> LastTurn:
    prompt_ids = (_text(opener.get("promptId")) for opener in openers)
    is_inherited = bool(openers[-1].get("forkedFrom"))
    number = _table(openers[-1].get("turnPosition")).get("turnIndex")
    return LastTurn(
        "" if is_inherited else str(openers[-1].get("uuid")),
        tuple(item for item in prompt_ids if item),
        _text(message.get("uuid")) if message else None,
        _words(_table(message.get("message"))) if message else "",
        number if isinstance(number, int) else None,
        is_inherited,
        "\n".join(_typed(item) for item in reversed(openers)),
    )


def _typed(line: Line) -> str:
    """Return a prompt as typed, without the program's tags."""
    text = _prompt_words(line, _text(line.get("entrypoint")))
    name, arguments = _COMMAND_NAME.search(text), _COMMAND_ARGS.search(text)
    if name is not None:
        return f"{name[1]} {arguments[1] if arguments else ''}".strip()
    return text


def _prompt_words(line: Line, entrypoint: str | None = None) -> str:
    message = _table(line.get("message"))
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [b.get("text") for b in _blocks(message)]
    unwrapped_texts = (unwrapped(text, entrypoint) for text in texts if isinstance(text, str))
    return "\n".join(text for text in unwrapped_texts if text).strip()


def _group(path: Path, opener: Line, begin: int) -> list[Line]:
    """Collect the prompts of the opener's turn: those queued together share its position."""
    openers = [opener]
    for line, _ in _backwards(path, before=begin):
        if line.get("isSidechain"):
            continue
        if line.get("type") == "assistant":
            break
        if line.get("type") == "user" and _is_prompt(line) and line.get("turnPosition"):
            if line["turnPosition"] != opener["turnPosition"]:
                break
            openers.append(line)
    return openers


def _is_prompt(line: Line) -> bool:
    if line.get("isMeta") or line.get("isCompactSummary") or line.get("isVisibleInTranscriptOnly"):
        return False
    blocks = _blocks(_table(line.get("message")))
    return not any(block.get("type") == "tool_result" for block in blocks)


def _is_worded(line: Line) -> bool:
    if line.get("toolUseResult") or line.get("sourceToolUseID"):
        return False
    text = _prompt_words(line)
    if text.startswith(NOTICES):
        return True
    if _table(line.get("origin")).get("kind") not in (None, "human"):
        return False
    return bool(text) and not text.startswith(MACHINE_TEXT)


def _began(path: Path) -> str:
    """Return when the file was created. Turns copied into a fork are older."""
    return _time(_first(path))


def _first(path: Path) -> Line:
    with suppress(OSError), open_regular(path) as file:
        return _table(_parsed(file.readline(_LIMIT)))
    return {}


def _time(line: Line) -> str:
    # Codex writes all times in one format, so they compare as text.
    return _text(line.get("timestamp")) or ""


def _words(message: Line) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in _blocks(message))
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(message: Line) -> list[Line]:
    content = message.get("content")
    return [_table(item) for item in cast(list[Any], content)] if isinstance(content, list) else []


def _table(value: Any) -> Line:
    return cast(Line, value) if isinstance(value, dict) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _backwards(path: Path, before: int | None = None) -> Iterator[tuple[Line, int]]:
    """Yield the objects in a file with their offsets, from the end.

    An incomplete last line is skipped: it is being written.
    """
    try:
        file = open_regular(path)
    except OSError:
        return
    with file:
        end = file.seek(0, os.SEEK_END) if before is None else before
        at, block, rest = end, _BLOCK, b""
        while at > 0 and end - at < _LIMIT:
            size = min(block, at)
            at -= size
            block *= 2  # lines may be very long
            file.seek(at)
            lines = (file.read(size) + rest).split(b"\n")
            # The first line may begin in the block before.
            rest = lines.pop(0) if at else b""
            begin = at + (len(rest) + 1 if at else 0)
            located: list[tuple[bytes, int]] = []
            for line in lines:
                located.append((line, begin))
                begin += len(line) + 1
            for line, start in reversed(located):
                value = _parsed(line) if line else None
                if isinstance(value, dict):
                    yield cast(Line, value), start
