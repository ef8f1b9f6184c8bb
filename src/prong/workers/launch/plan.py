"""Plan the start of a worker: read, check and warn, but write nothing."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from prong.agents.base import AgentStore
from prong.code.branch_names import refuse_unfit
from prong.code.git import Git
from prong.code.repository import Repository
from prong.code.worktrees import worktree as worktrees
from prong.errors import NotFound, Taken, Unsupported, UsageError
from prong.forks import plan as planning
from prong.forks import workspace as workspaces
from prong.forks.plan import ForkOptions
from prong.forks.workspace_names import WorkspaceNames, name_of
from prong.model.forks import Code, ForkPlan, Launch, WorktreePlan
from prong.model.record import Record, field, replace
from prong.model.sessions import Session
from prong.model.workers import NewSession, Placement, RunOptions
from prong.session.listing import Project, SessionFilter
from prong.workers import names

if TYPE_CHECKING:
    from prong.app import App


_LONGEST_ARGUMENT = 100_000
"""Maximum bytes of a prompt in a command line; the system allows a little more per argument."""


class WorkerOptions(Record, frozen=True):
    """Options of a new worker."""

    prompt: str | None = None
    agent: str | None = None
    """None: the agent of the resumed session, else `claude`."""
    name: str | None = None
    id: str | None = None
    project: Path | None = None
    """Folder to work in, or to take the code from; None: the current one."""
    worktree: bool | None = None
    """Create a worktree; None: in a git repository."""
    branch: str | None = None
    base: str | None = None
    """Commit at which the branch starts; None: the last one."""
    run: RunOptions = field(default_factory=RunOptions)
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    command: str | tuple[str, ...] | None = None
    """Base command; None: the configured one."""
    commit_turns: bool = False
    push: str | None = None
    """Remote to which each turn's commit is pushed."""
    headless: bool = False
    trust: bool = False
    """Mark the folder as trusted in the agent's own settings."""
    terminal: str | None = None
    place: Placement | None = None
    resume: str | None = None
    """Session to resume."""
    fork: str | None = None
    """Session, with optional turn, to fork."""
    continue_: bool = False
    """Resume the newest session of the folder."""


class TrustPlan(Record, frozen=True):
    """Change to an agent's settings file that marks a folder as trusted."""

    folder: Path
    path: Path
    before: bytes | None
    after: bytes


class WorkerPlan(Record, frozen=True):
    """Planned start of a worker. Creating it writes nothing."""

    options: WorkerOptions
    name: str
    agent: str
    command: str | tuple[str, ...]
    workspace: Path
    launch: Launch | None
    """None for a headless worker: the prompt starts its first turn."""
    session: str | None = None
    resumed: Session | None = None
    worktree: WorktreePlan | None = None
    fork: ForkPlan | None = None
    pasted: str | None = None
    """Prompt too long for a command line, to be pasted when the agent is ready."""
    trusted: bool = True
    trust: TrustPlan | None = None
    warnings: tuple[str, ...] = ()


def plan(app: App, options: WorkerOptions) -> WorkerPlan:
    options = _understood(options)
    if options.fork is not None:
        return _of_fork(app, options)
    session = _continued(app, options)
    agent = _agent(app, options, session)
    store = app.store(agent).with_command(options.command)
    id_in_command = store.session_in(store.command)
    command = store.command_with(options.run)
    store = store.with_command(command)
    if store.program is not None:
        app.programs.require(store.program)
    name = _name(app, options)
    if session is not None:
        return _of_session(app, options, store, session, name, command)
    project = _folder(options.project)
    id_ = _new_id(app, store, options.id or id_in_command, agent)
    worktree = _worktree(app, project, name, options)
    workspace = worktree.folder if worktree else project
    prompt, pasted = short(options.prompt)
    # Also for a headless worker, so that invalid options fail before anything is created.
    new = NewSession(id_, workspace)
    launch = store.begin(new, prompt)
    draft = WorkerPlan(
        options=options,
        name=name,
        agent=agent,
        command=command,
        workspace=workspace,
        launch=None if options.headless else launch,
        session=id_,
        worktree=worktree,
        pasted=pasted,
        warnings=tuple(workspaces.warnings(worktree, "--no-worktree")),
    )
    return _with_trust(store, draft)


def _understood(options: WorkerOptions) -> WorkerOptions:
    """Complete the options; raise `UsageError` for options that exclude each other."""
    sources = {"--resume": options.resume, "--fork": options.fork, "--continue": options.continue_}
    used = [flag for flag, value in sources.items() if value]
    if len(used) > 1:
        raise UsageError(f"{used[0]} and {used[1]} exclude each other", hint=f"leave {used[1]} out")
    resumes = bool(options.resume or options.continue_)
    if resumes and options.id:
        raise UsageError(f"{used[0]} uses the id of its session", hint="leave --id out, or --fork")
    if resumes and (options.worktree or options.branch or options.base):
        raise UsageError(
            f"{used[0]} runs in the folder of the session",
            hint="--fork SESSION gets a worktree of its own",
        )
    if options.worktree is False and (options.branch or options.base):
        raise UsageError("--branch and --base need a worktree", hint="leave --no-worktree out")
    if options.fork and options.base:
        raise UsageError("a fork starts from the code of its turn", hint="leave --base out")
    if options.headless and not options.prompt:
        raise UsageError("a headless worker needs a prompt", hint='prong run --headless "..."')
    if options.headless and (options.terminal or options.place):
        raise UsageError("a headless worker has no pane", hint="leave --headless or the pane out")
    for variable, value in options.env.items():
        if not variable or "=" in variable or "\0" in f"{variable}{value}":
            raise UsageError(f"{variable!r} cannot be set for a program", hint="--env KEY=VALUE")
    if options.push and not options.commit_turns:
        options = replace(options, commit_turns=True)
    if options.commit_turns and (resumes or options.worktree is False):
        raise UsageError(
            "--commit-turns commits in a worktree of the worker's own",
            hint="leave --no-worktree out" if not resumes else "--fork SESSION",
        )
    return options


def _agent(app: App, options: WorkerOptions, session: Session | None) -> str:
    if session is None:
        return options.agent or next(iter(app.stores))
    if options.agent not in (None, session.agent):
        raise UsageError(
            f"{session.ref} is a session of {session.agent}", hint=f"--fork {session.ref}"
        )
    return session.agent


def _name(app: App, options: WorkerOptions) -> str:
    taken = {worker.name for worker in app.workers.records.all()}
    if options.name is None:
        return names.made_up(taken)
    return names.free(options.name, app.stores, taken)


def _continued(app: App, options: WorkerOptions) -> Session | None:
    if options.resume is not None:
        resolved = app.sessions.resolve(options.resume)
        if resolved.turn is not None:
            hint = f"--fork {options.resume}"
            raise UsageError("a session can only be resumed at its end", hint=hint)
        return resolved.session
    if not options.continue_:
        return None
    project = _folder(options.project)
    listing = app.sessions.list(SessionFilter(options.agent, project=project))
    if not listing.sessions:
        raise NotFound(f"no session to continue in {project}", hint="leave --continue out")
    return listing.sessions[0]


def _folder(given: Path | None) -> Path:
    folder = Path(os.path.expanduser(given) if given else Path.cwd())  # noqa: PTH111
    if not folder.is_dir():
        raise NotFound(f"folder {folder} does not exist", hint="--project DIR")
    return Path(os.path.realpath(folder))


def _new_id(app: App, store: AgentStore, wanted: str | None, agent: str) -> str | None:
    if store.chooses_ids:
        if wanted is not None:
            hint = f"leave --id out: {agent} says its id when it has started"
            raise Unsupported(f"{agent} chooses the ids of its sessions itself", hint=hint)
        return None
    if wanted is None:
        return str(uuid4())
    if app.sessions.path_of(agent, wanted) is not None:
        raise Taken(f"there is a session {agent}:{wanted} already", hint=f"--resume {wanted}")
    return wanted


def short(prompt: str | None) -> tuple[str | None, str | None]:
    """Return the prompt for the command line, or as second item one too long for it."""
    if prompt is not None and len(os.fsencode(prompt)) > _LONGEST_ARGUMENT:
        return None, prompt
    return prompt, None


def _worktree(app: App, project: Path, name: str, options: WorkerOptions) -> WorktreePlan | None:
    if options.worktree is False:
        return None
    repository = Repository.find(project)
    if repository is None or repository.head is None:
        if options.worktree or options.branch or options.base or options.commit_turns:
            reason = "has no commit yet" if repository else "is not in a git repository"
            raise UsageError(f"cannot create a worktree: {project} {reason}", hint="--no-worktree")
        return None
    stem = name_of(options.branch, name)
    path, branch = WorkspaceNames(app, repository.top).free(stem, options.branch)
    refuse_unfit(repository.top, [branch])
    _refuse_no_remote(repository.top, options.push)
    commit = worktrees.commit_of(repository.top, options.base or "HEAD")
    return WorktreePlan(
        code=Code.HEAD,
        repo=repository.top,
        path=path,
        branch=branch,
        folder=path / project.relative_to(os.path.realpath(repository.top)),
        commit=commit,
        name=stem,
        is_chosen=options.branch is not None,
    )


def settled(app: App, plan: WorkerPlan) -> WorkerPlan:
    """Return the plan, with new names if those of its worktree were taken meanwhile."""
    if plan.worktree is None or plan.fork is not None:
        return plan  # creating a fork settles its own names
    worktree = workspaces.settled(app, plan.worktree)
    if worktree == plan.worktree:
        return plan
    plan = replace(plan, worktree=worktree, workspace=worktree.folder)
    if plan.launch is None:
        return plan
    store = app.store(plan.agent).with_command(plan.command)
    new = NewSession(plan.session, plan.workspace)
    prompt, _ = short(plan.options.prompt)
    return replace(plan, launch=store.begin(new, prompt))


def _refuse_no_remote(repo: Path, remote: str | None) -> None:
    """Raise `UsageError` for an unknown remote before the start: a later error goes unnoticed.

    Addresses are refused, since they may contain a key, and the name is stored.
    """
    remotes = Git(repo).run("remote").decode(errors="replace").split() if remote else []
    if remote and remote not in remotes:
        hint = f"--push {remotes[0]}" if remotes else f"git remote add {remote} URL"
        raise UsageError(f"{repo} has no remote {remote}", hint=hint)


def _of_session(
    app: App,
    options: WorkerOptions,
    store: AgentStore,
    session: Session,
    name: str,
    command: str | tuple[str, ...],
) -> WorkerPlan:
    prompt, pasted = short(options.prompt)
    resumed = app.sessions.resume(session, None if options.headless else prompt)
    launch = None
    if not options.headless:
        launch = store.resume(session, resumed.cwd, prompt)
    draft = WorkerPlan(
        options=options,
        name=name,
        agent=session.agent,
        command=command,
        workspace=resumed.cwd,
        launch=launch,
        session=session.id,
        resumed=session,
        pasted=pasted,
    )
    return _with_trust(store, draft)


def _of_fork(app: App, options: WorkerOptions) -> WorkerPlan:
    assert options.fork is not None
    name = _name(app, options)
    prompt, pasted = short(options.prompt)
    into = _elsewhere(app, options)
    fork = app.forks.plan(
        options.fork,
        ForkOptions(
            agent=options.agent,
            into=into,
            id=options.id,
            prompt=None if options.headless else prompt,
            code=Code.NONE if options.worktree is False else None,
            branch=options.branch if into is None else None,
            name=options.name,
            command=options.command,
            run=options.run,
            env=options.env,
        ),
    )
    if into is not None and (worktree := _worktree(app, fork.workspace, name, options)) is not None:
        fork = planning.moved(app, fork, worktree)
    if options.worktree and fork.worktree is None:
        raise UsageError(
            f"cannot create a worktree: {fork.unopened or fork.workspace}", hint="--no-worktree"
        )
    planning.require_program(app, fork)
    if options.commit_turns and fork.worktree is None:
        raise UsageError("--commit-turns needs a worktree", hint="leave --commit-turns out")
    if fork.worktree is not None:
        _refuse_no_remote(fork.worktree.repo, options.push)
    store = app.store(fork.agent)
    draft = WorkerPlan(
        options=options,
        name=name,
        agent=fork.agent,
        command=fork.command or store.command,
        workspace=fork.workspace,
        launch=fork.launch,
        session=fork.new_id,
        worktree=fork.worktree,
        fork=fork,
        pasted=pasted,
        warnings=fork.warnings,
    )
    return _with_trust(store, draft)


def _elsewhere(app: App, options: WorkerOptions) -> Path | None:
    """Return the folder of another project; in its own project a fork gets its code as usual."""
    assert options.fork is not None
    if options.project is None or options.worktree is False:
        return options.project
    folder = _folder(options.project)
    return None if Project(folder).had(app.sessions.get(options.fork)) else folder


def _with_trust(store: AgentStore, draft: WorkerPlan) -> WorkerPlan:
    if draft.options.headless:
        return draft
    # The worktree does not exist yet; agents trust it with its repository.
    folder = draft.worktree.repo if draft.worktree else draft.workspace
    if store.is_trusted(folder):
        return draft
    trust = TrustPlan(folder, *store.trusting(folder)) if draft.options.trust else None
    return replace(draft, trusted=False, trust=trust)
