"""Start workers: new ones, existing forks, clones, and those that are gone."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.agents.stores import AgentStores
from prong.errors import Busy, Dirty, NotFound, ProngError, Taken, Unsupported
from prong.files import edits
from prong.files.edits import Edit
from prong.forks.service import ForkService
from prong.model.forks import Fork, ForkPlan, Launch, WorktreePlan
from prong.model.record import Record, field, replace
from prong.model.sessions import SessionRef
from prong.model.workers import NewSession, Placement, WorkerInfo, WorkerState
from prong.processes.process import process_of
from prong.processes.programs import output
from prong.terminals.base import OnlyTells, TakesOver, Terminal
from prong.workers import names, push
from prong.workers.launch import environment
from prong.workers.launch.plan import WorkerPlanner
from prong.workers.panes import Terminals
from prong.workers.prompts import WorkerPrompts, folder_is_gone
from prong.workers.request import WorkerPlan, WorkerRequest
from prong.workers.states import WorkerStates

_ATTEMPTS = 20
_READY = 60.0
"""Seconds for an agent to be ready for a pasted prompt."""


class _Opening(Record, frozen=True):
    """How to start the program of a worker once its session and folder exist."""

    terminal: Terminal | None
    """None for a headless worker."""
    place: Placement | None = None
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables for this start; keys among them are not stored."""
    asked: bool = False
    """True if the launch contains a prompt."""
    prompt: str | None = None
    """Prompt of a headless worker, or one to paste."""


class WorkerStarter(Record, frozen=True):
    stores: AgentStores
    forks: ForkService
    terminals: Terminals
    states: WorkerStates
    prompts: WorkerPrompts
    planner: WorkerPlanner
    hooked: Callable[[str, Launch], Launch]

    def start(self, plan: WorkerPlan) -> WorkerInfo:
        """Start a planned worker: it runs and is recorded, or nothing is left."""
        for _ in range(_ATTEMPTS):
            plan = self.planner.settled(plan)
            try:
                return self._started(plan)
            except Taken:
                if self.planner.settled(plan) is not plan:
                    continue
                if plan.request.name is not None or self.states.records.named(plan.name) is None:
                    raise
                # A concurrent start has generated the same name.
                plan = self.planner.plan(plan.request)
        raise Busy("too many workers are starting at once", hint="try again")

    def _started(self, plan: WorkerPlan) -> WorkerInfo:
        request = plan.request
        opening = _Opening(
            self.terminal(request),
            request.place,
            request.env,
            asked=request.prompt is not None and plan.pasted is None,
            prompt=request.prompt if request.headless else plan.pasted,
        )
        draft = draft_of(request, plan.name, plan.agent, plan.command, plan.workspace)
        draft = replace(draft, session=plan.session)
        with self._reserved(draft) as reserved:
            if plan.trust is not None:
                self.trust(plan.agent, plan.trust.folder)
            if plan.fork is not None:
                worker = self._forked(plan.fork, reserved, opening)
            elif plan.worktree is not None:
                worker = self._in_worktree(plan, plan.worktree, reserved, opening)
            else:
                worker = self._opened(reserved, plan.launch, opening)
        # From here on the worker stays, even if its prompt cannot be pasted.
        return self._asked(worker, opening)

    def _forked(self, plan: ForkPlan, worker: WorkerInfo, opening: _Opening) -> WorkerInfo:
        fork = self.forks.make(plan)
        try:
            facts = self._facts_of(fork)
            worker = self.states.records.change(worker.name, **facts, forked_from=str(fork.parent))
            return self._opened(worker, fork.launch, opening)
        except ProngError as error:
            raise with_fork(error, fork) from None

    def _in_worktree(
        self, plan: WorkerPlan, worktree: WorktreePlan, worker: WorkerInfo, opening: _Opening
    ) -> WorkerInfo:
        takes_over = isinstance(opening.terminal, TakesOver)
        with self.forks.workspaces.made(worktree) as making:
            path, branch = making.worktree.path, making.worktree.branch
            worker = self.states.records.change(worker.name, worktree=path, branch=branch)
            if not takes_over:
                worker = self._opened(worker, plan.launch, opening)
            # From here on a program runs in the worktree.
            making.undo.keep()
            if worker.session is not None:
                making.belongs_to(SessionRef(worker.agent, worker.session))
        # A terminal that takes over replaces this process, so it comes last.
        return self._opened(worker, plan.launch, opening) if takes_over else worker

    def fork_draft(
        self, fork: Fork, request: WorkerRequest, forked_from: str | None = None
    ) -> WorkerInfo:
        """Return the record of a worker for a fork; without a name, it gets one when it starts."""
        assert fork.workspace is not None
        agent = fork.child.agent
        command = request.command or self.stores.named(agent).command
        draft = draft_of(request, request.name or "", agent, command, fork.workspace)
        return replace(draft, **self._facts_of(fork), forked_from=forked_from or str(fork.parent))

    def open(
        self, draft: WorkerInfo, launch: Launch | None, request: WorkerRequest, *, asked: bool
    ) -> WorkerInfo:
        """Run a worker whose session and workspace exist. They stay if it cannot be started.

        The prompt of the request is for a headless worker; with `asked`, the launch has a prompt.
        """
        opening = _Opening(
            self.terminal(request), request.place, request.env, asked, request.prompt
        )
        with self._reserved(draft) as reserved:
            worker = self._opened(reserved, launch, opening)
        return self._asked(worker, opening)

    def trust(self, agent: str, folder: Path) -> None:
        """Mark a folder as trusted in the agent's settings, which agents write, too."""
        store = self.stores.named(agent)
        if store.is_trusted(folder):
            return
        for attempt in range(_ATTEMPTS):
            try:
                edits.change(Edit(*store.trusting(folder)))
            except Dirty:
                if attempt + 1 == _ATTEMPTS:
                    raise
            else:
                return

    def refuse_name(self, name: str | None) -> None:
        """Raise for an invalid or taken name before anything is created."""
        if name is not None:
            names.free(name, self.stores, self.states.records.names())

    def terminal(self, request: WorkerRequest) -> Terminal | None:
        """Return the terminal; a missing one must fail before anything is created."""
        return None if request.headless else self.terminals.for_worker(request.terminal)

    def _facts_of(self, fork: Fork) -> dict[str, Any]:
        return {
            "session": fork.child.id,
            "workspace": fork.workspace,
            "worktree": self.forks.workspaces.worktree_of(fork),
            "branch": fork.branch,
            "fork": fork.id,
        }

    @contextmanager
    def _reserved(self, draft: WorkerInfo) -> Generator[WorkerInfo]:
        """Reserve a worker's name before anything is created; release it if nothing started."""
        name = self._added(draft).name
        try:
            yield self._with_versions(replace(draft, name=name))
        except BaseException:
            current = self.states.records.named(name)
            if current is None or (current.pane is None and current.process is None):
                with suppress(ProngError):
                    self.states.records.remove(name)
            raise

    def _added(self, draft: WorkerInfo) -> WorkerInfo:
        """Record a worker under its name, else under a free one: that of its source, numbered."""
        if draft.name:
            self.states.records.add(draft)
            return draft
        for _ in range(_ATTEMPTS):
            taken, source = self.states.records.names(), draft.forked_from
            name = names.after(source, taken) if source in taken else names.made_up(taken)
            with suppress(Taken):  # a concurrent start was faster
                draft = replace(draft, name=name)
                self.states.records.add(draft)
                return draft
        raise Busy("too many workers are starting at once", hint="try again")

    def _with_versions(self, worker: WorkerInfo) -> WorkerInfo:
        """Record the current version of the program and hash of its settings."""
        store = self.stores.named(worker.agent).with_command(worker.command or None)
        version = output([store.program.name, "--version"]) if store.program else None
        files = store.settings_files(worker.workspace)
        return self.states.records.change(
            worker.name,
            version=version.strip() if version else None,
            settings_hash=environment.settings_hash(files),
        )

    def _opened(self, worker: WorkerInfo, launch: Launch | None, opening: _Opening) -> WorkerInfo:
        """Start the worker in its pane, or its first turn if headless."""
        if worker.headless and opening.prompt is None:
            # The next prompt starts its next turn.
            return self.states.records.change(worker.name, started=datetime.now(UTC))
        if worker.headless:
            assert opening.prompt is not None
            return self.prompts.start_turn(worker.name, opening.prompt, opening.env)
        terminal = opening.terminal
        assert launch is not None
        assert terminal is not None
        env = environment.complete(worker, launch, opening.env)
        launch = self.hooked(worker.agent, replace(launch, env=env, title=worker.name))
        now = datetime.now(UTC)
        facts: dict[str, Any] = {"started": now, "stopped": None}
        facts["prompted"] = now if opening.asked else None
        facts["commanded"] = False
        if isinstance(terminal, TakesOver):
            # The agent will have this process's id.
            self.states.records.change(worker.name, process=process_of(os.getpid()), **facts)
        try:
            pane = terminal.open(launch, self.terminals.place(opening.place))
        except BaseException:
            if isinstance(terminal, TakesOver):
                self.states.records.change(worker.name, process=None)
            raise
        try:
            live = terminal.alive([pane]).get(pane)
            process = process_of(live.pid) if live and live.pid else None
            # A printed command may contain a key, so it is shown but not stored.
            stored = replace(pane, id="") if isinstance(terminal, OnlyTells) else pane
            worker = self.states.records.change(worker.name, pane=stored, process=process, **facts)
        except BaseException:
            # Otherwise an unrecorded pane would stay.
            with suppress(ProngError):
                terminal.close(pane)
            raise
        return replace(worker, pane=pane)

    def _asked(self, worker: WorkerInfo, opening: _Opening) -> WorkerInfo:
        """Paste a prompt that is too long for a command line, if there is one."""
        if worker.headless or opening.prompt is None:
            return worker
        self.states.ready(worker.name, _READY)
        self.prompts.send(worker.name, opening.prompt)
        return replace(self.states.records.get(worker.name), pane=worker.pane)

    # -- restart -----------------------------------------------------------------------------

    def restart(
        self, name: str, terminal: str | None = None, place: Placement | None = None
    ) -> WorkerInfo:
        """Reopen the session of a worker that is gone, in a new pane; never fork it again."""
        push.again(self.states.records.get(name))
        with self.prompts.alone(name):
            worker = self.states.records.get(name)
            if worker.headless:
                hint = f'prong send {name} "..."'
                raise Unsupported(f"{name} is headless: a turn is a run of its own", hint=hint)
            if self.states.status(name).state is not WorkerState.GONE:
                raise Busy(f"{name} is already running", hint=f"prong attach {name}")
            if not worker.workspace.is_dir():
                raise folder_is_gone(worker)
            old = worker.pane.terminal if worker.pane else None
            opening = _Opening(self.terminals.for_worker(terminal or old), place)
            if worker.pane is not None and self.states.liveness.is_left_behind(worker):
                with suppress(ProngError):
                    self.terminals.of(worker.pane).close(worker.pane)
            return self._opened(*self._resumed(worker), opening)

    def _resumed(self, worker: WorkerInfo) -> tuple[WorkerInfo, Launch]:
        """Return the launch that resumes a worker's session, or that starts a new one."""
        store = self.stores.named(worker.agent).with_command(worker.command)
        session = self.states.session_of(worker)
        if session is not None:
            return worker, store.resume(session, worker.workspace)
        if worker.prompted is not None:
            raise NotFound(
                f"the session of {worker.name} no longer exists: {worker.agent}:{worker.session}",
                hint=f"prong stop --forget {worker.name}, and prong run for a new one",
            )
        # Without a prompt, the agent has written no session.
        id_ = None if store.chooses_ids else worker.session
        launch = store.begin(NewSession(id_, worker.workspace))
        if id_ is None:
            worker = self.states.records.change(worker.name, session=None)
        return worker, launch


def draft_of(
    request: WorkerRequest,
    name: str,
    agent: str,
    command: str | tuple[str, ...],
    workspace: Path,
) -> WorkerInfo:
    return WorkerInfo(
        name=name,
        agent=agent,
        workspace=workspace,
        command=command,
        created=datetime.now(UTC),
        env=environment.stored(request.env, os.environ),
        headless=request.headless,
        commit_turns=request.commit_turns,
        push=request.push,
    )


def with_fork(error: ProngError, fork: Fork) -> ProngError:
    """Add to an error that the fork exists although it does not run."""
    error.message += f"; the fork is there: {fork.child}"
    error.details["made"] = [str(fork.child)]
    error.hint = error.hint or f"prong run --resume {fork.child}"
    return error
