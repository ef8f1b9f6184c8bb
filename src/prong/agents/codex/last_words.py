"""Read the last prompt and answer of a thread from the end of its file."""

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
    words = _words(jsonl.last_lines(path))
    return words if words.said else _words(jsonl.last_lines(path, jsonl.LARGE_TAIL))


def _words(lines: Iterable[bytes]) -> LastWords:
    answer = ""
    for raw in lines:
        if not any(mark in raw for mark in _MARKS):
            continue
        line = jsonl.decoded(_line, raw)
        payload = line.payload if line else None
        if payload is None:
            continue
        if payload.role == "assistant" and not answer:
            answer = text_of(payload.content)
        elif payload.item is not None and payload.item.type == "UserMessage":
            return LastWords(typed(text_of(payload.item.content)), answer)
        elif payload.type == "user_message":
            return LastWords(typed(text_of(payload.message)), answer)
    return LastWords(None, answer)
