"""What a running Claude Code does, by the file that it keeps for each process, and its screen.

Measured: `sessions/<pid>.json` says `waiting`, and why, as soon as a dialog of a turn opens; the
file does not exist before the trust question is answered.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import msgspec

from prong.agents import jsonl
from prong.agents.claude.prompts import prompt_of, text_of
from prong.agents.claude.records import ApiMessage, SessionLine
from prong.agents.common import foot
from prong.files.regular import read_regular
from prong.model.sessions import Activity
from prong.model.workers import LastWords, OpenSession, Process
from prong.processes.process import descendants, is_alive


class _Process(msgspec.Struct, rename="camel"):
    pid: int
    session_id: str
    status: str | None = None
    waiting_for: str | None = None
    proc_start: str | None = None
    updated_at: float | None = None
    status_updated_at: float | None = None

    @property
    def activity(self) -> Activity:
        return Activity.IDLE if self.status == "idle" else Activity.BUSY

    @property
    def runs(self) -> bool:
        return is_alive(Process(self.pid, self.proc_start))


_process = msgspec.json.Decoder(_Process).decode


def _recorded(entry: Path) -> _Process | None:
    with suppress(OSError):
        return jsonl.decoded(_process, read_regular(entry))
    return None


def activity(roots: Iterable[Path], session_id: str) -> Activity:
    """Return busy if a running process has the session open and is not waiting for a prompt."""
    entries: list[Path] = []
    for root in roots:
        with suppress(OSError):
            entries += (root / "sessions").glob("*.json")
    processes = [process for process in map(_recorded, entries) if process]
    states = {proc.activity for proc in processes if proc.session_id == session_id and proc.runs}
    return Activity.BUSY if Activity.BUSY in states else next(iter(states), Activity.CLOSED)


def open_sessions(roots: Sequence[Path], pids: Iterable[int]) -> Mapping[int, OpenSession]:
    entries = {pid: _registered(roots, pid) for pid in pids}
    missing = [pid for pid, entry in entries.items() if entry is None]
    # The pid may be a shell or wrapper that started it.
    for pid, children in (descendants(missing) if missing else {}).items():
        entries[pid] = next(filter(None, (_registered(roots, child) for child in children)), None)
    # Without a status it is still starting.
    return {pid: _open_session(proc) for pid, proc in entries.items() if proc and proc.status}


def _registered(roots: Sequence[Path], pid: int) -> _Process | None:
    processes = (_recorded(root / "sessions" / f"{pid}.json") for root in roots)
    return next((proc for proc in processes if proc and proc.pid == pid and proc.runs), None)


def _open_session(entry: _Process) -> OpenSession:
    since: datetime | None = None
    with suppress(ValueError, OverflowError, OSError):
        if milliseconds := entry.status_updated_at or entry.updated_at:
            since = datetime.fromtimestamp(milliseconds / 1000, UTC)
    return OpenSession(
        session=entry.session_id,
        activity=entry.activity,
        since=since,
        waits_for=(entry.waiting_for or "a person") if entry.status == "waiting" else None,
    )


class _LastPrompt(msgspec.Struct, rename="camel"):
    """The last prompt, which Claude Code records now and then."""

    last_prompt: str | None = None


_line = msgspec.json.Decoder(SessionLine).decode
_last_prompt = msgspec.json.Decoder(_LastPrompt).decode
_MARKS = (b'"type":"user"', b'"type":"assistant"')


def last_words(lines: Iterable[bytes]) -> LastWords:
    """Return the last prompt and answer; the last line comes first."""
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


# -- the screen -----------------------------------------------------------------------------------

_DIALOG_ROWS = 15
_DIALOGS = {
    "Yes, I trust this folder": "trust",
    "Do you want to": "permission",
    "Would you like to proceed?": "permission",
    "Enter to select": "question",
}


def dialog_on(screen: str) -> str | None:
    """Return the kind of dialog, whose menu replaces the input line."""
    if "Esc to cancel" not in foot(screen):
        return None
    lower = foot(screen, _DIALOG_ROWS)
    return next((kind for words, kind in _DIALOGS.items() if words in lower), None)


_RULE = "\u2500" * 8
_INPUT_SIGNS = {"\u276f": "", "!": "!"}
"""Sign at the start of the input line -> prefix for its mode."""


def input_on(screen: str) -> str | None:
    """Return the text of the input line, which is between two rules."""
    rows = screen.splitlines()
    rules = [at for at, row in enumerate(rows) if row.startswith(_RULE)]
    for above, below in reversed(list(pairwise(rules))):
        inside = rows[above + 1 : below]
        if inside and inside[0][:1] in _INPUT_SIGNS:
            sign = _INPUT_SIGNS[inside[0][0]]
            return sign + "\n".join([inside[0][1:], *inside[1:]]).strip()
    return None
