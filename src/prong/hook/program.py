"""`prong-hook`: what agents call when a turn begins and ends. Keeps the code of the turn.

    prong-hook claude           the event comes on standard input
    prong-hook codex            the same
    prong-hook codex notify X   X is the event

It runs inside somebody's turn. So it prints nothing, ends with status 0 whatever happens, and gives
up after PRONG_HOOK_SECONDS (5): the spool then says that the snapshot is missing, and the next
prompt takes it. PRONG_HOOK=off turns it off. It imports the standard library, `vcs` and what these
need.

Workers have PRONG_WORKER, their name. With PRONG_COMMIT_TURNS=1 each turn becomes a commit on the
branch of a worktree that prong made, and with PRONG_PUSH=REMOTE that is pushed; nowhere else.
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

from prong.agents import last_turn
from prong.hook import spool

if TYPE_CHECKING:  # many events need no snapshot, and none of what that takes
    from prong.model.code import Snapshot

SECONDS = 5.0
_AT_THE_END = 1.0
"""Seconds when a session ends: agents wait for that less patiently."""
_RESERVE = 0.3
"""Seconds that are left to write down that there was no time."""
_WAIT = 0.2
"""Seconds that the last line of a turn may need to come to the file."""
_PAUSE = 0.005
_LONGEST = 32 << 20
_BASELINE = "0"
"""The name of what is before the first turn: `TurnKey.BASELINE`."""
_START = "start"
"""The name of what a fork begins with: `TurnKey.START`."""
_NEXT = "next-"
"""Before the name of a turn: what its successor begins with. `TurnKey.NEXT`."""
_AT_THE_PROMPT = 0.2
"""The part of the time for that. A prompt that is delayed is noticed."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
"""What may be a part of a ref."""
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
"""Notifications of Claude Code that want a person."""


class _OutOfTime(BaseException):
    """The time is over. Not an `Exception`, so that nobody on the way takes it for one."""


class HookEvent:
    """One event of an agent."""

    def __init__(self, agent: str, payload: dict[str, Any], deadline: float) -> None:
        self.agent = agent
        self.payload = payload
        self.deadline = deadline
        self.began = time.monotonic()

    def text(self, *names: str) -> str | None:
        """The first of these fields that is there."""
        found = (self.payload.get(name) for name in names)
        return next((value for value in found if isinstance(value, str) and value), None)

    @property
    def event(self) -> str:
        return self.text("hook_event_name", "type") or ""

    @property
    def session(self) -> str | None:
        return self.text("session_id", "thread-id")

    @property
    def turn(self) -> str | None:
        """Only Codex tells it."""
        return self.text("turn_id", "turn-id")

    @property
    def said(self) -> str | None:
        """The last answer of the turn that ends."""
        return self.text("last_assistant_message", "last-assistant-message")

    @cached_property
    def transcript(self) -> Path | None:
        path = self.text("transcript_path")
        if path is None and self.event == "agent-turn-complete":
            return last_turn.codex_file(self.session or "")
        return Path(path) if path else None

    @cached_property
    def worker(self) -> str | None:
        if "PRONG_WORKER" not in os.environ:
            return None
        from prong.hook.worker_name import worker_name

        return worker_name()

    @property
    def state(self) -> str | None:
        """What the agent does from now on; None when that stays as it is."""
        if self.event == "Notification":
            return "waiting" if self.text("notification_type") in _ASKS else None
        if self.event == _ASKS_FIRST:
            # Without a terminal there is nobody to ask: it is refused at once.
            alone = os.environ.get("CLAUDE_CODE_ENTRYPOINT") == "sdk-cli"
            return None if alone and self.agent == "claude" else "waiting"
        if self.event == "SessionStart" and self.text("source") == "compact":
            return None  # in the middle of a turn
        return _STATES.get(self.event)


class Wanted(NamedTuple):
    """A snapshot to take."""

    turn: str
    message: str | None = None
    number: int | None = None
    late: bool = False
    """The turn ended some time ago; nobody told us."""
    ended: bool = False
    """The agent says that this very turn ends now, perhaps for the second time."""
    prompt: str = ""


class HookResult:
    """What came of an event."""

    def __init__(self) -> None:
        self.wanted: Wanted | None = None
        self.snapshot: Snapshot | None = None
        self.degraded: str | None = None
        self.missing: str | None = None
        """The turn whose code was to be kept, and was not."""
        self.commit: dict[str, str | None] | None = None


def main() -> None:
    """The program."""
    # No traceback, no message, no status: this is somebody else's turn.
    with suppress(BaseException):
        _silence()
        _run(sys.argv[1:])
    sys.exit(0)


def _run(words: list[str]) -> None:
    if os.environ.get("PRONG_HOOK") == "off" or not words:
        return
    budget = _budget()
    signal.signal(signal.SIGALRM, _stop)
    # A second alarm ends the process for good, should the first be held up.
    signal.setitimer(signal.ITIMER_REAL, budget, 1.0)
    deadline = time.monotonic() + budget - _RESERVE
    payload = _payload(words[-1].encode() if len(words) > 2 else _input())
    handle(HookEvent(words[0], payload, deadline))


def handle(call: HookEvent) -> None:
    """Take the snapshot that the event asks for, and write down what happened."""
    if not _ID.fullmatch(call.agent) or not _ID.fullmatch(call.session or ""):
        return  # nothing that a snapshot could be kept under
    if call.text("agent_id") and call.event != _ASKS_FIRST:
        return  # an event of a sub-agent
    if call.event == "agent-turn-complete" and call.transcript is None:
        return  # Codex asks the model for a title in a thread of its own, which is never written
    result = HookResult()
    try:
        _capture(call, result)
    except _OutOfTime:
        result.degraded = "there was not enough time"
    except MemoryError:
        result.degraded = "there was not enough memory"
    except Exception as error:  # noqa: BLE001 -- whatever it is, it must not reach the agent
        result.degraded = getattr(error, "message", None) or f"{type(error).__name__}: {error}"
    signal.setitimer(signal.ITIMER_REAL, 0)
    spool.append(_line(call, result))


def _capture(call: HookEvent, result: HookResult) -> None:
    if call.event == "SessionEnd":
        call.deadline = min(call.deadline, call.began + _AT_THE_END)
    wanted = _wanted(call)
    if wanted is not None and _ID.fullmatch(wanted.turn):
        result.wanted = wanted
        result.missing = wanted.turn
        result.snapshot = _taken(call, wanted)
        result.missing = None
        if result.snapshot is None and call.event == "UserPromptSubmit":
            _keep_start(call, wanted, result)
        if os.environ.get("PRONG_COMMIT_TURNS") == "1" and call.worker and call.event in _ENDS:
            _commit(call, result)
    elif call.event in ("Stop", "StopFailure") and call.transcript and call.transcript.exists():
        result.degraded = "the turn is not in the session file yet"


def _keep_start(call: HookEvent, before: Wanted, result: HookResult) -> None:
    """Keep what the turn begins with, so that what a person changed since is not counted to it.

    All of it or nothing: a file that is missing would be counted as well.
    """
    from prong.errors import ProngError

    seconds = _AT_THE_PROMPT * (call.deadline - call.began)
    # Both agents have a name for a prompt. One that was taken back gets another one.
    prompt = call.turn or call.text("prompt_id")
    start = Wanted(f"{_NEXT}{before.turn}", prompt, before.number)
    if not _ID.fullmatch(start.turn):
        return
    try:
        result.snapshot = _taken(call, start, min(call.deadline, time.monotonic() + seconds))
    except ProngError as error:
        result.degraded = f"the code at the prompt was not kept: {error}"


def _wanted(call: HookEvent) -> Wanted | None:
    """Which turn the code belongs to that lies there now."""
    path = call.transcript
    match call.event:
        case event if event in _ENDS:
            if call.turn:
                answer, said = last_turn.codex_answer(path, call.turn) if path else (None, "")
                is_last = _is_same(said, call.said)
                return Wanted(call.turn, answer if is_last else None, ended=call.event == "Stop")
            return _ended(call, path) if path else None
        case "UserPromptSubmit" | "SessionEnd":
            return _before(call, path)
        case _:
            return None


def _ended(call: HookEvent, path: Path) -> Wanted | None:
    """The turn that has just ended. Its last lines come to the file in these very moments."""
    said, prompt = call.said, call.text("prompt_id")
    deadline = time.monotonic() + _WAIT
    while True:
        last = last_turn.claude(path)
        over = time.monotonic() > deadline
        if last is not None and last.has_prompt(prompt):
            is_last = _is_same(last.said, said)
            if over or is_last or said is None:
                answer = last.message if is_last else None
                ended = prompt in last.prompt_ids
                return Wanted(last.id, answer, last.number, ended=ended, prompt=last.prompt)
        elif over:
            return None
        time.sleep(_PAUSE)


def _is_same(written: str, said: str | None) -> bool:
    """True when the answer in the file is the one that the hook was told of."""
    if said is None:
        return False
    written, said = written.strip(), said.strip()
    # An answer of several parts is several lines in the file.
    return written == said or (bool(written) and said.endswith(written))


def _before(call: HookEvent, path: Path | None) -> Wanted | None:
    """The turn before a prompt, when nobody has seen its end; before the first, the baseline."""
    last: last_turn.LastTurn | None = None
    if path:
        codex = call.agent == "codex"
        last = last_turn.codex(path, call.turn) if codex else last_turn.claude(path)
    if last is None:
        return Wanted(_BASELINE, number=0) if call.event == "UserPromptSubmit" else None
    if call.event == "UserPromptSubmit" and call.text("prompt_id") in last.prompt_ids:
        # Typed while the agent works, and now a part of the turn that runs.
        return None
    if last.is_inherited:
        # Its source has the code of that turn. What the fork begins with may be other code.
        return Wanted(_START) if call.event == "UserPromptSubmit" else None
    return Wanted(last.id, last.message, last.number, late=True)


def _taken(call: HookEvent, wanted: Wanted, deadline: float | None = None) -> "Snapshot | None":
    """The snapshot, unless the turn has one that is as good; None without git.

    Until the deadline of the call it may be a part. If there is an earlier one, it is whole.
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
        found = take(folder, again=wanted.ended)
        if found is not None and found.taken < now and _is_outdated(found, wanted):
            found = take(folder, again=True)
        if found is not None:
            return found if found.taken >= now else None
    return None


def _commit(call: HookEvent, result: HookResult) -> None:
    """Make the turn a commit on the worker's own branch. Says what came of it."""
    shot, wanted = result.snapshot, result.wanted
    if shot is None or wanted is None:
        return  # it has one from the first time that this end was told
    from prong.hook import turn_commit

    result.commit = turn_commit.nothing("there was not enough time")
    # The snapshot is there in any case.
    with suppress(_OutOfTime):
        remote = os.environ.get("PRONG_PUSH") or None
        result.commit = turn_commit.make(shot, _prompt(call, wanted), wanted.number, remote)


def _prompt(call: HookEvent, wanted: Wanted) -> str:
    given: Any = call.payload.get("input-messages")
    if isinstance(given, list) and given:
        return "\n".join(str(one) for one in cast(list[Any], given))
    if call.turn and call.transcript:
        return last_turn.codex_prompt(call.transcript, call.turn)
    return wanted.prompt


def _is_outdated(kept: "Snapshot", wanted: Wanted) -> bool:
    """True when it was taken before the end of the turn, or at another prompt."""
    if wanted.turn.startswith(_NEXT):
        return kept.message_id != wanted.message
    return _went_on(kept, wanted)


def _went_on(kept: "Snapshot", wanted: Wanted) -> bool:
    """True when the turn has an answer from after its end, and nobody told us of the second end.

    Which answer was the last is known of a snapshot that was taken in time.
    """
    known = kept.message_id is not None and wanted.message is not None
    return known and not kept.late and kept.message_id != wanted.message


def _folders(call: HookEvent) -> list[Path]:
    """Where the agent is now; where it began, should there be no code now.

    The other way round when it is in a repository inside the one where it began.
    """
    if call.agent == "claude":
        began = os.environ.get("CLAUDE_PROJECT_DIR")
    else:
        began = last_turn.codex_folder(call.transcript) if call.transcript else None
    choices = dict.fromkeys([call.text("cwd"), began])
    folders = [Path(one) for one in choices if one and Path(one).is_dir()]
    if len(folders) > 1:
        from prong.code.repository import comes_along

        if comes_along(*folders):
            folders.reverse()
    return folders


def _line(call: HookEvent, result: HookResult) -> dict[str, Any]:
    about = call.turn
    if about is None and result.wanted and not result.wanted.late:
        about = result.wanted.turn if call.event != "UserPromptSubmit" else None
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "agent": call.agent,
        "session": call.session,
        "event": call.event,
        "detail": call.text("source", "reason", "notification_type", "error", "tool_name"),
        "state": call.state,
        "turn": about,
        "cwd": call.text("cwd"),
        "transcript": str(call.transcript) if call.transcript else None,
        "worker": call.worker,
        "snapshot": _told(result),
        "commit": result.commit,
        "degraded": result.degraded,
        "missing": result.missing,
        "seconds": round(time.monotonic() - call.began, 3),
    }


def _told(result: HookResult) -> dict[str, Any] | None:
    shot = result.snapshot
    if shot is None:
        return None
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


# -- the process ----------------------------------------------------------------------------------


def _silence() -> None:
    """Whatever is printed would become a part of the conversation."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _budget() -> float:
    with suppress(ValueError):
        return max(0.5, float(os.environ.get("PRONG_HOOK_SECONDS", SECONDS)))
    return SECONDS


def _stop(_signal: int, _frame: FrameType | None) -> None:
    signal.signal(signal.SIGALRM, _end)
    raise _OutOfTime


def _end(_signal: int, _frame: FrameType | None) -> None:
    os._exit(0)


def _input() -> bytes:
    return sys.stdin.buffer.read(_LONGEST)


def _payload(data: bytes) -> dict[str, Any]:
    value: Any = json.loads(data)
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
