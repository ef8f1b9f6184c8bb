"""Plan the start of a worker: read, check and warn, but write nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from prong.agents.base import AgentStore
from prong.agents.stores import AgentStores
from prong.code.branch_names import refuse_unfit
from prong.code.git import Git
from prong.code.repository import Repository
from prong.code.worktrees.make import commit_of
from prong.errors import NotFound, Taken, Unsupported, UsageError
from prong.forks import workspace as workspaces
from prong.forks.request import ForkRequest
from prong.forks.service import ForkService
from prong.forks.workspace_names import name_of
from prong.model.forks import Code, WorktreePlan
from prong.model.record import Record, replace
from prong.model.sessions import Program, Session
from prong.model.workers import NewSession
from prong.session.listing import Project, SessionFilter
from prong.session.service import SessionService
from prong.storage.workers import WorkerRecords
from prong.workers import names
from prong.workers.request import TrustPlan, WorkerPlan, WorkerRequest

_LONGEST_ARGUMENT = 100_000
"""Maximum bytes of a prompt in a command line; the system allows a little more per argument."""


class WorkerPlanner(Record, frozen=True):
    stores: AgentStores
    sessions: SessionService
    forks: ForkService
    records: WorkerRecords
    require: Callable[[Program], None]

    def plan(self, request: WorkerRequest) -> WorkerPlan:
        """Plan the start of a worker. Writes nothing."""
        request = request.checked()
        if request.fork is not None:
            return self._of_fork(request, request.fork)
        session = self._continued(request)
        agent = self._agent(request, session)
        store = self.stores.named(agent).with_command(request.command)
        id_in_command = store.session_in(store.command)
        command = store.command_with(request.run)
        store = store.with_command(command)
        if store.program is not None:
            self.require(store.program)
        name = self._name(request)
        prompt, pasted = short(request.prompt)
        if session is not None:
            workspace = self.sessions.resume(session, None if request.headless else prompt).cwd
            launch = None if request.headless else store.resume(session, workspace, prompt)
            id_, worktree = session.id, None
        else:
            project = _folder(request.project)
            id_ = self._new_id(store, request.id or id_in_command, agent)
            worktree = self._worktree(project, name, request)
            workspace = worktree.folder if worktree else project
            # Also for a headless worker, so that invalid options fail before anything is created.
            launch = store.begin(NewSession(id_, workspace), prompt)
        draft = WorkerPlan(
            request=request,
            name=name,
            agent=agent,
            command=command,
            workspace=workspace,
            launch=None if request.headless else launch,
            session=id_,
            resumed=session,
            worktree=worktree,
            pasted=pasted,
            warnings=tuple(workspaces.warnings(worktree, "--no-worktree")),
        )
        return _with_trust(store, draft)

    def settled(self, plan: WorkerPlan) -> WorkerPlan:
        """Return the plan, with new names if those of its worktree were taken meanwhile."""
        if plan.worktree is None or plan.fork is not None:
            return plan  # creating a fork settles its own names
        worktree = self.forks.workspaces.settled(plan.worktree)
        if worktree == plan.worktree:
            return plan
        launch = None
        if plan.launch is not None:
            store = self.stores.named(plan.agent).with_command(plan.command)
            new = NewSession(plan.session, worktree.folder)
            launch = store.begin(new, short(plan.request.prompt)[0])
        return replace(plan, worktree=worktree, workspace=worktree.folder, launch=launch)

    # -- new sessions, and those to resume ---------------------------------------------------

    def _name(self, request: WorkerRequest) -> str:
        taken = self.records.names()
        if request.name is None:
            return names.made_up(taken)
        return names.free(request.name, self.stores, taken)

    def _agent(self, request: WorkerRequest, session: Session | None) -> str:
        if session is None:
            return request.agent or next(iter(self.stores))
        if request.agent not in (None, session.agent):
            raise UsageError(
                f"{session.ref} is a session of {session.agent}", hint=f"--fork {session.ref}"
            )
        return session.agent

    def _continued(self, request: WorkerRequest) -> Session | None:
        if request.resume is not None:
            resolved = self.sessions.resolve(request.resume)
            if resolved.turn is not None:
                hint = f"--fork {request.resume}"
                raise UsageError("a session can only be resumed at its end", hint=hint)
            return resolved.session
        if not request.continue_:
            return None
        project = _folder(request.project)
        listing = self.sessions.list(SessionFilter(request.agent, project=project))
        if not listing.sessions:
            raise NotFound(f"no session to continue in {project}", hint="leave --continue out")
        return listing.sessions[0]

    def _new_id(self, store: AgentStore, wanted: str | None, agent: str) -> str | None:
        if store.chooses_ids:
            if wanted is not None:
                hint = f"leave --id out: {agent} says its id when it has started"
                raise Unsupported(f"{agent} chooses the ids of its sessions itself", hint=hint)
            return None
        if wanted is None:
            return str(uuid4())
        if self.sessions.path_of(agent, wanted) is not None:
            raise Taken(f"there is a session {agent}:{wanted} already", hint=f"--resume {wanted}")
        return wanted

    def _worktree(self, project: Path, name: str, request: WorkerRequest) -> WorktreePlan | None:
        if request.worktree is False:
            return None
        repository = Repository.find(project)
        if repository is None or repository.head is None:
            if request.worktree or request.branch or request.base or request.commit_turns:
                reason = "has no commit yet" if repository else "is not in a git repository"
                raise UsageError(
                    f"cannot create a worktree: {project} {reason}", hint="--no-worktree"
                )
            return None
        top = repository.top
        stem = name_of(request.branch, name)
        path, branch = self.forks.workspaces.names(top).free(stem, request.branch)
        refuse_unfit(top, [branch])
        _refuse_no_remote(top, request.push)
        return WorktreePlan(
            code=Code.HEAD,
            repo=top,
            path=path,
            branch=branch,
            folder=path / project.relative_to(os.path.realpath(top)),
            commit=commit_of(top, request.base or "HEAD"),
            name=stem,
            is_chosen=request.branch is not None,
        )

    # -- forks -------------------------------------------------------------------------------

    def _of_fork(self, request: WorkerRequest, point: str) -> WorkerPlan:
        name = self._name(request)
        prompt, pasted = short(request.prompt)
        into = self._elsewhere(request, point)
        fork = self.forks.plan(
            point,
            ForkRequest(
                agent=request.agent,
                into=into,
                id=request.id,
                prompt=None if request.headless else prompt,
                code=Code.NONE if request.worktree is False else None,
                branch=request.branch if into is None else None,
                name=request.name,
                command=request.command,
                run=request.run,
                env=request.env,
            ),
        )
        worktree = self._worktree(fork.workspace, name, request) if into is not None else None
        if worktree is not None:
            fork = self.forks.planner.moved(fork, worktree)
        if request.worktree and fork.worktree is None:
            raise UsageError(
                f"cannot create a worktree: {fork.unopened or fork.workspace}", hint="--no-worktree"
            )
        self.forks.planner.require_program(fork)
        if request.commit_turns and fork.worktree is None:
            raise UsageError("--commit-turns needs a worktree", hint="leave --commit-turns out")
        if fork.worktree is not None:
            _refuse_no_remote(fork.worktree.repo, request.push)
        store = self.stores.named(fork.agent)
        draft = WorkerPlan(
            request=request,
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

    def _elsewhere(self, request: WorkerRequest, point: str) -> Path | None:
        """Return the folder of another project; in its own project a fork gets its code."""
        if request.project is None or request.worktree is False:
            return request.project
        folder = _folder(request.project)
        return None if Project(folder).had(self.sessions.get(point)) else folder


def short(prompt: str | None) -> tuple[str | None, str | None]:
    """Return the prompt for the command line, or as second item one too long for it."""
    if prompt is not None and len(os.fsencode(prompt)) > _LONGEST_ARGUMENT:
        return None, prompt
    return prompt, None


def _folder(given: Path | None) -> Path:
    folder = Path(os.path.expanduser(given) if given else Path.cwd())  # noqa: PTH111
    if not os.path.isdir(folder):
        raise NotFound(f"folder {folder} does not exist", hint="--project DIR")
    return Path(os.path.realpath(folder))


def _refuse_no_remote(repo: Path, remote: str | None) -> None:
    """Raise `UsageError` for an unknown remote before the start: a later error goes unnoticed.

    Addresses are refused, since they may contain a key, and the name is stored.
    """
    remotes = Git(repo).run("remote").decode(errors="replace").split() if remote else []
    if remote and remote not in remotes:
        hint = f"--push {remotes[0]}" if remotes else f"git remote add {remote} URL"
        raise UsageError(f"{repo} has no remote {remote}", hint=hint)


def _with_trust(store: AgentStore, draft: WorkerPlan) -> WorkerPlan:
    if draft.request.headless:
        return draft
    # The worktree does not exist yet; agents trust it with its repository.
    folder = draft.worktree.repo if draft.worktree else draft.workspace
    if store.is_trusted(folder):
        return draft
    trust = TrustPlan(folder, *store.trusting(folder)) if draft.request.trust else None
    return replace(draft, trusted=False, trust=trust)
