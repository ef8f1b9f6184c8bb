"""Parse the output of `codex exec --json`."""

from collections.abc import Iterable

import msgspec

from prong.agents import headless, jsonl
from prong.agents.headless import NOTHING_SAID, ProgramAnswer, TurnOutput, events


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


def turn_output(output: Iterable[str]) -> TurnOutput:
    """Parse the last turn's result from the output of `codex exec --json`."""
    thread: str | None = None
    over = False
    reply = ""
    error: str | None = None
    for line in headless.lines_of(output):
        if not headless.is_event(line):
            error = headless.complaint(line) or error
            continue
        for event in events([line], ExecEvent):
            match event.type:
                case "thread.started" | "turn.started":
                    thread = event.thread_id or thread
                    over, reply, error = False, "", None
                case "item.completed" if event.item and event.item.type == "agent_message":
                    reply = event.item.text
                case "turn.completed":
                    over, error = True, None
                case "turn.failed":
                    over, error = True, (event.error.message if event.error else "") or "it failed"
                case "error":
                    # Also printed before a retry, so the turn is not over.
                    error = event.message or error
                case _:
                    pass
    return TurnOutput(thread, over, reply, error)


class _Refusal(msgspec.Struct):
    """An error of the API, which Codex passes on as JSON text."""

    error: ExecFailure


_refusal = msgspec.json.Decoder(_Refusal).decode


def seed_answer(output: Iterable[str]) -> ProgramAnswer:
    thread: str | None = None
    text = ""
    failure = ""
    ended = False
    for event in events(output, ExecEvent):
        match event.type:
            case "thread.started":
                thread = event.thread_id
            case "item.completed" if event.item and event.item.type == "agent_message":
                text += event.item.text
            case "turn.completed":
                ended = True
            case "turn.failed" if event.error:
                failure = event.error.message
            case "error":
                # Also printed before a retry: it counts only if nothing better follows.
                failure = failure or event.message
            case _:
                pass
    if ended and text:
        return ProgramAnswer(thread, text, None)
    refusal = jsonl.decoded(_refusal, failure.encode())
    reason = (refusal.error.message if refusal else "") or failure
    return ProgramAnswer(thread, text, (not ended and reason) or NOTHING_SAID)
