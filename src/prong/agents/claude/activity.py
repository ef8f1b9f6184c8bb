"""Whether a session is active, by the file that Claude Code keeps for each running process."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.agents.claude.prompts import prompt_of, text_of
from prong.agents.claude.records import ApiMessage, SessionLine
from prong.agents.worker_base import LastWords
from prong.files.regular import read_regular
from prong.model.sessions import Activity
from prong.model.workers import Process
from prong.processes.process import is_alive


class _Process(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    status: str | None = None
    proc_start: str | None = None


_process = msgspec.json.Decoder(_Process).decode


def activity(root: Path, session_id: str) -> Activity:
    """Return busy if a running process has the session open and is not waiting for a prompt."""
    try:
        entries = list((root / "sessions").glob("*.json"))
    except OSError:
        return Activity.CLOSED
    state = Activity.CLOSED
    for entry in entries:
        try:
            process = jsonl.decoded(_process, read_regular(entry))
        except OSError:
            continue
        if (
            process is None
            or process.session_id != session_id
            or not is_alive(Process(process.pid, process.proc_start))
        ):
            continue
        if process.status != "idle":
            return Activity.BUSY
        state = Activity.IDLE
    return state


class _LastPrompt(msgspec.Struct, rename="camel"):
    """The last prompt, which Claude Code records now and then."""

    last_prompt: str | None = None


_line = msgspec.json.Decoder(SessionLine).decode
_last_prompt = msgspec.json.Decoder(_LastPrompt).decode
_MARKS = (b'"type":"user"', b'"type":"assistant"')


def last_words(path: Path) -> LastWords:
    words = _words(jsonl.last_lines(path))
    # Long lines, such as lists of tools, may follow the answer.
    return words if words.said else _words(jsonl.last_lines(path, jsonl.LARGE_TAIL))


def _words(lines: Iterable[bytes]) -> LastWords:
    answer, recorded = "", None
    for raw in lines:
        if recorded is None and b'"type":"last-prompt"' in raw:
            note = jsonl.decoded(_last_prompt, raw)
            recorded = note.last_prompt if note else None
        if not any(mark in raw for mark in _MARKS):
            continue
        line = jsonl.decoded(_line, raw)
        if line is None or line.message is None or line.is_sidechain:
            continue
        if line.type == "assistant" and not answer:
            answer = _said(line.message)
        elif line.type == "user":
            prompt = prompt_of(line)
            if prompt is not None and not prompt.interrupt and (prompt.position or prompt.worded):
                return LastWords(prompt.text, answer)
    # The prompt is further up, before long lists of tools.
    return LastWords(recorded, answer)


def _said(body: ApiMessage) -> str:
    if isinstance(body.content, str):
        return body.content
    texts = (text_of(block.text) for block in body.content if block.type == "text")
    return "\n".join(text for text in texts if text)
