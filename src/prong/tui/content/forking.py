"""Planning and creating the fork that the fork dialog describes. Runs in a thread."""

import re
from typing import Literal, NamedTuple

from prong.code.service import CodeService
from prong.errors import ProngError
from prong.forks.request import ForkRequest
from prong.forks.service import ForkService
from prong.model.budget import BudgetLevel, level
from prong.model.forks import Fork, ForkPlan, Launch, Method
from prong.model.record import Record
from prong.model.workers import WorkerStatus
from prong.session.service import SessionService
from prong.setup.hooks import HookSetup
from prong.views.command_line import command_line
from prong.views.fork_plan import code
from prong.views.text import clean, short_path
from prong.workers.panes import Terminals
from prong.workers.request import WorkerRequest
from prong.workers.service import WorkerService

Run = Literal["pane", "here", "later"]
"""Where a fork runs: in a new pane, in this terminal, or not yet."""

_FIELDS = {
    "--before-compaction": "history <all words>",
    "--method copy": "how <copy>",
    "--method seed": "how <seed: as a prompt>",
    "leave --method out": "another way under how",
    "--code turn": "code <as of the turn>",
    "--code now": "code <as it is now>",
    "--code none": "code <untouched>",
    "--no-worktree": "code <untouched>",
    "--into DIR": "another folder",
    "leave --into out": "the folder left as it was",
}
_OPTIONS = re.compile("|".join(map(re.escape, sorted(_FIELDS, key=len, reverse=True))))
"""Options of the command line that warnings and hints name, as fields of the dialog."""


class Wanted(NamedTuple):
    """What the form asks for: where to fork, and how."""

    point: str
    request: ForkRequest = ForkRequest()


class Planned(Record, frozen=True):
    """A fork plan with its descriptions for the dialog."""

    plan: ForkPlan
    code: str
    """The code that the fork starts with."""
    level: BudgetLevel
    """How full the model's window would be."""
    command: str
    turns: tuple[tuple[str, str], ...]
    """The turns to fork at: reference after the `@`, and prompt."""
    has_compactions: bool
    has_panes: bool
    """Whether this terminal can open panes."""


class NewFork(Record, frozen=True):
    plan: ForkPlan
    forks: tuple[Fork, ...]
    workers: tuple[str, ...] = ()
    errors: tuple[ProngError, ...] = ()
    launch: Launch | None = None
    """Command that runs the fork, if it does not run yet."""


class Forker(NamedTuple):
    sessions: SessionService
    forks: ForkService
    code: CodeService
    workers: WorkerService
    terminals: Terminals
    hooks: HookSetup

    def plan(self, wanted: Wanted) -> Planned:
        count = wanted.request.count
        plan = self.workers.forks.plan(wanted.point, wanted.request, count=count)
        conversation = self.forks.source(plan.source).conversation
        turns = [("0", "0: before the first prompt")]
        turns += [
            (turn.id, f"{turn.index or turn.id[:8]}: {clean(turn.prompt)}")
            for turn in (*conversation.turns, *conversation.abandoned)
            if turn.index is not None or turn.id == plan.point.turn_id
        ]
        return Planned(
            plan,
            code(self.forks, self.code, plan) if plan.worktree else "no code is touched",
            level(plan.tokens, plan.window),
            command_line(plan.launch),
            tuple(turns),
            any(number <= (plan.point.turn or 0) for number in conversation.compactions),
            self.terminals.here() is not None,
        )

    def plan_when_idle(self, wanted: Wanted, seconds: float) -> Planned:
        """Plan the fork once the agent is idle; raise `Busy` after some seconds."""
        session = self.sessions.get(wanted.point)
        return self.sessions.when_idle(session, lambda: self.plan(wanted), seconds)

    def make(self, plan: ForkPlan, request: ForkRequest, run: Run) -> NewFork:
        """Create the forks, and start them as requested if the agent is installed."""
        if run == "pane" and plan.missing is None:
            return self._start(plan, request)
        forks = tuple(self.forks.make_several(plan, request.count))
        launch = None if plan.missing else forks[0].launch
        return NewFork(plan, forks, launch=launch and self.hooks.for_one_run(plan.agent, launch))

    def _start(self, plan: ForkPlan, request: ForkRequest) -> NewFork:
        worker = WorkerRequest(prompt=request.prompt or None)
        done = list(self.workers.forks.start(plan, worker, request.count))
        errors = tuple(result.error for result in done if result.error is not None)
        forks = tuple(result.fork for result in done if result.fork is not None)
        if not forks and errors:
            raise errors[0]
        workers = tuple(result.worker.name for result in done if result.worker is not None)
        return NewFork(plan, forks, workers, errors, forks[0].launch if not workers else None)

    def ready(self, name: str) -> WorkerStatus:
        """Wait until a worker has started and opened its session."""
        return self.workers.states.ready(name)


def outcome(made: NewFork) -> list[tuple[str, str]]:
    """Describe the result as lines of style and text."""
    lines: list[tuple[str, str]] = []
    for number, fork in enumerate(made.forks):
        lines.append(("good", f"forked {fork.parent} into {fork.child}"))
        if number < len(made.workers):
            lines.append(("", f"runs as {made.workers[number]}"))
        if fork.workspace is not None:
            branch = f" on {fork.branch}" if fork.branch else ""
            lines.append(("dim", f"in {short_path(str(fork.workspace))}{branch}"))
    if any(fork.method is Method.SEED for fork in made.forks):
        answered = all(fork.seed_ack_filtered for fork in made.forks)
        waiting = answered and made.plan.prompt is None
        note = "; waiting for your next prompt" if waiting else ""
        lines.append(("good", f"Fork created; context injected{note}"))
    lines += [("warning", in_the_form(entry)) for fork in made.forks[:1] for entry in fork.warnings]
    for error in made.errors:
        hint = f" (try: {error.hint})" if error.hint else ""
        lines.append(("failed", f"{error.message}{hint}"))
    launch = made.forks[0].launch
    if made.launch is not None and launch is not None:
        # The command to print has no hooks: they are set only for runs from here.
        lines.append(("dim", command_line(launch)))
    return [(style, clean(text)) for style, text in lines]


def in_the_form(text: str) -> str:
    """Replace options by form fields. Commands and options without a field stay."""
    if text.startswith("prong "):
        return text
    return _OPTIONS.sub(lambda found: _FIELDS[found[0]], text)
