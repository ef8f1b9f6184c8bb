"""Fork plans: resolves, checks and warns, without writing anything."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import (
    AgentStore,
    ForkSource,
)
from prong.errors import Busy, NotFound, Unavailable, UsageError
from prong.forks import workspace as workspaces
from prong.forks.context_window import window_of
from prong.forks.launch import launch_of_plan, root_of, store_of
from prong.forks.workspace_names import without_fork
from prong.model.forks import Code, Cut, ForkPlan, ForkPoint, Launch, Method, WorktreePlan
from prong.model.record import Record, field, replace
from prong.model.sessions import Activity, Conversation, Message, Session, Turn, TurnKind, TurnState
from prong.redaction.visible import safe
from prong.session.resolve import find_turn
from prong.transcripts import budget, seed

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.workers import RunOptions, WorkerInfo


class ForkOptions(Record, frozen=True):
    """Options of a fork."""

    agent: str | None = None
    """The agent of the fork; default: that of the source."""
    into: Path | None = None
    """The folder to run in; default: that of the source."""
    method: Method = Method.COPY
    id: str | None = None
    title: str | None = None
    prompt: str | None = None
    retry: bool = False
    """Fork before the turn and submit its prompt again."""
    before_compaction: bool = False
    trim: bool = False
    """Drop turns from a seed that is too long."""
    code: Code | None = None
    """The code to start from; None picks the best. Not with `into`."""
    code_at: str | None = None
    """The turn whose code to use, if not the forked one."""
    branch: str | None = None
    """The branch of the new worktree."""
    name: str | None = None
    """Base name of worktree and branch; default: the title."""
    count: int = 1
    """How many forks to create: that many branch names must be free."""
    command: str | tuple[str, ...] | None = None
    """The base command; default: that of the source worker."""
    run: RunOptions | None = None
    """Options added to the base command."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment, added to that of the source worker."""


def plan(app: App, point: str, options: ForkOptions) -> ForkPlan:
    resolved = app.sessions.resolve(point)
    session = resolved.session
    source = app.forks.source(session)
    conversation = source.conversation
    turn = _chosen(conversation, resolved.turn)
    is_repeated = options.retry and options.prompt is None
    is_command = is_repeated and _is_command(turn)
    images = _images(source, turn) if is_repeated else 0
    if options.retry:
        turn, options = _before(conversation, turn, options)
    refuse_running(conversation, turn)
    forked_at = ForkPoint(session.ref, turn.index if turn else 0, turn.id if turn else None)
    agent = options.agent or session.agent
    if agent != session.agent:
        # Another agent cannot use this one's summaries, so it gets the full history.
        options = replace(options, before_compaction=True)
    worker = resolved.worker or worker_of(app, session)
    inherited = worker if worker is not None and worker.agent == agent else None
    command = _command(app, agent, inherited, options)
    child_store = app.store(agent).with_command(command)
    _check_method(conversation, turn, child_store, options)
    worktree, unopened = _worktree(app, conversation, turn, options)
    workspace = worktree.folder if worktree else _workspace(app, point, conversation, options)
    cut = Cut(forked_at.turn_id, options.before_compaction)
    new_id = child_store.fork_id(options.method, source, cut, options.id)
    title = _title(conversation, forked_at, options)
    root = root_of(child_store, session, agent)
    draft = ForkPlan(
        point=forked_at,
        source=session,
        agent=agent,
        method=options.method,
        new_id=new_id,
        workspace=workspace,
        launch=Launch((), workspace),
        tokens=0,
        window=None,
        title=title,
        prompt=options.prompt,
        is_command=is_command and agent == session.agent,
        before_compaction=options.before_compaction,
        trim=options.trim,
        root=root,
        code=worktree.code if worktree else Code.NONE,
        worktree=worktree,
        unopened=unopened,
        command=command,
        env={**(inherited.env if inherited else {}), **options.env},
        worker=worker.name if worker else None,
    )
    draft = replace(draft, launch=launch_of_plan(app, draft))
    draft = replace(draft, missing=_check_program(app, child_store, options.method))
    draft = _measured(source, child_store, draft)
    activity = app.store(session.agent).activity(session)
    warnings = _warnings(draft, source, turn, activity)
    with workspaces.offering_none():
        warnings += workspaces.warnings(worktree)
    if unopened is not None:
        warnings.append(f"{unopened}: no code is touched; the fork runs in the folder as it is")
    if images:
        images_text = "an image" if images == 1 else f"{images} images"
        warnings.append(f"the prompt had {images_text}, which --retry cannot include")
    if draft.missing is not None:
        warnings.append(draft.missing)
    return replace(draft, warnings=tuple(warnings))


def worker_of(app: App, session: Session) -> WorkerInfo | None:
    """Find the most recently started worker that has, or had, the session open."""
    workers = [
        worker
        for worker in app.workers.records.all()
        if (worker.agent, worker.session) == (session.agent, session.id)
    ]
    return max(workers, key=lambda worker: worker.started or worker.created, default=None)


def _command(
    app: App, agent: str, worker: WorkerInfo | None, options: ForkOptions
) -> str | tuple[str, ...] | None:
    """Determine the base command of the fork; None means the configured one."""
    command = options.command or (worker.command if worker else None) or None
    if options.run is None:
        return command
    return app.store(agent).with_command(command).command_with(options.run)


def _worktree(
    app: App, conversation: Conversation, turn: Turn | None, options: ForkOptions
) -> tuple[WorktreePlan | None, str | None]:
    """Plan the worktree; otherwise returns why existing code could not be used."""
    try:
        with workspaces.offering_none():
            return workspaces.plan(app, conversation, turn, options), None
    except workspaces.Unopened as unopened:
        # The conversation can still be forked.
        return None, str(unopened)


def again(app: App, first: ForkPlan, number: int) -> ForkPlan:
    """Plan another fork of the same turn, with its own id, title and worktree."""
    source = app.forks.source(first.source)
    new_id = app.store(first.agent).fork_id(first.method, source, first.cut, None)
    title = f"{first.title} {number}" if first.title else None
    plan = replace(first, new_id=new_id, title=title)
    if first.worktree is not None:
        worktree = workspaces.again(app, first.worktree, number)
        plan = replace(plan, worktree=worktree, workspace=worktree.folder)
    return replace(plan, launch=launch_of_plan(app, plan))


def moved(app: App, plan: ForkPlan, worktree: WorktreePlan) -> ForkPlan:
    """Move a plan to the worktree of another project."""
    plan = replace(plan, worktree=worktree, workspace=worktree.folder, code=worktree.code)
    plan = replace(plan, warnings=(*plan.warnings, *workspaces.warnings(worktree, "--no-worktree")))
    return replace(plan, launch=launch_of_plan(app, plan))


def settled(app: App, plan: ForkPlan) -> ForkPlan:
    """Return the plan, with new worktree names if the old ones were taken meanwhile."""
    worktree = workspaces.settled(app, plan.worktree) if plan.worktree else None
    if worktree is None or worktree == plan.worktree:
        return plan
    plan = replace(plan, worktree=worktree, workspace=worktree.folder)
    return replace(plan, launch=launch_of_plan(app, plan))


def asking(app: App, plan: ForkPlan, prompt: str | None) -> ForkPlan:
    """Replace the first prompt of a plan."""
    plan = replace(plan, prompt=prompt)
    return replace(plan, launch=launch_of_plan(app, plan))


def _chosen(conversation: Conversation, text: str | None) -> Turn | None:
    if text is not None:
        return find_turn(conversation, text)
    if not conversation.turns:
        ref = conversation.session.ref
        raise NotFound(f"{ref} has no turn to fork at", hint=f"prong show {ref}")
    return conversation.turns[-1]


def _before(
    conversation: Conversation, turn: Turn | None, options: ForkOptions
) -> tuple[Turn | None, ForkOptions]:
    """Return the previous turn, and options with this turn's prompt."""
    if turn is None:
        raise UsageError("--retry needs a turn with a prompt", hint="SESSION@TURN")
    if turn.index is None:
        raise UsageError("--retry works on the active conversation only", hint="SESSION@NUMBER")
    prompt = turn.prompt if options.prompt is None else options.prompt
    previous = conversation.turns[turn.index - 2] if turn.index > 1 else None
    return previous, replace(options, prompt=prompt)


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
    conversation: Conversation, turn: Turn | None, store: AgentStore, options: ForkOptions
) -> None:
    source, agent = conversation.session, store.name
    is_converted = options.method is Method.COPY and agent != source.agent and turn is not None
    if is_converted and not store.supports("convert"):
        raise store.unsupported("be written from another agent's")
    if options.method is Method.SEED and not store.longest_seed:
        raise store.unsupported("be seeded")
    if options.trim and options.method is not Method.SEED:
        raise UsageError("--trim needs --method seed", hint="--method seed --trim")
    if turn is None and options.method is not Method.COPY:
        message = "turn 0 has no conversation to pass on"
        raise UsageError(message, hint="leave --method out: the fork is a new session then")
    if options.method is not Method.NATIVE:
        return
    if agent != source.agent:
        raise UsageError(
            f"{source.agent} has no fork of its own into {agent}", hint="leave --method out"
        )
    if options.before_compaction or conversation.turns[-1:] != ((turn,) if turn else ()):
        raise UsageError("--method native forks the whole session", hint="--method copy")


def _workspace(app: App, point: str, conversation: Conversation, options: ForkOptions) -> Path:
    session, into = conversation.session, options.into
    if into is None and not session.cwd:
        raise NotFound(f"{session.ref} does not record its folder", hint="--into DIR")
    # The shell does not expand `--into=~/shop`. An unknown user's `~` is kept as a plain name.
    folder = Path(os.path.expanduser(into) if into else session.cwd or "")  # noqa: PTH111
    if folder.is_dir():
        return Path(os.path.realpath(folder))
    if folder.exists():
        raise UsageError(f"{folder} is not a folder", hint="--into DIR")
    if into is not None:
        raise NotFound(
            f"folder {folder} does not exist", hint=f"mkdir -p {shlex.quote(str(folder))}"
        )
    into_another = f"prong fork {shlex.quote(point)} --into DIR"
    if options.code is Code.NONE:
        raise NotFound(f"the folder of {session.ref} no longer exists: {folder}", hint=into_another)
    raise NotFound(
        f"the folder of {session.ref} no longer exists: {folder}. Its code was not found either; "
        f"{workspaces.searched(app, conversation)}",
        hint=f"{into_another}; if the repository was moved: cd into it and try again",
    )


def _title(conversation: Conversation, place: ForkPoint, options: ForkOptions) -> str | None:
    if options.title is not None:
        return safe(options.title)
    # A fork of a fork is named after the original session.
    title = without_fork(safe(conversation.session.title))
    turn_name = place.turn if place.turn is not None else (place.turn_id or "")[:8]
    return f"{title} (fork @{turn_name})" if title else None


def require_program(app: App, plan: ForkPlan) -> None:
    """Raise `Unavailable` if the agent's program, needed to run the fork, is missing."""
    program = store_of(app, plan).program
    if plan.missing is not None and program is not None:
        app.programs.require(program)


def _check_program(app: App, store: AgentStore, method: Method) -> str | None:
    """Warn of a missing program; raise `Unavailable` where it must create the fork."""
    program = store.program
    if program is None:
        return None
    if method is Method.SEED:
        program = replace(program, flags=(*program.flags, *store.seed_flags))
    try:
        app.programs.require(program)
    except Unavailable as error:
        if method is Method.COPY:
            return f"{error.message}; to run the fork: {error.hint}"
        raise
    return None


def _measured(source: ForkSource, store: AgentStore, draft: ForkPlan) -> ForkPlan:
    extent = source.extent(draft.cut)
    same = draft.agent == draft.source.agent
    window = (extent.window or window_of(draft.source.model, extent.tokens or 0)) if same else None
    draft = replace(draft, window=window)
    if draft.method is Method.COPY and draft.point.turn_id is None:
        return draft  # a new, empty session
    if draft.method is not Method.SEED:
        tokens = max(budget.estimate(extent.characters), extent.tokens or 0)
        warnings = extent.warnings if same else (*extent.warnings, *_unconverted(source, draft.cut))
        return replace(draft, tokens=tokens, warnings=warnings)
    media: Counter[str] = Counter()
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
    media = Counter(
        item.noun
        for message in source.messages(cut)
        for item in message.media
        if not item.is_portable
    )
    if media:
        pronoun = "it" if media.total() == 1 else "them"
        yield f"{_counted(media)} left out: the other agent cannot take {pronoun}"


def _counted(media: Counter[str]) -> str:
    """Count media in words with a verb: `2 images and 1 document are`."""
    words = [f"{count} {noun}{'s' if count > 1 else ''}" for noun, count in sorted(media.items())]
    return f"{' and '.join(words)} {'is' if media.total() == 1 else 'are'}"


def _counting(messages: Iterable[Message], media: Counter[str]) -> Iterator[Message]:
    for message in messages:
        media.update(item.noun for item in message.media)
        yield message


def seed_of(
    source: ForkSource, store: AgentStore, draft: ForkPlan, media: Counter[str] | None = None
) -> seed.Seed:
    """Build the prompt of a seed fork; `media` collects the images and documents left out."""
    limit = None
    if draft.trim:
        limit = budget.estimate(store.longest_seed) - 1
        if draft.window is not None:
            limit = min(limit, budget.room(draft.window))
    messages = source.messages(replace(draft.cut, full=True))
    counted = _counting(messages, Counter() if media is None else media)
    return seed.build(counted, draft.point, limit_tokens=limit)


def _warnings(
    draft: ForkPlan, source: ForkSource, turn: Turn | None, activity: Activity
) -> list[str]:
    notes = list(draft.warnings)
    match budget.level(draft.tokens, draft.window):
        case budget.BudgetLevel.OVER:
            notes.append(f"about {draft.tokens:,} tokens: more than the window of {draft.window:,}")
        case budget.BudgetLevel.NEAR:
            notes.append(f"about {draft.tokens:,} tokens: near the window of {draft.window:,}")
        case _:
            pass
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
