"""`prong-hook`: called by agents when a turn begins and ends; takes a snapshot of the code.

    prong-hook claude           the event is on standard input
    prong-hook codex            likewise
    prong-hook codex notify X   X is the event

It runs inside the user's turn. So it prints nothing, always exits with status 0, and gives up
after PRONG_HOOK_SECONDS (5): the spool then records the missing snapshot, and the next prompt
takes it. PRONG_HOOK=off disables it. It imports only the standard library, `prong.code` and their
needs.

PRONG_WORKER is the name of a worker. With PRONG_COMMIT_TURNS=1 each turn becomes a commit on the
branch of a worktree that prong created, never elsewhere; PRONG_PUSH=REMOTE pushes it.
"""

import json
import os
import re
import signal
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from prong.hook import spool

if TYPE_CHECKING:  # many events need no snapshot, so they skip its imports
    from prong.agents.last_turn import LastTurnReader
    from prong.model.code import Snapshot

SECONDS = 5.0
_AT_THE_END = 1.0
"""Time limit in seconds when a session ends: agents are less patient then."""
_RESERVE = 0.3
"""Seconds reserved for recording that time ran out."""
_WAIT = 0.2
"""Seconds to wait for the last line of a turn to reach the file."""
_PAUSE = 0.005
_LONGEST = 32 << 20
_BASELINE = "0"
"""Turn id for the code before the first turn: `TurnKey.BASELINE`."""
_START = "start"
"""Turn id for the code that a fork starts with: `TurnKey.START`."""
_NEXT = "next-"
"""Prefix of a turn id, for the code that the following turn starts with: `TurnKey.NEXT`."""
_AT_THE_PROMPT = 0.2
"""Fraction of the time limit for that snapshot: users notice a delayed prompt."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
"""Ids that are safe in the name of a ref."""
_ENDS = ("Stop", "StopFailure", "agent-turn-complete")
"""Events at the end of a turn."""
_ASKS_FIRST = "PermissionRequest"

_STATES = {
    "SessionStart": "idle",
    "UserPromptSubmit": "busy",
    "Stop": "idle",
    "StopFailure": "idle",
    "SessionEnd": "gone",
    "agent-turn-complete": "idle",
}
_ASKS = ("permission_prompt", "elicitation_dialog", "worker_permission_prompt")
"""Notifications of Claude Code that require the user."""


class _OutOfTime(BaseException):
    """Raised when time is up. Not an `Exception`, so that no handler on the way catches it."""


class HookEvent:
    """An event sent by an agent, and what came of it."""

    def __init__(self, agent: str, payload: dict[str, Any], deadline: float) -> None:
        self.agent = agent
        self.payload = payload
        self.deadline = deadline
        self.began = time.monotonic()
        self.event = self.text("hook_event_name", "type") or ""
        self.session = self.text("session_id", "thread-id")
        self.turn = self.text("turn_id", "turn-id")
        """The id of the turn; Codex sends it, Claude Code does not."""
        self.said = self.text("last_assistant_message", "last-assistant-message")
        """The last answer of the turn that is ending."""
        self.wanted: WantedSnapshot | None = None
        self.snapshot: Snapshot | None = None
        self.degraded: str | None = None
        self.missing: str | None = None
        """The turn whose snapshot failed."""
        self.commit: dict[str, str | None] | None = None

    def text(self, *names: str) -> str | None:
        """Return the first of these fields that is a non-empty string."""
        values = (self.payload.get(name) for name in names)
        return next((value for value in values if isinstance(value, str) and value), None)

    @cached_property
    def reader(self) -> "LastTurnReader":
        from prong.plugins import last_turn_reader

        return last_turn_reader(self.agent)

    @cached_property
    def transcript(self) -> Path | None:
        path = self.text("transcript_path")
        if path is None and self.event == "agent-turn-complete":
            return self.reader.file(self.session or "")
        return Path(path) if path else None

    @cached_property
    def worker(self) -> str | None:
        if "PRONG_WORKER" not in os.environ:
            return None
        from prong.hook.worker_name import worker_name

        return worker_name(self.agent)

    @property
    def state(self) -> str | None:
        """The new state of the agent; None if the event does not change it."""
        if self.event == "Notification":
            return "waiting" if self.text("notification_type") in _ASKS else None
        if self.event == _ASKS_FIRST:
            # Without a terminal, Claude Code denies the request at once.
            is_headless = os.environ.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
            return None if is_headless and self.agent == "claude" else "waiting"
        if self.event == "SessionStart" and self.text("source") == "compact":
            return None  # in the middle of a turn
        return _STATES.get(self.event)


class WantedSnapshot(NamedTuple):
    """A snapshot to take."""

    turn: str
    message: str | None = None
    number: int | None = None
    late: bool = False
    """The turn ended earlier, without an event."""
    ended: bool = False
    """The agent reports the end of this turn, perhaps for the second time."""
    prompt: str = ""


def main() -> None:
    # Show no traceback and no status: an error here must not disturb the agent.
    with suppress(BaseException):
        # All output would become part of the conversation.
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)
        os.dup2(null, 2)
        _run(sys.argv[1:])
    sys.exit(0)


def _run(words: list[str]) -> None:
    if os.environ.get("PRONG_HOOK") == "off" or not words:
        return
    budget = _budget()
    signal.signal(signal.SIGALRM, _stop)
    # If the first alarm is held up, a second one a second later ends the process.
    signal.setitimer(signal.ITIMER_REAL, budget, 1.0)
    deadline = time.monotonic() + budget - _RESERVE
    payload: Any = json.loads(
        words[-1].encode() if len(words) > 2 else sys.stdin.buffer.read(_LONGEST)
    )
    if isinstance(payload, dict):
        handle(HookEvent(words[0], cast(dict[str, Any], payload), deadline))


def handle(call: HookEvent) -> None:
    """Take the snapshot that the event requires and record the outcome."""
    if not _ID.fullmatch(call.agent) or not _ID.fullmatch(call.session or ""):
        return  # not safe in the name of a ref
    if call.text("agent_id") and call.event != _ASKS_FIRST:
        return  # the event of a sub-agent
    if call.event == "agent-turn-complete" and call.transcript is None:
        return  # Codex generates titles in a separate thread that has no file
    try:
        _capture(call)
    except _OutOfTime:
        call.degraded = "there was not enough time"
    except MemoryError:
        call.degraded = "there was not enough memory"
    except Exception as error:  # noqa: BLE001 -- no error may reach the agent
        call.degraded = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    signal.setitimer(signal.ITIMER_REAL, 0)
    spool.append(_line(call))


def _capture(call: HookEvent) -> None:
    if call.event == "SessionEnd":
        call.deadline = min(call.deadline, call.began + _AT_THE_END)
    wanted = _wanted(call)
    if wanted is not None and _ID.fullmatch(wanted.turn):
        call.wanted = wanted
        call.missing = wanted.turn
        call.snapshot = _taken(call, wanted)
        call.missing = None
        if call.snapshot is None and call.event == "UserPromptSubmit":
            _keep_start(call, wanted)
        if os.environ.get("PRONG_COMMIT_TURNS") == "1" and call.worker and call.event in _ENDS:
            _commit(call)
    elif call.event in ("Stop", "StopFailure") and call.transcript and call.transcript.exists():
        call.degraded = "the turn is not in the session file yet"


def _keep_start(call: HookEvent, before: WantedSnapshot) -> None:
    """Keep the code that the turn starts with, so that the user's edits do not count as its own.

    All of it or nothing: a missing file would count as an edit.
    """
    from prong.errors import ProngError

    seconds = _AT_THE_PROMPT * (call.deadline - call.began)
    # Both agents send an id of the prompt; one that replaces a withdrawn prompt has a new id.
    prompt = call.turn or call.text("prompt_id")
    start = WantedSnapshot(f"{_NEXT}{before.turn}", prompt, before.number)
    if not _ID.fullmatch(start.turn):
        return
    try:
        call.snapshot = _taken(call, start, min(call.deadline, time.monotonic() + seconds))
    except ProngError as error:
        call.degraded = f"the code at the prompt was not kept: {error}"


def _wanted(call: HookEvent) -> WantedSnapshot | None:
    """Return the turn that the current code belongs to."""
    path = call.transcript
    match call.event:
        case event if event in _ENDS:
            if call.turn:
                answer, text = call.reader.answer(path, call.turn) if path else (None, "")
                is_last = _is_same(text, call.said)
                return WantedSnapshot(
                    call.turn, answer if is_last else None, ended=call.event == "Stop"
                )
            return _ended(call, path) if path else None
        case "UserPromptSubmit" | "SessionEnd":
            return _before(call, path)
        case _:
            return None


def _ended(call: HookEvent, path: Path) -> WantedSnapshot | None:
    """Return the turn that has just ended. Its last lines may still be on their way to the file."""
    reported, prompt = call.said, call.text("prompt_id")
    deadline = time.monotonic() + _WAIT
    while True:
        last = call.reader.last(path)
        is_over = time.monotonic() > deadline
        if last is not None and last.has_prompt(prompt):
            is_last = _is_same(last.said, reported)
            if is_over or is_last or reported is None:
                answer = last.message if is_last else None
                ended = prompt in last.prompt_ids
                return WantedSnapshot(last.id, answer, last.number, ended=ended, prompt=last.prompt)
        elif is_over:
            return None
        time.sleep(_PAUSE)


def _is_same(written: str, said: str | None) -> bool:
    """Check that the answer in the file is the one in the event."""
    if said is None:
        return False
    written, said = written.strip(), said.strip()
    # An answer in several parts takes several lines in the file.
    return written == said or (bool(written) and said.endswith(written))


def _before(call: HookEvent, path: Path | None) -> WantedSnapshot | None:
    """Return the turn before a prompt if its end was missed; before the first, the baseline."""
    last = call.reader.last(path, call.turn) if path else None
    if last is None:
        return WantedSnapshot(_BASELINE, number=0) if call.event == "UserPromptSubmit" else None
    if call.event == "UserPromptSubmit" and call.text("prompt_id") in last.prompt_ids:
        # Queued while the agent works: now part of the running turn.
        return None
    if last.is_inherited:
        # The source has that turn's code; the fork may start with different code.
        return WantedSnapshot(_START) if call.event == "UserPromptSubmit" else None
    return WantedSnapshot(last.id, last.message, last.number, late=True)


def _taken(
    call: HookEvent, wanted: WantedSnapshot, deadline: float | None = None
) -> "Snapshot | None":
    """Take the snapshot, unless the turn has one that is as good; None without git.

    Without `deadline`, it may be partial when the call's time runs out; with one, it is complete.
    """
    from prong.code.snapshots import snapshot
    from prong.files.size_limit import snapshot_limit
    from prong.model.code import TurnKey

    key = TurnKey(call.agent, call.session or "", wanted.turn)
    limit = snapshot_limit()
    now = datetime.now(UTC)

    def take(folder: Path, *, again: bool) -> "Snapshot | None":
        return snapshot.take(
            folder,
            key,
            number=wanted.number,
            message_id=wanted.message,
            limit=limit,
            budget_seconds=max(0.1, (deadline or call.deadline) - time.monotonic()),
            partial=deadline is None,
            again=again,
            late=wanted.late,
        )

    for folder in _folders(call):
        # A turn that another hook kept from ending ends twice.
        shot = take(folder, again=wanted.ended)
        if shot is not None and shot.taken < now and _is_outdated(shot, wanted):
            shot = take(folder, again=True)
        if shot is not None:
            return shot if shot.taken >= now else None
    return None


def _commit(call: HookEvent) -> None:
    """Commit the turn on the worker's branch and record the outcome."""
    shot, wanted = call.snapshot, call.wanted
    if shot is None or wanted is None:
        return  # committed at the first event for this end
    from prong.hook import turn_commit

    call.commit = turn_commit.nothing("there was not enough time")
    # The snapshot is kept in any case.
    with suppress(_OutOfTime):
        remote = os.environ.get("PRONG_PUSH") or None
        call.commit = turn_commit.make(shot, _prompt(call, wanted), wanted.number, remote)


def _prompt(call: HookEvent, wanted: WantedSnapshot) -> str:
    messages: Any = call.payload.get("input-messages")
    if isinstance(messages, list) and messages:
        return "\n".join(str(message) for message in cast(list[Any], messages))
    if call.turn and call.transcript:
        return call.reader.prompt(call.transcript, call.turn)
    return wanted.prompt


def _is_outdated(kept: "Snapshot", wanted: WantedSnapshot) -> bool:
    """Check whether the snapshot predates the turn's end, or is from another prompt."""
    is_other = kept.message_id != wanted.message
    if wanted.turn.startswith(_NEXT):
        return is_other
    # The turn may get another answer after the snapshot, without a second end event. Only a
    # snapshot taken in time shows which answer was the last.
    return is_other and None not in (kept.message_id, wanted.message) and not kept.late


def _folders(call: HookEvent) -> list[Path]:
    """Return the agent's current folder, then the one it started in, in case there is no code now.

    The order is reversed when the current one is a repository inside the starting one.
    """
    candidates = dict.fromkeys([call.text("cwd"), call.reader.folder(call.transcript)])
    folders = [Path(folder) for folder in candidates if folder and Path(folder).is_dir()]
    if len(folders) > 1:
        from prong.code.repository import comes_along

        if comes_along(*folders):
            folders.reverse()
    return folders


def _line(call: HookEvent) -> dict[str, Any]:
    turn = call.turn
    if turn is None and call.wanted and not call.wanted.late:
        turn = call.wanted.turn if call.event != "UserPromptSubmit" else None
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "agent": call.agent,
        "session": call.session,
        "event": call.event,
        "detail": call.text("source", "reason", "notification_type", "error", "tool_name"),
        "state": call.state,
        "turn": turn,
        "cwd": call.text("cwd"),
        "transcript": str(call.transcript) if call.transcript else None,
        "worker": call.worker,
        "snapshot": _snapshot_line(call.snapshot) if call.snapshot else None,
        "commit": call.commit,
        "degraded": call.degraded,
        "missing": call.missing,
        "seconds": round(time.monotonic() - call.began, 3),
    }


def _snapshot_line(shot: "Snapshot") -> dict[str, Any]:
    return {
        "turn": shot.turn_id,
        "message": shot.message_id,
        "repo": str(shot.repo),
        "ref": shot.ref,
        "commit": shot.commit,
        "changed": shot.changed,
        "late": shot.late,
        "degraded": shot.degraded,
    }


def _budget() -> float:
    with suppress(ValueError):
        return max(0.5, float(os.environ.get("PRONG_HOOK_SECONDS", SECONDS)))
    return SECONDS


def _stop(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGALRM, lambda _signal, _frame: os._exit(0))
    raise _OutOfTime
