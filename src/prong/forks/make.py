"""Fork creation from a plan: a session copy, a native fork or a seed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from prong.agents.base import ForkSource
from prong.agents.stores import AgentStores
from prong.errors import Busy, Corrupt, NotFound, ProngError, Taken, UsageError
from prong.files.publication import Publication
from prong.forks import seed
from prong.forks.launch import is_started, launch_of_plan, store_of
from prong.forks.plan import ForkPlanner, refuse_running
from prong.forks.readings import Readings
from prong.forks.seed import ForkOutcome, PathOf
from prong.forks.workspace import Workspaces
from prong.model.forks import Fork, ForkPlan, Method
from prong.model.record import replace
from prong.model.sessions import SessionRef

_ATTEMPTS = 3


class _Grew(Exception):
    """The turn grew while it was copied."""


def _nothing() -> None:
    """Default check that never refuses."""


class ForkMaker:
    """Creates planned forks."""

    def __init__(
        self,
        planner: ForkPlanner,
        workspaces: Workspaces,
        stores: AgentStores,
        readings: Readings,
        path_of: PathOf,
        record: Callable[[Fork], Fork],
        journal: Path,
    ) -> None:
        """`record` records a fork; unfinished ones have a journal in the folder `journal`."""
        self._planner = planner
        self._workspaces = workspaces
        self._stores = stores
        self._readings = readings
        self._path_of = path_of
        self._record = record
        self._journal = journal

    def fork(self, plan: ForkPlan, check: Callable[[], None] = _nothing) -> Fork:
        """Create the planned fork completely, or nothing.

        `check` may still refuse: it runs when the copy is written, before it becomes visible.
        """
        if plan.worktree is None:
            return self._forked(plan, check)
        # Creating a worktree takes time, so check first that the agent is not working.
        _refuse_running(self._readings.of(plan.source), plan)
        while True:
            plan = self._planner.settled(plan)
            try:
                return self._in_worktree(plan, check)
            except Taken:
                if self._planner.settled(plan) is plan:
                    raise  # the conflict is not about the worktree's names

    def several(self, plan: ForkPlan, count: int) -> Iterator[Fork]:
        """Create `count` forks of a plan. On failure the earlier ones stay and are named."""
        refs: list[str] = []
        for number in range(1, count + 1):
            try:
                fork_plan = plan if number == 1 else self._planner.again(plan, number)
                forked = self.fork(fork_plan)
            except ProngError as error:
                if refs:
                    error.details["made"] = refs
                    error.message += f"; made before that: {', '.join(refs)}"
                raise
            refs.append(str(forked.child))
            yield forked

    def _in_worktree(self, plan: ForkPlan, check: Callable[[], None]) -> Fork:
        assert plan.worktree is not None
        with self._workspaces.made(plan.worktree) as making:
            forked = self._forked(plan, check)
            making.belongs_to(forked.child)
        warnings = (*forked.warnings, *making.warnings)
        return replace(forked, branch=making.worktree.branch, warnings=warnings)

    def _forked(self, plan: ForkPlan, check: Callable[[], None]) -> Fork:
        outcome = self._made(plan, check)
        launch = plan.launch
        if plan.new_id is None:
            launch = launch_of_plan(self._stores, replace(plan, new_id=outcome.id))
        return self._record(
            Fork(
                id=str(uuid4()),
                parent=plan.point,
                parent_workspace=plan.source.cwd,
                child=SessionRef(plan.agent, outcome.id),
                method=plan.method,
                created=datetime.now(UTC),
                tokens=plan.tokens,
                window=plan.window,
                seed_hash=outcome.seed_hash,
                seed_ack_filtered=outcome.acknowledged,
                code=plan.code,
                path=outcome.path,
                workspace=plan.workspace,
                launch=launch,
                warnings=(*_warnings(plan, outcome), *outcome.warnings),
            )
        )

    def _made(self, plan: ForkPlan, check: Callable[[], None]) -> ForkOutcome:
        for _ in range(_ATTEMPTS):
            source = self._readings.of(plan.source)
            _refuse_running(source, plan)
            try:
                match plan.method:
                    case Method.SEED:
                        return seed.seeded(
                            store_of(self._stores, plan), plan, source, self._path_of
                        )
                    case Method.NATIVE:
                        return self._native(plan)
                    case Method.COPY:
                        return self._copied(plan, source, check)
            except _Grew:
                continue
        raise Busy(
            f"turn {plan.point} grew while it was copied",
            hint="--wait waits until the agent is done",
        )

    def _native(self, plan: ForkPlan) -> ForkOutcome:
        if plan.new_id is not None:
            # The agent writes the file at the first prompt, under the id in the launch command.
            return ForkOutcome(plan.new_id)
        id_ = store_of(self._stores, plan).fork_natively(plan.source, plan.child)
        return ForkOutcome(id_, self._path_of(plan.agent, id_))

    def _copied(
        self, plan: ForkPlan, source: ForkSource, last_check: Callable[[], None]
    ) -> ForkOutcome:
        store = self._stores.named(plan.agent)
        if is_started(store, plan.point, plan.method):
            assert plan.new_id is not None
            return ForkOutcome(plan.new_id)
        before = source.extent(plan.cut)

        def check() -> None:
            """Check that the copied turn is unchanged if the source grew meanwhile."""
            last_check()
            if self._readings.is_current(source):
                return
            reread = self._readings.of(plan.source)
            _refuse_running(reread, plan)
            if reread.extent(plan.cut) != before:
                raise _Grew

        try:
            with Publication(self._journal, check) as publication:
                if plan.agent == plan.source.agent:
                    session = store.copy(source, plan.cut, plan.child, publication)
                else:
                    # The command may set the model provider of the thread.
                    messages = source.messages(plan.cut)
                    session = store_of(self._stores, plan).convert(
                        messages, plan.child, publication
                    )
        except (Corrupt, UsageError):
            # The file may have been rewritten while it was copied.
            if self._readings.is_current(source):
                raise
            raise _Grew from None
        return ForkOutcome(session.id, session.path)


def _warnings(plan: ForkPlan, made: ForkOutcome) -> list[str]:
    """Return the plan's warnings; that of a missing program adds how to run the fork later."""
    resume = f"prong resume {SessionRef(plan.agent, made.id)}"
    later = f"{plan.missing}; then: {resume}{' --prompt TEXT' if plan.prompt else ''}"
    # A fork before the first turn writes no file: only its launch command has its id.
    written = made.path is not None
    return [later if written and warning == plan.missing else warning for warning in plan.warnings]


def _refuse_running(source: ForkSource, plan: ForkPlan) -> None:
    turn_id = plan.point.turn_id
    if turn_id is None:
        return
    conversation = source.conversation
    everywhere = (*conversation.turns, *conversation.abandoned)
    turn = next((turn for turn in everywhere if turn.id == turn_id), None)
    if turn is None:
        raise NotFound(f"turn {plan.point} no longer exists", hint=f"prong turns {plan.source.ref}")
    refuse_running(conversation, turn)
