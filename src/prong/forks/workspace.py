"""The workspace of a fork: which code it starts from, and the worktree that has it."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from prong.code import gaps as code_gaps
from prong.code import locate, turn_code
from prong.code.branch_names import refuse_unfit
from prong.code.git import Git
from prong.code.ignored import IgnoredFiles
from prong.code.repository import Repository
from prong.code.since import since
from prong.code.snapshots import snapshot as snapshots
from prong.code.snapshots.message import ref_of
from prong.code.turn_code import TurnCode
from prong.code.worktrees import worktree as worktrees
from prong.code.worktrees.changes import changed_files
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.make import refuse_among_files
from prong.code.worktrees.record import Worktree, common_of
from prong.code.worktrees.refs import snapshot_for
from prong.code.worktrees.status import is_used
from prong.errors import External, NotFound, ProngError, UsageError
from prong.forks.workspace_names import WorkspaceNames, name_of, without_fork
from prong.model.amounts import counted
from prong.model.forks import Code, CodeSince, WorktreePlan
from prong.model.record import Record, replace
from prong.model.sessions import Conversation, SessionRef, Turn
from prong.sessions.resolve import find_turn

if TYPE_CHECKING:
    from prong.app import App
    from prong.forks.plan import ForkOptions

_NAMED = 5
"""So many changed files, or places, are named."""
_NO_CODE = "--code none"
_IN_PLACE = f"{_NO_CODE} runs the fork in the folder of the session as it is"


def plan(
    app: App, conversation: Conversation, turn: Turn | None, options: ForkOptions
) -> WorktreePlan | None:
    """The worktree for a fork; None when it is to run in a folder that is there.

    When nothing is said about the code: the turn's, as it was captured; at the last turn the code
    as it is now; else the commit that is nearest. Without a repository there is no code to give;
    when there is one and git does not open it, it is `Unopened`.
    """
    if not _needs_worktree(options):
        return None
    session = conversation.session
    at = turn if options.code_at is None else find_turn(conversation, options.code_at)
    # Who asks for something about the code wants to know when there is none.
    is_asked = options.code is not None or _is_told(options)
    try:
        repository, found = _looked_up(app, conversation, at)
    except ProngError as error:
        if is_asked:
            raise
        if _has_code(app, conversation):
            raise Unopened(error.message) from error
        return None
    code = options.code or _fitting(conversation, at, found)
    tops = _former_tops(app, conversation) if found and found.snapshot else []
    drafting = _Drafting(app, conversation, turn, repository, options, tops)
    gaps = app.capture.gaps(conversation, at) if app.remembers else ()
    if code is Code.TURN:
        planned = drafting.of_turn(found) if found or is_asked else None
        if planned is not None and planned.snapshot is not None:
            lfs_gaps = code_gaps.of_lfs([planned.snapshot])
            gaps = (*gaps, *lfs_gaps.get(planned.snapshot.commit, ()))
        return planned and replace(planned, gaps=gaps)
    if repository is None:
        raise NotFound(
            f"the folder of {session.ref} no longer exists: {session.cwd}", hint="--code turn"
        )
    planned = drafting.plan(
        code, TurnCode(repository, commit="HEAD" if code is Code.HEAD else None)
    )
    when = at and (at.ended or at.started)
    if options.code is None and when is not None:
        planned = replace(planned, since=since(repository, session.branch, when), gaps=gaps)
    return planned


def _needs_worktree(options: ForkOptions) -> bool:
    """Raise `UsageError` for words that do not go together."""
    if options.into is not None:
        if options.code not in (None, Code.NONE) or _is_told(options):
            raise UsageError("--into runs it in a folder as it is", hint="leave --into out")
        return False
    if options.code is Code.NONE:
        if _is_told(options):
            raise UsageError(
                "--code-at and --branch need a worktree", hint="leave out what says no worktree"
            )
        return False
    if options.code_at is not None and options.code not in (None, Code.TURN):
        raise UsageError(
            f"--code {options.code.value} is the code of no turn", hint="leave --code-at out"
        )
    return True


def _is_told(options: ForkOptions) -> bool:
    """Whether a person said what only a worktree can have."""
    return options.code_at is not None or options.branch is not None


def _looked_up(
    app: App, conversation: Conversation, turn: Turn | None
) -> tuple[Path | None, TurnCode | None]:
    """The repository that the session is in now, and the code of a turn; one of them is there."""
    session = conversation.session
    repository = turn_code.repository_of(session)
    found = turn_code.find(app, conversation, turn)
    if repository is None and (found is None or Repository.find(found.repo) is None):
        folder = Path(session.cwd or "")
        if session.cwd and locate.is_lost(folder):
            raise NotFound(
                f"the repository of {folder} no longer exists, and its code was not found; "
                f"{searched(app, conversation)}",
                hint=f"if it was moved: cd into it and try again; {_NO_CODE} --into DIR",
            )
        if not _has_code(app, conversation):
            raise NotFound(f"no code captured: {session.cwd} is not in a git repository")
        raise NotFound(f"git does not open the repository of {session.cwd}")
    return repository, found


def searched(app: App, conversation: Conversation) -> str:
    """Where the code of a session that is lost was looked for."""
    looked = app.capture.searched(conversation)
    places = [str(one.parent if one.name == ".git" else one) for one in looked]
    if not places:
        return "no repository is known to look for it in"
    more = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    return f"looked in {', '.join(places[:_NAMED])}{more}"


def _former_tops(app: App, conversation: Conversation) -> list[Path]:
    """The working trees that its folders were in when the code was kept."""
    folder = Path(conversation.session.cwd or "/")
    here = [one for one in (folder, *folder.parents) if os.path.lexists(one / ".git")]
    return [*app.capture.tops(conversation), *here[:1]]


class Unopened(Exception):
    """There is code, and git does not give it."""


def _has_code(app: App, conversation: Conversation) -> bool:
    """Whether there is, or was, a repository, as far as that can be told without git."""
    folder = Path(os.path.realpath(conversation.session.cwd or ""))
    if any(os.path.lexists(place / ".git") for place in (folder, *folder.parents)):
        return True
    with suppress(ProngError):
        return bool(app.snapshots(conversation))
    return False


def again(app: App, first: WorktreePlan, number: int) -> WorktreePlan:
    """The same code for one more fork: in a worktree and on a branch of its own."""
    chosen = _numbered(first.branch, number) if first.is_chosen else None
    return _moved(first, *WorkspaceNames(app, first.repo).free(first.name, chosen, number))


def settled(app: App, plan: WorktreePlan) -> WorktreePlan:
    """The plan itself, unless its names were taken since it was made; a chosen branch stays."""
    names = WorkspaceNames(app, plan.repo)
    if names.is_free(plan.path, None if plan.is_chosen else plan.branch):
        return plan
    return _moved(plan, *names.free(plan.name, plan.branch if plan.is_chosen else None))


def _moved(plan: WorktreePlan, path: Path, branch: str) -> WorktreePlan:
    folder = path / plan.folder.relative_to(plan.path)
    return replace(plan, path=path, branch=branch, folder=folder)


def _numbered(branch: str, number: int) -> str:
    """The branch of one of several forks, where a person has named the first one's."""
    return branch if number == 1 else f"{branch}-{number}"


def _fitting(conversation: Conversation, turn: Turn | None, found: TurnCode | None) -> Code:
    is_last = bool(conversation.turns) and turn == conversation.turns[-1]
    is_known = found is not None and found.is_exact
    return Code.NOW if is_last and not is_known else Code.TURN


class _Drafting(Record, frozen=True):
    """What all plans of a fork have in common."""

    app: App
    conversation: Conversation
    turn: Turn | None
    repository: Path | None
    """That the session is in now."""
    options: ForkOptions
    tops: Sequence[Path] = ()
    """Where the code was kept; a repository may have been moved since."""

    def of_turn(self, found: TurnCode | None) -> WorktreePlan:
        if found is None:
            cwd = self.conversation.session.cwd
            raise NotFound(
                f"no code captured at that turn, and {cwd} has no commit of that time",
                hint="--code now, or --code none",
            )
        return self.plan(Code.TURN, found)

    def plan(self, code: Code, of: TurnCode) -> WorktreePlan:
        branch = self.options.branch
        title = without_fork(self.conversation.session.title)
        name = name_of(branch, self.options.name, self.options.title, title)
        path, own_branch = WorkspaceNames(self.app, of.repo).free(name, branch)
        common = common_of(of.repo)
        if common is not None:
            refuse_among_files(path, common)
        if branch is not None:
            numbers = range(1, self.options.count + 1)
            refuse_unfit(of.repo, (_numbered(branch, number) for number in numbers))
        return WorktreePlan(
            code=code,
            repo=of.repo,
            path=path,
            branch=own_branch,
            folder=path / self._depth(of.repo),
            snapshot=of.snapshot,
            commit=of.commit,
            is_exact=of.is_exact or code is not Code.TURN,
            late=of.late,
            name=name,
            is_chosen=branch is not None,
        )

    def _depth(self, repo: Path) -> str:
        """Where below the top of its repository the agent was at that turn."""
        session = self.conversation.session
        if self.turn is not None:
            told = [self.turn.cwd, session.cwd]
        else:
            told = sorted(session.cwds, key=len)  # it began where it has all the others below it
        # A fork has turns of its source, which was in another working tree.
        tops = [repo, self.repository or repo, *self.tops]
        depths = (_below(top, cwd) for cwd in told if cwd for top in tops)
        return next((depth for depth in depths if depth is not None), "")


def _below(top: Path, folder: str) -> str | None:
    """The way from the top of a working tree to a folder; None for one outside."""
    inside = Path(os.path.relpath(os.path.realpath(folder), os.path.realpath(top)))
    return None if inside.parts[:1] == ("..",) else str(inside)


def warnings(worktree: WorktreePlan | None, other_way: str = "--code now") -> list[str]:
    """What a person should know of the code before the fork is made.

    `other_way` takes along what is not committed.
    """
    if worktree is None:
        return []
    found: list[str] = []
    if not worktree.is_exact:
        found.append(f"code: nearest commit, not exact ({(worktree.commit or '')[:12]})")
    if worktree.since is not None:
        found.append(f"{changed_since(worktree.since)}; the fork gets the current code")
    if worktree.late is not None:
        found.append(f"the code was captured {_long(worktree.late)} after the turn had ended")
    found += code_gaps.warnings(worktree.gaps, "the snapshot")
    if worktree.code is Code.HEAD:
        changed = changed_files(Git(worktree.repo))
        if changed:
            names = ", ".join(changed[:_NAMED]) + (" ..." if len(changed) > _NAMED else "")
            found.append(f"uncommitted, so not included: {names}; commit first, or {other_way}")
    return found


def changed_since(since: CodeSince) -> str:
    """`no code was kept at the turn, 3 days ago: 4 commits and 12 files have changed since`."""
    commits, files = counted(since.commits, "commit"), counted(since.files, "file")
    age = _long(since.age)
    ago = f"{age} ago" if age != "a moment" else "just now"
    return f"no code was captured at the turn, {ago}: {commits} and {files} have changed since"


def _long(time: timedelta) -> str:
    for seconds, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        count = int(time.total_seconds() // seconds)
        if count:
            return f"{count} {unit}" if count == 1 else f"{count} {unit}s"
    return "a moment"


@contextmanager
def made(app: App, plan: WorktreePlan) -> Generator[Making]:
    """The worktree as planned, for a fork that is made inside the `with` block.

    It goes again when the fork is not made, also when this process is killed: see `sweep`.
    """
    with _undoing(app) as undo:
        with offering_none():
            try:
                making = Making(undo, *_make(app, plan, undo))
            except OSError as error:
                where = f": {error.filename}" if error.filename else ""
                message = f"cannot create the worktree: {error.strerror}{where}"
                raise External(message) from error
        try:
            yield making
        except ProngError:
            raise  # there is no fork
        except BaseException:
            # Somebody was impatient. When the session is there already, it needs its folder.
            if is_used(app, making.worktree.path):
                undo.keep()
            raise


def _undoing(app: App) -> Undo:
    undo = Undo(app.worktrees_root)
    with offering_none():
        undo.open()
    return undo


@contextmanager
def offering_none() -> Generator[None]:
    """Where no worktree can be made, the conversation can be forked all the same."""
    try:
        yield
    except External as error:
        error.hint = f"{error.hint}; or {_IN_PLACE}" if error.hint else _IN_PLACE
        raise


class Making(Record, frozen=True):
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
        # A snapshot may outlive its worktree, whose name is free again then.
        key = snapshot_for(f"{plan.path.name}-{uuid4().hex[:8]}")
        undo.will_take(plan.repo, ref_of(key))
        snapshot = snapshots.take(plan.repo, key, limit=app.settings.snapshots.limit)
        if snapshot is None:
            raise NotFound(f"{plan.repo} is no longer a git repository")
        lacks = code_gaps.warnings(code_gaps.of_snapshot(snapshot), "the snapshot")
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
            f"{inside}, where the session ran, does not exist in that code",
            hint="--code now, or --no-worktree",
        )
