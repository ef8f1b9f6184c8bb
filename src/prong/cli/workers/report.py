"""Reports on workers: what was started, where it runs, what it answers, and what to type next."""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager

import click

from prong.cli.arguments import READY_SECONDS
from prong.cli.output import note, print_rows, styled, width
from prong.cli.progress import spinner
from prong.errors import Busy, External, ProngError
from prong.model.record import replace
from prong.model.workers import WorkerInfo, WorkerStatus
from prong.views.command_line import command_line
from prong.views.text import age, clean, short_path
from prong.views.worker_rows import COLOURS, details, place, places
from prong.workers.request import WorkerPlan
from prong.workers.service import WorkerService

_NAME = 10
_FORK_NAME = 8
"""Same as in the fork report, which these rows follow."""


class WorkerReports:
    """Waits for workers, and reports on them unless the result is JSON."""

    def __init__(self, workers: WorkerService, *, quiet: bool = False) -> None:
        self._workers = workers
        self._quiet = quiet

    def report(
        self,
        worker: WorkerInfo,
        said: str = "started",
        seconds: float = READY_SECONDS,
        *,
        err: bool = False,
    ) -> WorkerStatus:
        """Wait until the session exists, then print a report; `err` if stdout is for an answer."""
        status = self.ready(worker, seconds)
        if self._quiet:
            return status
        worker = status.worker
        agent = clean(worker.agent)
        click.echo(
            f"{styled(said, fg='green')} {styled(worker.name, fg='cyan')} ({agent})", err=err
        )
        print_rows(places(worker), indent="  ", err=err)
        _print_next(worker, err=err)
        if status.state.value == "waiting":
            note_request(status)
        elif status.state.value in ("starting", "unknown"):
            name, state = worker.name, status.state.value
            note(f"it is still {state} after {seconds:g} s: prong status {name}")
        return status

    def ready(self, worker: WorkerInfo, seconds: float = READY_SECONDS) -> WorkerStatus:
        """Wait until the session exists. If the agent ended, show its output."""
        states = self._workers.states
        if worker.pane is not None and worker.pane.terminal == "print":
            # A person will start it elsewhere; the command to type is only in this `worker`.
            return replace(states.status(worker.name), worker=worker)
        try:
            with self.kept(worker.name), spinner(f"waiting for {worker.agent} to start ..."):
                return states.ready(worker.name, seconds)
        except External as error:
            for line in "" if self._quiet else error.details.get("screen", "").splitlines():
                note(line)
            raise

    def answer(self, name: str, turn: int, seconds: float) -> tuple[WorkerStatus, str]:
        """Wait until the worker is idle; return its status and its answer after that turn."""
        with self.kept(name), spinner(f"waiting for {name} ..."):
            (status,) = self._workers.states.wait([name], timeout=seconds)
        if status.state.value != "idle":
            raise _no_answer(status, seconds)
        return status, self._workers.prompts.reply(name, turn)

    def ask(
        self, name: str, text: str, seconds: float, *, as_command: bool
    ) -> tuple[WorkerStatus, str]:
        """Send a prompt once the worker is idle; return its status and its answer."""
        prompts, deadline = self._workers.prompts, time.monotonic() + seconds

        def left() -> float:
            return max(deadline - time.monotonic(), 0.0)

        with self.kept(name), spinner(f"waiting for {name} ..."):
            while (sent := prompts.ask(name, text, as_command=as_command)) is None:
                self._workers.states.wait([name], timeout=left())
            status, reply = prompts.answer(sent, left())
        if reply is None:
            raise _no_answer(status, seconds)
        return status, reply

    @contextmanager
    def kept(self, name: str) -> Generator[None]:
        """On Ctrl-C, stop waiting but keep the worker running, and say how to stop it."""
        try:
            yield
        except KeyboardInterrupt:
            if self._workers.records.named(name) is not None:
                note(f"{name} keeps running; to stop it: prong stop {name}")
            raise


def _no_answer(status: WorkerStatus, seconds: float) -> ProngError:
    name, state = status.worker.name, status.state.value
    if state == "waiting":
        return Busy(f"{name} needs input{_request(status)}", hint=f"prong attach {name}")
    if state == "gone":
        return External(f"{name} ended before it answered", hint=f"prong log {name}")
    return Busy(f"{name} is {state} after {seconds:g} s", hint=f"prong wait {name}")


def _request(status: WorkerStatus) -> str:
    return f" ({status.evidence.detail})" if status.evidence.detail else ""


def note_request(status: WorkerStatus) -> None:
    """Point to a worker that waits for input before it has started."""
    name = status.worker.name
    note(f"{name} is waiting for input{_request(status)}: prong attach {name}")


def note_next(status: WorkerStatus) -> None:
    """Say what a worker that is not idle needs."""
    if status.state.value == "waiting":
        note(f"it is waiting for input: prong attach {status.worker.name}")
    elif status.state.value == "gone":
        note(resuming(status.worker))


def resuming(worker: WorkerInfo) -> str:
    """Say how to resume a worker that has ended."""
    command = f'send {worker.name} "..."' if worker.headless else f"restart {worker.name}"
    return f"prong {command} resumes its session"


def print_pane(worker: WorkerInfo) -> None:
    """Print where a fork runs, below the fork report."""
    rows = (("worker", worker.name), ("pane", place(worker)))
    print_rows(rows, indent="  ", size=_FORK_NAME)
    _print_next(worker)


def _print_next(worker: WorkerInfo, *, err: bool = False) -> None:
    if worker.pane is not None and worker.pane.terminal == "print":
        # Never cut, because it is there to be copied.
        lines = [clean(worker.pane.id)]
    else:
        commands = [] if worker.headless else [f"prong attach {worker.name}"]
        commands.append(f'prong send {worker.name} "..."')
        together = "    ".join(commands)
        room = width()
        lines = [together] if room is None or len(together) + 2 <= room else commands
    for line in lines:
        click.echo(f"  {styled(line, bold=True)}", err=err)


def print_state(status: WorkerStatus) -> None:
    """Print one line: state, since when, and the source of that evidence."""
    worker, evidence = status.worker, status.evidence
    state = styled(status.state.value, fg=COLOURS.get(status.state.value), bold=True)
    detail = f": {clean(evidence.detail)}" if evidence.detail else ""
    source = f"{age(evidence.time)} ({evidence.source})".strip()
    click.echo(f"{styled(worker.name, fg='cyan')} is {state}{detail}  {styled(source, dim=True)}")


def print_status(status: WorkerStatus) -> None:
    print_state(status)
    print_rows(details(status), indent="  ")


def print_plan(plan: WorkerPlan) -> None:
    print_rows(_planned(plan))
    # Never cut, because it is there to be copied.
    if plan.launch is not None:
        click.echo(f"{styled('command'.ljust(_NAME), dim=True)}{command_line(plan.launch)}")


def _planned(plan: WorkerPlan) -> Iterator[tuple[str, str]]:
    options = plan.request
    yield "name", plan.name
    yield "agent", plan.agent
    session = f"{plan.agent}:{plan.session}" if plan.session else ""
    yield "session", session or "chosen by the agent"
    if plan.fork is not None:
        yield "from", f"{plan.fork.point}  {plan.fork.source.title}"
    is_new = " (a new worktree)" if plan.worktree else ""
    yield "folder", f"{short_path(str(plan.workspace))}{is_new}"
    yield "branch", plan.worktree.branch if plan.worktree else ""
    where = f"as a {options.place.value}" if options.place else ""
    pane = ", ".join(part for part in (options.terminal, where) if part)
    yield "pane", "none: it is headless" if options.headless else pane
    if not plan.trusted:
        trusts = f"is recorded in {short_path(str(plan.trust.path))}" if plan.trust else ""
        yield "trust", trusts or "the agent will ask for trust; --trust answers in advance"
    yield "prompt", options.prompt or ""
    for warning in plan.warnings:
        yield "note", warning
