"""`App.forks`: plan, create and record forks, as a session copy, a native fork or a seed."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from prong.agents.base import ForkSource, ScanCache
from prong.agents.run import RunningProgram
from prong.agents.stores import AgentStores
from prong.code.service import CodeService
from prong.config import Config
from prong.errors import Busy, Corrupt, External, NotFound, ProngError, Taken, UsageError
from prong.files.publication import Publication
from prong.forks.launch import is_started, launch_of_plan, store_of
from prong.forks.plan import ForkPlanner, refuse_running, seed_of
from prong.forks.readings import Readings
from prong.forks.request import ForkRequest
from prong.forks.workspace import Workspaces
from prong.model.forks import Fork, ForkPlan, Method
from prong.model.record import Record, replace
from prong.model.sessions import Program, Session, SessionRef
from prong.model.workers import WorkerInfo
from prong.processes.garbage import no_collections
from prong.session import lineage
from prong.session.service import SessionService
from prong.storage.forks import ForkRecords
from prong.transcripts.acknowledgement import is_ready

_ATTEMPTS = 3
_SAID = 300


class _Grew(Exception):
    """The turn grew while it was copied."""


class _Outcome(Record, frozen=True):
    id: str
    path: Path | None = None
    """None if the agent writes the file at the first prompt."""
    seed_hash: str | None = None
    acknowledged: bool = False
    """True if the agent replied `Ready.`, which is hidden from the transcript."""
    warnings: tuple[str, ...] = ()


class ForkService:
    def __init__(  # noqa: PLR0913 -- all but the first two by name
        self,
        sessions: SessionService,
        code: CodeService,
        *,
        stores: AgentStores,
        cache: ScanCache,
        settings: Config,
        records: ForkRecords | None,
        workers: Callable[[], Iterable[WorkerInfo]],
        require: Callable[[Program], None],
        worktrees: Path,
        journal: Path,
    ) -> None:
        """Record forks in `records`, if any; `workers` returns the recorded workers.

        `require` raises when a program is missing. Worktrees are created below `worktrees`, and
        unfinished forks have a journal in the folder `journal`.
        """
        self._sessions = sessions
        self._stores = stores
        self._records = records
        self._journal = journal
        self._readings = Readings(stores, cache)
        self.workspaces = Workspaces(code, sessions, workers, settings, worktrees)
        self.planner = ForkPlanner(
            sessions, stores, self._readings, self.workspaces, workers, require
        )

    def close(self) -> None:
        self._readings.close()

    def source(self, session: Session) -> ForkSource:
        """Read a session for a fork. It stays open until another one is read."""
        return self._readings.of(session)

    @no_collections()
    def plan(self, point: str, request: ForkRequest | None = None) -> ForkPlan:
        """Plan a fork at `SESSION[@TURN]`. Writes only caches."""
        return self.planner.plan(point, request or ForkRequest())

    @no_collections()
    def make(self, plan: ForkPlan, check: Callable[[], None] = lambda: None) -> Fork:
        """Create the planned fork completely, or nothing.

        `check` may still refuse: it runs when the copy is written, before it becomes visible.
        """
        if plan.worktree is None:
            return self._forked(plan, check)
        # Creating a worktree takes time, so check first that the agent is not working.
        _refuse_running(self._readings.of(plan.source), plan)
        while True:
            plan = self.planner.settled(plan)
            try:
                return self._in_worktree(plan, check)
            except Taken:
                if self.planner.settled(plan) is plan:
                    raise  # the conflict is not about the worktree's names

    def make_several(self, plan: ForkPlan, count: int = 1) -> Iterator[Fork]:
        """Create `count` forks of a plan. On failure the earlier ones stay and are named."""
        refs: list[str] = []
        for number in range(1, count + 1):
            try:
                fork_plan = plan if number == 1 else self.planner.again(plan, number)
                forked = self.make(fork_plan)
            except ProngError as error:
                if refs:
                    error.details["made"] = refs
                    error.message += f"; made before that: {', '.join(refs)}"
                raise
            refs.append(str(forked.child))
            yield forked

    def _in_worktree(self, plan: ForkPlan, check: Callable[[], None]) -> Fork:
        assert plan.worktree is not None
        with self.workspaces.made(plan.worktree) as making:
            forked = self._forked(plan, check)
            making.belongs_to(forked.child)
        warnings = (*forked.warnings, *making.warnings)
        return replace(forked, branch=making.worktree.branch, warnings=warnings)

    def _forked(self, plan: ForkPlan, check: Callable[[], None]) -> Fork:
        outcome = self._made(plan, check)
        launch = plan.launch
        if plan.new_id is None:
            launch = launch_of_plan(self._stores, replace(plan, new_id=outcome.id))
        return self.record(
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

    def _made(self, plan: ForkPlan, check: Callable[[], None]) -> _Outcome:
        for _ in range(_ATTEMPTS):
            source = self._readings.of(plan.source)
            _refuse_running(source, plan)
            try:
                match plan.method:
                    case Method.SEED:
                        return self._seeded(plan, source)
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

    def _native(self, plan: ForkPlan) -> _Outcome:
        if plan.new_id is not None:
            # The agent writes the file at the first prompt, under the id in the launch command.
            return _Outcome(plan.new_id)
        id_ = store_of(self._stores, plan).fork_natively(plan.source, plan.child)
        return _Outcome(id_, self._sessions.path_of(plan.agent, id_))

    def _seeded(self, plan: ForkPlan, source: ForkSource) -> _Outcome:
        """Submit the seed headless, from which the agent creates a session; check its reply."""
        store = store_of(self._stores, plan)
        seed = seed_of(source, store, plan)
        launch = store.seed(plan.child)
        launch = replace(launch, env={**plan.env, **launch.env})
        try:
            with RunningProgram(launch, seed.text) as running:
                reply = store.seeded(plan.child, running.lines())
                status = running.wait()
        except BaseException:
            self._discard(plan)
            raise
        if reply.session_id is None or reply.error:
            kept = "" if self._discard(plan) else reply.session_id
            complaints = running.complaints.strip().splitlines()
            reason = reply.error or (complaints[-1] if complaints else "no session was made")
            raise External(
                f"{launch.argv[0]} did not take the seed: {reason}",
                hint=f"what came of it: prong show {plan.agent}:{kept}" if kept else "prong doctor",
                argv=list(launch.argv),
                status=status,
                stderr=running.complaints,
                session=kept or None,
            )
        text = " ".join(reply.text.split())
        unexpected = "the agent did not say that it is ready"
        if text:
            unexpected = f"the agent said: {text[:_SAID]}{'...' if len(text) > _SAID else ''}"
        acknowledged = is_ready(reply.text)
        return _Outcome(
            reply.session_id,
            self._sessions.path_of(plan.agent, reply.session_id),
            seed_hash=seed.digest,
            acknowledged=acknowledged,
            warnings=() if acknowledged else (unexpected,),
        )

    def _discard(self, plan: ForkPlan) -> bool:
        """Delete the session file that the agent began under our id; True if nothing is left."""
        if plan.new_id is None:
            return False
        path = self._sessions.path_of(plan.agent, plan.new_id)
        if path is not None:
            path.unlink(missing_ok=True)
            shutil.rmtree(path.with_suffix(""), ignore_errors=True)
        return True

    def _copied(
        self, plan: ForkPlan, source: ForkSource, last_check: Callable[[], None]
    ) -> _Outcome:
        store = self._stores.named(plan.agent)
        if is_started(store, plan.point, plan.method):
            assert plan.new_id is not None
            return _Outcome(plan.new_id)
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
        return _Outcome(session.id, session.path)

    def record(self, fork: Fork) -> Fork:
        """Record a fork. A failure only adds a warning, since the fork exists."""
        if self._records is None:
            return fork
        try:
            if not self._records.all():
                # The records are new or lost: restore what the session files tell.
                self._records.restore(lineage.rebuild(self._sessions.all()))
            self._records.add(fork)
        except ProngError as error:
            warning = f"the fork was not recorded: {error.message}"
            return replace(fork, warnings=(*fork.warnings, warning))
        return fork


def _warnings(plan: ForkPlan, made: _Outcome) -> list[str]:
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
    turns = (*conversation.turns, *conversation.abandoned)
    turn = next((turn for turn in turns if turn.id == turn_id), None)
    if turn is None:
        raise NotFound(f"turn {plan.point} no longer exists", hint=f"prong turns {plan.source.ref}")
    refuse_running(conversation, turn)
