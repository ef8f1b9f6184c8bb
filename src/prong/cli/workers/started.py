"""Waiting for a started worker, and reporting on it."""

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.output import note
from prong.cli.spinner import spinner
from prong.cli.workers.worker_report import print_started, say_what_it_wants
from prong.errors import Busy, External, ProngError
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.workers import WorkerInfo, WorkerStatus

C = TypeVar("C", bound=Callable[..., Any])

READY_SECONDS = 60.0


def ready_option(command: C) -> C:
    return click.option(
        "--ready-timeout",
        type=click.FloatRange(min=0),
        default=READY_SECONDS,
        metavar="SECONDS",
        help="Time limit for the agent to start (default: 60).",
    )(command)


def report(
    app: "App",
    worker: "WorkerInfo",
    *,
    said: str = "started",
    seconds: float,
    as_json: bool,
    err: bool = False,
) -> "WorkerStatus":
    """Wait until the worker's session exists, then print a report unless `as_json`."""
    status = ready(app, worker, seconds, quiet=as_json)
    if not as_json:
        print_started(status.worker, said, err=err)
        if status.state.value == "waiting":
            say_what_it_wants(status)
        elif status.state.value in ("starting", "unknown"):
            name, state = worker.name, status.state.value
            note(f"it is still {state} after {seconds:g} s: prong status {name}")
    return status


def ready(
    app: "App", worker: "WorkerInfo", seconds: float, *, quiet: bool = False
) -> "WorkerStatus":
    """Wait until the session exists and return the status. If the agent ended, show its output."""
    if worker.pane is not None and worker.pane.terminal == "print":
        from prong.model.record import replace

        # A person will start it elsewhere; the command to type is only in this `worker`.
        return replace(app.workers.states.status(worker.name), worker=worker)
    try:
        with kept(app, worker.name), spinner(f"waiting for {worker.agent} to start ..."):
            return app.workers.states.ready(worker.name, seconds)
    except External as error:
        for line in "" if quiet else error.details.get("screen", "").splitlines():
            note(line)
        raise


def answer(app: "App", name: str, turn: int, seconds: float) -> "tuple[WorkerStatus, str]":
    """Wait until the worker is idle; return its status and its answer after that turn."""
    with kept(app, name), spinner(f"waiting for {name} ..."):
        (status,) = app.workers.states.wait([name], timeout=seconds)
    if status.state.value != "idle":
        raise _no_answer(status, seconds)
    return status, app.workers.prompts.reply(name, turn)


def asked(
    app: "App", name: str, text: str, seconds: float, *, as_command: bool
) -> "tuple[WorkerStatus, str]":
    """Send a prompt once the worker is idle; return its status and its answer."""
    deadline = time.monotonic() + seconds

    def left() -> float:
        return max(deadline - time.monotonic(), 0.0)

    with kept(app, name), spinner(f"waiting for {name} ..."):
        sent = app.workers.prompts.ask(name, text, as_command=as_command)
        while sent is None:
            app.workers.states.wait([name], timeout=left())
            sent = app.workers.prompts.ask(name, text, as_command=as_command)
        status, reply = app.workers.prompts.answer(sent, left())
        if reply is None:
            raise _no_answer(status, seconds)
        return status, reply


def _no_answer(status: "WorkerStatus", seconds: float) -> ProngError:
    name, state = status.worker.name, status.state.value
    if state == "waiting":
        request = f" ({status.evidence.detail})" if status.evidence.detail else ""
        return Busy(f"{name} needs input{request}", hint=f"prong attach {name}")
    if state == "gone":
        return External(f"{name} ended before it answered", hint=f"prong log {name}")
    return Busy(f"{name} is {state} after {seconds:g} s", hint=f"prong wait {name}")


def print_answer(text: str) -> None:
    click.echo(clean(text, lines=True))


def view(status: "WorkerStatus", **more: Any) -> dict[str, Any]:
    from prong.views import workers

    return {"worker": workers.worker(status), **more}


@contextmanager
def kept(app: "App", name: str) -> Generator[None]:
    """On Ctrl-C, stop waiting but keep the worker running, and say how to stop it."""
    try:
        yield
    except KeyboardInterrupt:
        if app.workers.records.named(name) is not None:
            note(f"{name} keeps running; to stop it: prong stop {name}")
        raise
