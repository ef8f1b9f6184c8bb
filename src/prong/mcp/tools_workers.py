"""MCP tools for workers: list, status, wait, send, clone and stop."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, TypeVar

from msgspec import Meta

from prong.mcp import names
from prong.mcp.hints import BY_USER
from prong.mcp.schemas import Arguments
from prong.mcp.shapes import Cloned, OneWorker, Sent, Stopped, Waited, WorkerList
from prong.mcp.tool import Call, Effect, McpTool
from prong.mcp.workers import what_to_do, worker

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.workers import WorkerStatus
    from prong.workers.prompts import SentPrompt

T = TypeVar("T")
_SLICE = 2.0
"""Seconds per step of a wait; between steps, the client gets progress and can cancel."""
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


async def list_workers(call: Call, given: ListWorkers) -> WorkerList:
    def listed(app: App) -> WorkerList:
        from prong.workers.service import recent

        statuses = app.workers.states.all()
        return WorkerList(
            workers=[worker(status) for status in (statuses if given.all else recent(statuses))]
        )

    return await call.do(listed)


async def worker_status(call: Call, given: WorkerStatusOf) -> OneWorker:
    status = await call.do(lambda app: app.workers.states.status(given.name))
    return OneWorker(worker=worker(status), idle=status.state.value == "idle")


async def wait_workers(call: Call, given: WaitWorkers) -> Waited:
    unique = list(dict.fromkeys(given.names))
    _refuse_own(unique)
    done = await _waited(call, unique, given.timeout, any_=given.any)
    if done is not None:
        return Waited(
            done=True,
            timed_out=False,
            workers=[worker(status) for status in done],
            hint=what_to_do(done),
        )
    statuses = await call.do(lambda app: [app.workers.states.status(name) for name in unique])
    return Waited(
        done=False,
        timed_out=True,
        workers=[worker(status) for status in statuses],
        hint="call wait_workers again to keep waiting",
    )


def _refuse_own(wanted: list[str]) -> None:
    """Refuse to wait for the calling worker: it would wait forever."""
    from prong.errors import UsageError
    from prong.workers.launch import environment

    own = os.environ.get(environment.NAME)
    if own in wanted:
        raise UsageError(f"{own} is the worker you run as", hint=f"leave {own} out")


async def _waited(
    call: Call, wanted: list[str], seconds: float, *, any_: bool = False
) -> list[WorkerStatus] | None:
    """Wait for workers; return None on timeout."""

    def wait(app: App, timeout: float) -> list[WorkerStatus]:
        return app.workers.states.wait(wanted, any_=any_, timeout=timeout)

    return await _in_pieces(call, seconds, wait)


async def _in_pieces(call: Call, seconds: float, wait: Callable[[App, float], T]) -> T | None:
    """Wait in steps of `_SLICE` seconds; return None on timeout."""
    from prong.errors import Busy

    deadline = time.monotonic() + seconds
    while True:
        remaining = deadline - time.monotonic()
        piece = min(max(remaining, 0.0), _SLICE)
        try:
            return await call.do(lambda app, piece=piece: wait(app, piece))
        except Busy as busy:
            if remaining <= _SLICE:
                return None
            call.progress.say(f"{busy.message.rpartition(' after ')[0]} ({remaining:.0f} s left)")


async def send_to_worker(call: Call, given: SendToWorker) -> Sent:
    from prong.api import permissions

    if given.wait:
        _refuse_own([given.name])
    if given.as_command:
        await call.do(lambda app: permissions.refuse_unallowed(app, commands=True))
    before = await call.do(lambda app: app.workers.states.status(given.name))
    if given.dry_run:
        state = f"it is {before.state.value}; nothing was sent"
        return Sent(worker=worker(before), sent=False, reply=None, hint=state)
    if not given.wait:
        await call.do(
            lambda app: app.workers.prompts.send(
                given.name, given.text, as_command=given.as_command
            )
        )
        status = await call.do(lambda app: app.workers.states.status(given.name))
        hint = "call wait_workers to wait for it"
        return Sent(worker=worker(status), sent=True, reply=None, hint=hint)
    deadline = time.monotonic() + given.timeout
    prompt: SentPrompt | None = None
    statuses: list[WorkerStatus] | None = []
    while prompt is None and statuses is not None:
        prompt = await call.do(
            lambda app: app.workers.prompts.ask(given.name, given.text, as_command=given.as_command)
        )
        if prompt is None:
            statuses = await _waited(call, [given.name], max(deadline - time.monotonic(), 0.0))
    answer = None
    if prompt is not None:
        sent, left = prompt, max(deadline - time.monotonic(), 0.0)
        answer = await _in_pieces(
            call, left, lambda app, piece: app.workers.prompts.answer(sent, piece)
        )
    if answer is None or answer[1] is None:
        status = await call.do(lambda app: app.workers.states.status(given.name))
        next_step = "wait_workers, then read_session" if prompt else "nothing was sent; call again"
        hint = what_to_do([status]) or f"it is still busy: {next_step}"
        return Sent(worker=worker(status), sent=prompt is not None, reply=None, hint=hint)
    status, reply = answer
    return Sent(worker=worker(status), sent=True, reply=reply, hint=None)


async def clone_worker(call: Call, given: CloneWorker) -> Cloned:
    from prong.api import permissions
    from prong.workers.request import WorkerRequest

    source = names.session(given.name)
    plan = await call.do(
        lambda app: permissions.plan(app, source, given.new_name, trust=given.trust)
    )
    before = worker(plan.status) if plan.status else None
    if given.dry_run:
        return Cloned(
            source=before,
            clone=None,
            workspace=str(plan.workspace),
            warnings=list(plan.warnings),
        )
    deadline = time.monotonic() + given.timeout
    await _rested(call, source, deadline, given.timeout)

    def clone(app: App) -> Cloned:
        created = app.workers.cloner.clone(
            source,
            WorkerRequest(name=given.new_name, trust=given.trust, terminal=plan.terminal),
            ignored=given.ignored,
            # It may have received a prompt meanwhile.
            timeout=max(deadline - time.monotonic(), 0.0),
        )
        call.progress.say(f"waiting until {created.name} has started")
        ready = app.workers.states.ready(created.name, _READY) if not created.headless else None
        ready = ready or app.workers.states.status(created.name)
        return Cloned(
            source=before,
            clone=worker(ready),
            workspace=str(ready.worker.workspace),
            warnings=list(created.warnings),
        )

    return await call.do(clone)


async def _rested(call: Call, source: str, end: float, seconds: float) -> None:
    """Wait in steps until the source is idle, so that a cancelled call makes no clone."""
    from prong.api import permissions
    from prong.errors import Busy

    while True:
        remaining = end - time.monotonic()
        piece = min(max(remaining, 0.0), _SLICE)
        try:
            return await call.do(partial(permissions.wait, source=source, timeout=piece))
        except Busy as busy:
            reason = busy.details.get("reason", f"{source} is busy")
            if remaining <= _SLICE:
                busy.message = f"{reason}, still after {seconds:g} s"
                raise
            call.progress.say(f"waiting until it is idle: {reason} ({remaining:.0f} s left)")


async def stop_worker(call: Call, given: StopWorker) -> Stopped:
    def stop(app: App) -> Stopped:
        if given.dry_run:
            status = app.workers.states.status(given.name)
            hint = f"it is {status.state.value}; nothing was stopped"
            return Stopped(worker=worker(status), stopped=False, hint=hint)
        app.workers.stop(given.name, force=given.force)
        status = app.workers.states.status(given.name)
        hint = f"session and workspace are kept; to restart it {BY_USER} prong restart {given.name}"
        return Stopped(worker=worker(status), stopped=True, hint=hint)

    return await call.do(stop)


TOOLS = (
    McpTool(
        "list_workers",
        "List workers",
        "List workers (agents that prong started) and their state.",
        ListWorkers,
        WorkerList,
        Effect.READS,
        list_workers,
    ),
    McpTool(
        "worker_status",
        "Show worker status",
        "Show whether a worker is busy, idle, waiting for input or gone, with the evidence.",
        WorkerStatusOf,
        OneWorker,
        Effect.READS,
        worker_status,
    ),
    McpTool(
        "wait_workers",
        "Wait for workers",
        "Wait until workers are idle. Does not wait for one that needs user input or is gone. If "
        "timed_out is true, call again to keep waiting.",
        WaitWorkers,
        Waited,
        Effect.READS,
        wait_workers,
    ),
    McpTool(
        "send_to_worker",
        "Prompt a worker",
        "Send a prompt to a worker; with wait, return its answer.",
        SendToWorker,
        Sent,
        Effect.WRITES,
        send_to_worker,
    ),
    McpTool(
        "clone_worker",
        "Clone a worker",
        "Clone a worker or a session once it is idle: conversation, whole workspace and settings. "
        "The clone runs next to it; the source is not changed.",
        CloneWorker,
        Cloned,
        Effect.WRITES,
        clone_worker,
    ),
    McpTool(
        "stop_worker",
        "Stop a worker",
        "Stop a worker. A busy one needs force. Its session and workspace are kept.",
        StopWorker,
        Stopped,
        Effect.ENDS,
        stop_worker,
        idempotent=True,
    ),
)
