"""Find the last turn of a Claude Code session from the end, for `prong-hook`."""

import os
import re
from pathlib import Path

from prong.agents.last_turn import (
    LastTurn,
    LastTurnReader,
    Line,
    backwards,
    blocks_of,
    table,
    text_of,
    words_of,
)

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


class ClaudeLastTurn(LastTurnReader):
    def last(self, path: Path, running: str | None = None) -> LastTurn | None:
        """Find the last turn of a Claude Code session; its id is the uuid of the prompt's line."""
        message: Line | None = None
        unmarked: Line | None = None
        limit = 0
        for line, begin in backwards(path):
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
                return _turn(_group(path, line, begin), message)
            if unmarked is None and _is_worded(line):
                # Old versions mark no prompts; if a marked one is near, this line is not a prompt.
                unmarked, limit = line, begin - _OLD_LIMIT
        return _turn([unmarked], message) if unmarked is not None else None

    def folder(self, path: Path | None) -> str | None:
        return os.environ.get("CLAUDE_PROJECT_DIR")


def _turn(openers: list[Line], message: Line | None) -> LastTurn:
    prompt_ids = (text_of(opener.get("promptId")) for opener in openers)
    is_inherited = bool(openers[-1].get("forkedFrom"))
    number = table(openers[-1].get("turnPosition")).get("turnIndex")
    return LastTurn(
        "" if is_inherited else str(openers[-1].get("uuid")),
        tuple(item for item in prompt_ids if item),
        text_of(message.get("uuid")) if message else None,
        words_of(table(message.get("message"))) if message else "",
        number if isinstance(number, int) else None,
        is_inherited,
        "\n".join(_typed(item) for item in reversed(openers)),
    )


def _typed(line: Line) -> str:
    text = _prompt_words(line, text_of(line.get("entrypoint")))
    name, arguments = _COMMAND_NAME.search(text), _COMMAND_ARGS.search(text)
    if name is not None:
        return f"{name[1]} {arguments[1] if arguments else ''}".strip()
    return text


def _prompt_words(line: Line, entrypoint: str | None = None) -> str:
    message = table(line.get("message"))
    content = message.get("content")
    texts = [content] if isinstance(content, str) else [b.get("text") for b in blocks_of(message)]
    unwrapped_texts = (unwrapped(text, entrypoint) for text in texts if isinstance(text, str))
    return "\n".join(text for text in unwrapped_texts if text).strip()


def _group(path: Path, opener: Line, begin: int) -> list[Line]:
    """Collect the prompts of the opener's turn: those queued together share its position."""
    openers = [opener]
    for line, _ in backwards(path, before=begin):
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
    blocks = blocks_of(table(line.get("message")))
    return not any(block.get("type") == "tool_result" for block in blocks)


def _is_worded(line: Line) -> bool:
    if line.get("toolUseResult") or line.get("sourceToolUseID"):
        return False
    text = _prompt_words(line)
    if text.startswith(NOTICES):
        return True
    if table(line.get("origin")).get("kind") not in (None, "human"):
        return False
    return bool(text) and not text.startswith(MACHINE_TEXT)
