"""The workspace of a fork: which code it starts from, and the worktree that has it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from prong import paths
from prong.app.resolve import find_turn
from prong.errors import NotFound, ProngError, UsageError
from prong.model import Code, Conversation, Session, Snapshot, Turn, TurnKey, WorktreePlan
from prong.vcs import snapshots, worktree_state, worktrees
from prong.vcs.repository import Repository
from prong.vcs.worktree_record import Worktree

if TYPE_CHECKING:
    from prong.app.application import App
    from prong.app.planning import ForkOptions

_NAMED = 5
"""So many changed files are named in a warning."""


def plan(
    app: App, conversation: Conversation, turn: Turn | None, options: ForkOptions
) -> WorktreePlan | None:
    """The worktree for a fork; None when it is to run in a folder that is there.

    When nothing is said about the code: the turn's, as it was captured; at the last turn the code
    as it is now; else the commit that is nearest. Without git there is no code to give.
    """
    if options.into is not None:
        if options.code not in (None, Code.NONE) or options.code_at or options.branch:
            raise UsageError("--into runs it in a folder as it is", hint="leave --into out")
        return None
    if options.code is Code.NONE:
        return None
    session = conversation.session
    at = turn if options.code_at is None else find_turn(conversation, options.code_at)
    try:
        repository = _repository(session)
    except ProngError:
        if options.code is not None:
            raise
        return None  # no git, or a broken one: the conversation can be forked all the same
    snapshot = _snapshot(app, conversation, at, repository)
    if snapshot is None and repository is None:
        if options.code is None:
            return None
        raise NotFound(f"no code captured: {session.cwd} is not in a git repository")
    code = options.code or _fitting(conversation, at, snapshot)
    if snapshot is not None and code is Code.TURN:
        return _drafted(session, code, snapshot.repo, options, snapshot=snapshot)
    if repository is None:
        raise NotFound(f"the folder of {session.ref} is gone: {session.cwd}", hint="--code turn")
    if code is Code.TURN:
        return _near(session, repository, at, options)
    commit = "HEAD" if code is Code.HEAD else None
    return _drafted(session, code, repository, options, commit=commit)


def _snapshot(
    app: App, conversation: Conversation, turn: Turn | None, repository: Path | None
) -> Snapshot | None:
    found = app.snapshots(conversation).get(turn.id if turn else TurnKey.BASELINE)
    if found is not None and not found.repo.is_dir():
        # Its worktree is gone; the repository has it all the same.
        return replace(found, repo=repository) if repository else None
    return found


def _near(
    session: Session, repository: Path, turn: Turn | None, options: ForkOptions
) -> WorktreePlan | None:
    """At the commit that comes nearest to a turn whose code was not captured."""
    when = (turn.ended or turn.started) if turn else session.started
    commit = worktrees.nearest_commit(repository, session.branch, when) if when else None
    if commit is not None:
        return _drafted(session, Code.TURN, repository, options, commit=commit, is_exact=False)
    if options.code is None:
        return None
    raise NotFound(
        f"no code captured at that turn, and {repository} has no commit of that time",
        hint="--code now, or --code none",
    )


def _repository(session: Session) -> Path | None:
    if not session.cwd or not Path(session.cwd).is_dir():
        return None
    found = Repository.find(Path(session.cwd))
    return found.top if found else None


def _fitting(conversation: Conversation, turn: Turn | None, snapshot: Snapshot | None) -> Code:
    is_last = bool(conversation.turns) and turn == conversation.turns[-1]
    return Code.NOW if snapshot is None and is_last else Code.TURN


def _drafted(
    session: Session,
    code: Code,
    repository: Path,
    options: ForkOptions,
    *,
    snapshot: Snapshot | None = None,
    commit: str | None = None,
    is_exact: bool = True,
) -> WorktreePlan:
    name = uuid4().hex[:8]
    path = worktrees.place(paths.worktrees_dir(), repository, name)
    return WorktreePlan(
        code=code,
        repo=repository,
        path=path,
        branch=options.branch or f"prong/{name}",
        folder=path / _depth(session, repository),
        snapshot=snapshot,
        commit=commit,
        is_exact=is_exact,
    )


def _depth(session: Session, repository: Path) -> str:
    """Where below the top of its repository the session ran."""
    inside = os.path.relpath(os.path.realpath(session.cwd or ""), os.path.realpath(repository))
    return "" if inside == "." or inside.startswith("..") else inside


def warnings(worktree: WorktreePlan | None) -> list[str]:
    """What a person should know of the code before the fork is made."""
    if worktree is None:
        return []
    found: list[str] = []
    if not worktree.is_exact:
        found.append(f"code: nearest commit, not exact ({(worktree.commit or '')[:12]})")
    snapshot = worktree.snapshot
    if snapshot is not None and snapshot.degraded:
        found.append(f"the snapshot is not complete: {snapshot.degraded}")
    if snapshot is not None and snapshot.left_out:
        names = ", ".join(one.path for one in snapshot.left_out[:_NAMED])
        found.append(f"not in the snapshot: {names}")
    if worktree.code is Code.HEAD:
        changed = worktree_state.changed_files(worktree.repo)
        if changed:
            names = ", ".join(changed[:_NAMED]) + (" ..." if len(changed) > _NAMED else "")
            found.append(f"not committed, so not in it: {names}; commit first, or --code now")
    return found


def make(plan: WorktreePlan, session: Session) -> Worktree:
    """The worktree as planned; nothing of it is there when that fails."""
    snapshot = plan.snapshot
    if plan.code is Code.NOW:
        key = TurnKey(session.agent, session.id, f"now-{plan.path.name}")
        snapshot = snapshots.take(plan.repo, key)
    if snapshot is not None:
        made = worktrees.create(snapshot, plan.path, plan.branch)
    else:
        made = worktrees.create_at(plan.repo, plan.commit or "HEAD", plan.path, plan.branch)
    # The agent's folder may not have been there at that turn.
    plan.folder.mkdir(parents=True, exist_ok=True)
    return made


def unmake(worktree: Worktree) -> None:
    """Take a worktree back whose fork could not be made."""
    worktrees.remove(worktree, force=True)
