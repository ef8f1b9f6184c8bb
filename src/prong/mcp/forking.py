"""Forks for agents: search, choose a hit, fork it and run it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from prong.errors import Busy, NotFound, ProngError, Unavailable, UsageError
from prong.forks.request import ForkRequest
from prong.mcp.call import Call, calling_session
from prong.mcp.hints import BY_USER
from prong.mcp.schemas import shaped
from prong.mcp.shapes import ForkedSession, MadeFork, PlannedFork
from prong.model.forks import Fork, ForkPlan
from prong.model.record import Record, replace
from prong.model.search import Hit, IndexProgress, SearchRequest, SearchResult
from prong.model.sessions import SessionRef, TurnState
from prong.search.last_search import place_of
from prong.session.listing import SessionFilter
from prong.views import json

if TYPE_CHECKING:
    from prong.forks.service import ForkService
    from prong.search.service import SearchService
    from prong.session.service import SessionService
    from prong.workers.request import WorkerRequest

_LONGEST_INTENT = 20_000
"""Maximum number of characters: a longer text is a document, not a search."""
_READY = 30.0
"""Seconds for the agent of a fork to open its session."""
_RECENT = 5
_ELSEWHERE = "fork_session with a ref and a project_path"


class ForkSearch(Record, frozen=True):
    """A search for turns to fork."""

    search: SearchService
    sessions: SessionService
    forks: ForkService
    own: SessionRef | None
    """The calling session, which is left out unless it is included."""

    def find(
        self, request: SearchRequest, say: Callable[[str], None], *, include_self: bool
    ) -> tuple[SearchResult, SessionRef | None]:
        """Search past turns, and return the calling session as well.

        Raises `Unavailable`, with next steps, when no engine can answer.
        """
        if len(request.text) > _LONGEST_INTENT:
            raise UsageError(
                f"the intent has {len(request.text):,} characters",
                hint=f"say it in a few words; at most {_LONGEST_INTENT:,}",
            )

        def report(now: IndexProgress) -> None:
            phase = "reading sessions" if now.phase == "sessions" else "embedding"
            say(f"{phase}: {now.done} of {now.total}")

        if self.own is not None and not include_self:
            request = replace(request, without=(self.own,))
        try:
            result = self.search.find(request, on_progress=report)
        except Unavailable as error:
            steps = [error.hint] if error.hint else []
            error.details.update(error="search_not_available", next_steps=steps)
            error.details["fallback_sessions"] = self._recent()
            raise
        if result.engine is None:
            raise self._no_engine(result)
        return replace(result, hits=tuple(map(self._judged, result.hits))), self.own

    def _judged(self, hit: Hit) -> Hit:
        """Add to a hit the reason why it cannot be forked, if planning the fork fails."""
        if not hit.can_fork or place_of(hit) is None:
            return hit
        try:
            self.forks.plan(str(place_of(hit)))
        except ProngError as error:
            return replace(hit, warning=error.message)
        except OSError as error:  # for example a folder name that the system rejects
            return replace(hit, warning=error.strerror or str(error))
        return hit

    def _no_engine(self, result: SearchResult) -> Unavailable:
        guidance = dict(result.guidance or {})
        message = str(guidance.pop("message", "no engine could answer"))
        guidance.setdefault("error", "qmd_not_available")
        guidance.setdefault("next_steps", ["prong doctor"])
        guidance.setdefault("fallback_sessions", self._recent())
        return Unavailable(message, hint='engine: "builtin" needs nothing installed', **guidance)

    def _recent(self) -> list[dict[str, str | None]]:
        """List the latest sessions as a fallback."""
        try:
            sessions = self.sessions.list(SessionFilter(limit=_RECENT)).sessions
        except (ProngError, OSError):
            return []
        return [
            {
                "session_id": session.id,
                "agent": session.agent,
                "project_path": session.cwd,
                "last_modified": json.time(session.updated),
            }
            for session in sessions
        ]


def search(
    call: Call, request: SearchRequest, *, include_self: bool
) -> tuple[SearchResult, SessionRef | None]:
    """Search in the thread that keeps the index open; also return the calling session."""
    return call.search(
        lambda app: ForkSearch(
            app.search, app.sessions, app.forks, calling_session(call.meta, app.stores)
        ).find(request, call.say, include_self=include_self)
    )


def plan_hit(
    call: Call, result: SearchResult, number: int | None, fork: ForkRequest, worker: WorkerRequest
) -> tuple[ForkPlan, tuple[str, ...]]:
    """Plan the fork of hit `number`, or of the best possible hit, and why better ones failed."""
    hits = result.hits
    if not hits:
        raise NotFound("nothing was found to fork", hint="other words, or fewer filters")
    if number is not None:
        if number > len(hits):
            summary = "1 result" if len(hits) == 1 else f"{len(hits)} results"
            raise NotFound(
                f"no result {number}: the search found {summary}",
                hint=f"fork_index: 1 to {len(hits)}",
            )
        hit = hits[number - 1]
        if not hit.can_fork:
            message = f"result {number} cannot be forked: {_reason(hit)}"
            raise NotFound(message, hint="another fork_index")
        return plan(call, str(place_of(hit)), fork, worker), ()
    if not any(hit.can_fork for hit in hits):
        message = f"nothing of what was found can be forked: {hits[0].warning}"
        raise NotFound(message, hint=_ELSEWHERE)
    failures: list[str] = []
    for rank, hit in enumerate(hits, start=1):
        reason = _reason(hit)
        if hit.can_fork:
            try:
                return plan(call, str(place_of(hit)), fork, worker), tuple(failures)
            except NotFound as error:  # such as a folder that no longer exists
                reason = error.message
        failures.append(f"result {rank} cannot be forked: {reason}")
    raise NotFound("; ".join(failures), hint=_ELSEWHERE)


def _reason(hit: Hit) -> str:
    return hit.warning or "its session no longer exists"


def known(own: SessionRef | None) -> SessionRef:
    """Return the calling session; raise `NotFound` if it is unknown."""
    if own is None:
        raise NotFound(
            "the calling session is unknown", hint="name one: session, as find_sessions gives it"
        )
    return own


def own_point(call: Call) -> str:
    """Return the last completed turn of the calling session, whose present turn still runs."""
    own = known(call.own)
    try:
        turns = call.app.sessions.conversation(str(own)).turns
    except NotFound:
        raise NotFound(f"{own} has no turn yet that is over", hint="name a session") from None
    # A running turn whose activity is unknown looks interrupted.
    if turns and turns[-1].state in (TurnState.RUNNING, TurnState.INTERRUPTED):
        turns = turns[:-1]
    if not turns:
        raise Busy(
            f"{own} is at its first turn: nothing to fork yet",
            hint="when the turn is over, or spawn_workers for a new session",
        )
    return f"{own}@{turns[-1].index}"


def plan(
    call: Call, point: str, fork: ForkRequest, worker: WorkerRequest, *, run: bool = True
) -> ForkPlan:
    """Plan a fork. Writes nothing. Raises `UsageError` for requests that are not allowed."""
    skips = fork.run is not None and fork.run.skip_permissions
    call.permissions.require(skip_permissions=skips, trust=worker.trust)
    call.app.workers.starter.refuse_name(worker.name)
    if worker.headless and not worker.prompt:
        raise UsageError("a headless worker needs a prompt", hint="prompt, or leave headless out")
    fork_plan = call.app.workers.forks.plan(point, replace(fork, prompt=worker.prompt))
    if run:
        call.app.forks.planner.require_program(fork_plan)
    if not skips:
        call.permissions.require_inherited(fork_plan.agent, fork_plan.command)
    return fork_plan


def start(call: Call, plan: ForkPlan, request: WorkerRequest) -> tuple[Fork, ForkedSession]:
    """Create the fork and run it. If it does not run, the error names the fork."""
    call.say(f"forking {plan.point}")
    terminal = call.permissions.terminal(headless=request.headless)
    workers = call.app.workers
    (forked,) = workers.forks.start(plan, replace(request, terminal=terminal))
    if forked.error is not None:
        raise forked.error
    assert forked.fork is not None
    assert forked.worker is not None
    call.say(f"waiting until {forked.worker.name} has started")
    try:
        status = workers.states.ready(forked.worker.name, _READY)
    except ProngError as error:
        error.details.setdefault("made", [str(forked.fork.child)])
        error.details.setdefault("worker", forked.worker.name)
        raise
    fork, worker = forked.fork, status.worker
    warnings = [*dict.fromkeys((*plan.warnings, *fork.warnings, *worker.warnings))]
    if status.state.value == "waiting":
        warnings.append(f"it is waiting for input; {BY_USER} prong attach {worker.name}")
    session = ForkedSession(
        session_name=worker.name,
        terminal_id=str(worker.pane) if worker.pane else None,
        resume_session_id=fork.parent.session.id,
        new_session_id=worker.session or fork.child.id,
        workspace=str(worker.workspace),
        agent=worker.agent,
        turn=fork.parent.turn,
        branch=worker.branch,
        code=fork.code.value,
        state=status.state.value,
        detail=status.evidence.detail,
        attach=f"prong attach {worker.name}",
        warnings=warnings,
    )
    return fork, session


def planned_fork(plan: ForkPlan) -> PlannedFork:
    return shaped(PlannedFork, json.plan(plan))


def made_fork(fork: Fork) -> MadeFork:
    return shaped(MadeFork, json.fork(fork))
