"""Parse the output of `codex exec --json`."""

from collections.abc import Iterable

import msgspec

from prong.agents import jsonl
from prong.agents.headless import ProgramAnswer, TurnOutput, events
from prong.model.record import replace

_UNKNOWN = "it failed"


class ExecItem(msgspec.Struct):
    type: str = ""
    text: str = ""


class ExecFailure(msgspec.Struct):
    message: str = ""


class ExecEvent(msgspec.Struct):
    """A line that `codex exec --json` prints."""

    type: str = ""
    thread_id: str | None = None
    item: ExecItem | None = None
    error: ExecFailure | None = None
    message: str = ""


class _Refusal(msgspec.Struct):
    """An error of the API, which Codex passes on as JSON text."""

    error: ExecFailure


_refusal = msgspec.json.Decoder(_Refusal).decode


def turn_output(output: Iterable[str]) -> TurnOutput:
    """Parse the last turn."""
    thread: str | None = None
    over = False
    said: list[str] = []
    error: str | None = None
    for event in events(output, ExecEvent):
        if isinstance(event, str):
            error = event
            continue
        match event.type:
            case "thread.started" | "turn.started":
                thread = event.thread_id or thread
                over, said, error = False, [], None
            case "item.completed" if event.item and event.item.type == "agent_message":
                said.append(event.item.text)
            case "turn.completed":
                over, error = True, None
            case "turn.failed":
                over, error = True, (event.error.message if event.error else "") or _UNKNOWN
            case "error":
                # Also printed before a retry, so the turn is not over.
                error = event.message or error
            case _:
                pass
    return TurnOutput(thread, over, "".join(said[-1:]), error, "".join(said))


def seed_answer(output: Iterable[str]) -> ProgramAnswer:
    seeded = turn_output(output)
    refusal = jsonl.decoded(_refusal, (seeded.error or "").encode())
    reason = (refusal.error.message if refusal else "") or seeded.error
    return replace(seeded, error=None if reason == _UNKNOWN else reason).answer
