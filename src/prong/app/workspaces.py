"""The workspace of a fork: which code it starts from, and the worktree that has it."""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from prong.app import turn_code
from prong.app.resolve import find_turn
from prong.app.turn_code import TurnCode
from prong.errors import External, NotFound, ProngError, UsageError
from prong.model import (
    Code,
    Conversation,
    Session,
    SessionRef,
    Snapshot,
    Turn,
    TurnKey,
    WorktreePlan,
)
from prong.vcs import snapshots, worktree_state, worktrees
from prong.vcs.git import Git
from prong.vcs.ignored import IgnoredFiles
from prong.vcs.messages import ref_of
from prong.vcs.worktree_journal import Undo
from prong.vcs.worktree_making import refuse_among_files
from prong.vcs.worktree_record import Worktree, common_of

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
        if options.code_at or options.branch:
            raise UsageError(
                "--code-at and --branch need a worktree", hint="leave out what says no worktree"
            )
        return None
    session = conversation.session
    at = turn if options.code_at is None else find_turn(conversation, options.code_at)
    # Who asks for something about the code wants to know when there is none.
    wanted = bool(options.code or options.code_at or options.branch)
    try:
        repository = turn_code.repository_of(session)
        found = turn_code.find(app, conversation, at)
    except ProngError:
        if wanted:
            raise
        return None  # no git, or a broken one: the conversation can be forked all the same
    if found is None and repository is None:
        if not wanted:
            return None
        raise NotFound(f"no code captured: {session.cwd} is not in a git repository")
    code = options.code or _fitting(conversation, at, found)
    drafting = _Drafting(app.worktrees_root, session, options)
    if code is Code.TURN:
        if found is None and options.code is None:
            return None
        return drafting.of_turn(found)
    if repository is None:
        raise NotFound(f"the folder of {session.ref} is gone: {session.cwd}", hint="--code turn")
    return drafting.plan(code, TurnCode(repository, commit="HEAD" if code is Code.HEAD else None))


def again(first: WorktreePlan, number: int) -> WorktreePlan:
    """The same code for one more fork: in a worktree and on a branch of its own."""
    name = uuid4().hex[:8]
    path = first.path.with_name(name)
    own, chosen = first.branch.removesuffix(first.path.name), first.branch
    return replace(
        first,
        path=path,
        branch=f"{chosen}-{number}" if own == chosen else f"{own}{name}",
        folder=path / first.folder.relative_to(first.path),
    )


def _fitting(conversation: Conversation, turn: Turn | None, found: TurnCode | None) -> Code:
    is_last = bool(conversation.turns) and turn == conversation.turns[-1]
    is_known = found is not None and found.is_exact
    return Code.NOW if is_last and not is_known else Code.TURN


@dataclass(frozen=True)
class _Drafting:
    """What all plans of a fork have in common."""

    root: Path
    session: Session
    options: ForkOptions

    def of_turn(self, found: TurnCode | None) -> WorktreePlan:
        if found is None:
            raise NotFound(
                f"no code captured at that turn, and {self.session.cwd} has no commit of that time",
                hint="--code now, or --code none",
            )
        return self.plan(Code.TURN, found)

    def plan(self, code: Code, of: TurnCode) -> WorktreePlan:
        name = uuid4().hex[:8]
        path = worktrees.place(self.root, of.repo, name)
        common = common_of(of.repo)
        if common is not None:
            refuse_among_files(path, common)
        return WorktreePlan(
            code=code,
            repo=of.repo,
            path=path,
            branch=self.options.branch or _branch(of.repo, name),
            folder=path / _depth(self.session, of.repo),
            snapshot=of.snapshot,
            commit=of.commit,
            is_exact=of.is_exact or code is not Code.TURN,
            late=of.late,
        )


def _branch(repository: Path, name: str) -> str:
    """There is no `prong/1a2b` where there is a branch `prong`."""
    taken = Git(repository).ask("show-ref", "--verify", "--quiet", "refs/heads/prong").ok
    return f"prong-{name}" if taken else f"prong/{name}"


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
    if worktree.late is not None:
        found.append(f"the code was kept {_long(worktree.late)} after the turn had ended")
    if worktree.snapshot is not None:
        found += _lacks(worktree.snapshot)
    if worktree.code is Code.HEAD:
        changed = worktree_state.changed_files(worktree.repo)
        if changed:
            names = ", ".join(changed[:_NAMED]) + (" ..." if len(changed) > _NAMED else "")
            found.append(f"not committed, so not in it: {names}; commit first, or --code now")
    return found


def _long(time: timedelta) -> str:
    for seconds, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(time.total_seconds() // seconds)
        if count:
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "a moment"


def _lacks(snapshot: Snapshot) -> list[str]:
    found: list[str] = []
    if snapshot.degraded:
        found.append(f"the snapshot is not complete: {snapshot.degraded}")
    if snapshot.left_out:
        names = ", ".join(one.path for one in snapshot.left_out[:_NAMED])
        more = " ..." if len(snapshot.left_out) > _NAMED else ""
        found.append(f"not in the snapshot: {names}{more}")
    return found


@contextmanager
def made(app: App, plan: WorktreePlan) -> Generator[Making]:
    """The worktree as planned, for a fork that is made inside the `with` block.

    It goes again when the fork is not made, also when this process is killed: see `sweep`.
    """
    with Undo(app.worktrees_root) as undo:
        try:
            making = Making(undo, *_make(app, plan, undo))
        except OSError as error:
            where = f": {error.filename}" if error.filename else ""
            raise External(f"the worktree could not be made: {error.strerror}{where}") from error
        try:
            yield making
        except ProngError:
            raise  # there is no fork
        except BaseException:
            # Somebody was impatient. When the session is there already, it needs its folder.
            if is_used(app, making.worktree.path):
                undo.keep()
            raise


@dataclass(frozen=True)
class Making:
    """A worktree whose fork is not there yet."""

    undo: Undo
    worktree: Worktree
    warnings: tuple[str, ...]

    def belongs_to(self, session: SessionRef) -> None:
        """The fork is there: the worktree stays."""
        worktrees.belongs_to(self.worktree, str(session))
        self.undo.keep()


def _make(app: App, plan: WorktreePlan, undo: Undo) -> tuple[Worktree, tuple[str, ...]]:
    snapshot = plan.snapshot
    lacks: list[str] = []
    if plan.code is Code.NOW:
        # Under a name of its own: it is that of no turn.
        key = TurnKey("prong", plan.path.name, "now")
        undo.will_take(plan.repo, ref_of(key))
        snapshot = snapshots.take(plan.repo, key)
        if snapshot is None:
            raise NotFound(f"{plan.repo} is no git repository any more")
        lacks = _lacks(snapshot)
    settings = app.settings.workspace
    ignored = IgnoredFiles(copy=settings.copy, link=settings.link)
    if snapshot is not None:
        done = worktrees.create(snapshot, plan.path, plan.branch, ignored=ignored, undo=undo)
    else:
        commit = plan.commit or "HEAD"
        done = worktrees.create_at(
            plan.repo, commit, plan.path, plan.branch, ignored=ignored, undo=undo
        )
    _make_folder(plan, done)
    return done, (*lacks, *done.warnings)


def _make_folder(plan: WorktreePlan, worktree: Worktree) -> None:
    """The agent's folder may not have been there at that turn, or have been something else."""
    with suppress(FileExistsError, NotADirectoryError):
        plan.folder.mkdir(parents=True, exist_ok=True)
    real = Path(os.path.realpath(plan.folder))
    top = Path(os.path.realpath(worktree.path))
    if not real.is_dir() or top not in (real, *real.parents):
        inside = plan.folder.relative_to(plan.path)
        raise UsageError(
            f"{inside}, where the session ran, is no folder in that code",
            hint="--code now, or --no-worktree",
        )


def is_used(app: App, path: Path) -> bool:
    """Whether there is a session that ran, or is to run, in a worktree."""
    top = os.path.realpath(path)
    return any(
        f"{os.path.realpath(folder)}/".startswith(f"{top}/")
        for session in app.sessions()
        for folder in (session.cwd, *session.cwds)
        if folder
    )
