"""The last turn of a session file, read from its end with the standard library only.

`prong-hook` runs inside somebody's agent and cannot wait for the real readers in `prong.agents`.
What is here is the little that it needs of them: the id of the last turn, as they define it. Tests
compare the two.
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
"""How far back a turn may begin. One that is longer has no name that we could find in time."""
_OLD_LIMIT = 1 << 20
"""How far before a prompt without a mark one with a mark is looked for."""

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
"""What a user line of Claude Code begins with that neither a person nor another agent said."""

NOTICES = ("<teammate-message", "<observed_from_primary_session>", "<ci-monitor-event>")
"""What other agents and programs say to this one: the model answers, so a turn opens with it."""

_TERMINAL = ("cli", "sdk-cli")
_WRAPPERS = re.compile(
    r"(?:\s*<(system-reminder|ide_opened_file|ide_selection)>.*?</\1>)+\s*", re.DOTALL
)
_EDITOR_WRAPPERS = re.compile(r"(?:\s*<(ide_opened_file|ide_selection)>.*?</\1>)+\s*", re.DOTALL)

_COMMAND_NAME = re.compile(r"<command-name>([^<]*)</command-name>")
_COMMAND_ARGS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)

_DEPTH = 4
"""How many folders below the one of all sessions a thread is: year, month, day, file."""
_THREAD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")

Line = dict[str, Any]


class LastTurn(NamedTuple):
    """The turn that the end of a file belongs to."""

    id: str
    """Empty when it was made in another session, or this file does not say its name."""
    prompt_ids: tuple[str, ...] = ()
    """What the hooks of Claude Code call its prompt, or the prompts that were sent together."""
    message: str | None = None
    """The id of the last answer in it; None when there is none yet."""
    said: str = ""
    """The text of that answer."""
    number: int | None = None
    """Which turn it is, as the agent counts; None when it does not tell."""
    is_inherited: bool = False
    """It was made in the session that this one was forked from."""
    prompt: str = ""
    """What was asked in it, as it was typed."""

    def has_prompt(self, prompt_id: str | None) -> bool:
        """False when it is another prompt's turn; who knows no id cannot say that."""
        return prompt_id is None or not self.prompt_ids or prompt_id in self.prompt_ids


def unwrapped(text: str, entrypoint: str | None = None) -> str:
    """The text of a user block without what Claude Code or an editor put before it.

    In a terminal the CLI keeps its reminders in lines of their own, so a `<system-reminder>` in
    a prompt of the entrypoint `cli` or `sdk-cli` was typed. The desktop app puts one before the
    prompt, and nothing behind it: the rest was typed.
    """
    if "<" not in text:
        return text
    wrappers = _EDITOR_WRAPPERS if entrypoint in _TERMINAL else _WRAPPERS
    found = wrappers.match(text)
    return text[found.end() :] if found else text


def claude(path: Path) -> LastTurn | None:
    """The last turn of a Claude Code session; its id is the uuid of the prompt's line."""
    message: Line | None = None
    unmarked: Line | None = None
    nearest = 0
    for line, begin in _backwards(path):
        if unmarked is not None and begin < nearest:
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
            # An older version marks no prompt at all; where one is marked, this is none.
            unmarked, nearest = line, begin - _OLD_LIMIT
    return _claude_turn([unmarked], message) if unmarked is not None else None


def codex(path: Path, running: str | None = None, before: int | None = None) -> LastTurn | None:
    """The last turn of a Codex thread in this file, apart from the one that runs.

    After a rewind it is in an earlier file of the thread. `before` is where to begin in that one.
    """
    prompted = False
    message: str | None = None
    said = ""
    for line, _ in _backwards(path, before):
        payload = _table(line.get("payload"))
        kind = payload.get("type")
        if kind == "task_started":
            turn = payload.get("turn_id")
            if prompted and isinstance(turn, str) and turn != running:
                if _time(line) < _began(path):
                    return _nameless(path)
                return LastTurn(turn, (), message, said)
            prompted, message, said = False, None, ""
        elif kind == "user_message" or _table(payload.get("item")).get("type") == "UserMessage":
            prompted = True
        elif kind == "message" and payload.get("role") == "assistant" and message is None:
            message, said = _text(payload.get("id")), _words(payload)
        elif payload.get("history_base"):
            return _in_base(path, payload) or _nameless(path)
    # An older file has prompts without such marks.
    return _nameless(path) if prompted else None


def _in_base(path: Path, meta: Line) -> LastTurn | None:
    """The last turn before a rewind, in the file that the rewound thread goes on from."""
    base = _table(meta.get("history_base"))
    name, end = _text(base.get("thread_id")), base.get("end_byte_offset")
    if meta.get("forked_from_id") or not isinstance(end, int):
        return None
    if name is None or not _THREAD.fullmatch(name) or len(path.parents) < _DEPTH:
        return None
    files = list(path.parents[_DEPTH - 1].glob(f"*/*/*/rollout-*{name}.jsonl"))
    return codex(files[0], before=end) if files and files[0] != path else None


def _nameless(path: Path) -> LastTurn:
    """A turn of another session, or of another file of this one that was not found."""
    meta = _table(_first(path).get("payload"))
    return LastTurn("", is_inherited=bool(meta.get("forked_from_id")))


def codex_answer(path: Path, turn: str) -> tuple[str | None, str]:
    """The id and the text of the last answer in a turn that is at the end of the file."""
    message: str | None = None
    said = ""
    for line, _ in _backwards(path):
        payload = _table(line.get("payload"))
        if payload.get("type") == "task_started":
            return (message, said) if payload.get("turn_id") == turn else (None, "")
        if message is None and payload.get("role") == "assistant":
            message, said = _text(payload.get("id")), _words(payload)
    return None, ""


def codex_prompt(path: Path, turn: str) -> str:
    """What was asked in a turn near the end of the file, where a compaction may come behind it."""
    found = ""
    for line, _ in _backwards(path):
        payload = _table(line.get("payload"))
        if payload.get("type") == "task_started":
            if payload.get("turn_id") == turn:
                return found.strip()
            found = ""
        item = _table(payload.get("item"))
        if item.get("type") == "UserMessage":
            found = _words(item)
        elif payload.get("type") == "user_message":
            found = _text(payload.get("message")) or ""
    return ""


def codex_file(thread: str) -> Path | None:
    """The file of a thread, found without a search: its id begins with the time."""
    if not _THREAD.fullmatch(thread):
        return None
    root = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex") / "sessions"
    try:
        made = int(thread.replace("-", "")[:12], 16) / 1000
        days = [datetime.fromtimestamp(made + day * 86400, UTC) for day in (-1, 0, 1)]
    except (ValueError, OverflowError, OSError):
        return None
    names = [f"{day:%Y/%m/%d}/rollout-*{thread}*.jsonl" for day in days]
    files = [path for name in names for path in root.glob(name)]
    return max(files, key=lambda path: path.stat().st_mtime_ns, default=None)


def codex_folder(path: Path) -> str | None:
    """Where a thread began."""
    return _text(_table(_first(path).get("payload")).get("cwd"))


def _claude_turn(openers: list[Line], message: Line | None) -> LastTurn:
    prompt_ids = (_text(opener.get("promptId")) for opener in openers)
    is_inherited = bool(openers[-1].get("forkedFrom"))
    number = _table(openers[-1].get("turnPosition")).get("turnIndex")
    return LastTurn(
        "" if is_inherited else str(openers[-1].get("uuid")),
        tuple(one for one in prompt_ids if one),
        _text(message.get("uuid")) if message else None,
        _words(_table(message.get("message"))) if message else "",
        number if isinstance(number, int) else None,
        is_inherited,
        "\n".join(_typed(one) for one in reversed(openers)),
    )


def _typed(line: Line) -> str:
    """A prompt without what the program puts around it."""
    words = _prompt_words(line, _text(line.get("entrypoint")))
    name, given = _COMMAND_NAME.search(words), _COMMAND_ARGS.search(words)
    if name is not None:
        return f"{name[1]} {given[1] if given else ''}".strip()
    return words


def _prompt_words(line: Line, entrypoint: str | None = None) -> str:
    message = _table(line.get("message"))
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [b.get("text") for b in _blocks(message)]
    kept = (unwrapped(text, entrypoint) for text in texts if isinstance(text, str))
    return "\n".join(text for text in kept if text).strip()


def _group(path: Path, opener: Line, begin: int) -> list[Line]:
    """Prompts that were queued together are one turn, which has the name of the first."""
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
    words = _prompt_words(line)
    if words.startswith(NOTICES):
        return True
    if _table(line.get("origin")).get("kind") not in (None, "human"):
        return False
    return bool(words) and not words.startswith(MACHINE_TEXT)


def _began(path: Path) -> str:
    """When a file was begun. In a fork that is a copy there are turns from before that."""
    return _time(_first(path))


def _first(path: Path) -> Line:
    with suppress(OSError), open_regular(path) as file:
        return _table(_parsed(file.readline(_LIMIT)))
    return {}


def _time(line: Line) -> str:
    # Codex writes all times alike, so that they can be compared as they are.
    return _text(line.get("timestamp")) or ""


def _words(message: Line) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    texts = (block.get("text") for block in _blocks(message))
    return "\n".join(text for text in texts if isinstance(text, str))


def _blocks(message: Line) -> list[Line]:
    content = message.get("content")
    return [_table(one) for one in cast(list[Any], content)] if isinstance(content, list) else []


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
    """The objects in the lines of a file from its end, and where each begins.

    Half a line at the end is passed over: somebody writes it this very moment.
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
            block *= 2  # a line may be very long
            file.seek(at)
            lines = (file.read(size) + rest).split(b"\n")
            # The first one may begin in the block before.
            rest = lines.pop(0) if at else b""
            begin = at + (len(rest) + 1 if at else 0)
            places: list[tuple[bytes, int]] = []
            for line in lines:
                places.append((line, begin))
                begin += len(line) + 1
            for line, begun in reversed(places):
                value = _parsed(line) if line else None
                if isinstance(value, dict):
                    yield cast(Line, value), begun
