"""MCP tools for workers: list, status, wait, send, clone and stop."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from prong.mcp import names
from prong.mcp.call import Call
from prong.mcp.hints import BY_USER
from prong.mcp.schemas import Arguments, shaped
from prong.mcp.shapes import Cloned, OneWorker, Sent, Stopped, Waited, WorkerList, WorkerRow
from prong.mcp.tool import Effect, tool

if TYPE_CHECKING:
    from prong.model.workers import WorkerStatus

_READY = 30.0
Name = Annotated[str, Meta(description="Worker name.", max_length=200)]
Seconds = Annotated[
    float,
    Meta(
        ge=0,
        le=3600,
        description="Seconds to wait. Some clients abort a call after 60; call again to keep "
        "waiting.",
    ),
]


class ListWorkers(Arguments, frozen=True):
    all: Annotated[bool, Meta(description="Include workers gone for over a week.")] = False


class WorkerStatusOf(Arguments, frozen=True):
    name: Name


class WaitWorkers(Arguments, frozen=True):
    names: Annotated[list[str], Meta(min_length=1, max_length=100, description="Worker names.")]
    any: Annotated[bool, Meta(description="Return as soon as one worker is done.")] = False
    timeout: Seconds = 50.0


class SendToWorker(Arguments, frozen=True):
    name: Name
    text: Annotated[str, Meta(description="The prompt.", min_length=1, max_length=1_000_000)]
    wait: Annotated[bool, Meta(description="Wait for the answer.")] = False
    timeout: Seconds = 50.0
    as_command: Annotated[
        bool, Meta(description="Send a command such as /clear. Refused unless the user allowed it.")
    ] = False
    dry_run: Annotated[bool, Meta(description="Only return the worker's state.")] = False


class CloneWorker(Arguments, frozen=True):
    name: Annotated[str, Meta(description="Worker or session to clone.")]
    new_name: Annotated[str | None, Meta(description="Name of the clone.")] = None
    timeout: Annotated[
        float, Meta(ge=0, le=3600, description="Seconds to wait for the source to be idle.")
    ] = 20.0
    ignored: Annotated[bool, Meta(description="Include files that git ignores.")] = True
    trust: Annotated[
        bool, Meta(description="Trust the clone's folder. Refused unless the user allowed it.")
    ] = False
    dry_run: Annotated[bool, Meta(description="Only return the plan.")] = False


class StopWorker(Arguments, frozen=True):
    name: Name
    force: Annotated[bool, Meta(description="Stop it even if it is busy.")] = False
    dry_run: Annotated[bool, Meta(description="Only return the worker's state.")] = False


@tool(
    "List workers",
    "List workers (agents that prong started) and their state.",
    Effect.READS,
)
def list_workers(call: Call, given: ListWorkers) -> WorkerList:
    from prong.workers.service import recent

    statuses = call.app.workers.states.all()
    return WorkerList(workers=_rows(statuses if given.all else recent(statuses)))


@tool(
    "Show worker status",
    "Show whether a worker is busy, idle, waiting for input or gone, with the evidence.",
    Effect.READS,
)
def worker_status(call: Call, given: WorkerStatusOf) -> OneWorker:
    status = call.app.workers.states.status(given.name)
    return OneWorker(worker=worker_row(status), idle=status.state.value == "idle")


@tool(
    "Wait for workers",
    "Wait until workers are idle. Does not wait for one that needs user input or is gone. If "
    "timed_out is true, call again to keep waiting.",
    Effect.READS,
)
def wait_workers(call: Call, given: WaitWorkers) -> Waited:
    from prong.errors import Busy

    unique = list(dict.fromkeys(given.names))
    _refuse_own(unique)
    states = call.app.workers.states
    try:
        statuses = call.wait(
            lambda seconds: states.wait(unique, any_=given.any, timeout=seconds),
            time.monotonic() + given.timeout,
        )
    except Busy:
        return Waited(
            done=False,
            timed_out=True,
            workers=_rows(map(states.status, unique)),
            hint="call wait_workers again to keep waiting",
        )
    return Waited(done=True, timed_out=False, workers=_rows(statuses), hint=_what_to_do(statuses))


def _refuse_own(wanted: list[str]) -> None:
    """Refuse to wait for the calling worker: it would wait forever."""
    from prong.errors import UsageError
    from prong.workers.launch import environment

    own = os.environ.get(environment.NAME)
    if own in wanted:
        raise UsageError(f"{own} is the worker you run as", hint=f"leave {own} out")


@tool(
    "Prompt a worker",
    "Send a prompt to a worker; with wait, return its answer.",
    Effect.WRITES,
)
def send_to_worker(call: Call, given: SendToWorker) -> Sent:
    if given.wait:
        _refuse_own([given.name])
    call.permissions.require(commands=given.as_command)
    workers = call.app.workers
    before = workers.states.status(given.name)
    if given.dry_run:
        state = f"it is {before.state.value}; nothing was sent"
        return Sent(worker=worker_row(before), sent=False, reply=None, hint=state)
    if given.wait:
        return _answered(call, given)
    workers.prompts.send(given.name, given.text, as_command=given.as_command)
    status = workers.states.status(given.name)
    hint = "call wait_workers to wait for it"
    return Sent(worker=worker_row(status), sent=True, reply=None, hint=hint)


def _answered(call: Call, given: SendToWorker) -> Sent:
    """Send a prompt once the worker is idle, and wait for the answer."""
    from prong.errors import Busy

    states, prompts = call.app.workers.states, call.app.workers.prompts
    end = time.monotonic() + given.timeout
    sent = reply = None
    with suppress(Busy):
        while sent is None:
            sent = prompts.ask(given.name, given.text, as_command=given.as_command)
            if sent is None:
                call.wait(lambda seconds: states.wait([given.name], timeout=seconds), end)
    if sent is not None:
        prompt = sent
        with suppress(Busy):
            status, reply = call.wait(lambda seconds: prompts.answer(prompt, seconds), end)
            if reply is not None:
                return Sent(worker=worker_row(status), sent=True, reply=reply, hint=None)
    status = states.status(given.name)
    next_step = "wait_workers, then read_session" if sent else "nothing was sent; call again"
    hint = _what_to_do([status]) or f"it is still busy: {next_step}"
    return Sent(worker=worker_row(status), sent=sent is not None, reply=None, hint=hint)


@tool(
    "Clone a worker",
    "Clone a worker or a session once it is idle: conversation, whole workspace and settings. "
    "The clone runs next to it; the source is not changed.",
    Effect.WRITES,
)
def clone_worker(call: Call, given: CloneWorker) -> Cloned:
    from prong.errors import Busy
    from prong.workers.request import WorkerRequest

    call.permissions.require(trust=given.trust)
    workers = call.app.workers
    workers.starter.refuse_name(given.new_name)
    name, cloner = names.session(given.name), workers.cloner
    origin = cloner.sources.find(name)
    command = origin.worker.command if origin.worker else None
    call.permissions.require_inherited(origin.agent, command)
    status = workers.states.status(origin.worker.name) if origin.worker else None
    source = worker_row(status) if status else None
    if given.dry_run:
        warnings = _clone_warnings(status) if status else []
        return Cloned(source=source, clone=None, workspace=str(origin.folder), warnings=warnings)
    terminal = call.permissions.terminal(headless=origin.headless)
    end = time.monotonic() + given.timeout

    def rest(seconds: float) -> None:
        cloner.sources.rest(seconds).wait_for(cloner.sources.find(name))

    def reason(busy: Busy) -> str:
        return str(busy.details.get("reason", f"{name} is busy"))

    try:
        call.wait(rest, end, lambda busy: f"waiting until it is idle: {reason(busy)}")
    except Busy as busy:
        busy.message = f"{reason(busy)}, still after {given.timeout:g} s"
        raise
    clone = cloner.clone(
        name,
        WorkerRequest(name=given.new_name, trust=given.trust, terminal=terminal),
        ignored=given.ignored,
        # It may have received a prompt meanwhile.
        timeout=max(end - time.monotonic(), 0.0),
    )
    call.say(f"waiting until {clone.name} has started")
    if not clone.headless:
        workers.states.ready(clone.name, _READY)
    ready = workers.states.status(clone.name)
    return Cloned(
        source=source,
        clone=worker_row(ready),
        workspace=str(ready.worker.workspace),
        warnings=list(clone.warnings),
    )


def _clone_warnings(status: WorkerStatus) -> list[str]:
    if status.state.value == "busy":
        return ["it is busy: the clone waits until it is idle"]
    if status.state.value != "waiting":
        return []
    about = f" ({status.evidence.detail})" if status.evidence.detail else ""
    attach = f"prong attach {status.worker.name}"
    return [f"it is waiting for input{about}, and the clone until it is idle: {attach}"]


@tool(
    "Stop a worker",
    "Stop a worker. A busy one needs force. Its session and workspace are kept.",
    Effect.ENDS,
    idempotent=True,
)
def stop_worker(call: Call, given: StopWorker) -> Stopped:
    workers = call.app.workers
    if given.dry_run:
        status = workers.states.status(given.name)
        hint = f"it is {status.state.value}; nothing was stopped"
        return Stopped(worker=worker_row(status), stopped=False, hint=hint)
    workers.stop(given.name, force=given.force)
    status = workers.states.status(given.name)
    hint = f"session and workspace are kept; to restart it {BY_USER} prong restart {given.name}"
    return Stopped(worker=worker_row(status), stopped=True, hint=hint)


def _rows(statuses: Iterable[WorkerStatus]) -> list[WorkerRow]:
    return [worker_row(status) for status in statuses]


def worker_row(status: WorkerStatus) -> WorkerRow:
    from prong.views import workers as views
    from prong.workers.launch import environment

    info = status.worker
    return shaped(
        WorkerRow,
        {
            **views.worker(status),
            "terminal_id": str(info.pane) if info.pane else None,
            "badge": info.env.get(environment.BADGE),
            "issue_id": info.env.get(environment.ISSUE),
        },
    )


def _what_to_do(statuses: Iterable[WorkerStatus]) -> str | None:
    """Say what to do about the first worker that needs the user."""
    for status in statuses:
        name = status.worker.name
        if status.state.value == "waiting":
            return f"{name} is waiting for input; {BY_USER} prong attach {name}"
        if status.state.value == "gone":
            return f"{name} has ended; to restart it {BY_USER} prong restart {name}"
    return None
