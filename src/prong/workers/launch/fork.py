"""Start forks as workers, each in its own pane, with the settings of its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from prong.errors import ProngError, UsageError
from prong.forks.request import ForkRequest
from prong.forks.service import ForkService
from prong.model.forks import Fork, ForkPlan
from prong.model.record import Record, replace
from prong.model.workers import WorkerInfo, WorkerState
from prong.terminals.base import TakesOver
from prong.workers.launch.plan import short
from prong.workers.launch.start import WorkerStarter, with_fork
from prong.workers.prompts import WorkerPrompts
from prong.workers.request import WorkerRequest
from prong.workers.states import WorkerStates

_READY = 60.0
"""Seconds for a fork to start before its long prompt is pasted."""


class ForkedWorker(Record, frozen=True):
    """Result of one of several forks."""

    fork: Fork | None = None
    worker: WorkerInfo | None = None
    error: ProngError | None = None
    """Why the fork does not exist, or does not run."""


class WorkerForks(Record, frozen=True):
    forks: ForkService
    states: WorkerStates
    prompts: WorkerPrompts
    starter: WorkerStarter

    def plan(
        self, point: str, options: ForkRequest, prompts: Sequence[str] = (), count: int = 1
    ) -> ForkPlan:
        """Plan the first of several forks. Writes nothing."""
        if len(prompts) > 1 and count not in (1, len(prompts)):
            raise UsageError(
                f"{count} forks and {len(prompts)} prompts", hint=f"--count {len(prompts)}"
            )
        number = max(count, len(prompts))
        prompt, _ = short(prompts[0] if prompts else options.prompt)
        return self.forks.plan(point, replace(options, prompt=prompt, count=number))

    def start(
        self,
        plan: ForkPlan,
        request: WorkerRequest,
        count: int = 1,
        prompts: Sequence[str] = (),
    ) -> Iterator[ForkedWorker]:
        """Create and start forks, yielding each when it runs or has failed.

        The request names the first of them; the others are named after the source. Each gets one of
        the prompts, else that of the request, else that of the plan. A failure does not stop the
        others. The agents start concurrently; a prompt that is too long for a command line is
        pasted, and its worker yielded, when the agent is ready.
        """
        self.starter.refuse_name(request.name)
        self.forks.planner.require_program(plan)
        terminal = self.starter.terminal(request)
        if count > 1 and terminal is not None and isinstance(terminal, TakesOver):
            raise UsageError(
                f"{terminal.name} has room for one fork, not for {count}", hint="--terminal tmux"
            )
        slow: list[tuple[ForkedWorker, str]] = []
        for number in range(1, count + 1):
            prompt = prompts[min(number, len(prompts)) - 1] if prompts else request.prompt
            prompt = plan.prompt if prompt is None else prompt
            forked = self._started(plan, request, number, prompt)
            _, long = (None, None) if request.headless else short(prompt)
            if forked.worker is not None and long is not None:
                slow.append((forked, long))
            else:
                yield forked
        for forked, long in slow:
            yield self._asked(forked, long)

    def fork(self, point: str, options: ForkRequest) -> WorkerInfo:
        """Fork a worker or session and run the fork, which stays even if it does not run."""
        plan = self.plan(point, options)
        parent = self.states.records.named(plan.worker) if plan.worker else None
        is_headless = parent is not None and parent.headless
        request = WorkerRequest(
            prompt=options.prompt or None, name=options.name or None, headless=is_headless
        )
        (forked,) = self.start(plan, request)
        if forked.error is not None:
            raise forked.error
        assert forked.worker is not None
        return forked.worker

    def _started(
        self, first: ForkPlan, request: WorkerRequest, number: int, prompt: str | None
    ) -> ForkedWorker:
        created: Fork | None = None
        try:
            argument = None if request.headless else short(prompt)[0]
            plan = first if first.prompt == argument else self.forks.planner.asking(first, argument)
            if number > 1:
                plan = self.forks.planner.again(plan, number)
            created = self.forks.make(plan)
            if request.trust:
                self.starter.trust(plan.agent, plan.workspace)
            request = self._run_request(plan, request, number, prompt)
            draft = self.starter.fork_draft(created, request, plan.worker)
            worker = self.starter.open(
                draft, created.launch, request, asked=plan.prompt is not None
            )
            return ForkedWorker(created, worker)
        except ProngError as error:
            if created is not None:
                error = with_fork(error, created)
            return ForkedWorker(created, error=error)

    def _run_request(
        self, plan: ForkPlan, request: WorkerRequest, number: int, prompt: str | None
    ) -> WorkerRequest:
        # A fork with its own branch inherits commit_turns from its source.
        source = self.states.records.named(plan.worker) if plan.worker and plan.worktree else None
        return replace(
            request,
            name=request.name if number == 1 else None,
            command=plan.command,
            env=plan.env,
            prompt=prompt if request.headless else None,
            commit_turns=request.commit_turns or (source is not None and source.commit_turns),
            push=request.push or (source.push if source else None),
        )

    def _asked(self, forked: ForkedWorker, prompt: str) -> ForkedWorker:
        """Paste the long prompt of a fork once its agent is ready."""
        assert forked.worker is not None
        name = forked.worker.name
        try:
            self.states.ready(name, _READY)
            # A person may first have to trust the new folder.
            self.states.wait([name], timeout=_READY, until=[WorkerState.IDLE])
            self.prompts.send(name, prompt)
        except ProngError as error:
            error.message = f"{name} was not given its prompt: {error.message}"
            return replace(forked, error=error)
        return replace(forked, worker=self.states.records.get(name))
