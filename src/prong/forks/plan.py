"""Fork plans: resolves, checks and warns, without writing anything."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from prong.agents.base import AgentStore, ForkSource
from prong.agents.stores import AgentStores
from prong.errors import Busy, NotFound, Unavailable, UsageError
from prong.forks import workspace as workspaces
from prong.forks.launch import launch_of_plan, store_of
from prong.forks.readings import Readings
from prong.forks.request import ForkRequest
from prong.forks.workspace import Workspaces
from prong.forks.workspace_names import without_fork
from prong.model import budget
from prong.model.amounts import counted
from prong.model.forks import Code, Cut, ForkPlan, ForkPoint, Launch, Method, WorktreePlan
from prong.model.record import replace
from prong.model.sessions import (
    Activity,
    Conversation,
    Media,
    Message,
    Program,
    Session,
    Turn,
    TurnKind,
    TurnState,
)
from prong.model.workers import WorkerInfo
from prong.redaction.visible import safe
from prong.session.resolve import find_turn
from prong.session.service import SessionService
from prong.transcripts import seed


class ForkPlanner:
    """Plans forks. Writes only caches."""

    def __init__(
        self,
        sessions: SessionService,
        stores: AgentStores,
        readings: Readings,
        workspaces: Workspaces,
        workers: Callable[[], Iterable[WorkerInfo]],
        require: Callable[[Program], None],
    ) -> None:
        """`workers` returns those recorded; `require` raises when a program is missing."""
        self._sessions = sessions
        self._stores = stores
        self._readings = readings
        self._workspaces = workspaces
        self._workers = workers
        self._require = require

    def plan(self, point: str, request: ForkRequest) -> ForkPlan:
        resolved = self._sessions.resolve(point)
        session = resolved.session
        source = self._readings.of(session)
        conversation = source.conversation
        turn = _chosen(conversation, resolved.turn)
        repeated = turn if request.retry and request.prompt is None else None
        if request.retry:
            turn, request = _before(conversation, turn, request)
        refuse_running(conversation, turn)
        forked_at = ForkPoint(session.ref, turn.index if turn else 0, turn.id if turn else None)
        agent = request.agent or session.agent
        if agent != session.agent:
            # Another agent cannot use this one's summaries, so it gets the full history.
            request = replace(request, before_compaction=True)
        worker = resolved.worker or self.worker_of(session)
        inherited = worker if worker is not None and worker.agent == agent else None
        command = self._command(agent, inherited, request)
        child_store = self._stores.named(agent).with_command(command)
        _check_method(conversation, turn, child_store, request)
        worktree, unopened = self._worktree(conversation, turn, request)
        workspace = worktree.folder if worktree else self._workspace(point, conversation, request)
        cut = Cut(forked_at.turn_id, request.before_compaction)
        roots = child_store.roots
        own_roots = [root for root in roots if session.path.is_relative_to(root)]
        draft = ForkPlan(
            point=forked_at,
            source=session,
            agent=agent,
            method=request.method,
            new_id=child_store.fork_id(request.method, source, cut, request.id),
            workspace=workspace,
            launch=Launch((), workspace),
            tokens=0,
            window=None,
            title=_title(conversation, forked_at, request),
            prompt=request.prompt,
            is_command=agent == session.agent and _is_command(repeated),
            before_compaction=request.before_compaction,
            trim=request.trim,
            root=own_roots[0] if own_roots and agent == session.agent else roots[0],
            code=worktree.code if worktree else Code.NONE,
            worktree=worktree,
            unopened=unopened,
            command=command,
            env={**(inherited.env if inherited else {}), **request.env},
            worker=worker.name if worker else None,
        )
        draft = self._changed(draft, missing=self._check_program(child_store, request.method))
        draft = _measured(source, child_store, draft)
        activity = self._stores.named(session.agent).activity(session)
        warnings = _warnings(draft, source, turn, activity)
        with workspaces.offering_none():
            warnings += workspaces.warnings(worktree)
        if unopened is not None:
            warnings.append(f"{unopened}: no code is touched; the fork runs in the folder as it is")
        if images := _images(source, repeated):
            images_text = "an image" if images == 1 else f"{images} images"
            warnings.append(f"the prompt had {images_text}, which --retry cannot include")
        if draft.missing is not None:
            warnings.append(draft.missing)
        return replace(draft, warnings=tuple(warnings))

    def _changed(self, plan: ForkPlan, **changes: object) -> ForkPlan:
        """Change a plan, and its launch command with it."""
        plan = replace(plan, **changes)
        return replace(plan, launch=launch_of_plan(self._stores, plan))

    def again(self, first: ForkPlan, number: int) -> ForkPlan:
        """Plan another fork of the same turn, with its own id, title and worktree."""
        source = self._readings.of(first.source)
        new_id = self._stores.named(first.agent).fork_id(first.method, source, first.cut, None)
        title = f"{first.title} {number}" if first.title else None
        worktree = first.worktree and self._workspaces.again(first.worktree, number)
        workspace = worktree.folder if worktree else first.workspace
        return self._changed(
            first, new_id=new_id, title=title, worktree=worktree, workspace=workspace
        )

    def moved(self, plan: ForkPlan, worktree: WorktreePlan) -> ForkPlan:
        """Move a plan to the worktree of another project."""
        warnings = (*plan.warnings, *workspaces.warnings(worktree, "--no-worktree"))
        code, folder = worktree.code, worktree.folder
        return self._changed(
            plan, worktree=worktree, workspace=folder, code=code, warnings=warnings
        )

    def settled(self, plan: ForkPlan) -> ForkPlan:
        """Return the plan, with new worktree names if the old ones were taken meanwhile."""
        worktree = plan.worktree and self._workspaces.settled(plan.worktree)
        if worktree is None or worktree == plan.worktree:
            return plan
        return self._changed(plan, worktree=worktree, workspace=worktree.folder)

    def asking(self, plan: ForkPlan, prompt: str | None) -> ForkPlan:
        """Replace the first prompt of a plan."""
        return self._changed(plan, prompt=prompt)

    def require_program(self, plan: ForkPlan) -> None:
        """Raise `Unavailable` if the agent's program, needed to run the fork, is missing."""
        program = store_of(self._stores, plan).program
        if plan.missing is not None and program is not None:
            self._require(program)

    def worker_of(self, session: Session) -> WorkerInfo | None:
        """Find the most recently started worker that has, or had, the session open."""
        workers = [
            worker
            for worker in self._workers()
            if (worker.agent, worker.session) == (session.agent, session.id)
        ]
        return max(workers, key=lambda worker: worker.started or worker.created, default=None)

    def _command(
        self, agent: str, worker: WorkerInfo | None, request: ForkRequest
    ) -> str | tuple[str, ...] | None:
        """Determine the base command of the fork; None means the configured one."""
        command = request.command or (worker.command if worker else None) or None
        if request.run is None:
            return command
        return self._stores.named(agent).with_command(command).command_with(request.run)

    def _worktree(
        self, conversation: Conversation, turn: Turn | None, request: ForkRequest
    ) -> tuple[WorktreePlan | None, str | None]:
        """Plan the worktree; otherwise returns why existing code could not be used."""
        try:
            with workspaces.offering_none():
                return self._workspaces.plan(conversation, turn, request), None
        except workspaces.Unopened as unopened:
            # The conversation can still be forked.
            return None, str(unopened)

    def _workspace(self, point: str, conversation: Conversation, request: ForkRequest) -> Path:
        session, into = conversation.session, request.into
        if into is None and not session.cwd:
            raise NotFound(f"{session.ref} does not record its folder", hint="--into DIR")
        # The shell does not expand `--into=~/shop`. An unknown user's `~` is kept as a plain name.
        folder = Path(os.path.expanduser(into) if into else session.cwd or "")  # noqa: PTH111
        if os.path.isdir(folder):
            return Path(os.path.realpath(folder))
        if os.path.lexists(folder):
            raise UsageError(f"{folder} is not a folder", hint="--into DIR")
        if into is not None:
            raise NotFound(
                f"folder {folder} does not exist", hint=f"mkdir -p {shlex.quote(str(folder))}"
            )
        into_another = f"prong fork {shlex.quote(point)} --into DIR"
        message = f"the folder of {session.ref} no longer exists: {folder}"
        if request.code is Code.NONE:
            raise NotFound(message, hint=into_another)
        raise NotFound(
            f"{message}. Its code was not found either; {self._workspaces.searched(conversation)}",
            hint=f"{into_another}; if the repository was moved: cd into it and try again",
        )

    def _check_program(self, store: AgentStore, method: Method) -> str | None:
        """Warn of a missing program; raise `Unavailable` where it must create the fork."""
        program = store.program
        if program is None:
            return None
        if method is Method.SEED:
            program = replace(program, flags=(*program.flags, *store.seed_flags))
        try:
            self._require(program)
        except Unavailable as error:
            if method is Method.COPY:
                return f"{error.message}; to run the fork: {error.hint}"
            raise
        return None


def _chosen(conversation: Conversation, text: str | None) -> Turn | None:
    if text is not None:
        return find_turn(conversation, text)
    if not conversation.turns:
        ref = conversation.session.ref
        raise NotFound(f"{ref} has no turn to fork at", hint=f"prong show {ref}")
    return conversation.turns[-1]


def _before(
    conversation: Conversation, turn: Turn | None, request: ForkRequest
) -> tuple[Turn | None, ForkRequest]:
    """Return the previous turn, and request with this turn's prompt."""
    if turn is None:
        raise UsageError("--retry needs a turn with a prompt", hint="SESSION@TURN")
    if turn.index is None:
        raise UsageError("--retry works on the active conversation only", hint="SESSION@NUMBER")
    prompt = turn.prompt if request.prompt is None else request.prompt
    previous = conversation.turns[turn.index - 2] if turn.index > 1 else None
    return previous, replace(request, prompt=prompt)


def _images(source: ForkSource, turn: Turn | None) -> int:
    """Count the images in a turn's prompt."""
    if turn is None:
        return 0
    return sum(
        len(message.media)
        for message in source.messages(Cut(turn.id))
        if message.turn == turn.index and message.role == "user" and message.tool is None
    )


def _is_command(turn: Turn | None) -> bool:
    """Return True if the prompt is a slash command of the agent, such as `/review`."""
    return turn is not None and turn.kind is TurnKind.COMMAND and turn.prompt.startswith("/")


def refuse_running(conversation: Conversation, turn: Turn | None) -> None:
    """Raise `Busy` for a running turn. Earlier turns can be forked while the agent works."""
    if turn is None or turn.state is not TurnState.RUNNING:
        return
    ref = conversation.session.ref
    earlier = f", or fork the turn before: {ref}@{turn.index - 1}" if turn.index else ""
    raise Busy(
        f"the agent is still working on turn {turn.index} of {ref}",
        hint=f"--wait waits until it is done{earlier}",
    )


def _check_method(
    conversation: Conversation, turn: Turn | None, store: AgentStore, request: ForkRequest
) -> None:
    source, agent = conversation.session, store.name
    is_converted = request.method is Method.COPY and agent != source.agent and turn is not None
    if is_converted and not store.supports("convert"):
        raise store.unsupported("be written from another agent's")
    if request.method is Method.SEED and not store.longest_seed:
        raise store.unsupported("be seeded")
    if request.trim and request.method is not Method.SEED:
        raise UsageError("--trim needs --method seed", hint="--method seed --trim")
    if turn is None and request.method is not Method.COPY:
        message = "turn 0 has no conversation to pass on"
        raise UsageError(message, hint="leave --method out: the fork is a new session then")
    if request.method is not Method.NATIVE:
        return
    if agent != source.agent:
        raise UsageError(
            f"{source.agent} has no fork of its own into {agent}", hint="leave --method out"
        )
    if request.before_compaction or conversation.turns[-1:] != ((turn,) if turn else ()):
        raise UsageError("--method native forks the whole session", hint="--method copy")


def _title(conversation: Conversation, place: ForkPoint, request: ForkRequest) -> str | None:
    if request.title is not None:
        return safe(request.title)
    # A fork of a fork is named after the original session.
    title = without_fork(safe(conversation.session.title))
    turn_name = place.turn if place.turn is not None else (place.turn_id or "")[:8]
    return f"{title} (fork @{turn_name})" if title else None


def _measured(source: ForkSource, store: AgentStore, draft: ForkPlan) -> ForkPlan:
    extent = source.extent(draft.cut)
    same = draft.agent == draft.source.agent
    window = None
    if same:
        window = extent.window or budget.window_of(draft.source.model, extent.tokens or 0)
    draft = replace(draft, window=window)
    if draft.method is Method.COPY and draft.point.turn_id is None:
        return draft  # a new, empty session
    if draft.method is not Method.SEED:
        tokens = max(budget.estimate(extent.characters), extent.tokens or 0)
        warnings = extent.warnings if same else (*extent.warnings, *_unconverted(source, draft.cut))
        return replace(draft, tokens=tokens, warnings=warnings)
    media: list[Media] = []
    built_seed = seed_of(source, store, draft, media)
    tokens = built_seed.tokens
    too_long = window is not None and budget.level(tokens, window) is budget.BudgetLevel.OVER
    longest = store.longest_seed
    if too_long or built_seed.characters > longest:
        limit = window if too_long else budget.estimate(longest)
        raise UsageError(
            f"the seed has about {tokens:,} tokens; {draft.agent} takes {limit:,}",
            hint="--trim keeps the first prompt and the newest turns; --method copy needs no seed",
        )
    warnings = [f"left out to make it fit: {built_seed.left_out}"] if built_seed.left_out else []
    if media:
        warnings.append(f"{_counted(media)} left out: a seed is text")
    return replace(draft, tokens=tokens, warnings=tuple(warnings))


def _unconverted(source: ForkSource, cut: Cut) -> Iterator[str]:
    """Yield a warning about media that the other agent cannot take."""
    messages = source.messages(cut)
    media = [item for message in messages for item in message.media if not item.is_portable]
    if media:
        pronoun = "it" if len(media) == 1 else "them"
        yield f"{_counted(media)} left out: the other agent cannot take {pronoun}"


def _counted(media: Sequence[Media]) -> str:
    """Count media in words with a verb: `2 images and 1 document are`."""
    counts = sorted(Counter(item.noun for item in media).items())
    words = " and ".join(counted(count, noun) for noun, count in counts)
    return f"{words} {'is' if len(media) == 1 else 'are'}"


def seed_of(
    source: ForkSource, store: AgentStore, draft: ForkPlan, media: list[Media] | None = None
) -> seed.Seed:
    """Build the prompt of a seed fork; `media` collects the images and documents left out."""
    limit = None
    if draft.trim:
        limit = budget.estimate(store.longest_seed) - 1
        if draft.window is not None:
            limit = min(limit, budget.room(draft.window))

    def messages() -> Iterator[Message]:
        for message in source.messages(replace(draft.cut, full=True)):
            if media is not None:
                media.extend(message.media)
            yield message

    return seed.build(messages(), draft.point, limit_tokens=limit)


def _warnings(
    draft: ForkPlan, source: ForkSource, turn: Turn | None, activity: Activity
) -> list[str]:
    notes = list(draft.warnings)
    near = {budget.BudgetLevel.OVER: "more than", budget.BudgetLevel.NEAR: "near"}
    if relation := near.get(budget.level(draft.tokens, draft.window)):
        notes.append(f"about {draft.tokens:,} tokens: {relation} the window of {draft.window:,}")
    if turn is not None and turn.state is TurnState.INTERRUPTED:
        notes.append("the turn was interrupted, which the agent will see")
    if turn is not None and turn.index is None:
        notes.append("the turn is on a branch abandoned by a rewind")
    if activity is Activity.BUSY:
        notes.append("the source is working on a later turn, which the fork does not include")
    conversation = source.conversation
    number = (turn.index if turn else 0) or 0
    # Words compacted before the first turn are not in the session.
    compactions = [at for at in conversation.compactions if 0 < at <= number]
    if compactions and not draft.before_compaction and draft.method is Method.COPY:
        notes.append(
            f"turns up to {compactions[-1]} are a summary to the model; "
            "--before-compaction gives it their words"
        )
    return notes
