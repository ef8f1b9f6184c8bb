"""What was asked last in a thread, and what was said last, read from the end of its file."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.agents.codex.prompts import text_of, typed
from prong.agents.codex.records import RolloutLine
from prong.agents.worker_base import LastWords

_line = msgspec.json.Decoder(RolloutLine).decode
_MARKS = (b'"UserMessage"', b'"user_message"', b'"assistant"')


def last_words(path: Path) -> LastWords:
    found = _words(jsonl.last_lines(path))
    return found if found.said else _words(jsonl.last_lines(path, jsonl.LARGE_TAIL))


def _words(lines: Iterable[bytes]) -> LastWords:
    said = ""
    for raw in lines:
        if not any(mark in raw for mark in _MARKS):
            continue
        line = jsonl.decoded(_line, raw)
        payload = line.payload if line else None
        if payload is None:
            continue
        if payload.role == "assistant" and not said:
            said = text_of(payload.content)
        elif payload.item is not None and payload.item.type == "UserMessage":
            return LastWords(typed(text_of(payload.item.content)), said)
        elif payload.type == "user_message":
            return LastWords(typed(text_of(payload.message)), said)
    return LastWords(None, said)
