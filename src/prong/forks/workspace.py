"""Workspace of a fork: the code it starts from, and the worktree that holds it."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path

from prong.code import gaps as code_gaps
from prong.code import locate, turn_code
from prong.code.branch_names import refuse_unfit
from prong.code.changed_files import changed_files
from prong.code.git import Git
from prong.code.ignored import IgnoredFiles
from prong.code.repository import Repository
from prong.code.service import CodeService
from prong.code.turn_code import TurnCode, since
from prong.code.worktrees import worktree as worktrees
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.make import create, create_at, refuse_among_files, take_for
from prong.code.worktrees.record import Worktree, common_of
from prong.config import Config
from prong.errors import External, NotFound, ProngError, UsageError
from prong.forks.request import ForkRequest
from prong.forks.workspace_names import WorkspaceNames, name_of, without_fork
from prong.model.amounts import counted
from prong.model.forks import Code, CodeSince, Fork, WorktreePlan
from prong.model.record import Record, replace
from prong.model.sessions import Conversation, Session, SessionRef, Turn
from prong.model.workers import WorkerInfo
from prong.session.resolve import find_turn
from prong.session.service import SessionService

_NAMED = 5
"""Maximum number of files or folders named in a message."""
_NO_CODE = "--code none"
_IN_PLACE = f"{_NO_CODE} runs the fork in the folder of the session as it is"


class Workspaces:
    """Plans and creates the workspaces of forks."""

    def __init__(
        self,
        code: CodeService,
        sessions: SessionService,
        workers: Callable[[], Iterable[WorkerInfo]],
        settings: Config,
        root: Path,
    ) -> None:
        """Create worktrees below `root`; `workers` returns those that are recorded."""
        self._code = code
        self._sessions = sessions
        self._workers = workers
        self._settings = settings
        self._root = root

    def names(self, repo: Path) -> WorkspaceNames:
        """Return the names of worktrees and branches of a repository, taken or free."""
        return WorkspaceNames(self._root, repo, self._used())

    def _used(self) -> Iterator[str]:
        for session in self._sessions.all():
            yield from session.cwds
            yield session.cwd or ""
        for worker in self._workers():
            yield str(worker.workspace)

    def worktree_of(self, fork: Fork) -> Path | None:
        """Return the worktree that was created for a fork."""
        if fork.branch is None or fork.workspace is None:
            return None
        paths = [item.path for item in worktrees.listed(self._root)]
        return next((path for path in paths if fork.workspace.is_relative_to(path)), None)

    def plan(
        self, conversation: Conversation, turn: Turn | None, request: ForkRequest
    ) -> WorktreePlan | None:
        """Plan the worktree for a fork; None if it runs in an existing folder.

        By default the code is the turn's snapshot; at the last turn, the current code if there is
        no snapshot; else the nearest commit. Without a repository there is no worktree; raises
        `Unopened` if git cannot open an existing one.
        """
        if not _needs_worktree(request):
            return None
        session = conversation.session
        code_turn = turn if request.code_at is None else find_turn(conversation, request.code_at)
        # An explicit request makes missing code an error.
        is_explicit = request.code is not None or _is_told(request)
        try:
            repository, origin = self._looked_up(conversation, code_turn)
        except ProngError as error:
            if is_explicit:
                raise
            if self._has_code(conversation):
                raise Unopened(error.message) from error
            return None
        code = request.code or _fitting(conversation, code_turn, origin)
        gaps = self._code.gaps(conversation, code_turn)
        # The repository may have moved since the snapshot.
        tops = self._former_tops(conversation) if origin and origin.snapshot else []
        tops = [repository, *tops] if repository else tops
        if code is Code.TURN:
            if origin is None and not is_explicit:
                return None
            if origin is None:
                raise NotFound(
                    f"no code captured at that turn, and {session.cwd} has no commit of that time",
                    hint="--code now, or --code none",
                )
            if origin.snapshot is not None:
                lfs_gaps = code_gaps.of_lfs([origin.snapshot])
                gaps = (*gaps, *lfs_gaps.get(origin.snapshot.commit, ()))
            return replace(self._draft(conversation, turn, request, code, origin, tops), gaps=gaps)
        if repository is None:
            raise NotFound(
                f"the folder of {session.ref} no longer exists: {session.cwd}", hint="--code turn"
            )
        current = TurnCode(repository, commit="HEAD" if code is Code.HEAD else None)
        worktree = self._draft(conversation, turn, request, code, current, tops)
        turn_time = code_turn and (code_turn.ended or code_turn.started)
        if request.code is None and turn_time is not None:
            changes = since(repository, session.branch, turn_time)
            worktree = replace(worktree, since=changes, gaps=gaps)
        return worktree

    def _draft(
        self,
        conversation: Conversation,
        turn: Turn | None,
        request: ForkRequest,
        code: Code,
        of: TurnCode,
        tops: Sequence[Path],
    ) -> WorktreePlan:
        """Plan a worktree with this code; `tops` are working trees that the session ran in."""
        branch = request.branch
        title = without_fork(conversation.session.title)
        name = name_of(branch, request.name, request.title, title)
        path, own_branch = self.names(of.repo).free(name, branch)
        common = common_of(of.repo)
        if common is not None:
            refuse_among_files(path, common)
        if branch is not None:
            numbers = range(1, request.count + 1)
            refuse_unfit(of.repo, (_numbered(branch, number) for number in numbers))
        return WorktreePlan(
            code=code,
            repo=of.repo,
            path=path,
            branch=own_branch,
            folder=path / _depth(conversation.session, turn, [of.repo, *tops]),
            snapshot=of.snapshot,
            commit=of.commit,
            is_exact=of.is_exact or code is not Code.TURN,
            late=of.late,
            name=name,
            is_chosen=branch is not None,
        )

    def again(self, first: WorktreePlan, number: int) -> WorktreePlan:
        """Plan a worktree with the same code for another fork."""
        chosen = _numbered(first.branch, number) if first.is_chosen else None
        return _moved(first, *self.names(first.repo).free(first.name, chosen, number))

    def settled(self, plan: WorktreePlan) -> WorktreePlan:
        """Return the plan, with new names if they were taken meanwhile; a chosen branch stays."""
        names = self.names(plan.repo)
        if names.is_free(plan.path, None if plan.is_chosen else plan.branch):
            return plan
        return _moved(plan, *names.free(plan.name, plan.branch if plan.is_chosen else None))

    def searched(self, conversation: Conversation) -> str:
        """Describe where the code of a lost session was searched."""
        folders = self._code.capture.searched(conversation)
        places = [str(folder.parent if folder.name == ".git" else folder) for folder in folders]
        if not places:
            return "no repository is known to look for it in"
        others = f" and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
        return f"looked in {', '.join(places[:_NAMED])}{others}"

    @contextmanager
    def made(self, plan: WorktreePlan) -> Generator[Making]:
        """Create a worktree for the fork in the `with` block, and remove it if the fork fails."""
        with offering_none():
            undo = Undo(self._root)
        with undo:
            with offering_none():
                try:
                    making = Making(undo, *self._make(plan, undo))
                except OSError as error:
                    where = f": {error.filename}" if error.filename else ""
                    message = f"cannot create the worktree: {error.strerror}{where}"
                    raise External(message) from error
            try:
                yield making
            except ProngError:
                raise  # no fork was created
            except BaseException:
                # Interrupted: keep the folder if a session already uses it.
                if self._code.worktrees.is_used(making.worktree.path):
                    undo.keep()
                raise

    def _looked_up(
        self, conversation: Conversation, turn: Turn | None
    ) -> tuple[Path | None, TurnCode | None]:
        """Find the session's current repository and the turn's code; at least one exists."""
        session = conversation.session
        repository = turn_code.repository_of(session)
        origin = self._code.captured(conversation).find(turn)
        if repository is None and (origin is None or Repository.find(origin.repo) is None):
            folder = Path(session.cwd or "")
            if session.cwd and locate.is_lost(folder):
                raise NotFound(
                    f"the repository of {folder} no longer exists, and its code was not found; "
                    f"{self.searched(conversation)}",
                    hint=f"if it was moved: cd into it and try again; {_NO_CODE} --into DIR",
                )
            if not self._has_code(conversation):
                raise NotFound(f"no code captured: {session.cwd} is not in a git repository")
            raise NotFound(f"git does not open the repository of {session.cwd}")
        return repository, origin

    def _former_tops(self, conversation: Conversation) -> list[Path]:
        """List the working trees that contained the session's folders at its snapshots."""
        folder = Path(conversation.session.cwd or "/")
        current = [
            parent for parent in (folder, *folder.parents) if os.path.lexists(parent / ".git")
        ]
        return [*self._code.capture.tops(conversation), *current[:1]]

    def _has_code(self, conversation: Conversation) -> bool:
        """Check without git whether there is, or was, a repository."""
        folder = Path(os.path.realpath(conversation.session.cwd or ""))
        if any(os.path.lexists(parent / ".git") for parent in (folder, *folder.parents)):
            return True
        with suppress(ProngError):
            return bool(self._code.snapshots(conversation))
        return False

    def _make(self, plan: WorktreePlan, undo: Undo) -> tuple[Worktree, tuple[str, ...]]:
        snapshot = plan.snapshot
        gaps: list[str] = []
        if plan.code is Code.NOW:
            snapshot = take_for(undo, plan.repo, plan.path, self._settings.snapshots.limit)
            gaps = code_gaps.warnings(code_gaps.of_snapshot(snapshot), "the snapshot")
        settings = self._settings.workspace
        ignored = IgnoredFiles(copy=settings.copy, link=settings.link)
        if snapshot is not None:
            created = create(undo, snapshot, plan.path, plan.branch, ignored)
        else:
            commit = plan.commit or "HEAD"
            created = create_at(undo, plan.repo, commit, plan.path, plan.branch, ignored)
        _make_folder(plan, created)
        return created, (*gaps, *created.warnings)


def _needs_worktree(request: ForkRequest) -> bool:
    """Decide whether to create a worktree. Raises `UsageError` for conflicting request."""
    if request.into is not None:
        if request.code not in (None, Code.NONE) or _is_told(request):
            raise UsageError("--into runs it in a folder as it is", hint="leave --into out")
        return False
    if request.code is Code.NONE:
        if _is_told(request):
            raise UsageError(
                "--code-at and --branch need a worktree", hint="leave out what says no worktree"
            )
        return False
    if request.code_at is not None and request.code not in (None, Code.TURN):
        raise UsageError(
            f"--code {request.code.value} is the code of no turn", hint="leave --code-at out"
        )
    return True


def _is_told(request: ForkRequest) -> bool:
    """Return True if an option was given that requires a worktree."""
    return request.code_at is not None or request.branch is not None


class Unopened(Exception):
    """Code exists, but git cannot open it."""


def _moved(plan: WorktreePlan, path: Path, branch: str) -> WorktreePlan:
    folder = path / plan.folder.relative_to(plan.path)
    return replace(plan, path=path, branch=branch, folder=folder)


def _numbered(branch: str, number: int) -> str:
    """Number the chosen branch name for one of several forks."""
    return branch if number == 1 else f"{branch}-{number}"


def _fitting(conversation: Conversation, turn: Turn | None, found: TurnCode | None) -> Code:
    is_last = bool(conversation.turns) and turn == conversation.turns[-1]
    is_known = found is not None and found.is_exact
    return Code.NOW if is_last and not is_known else Code.TURN


def _depth(session: Session, turn: Turn | None, tops: Sequence[Path]) -> str:
    """Find the subfolder of the working tree that the agent was in at the turn."""
    # Before the first turn: the shortest one is where the session began.
    folders = [turn.cwd, session.cwd] if turn else sorted(session.cwds, key=len)
    # A fork inherits turns of its source, which ran in another working tree.
    depths = (_below(top, cwd) for cwd in folders if cwd for top in tops)
    return next((depth for depth in depths if depth is not None), "")


def _below(top: Path, folder: str) -> str | None:
    """Return a folder's path relative to a working tree; None if outside."""
    inside = Path(os.path.relpath(os.path.realpath(folder), os.path.realpath(top)))
    return None if inside.parts[:1] == ("..",) else str(inside)


def warnings(worktree: WorktreePlan | None, other_way: str = "--code now") -> list[str]:
    """List warnings about the code; `other_way` is an option that includes uncommitted changes."""
    if worktree is None:
        return []
    messages: list[str] = []
    if not worktree.is_exact:
        messages.append(f"code: nearest commit, not exact ({(worktree.commit or '')[:12]})")
    if worktree.since is not None:
        messages.append(f"{changed_since(worktree.since)}; the fork gets the current code")
    if worktree.late is not None:
        messages.append(f"the code was captured {_long(worktree.late)} after the turn had ended")
    messages += code_gaps.warnings(worktree.gaps, "the snapshot")
    if worktree.code is Code.HEAD:
        changed = changed_files(Git(worktree.repo))
        if changed:
            names = ", ".join(changed[:_NAMED]) + (" ..." if len(changed) > _NAMED else "")
            messages.append(f"uncommitted, so not included: {names}; commit first, or {other_way}")
    return messages


def changed_since(since: CodeSince) -> str:
    """Describe what changed: `... at the turn, 3 days ago: 4 commits and 12 files ...`."""
    commits, files = counted(since.commits, "commit"), counted(since.files, "file")
    age = _long(since.age)
    ago = f"{age} ago" if age != "a moment" else "just now"
    return f"no code was captured at the turn, {ago}: {commits} and {files} have changed since"


def _long(time: timedelta) -> str:
    for seconds, unit in ((86400, "day"), (3600, "hour"), (60, "minute")):
        if count := int(time.total_seconds() // seconds):
            return counted(count, unit)
    return "a moment"


@contextmanager
def offering_none() -> Generator[None]:
    """Add the hint that a fork works without a worktree to errors."""
    try:
        yield
    except External as error:
        error.hint = f"{error.hint}; or {_IN_PLACE}" if error.hint else _IN_PLACE
        raise


class Making(Record, frozen=True):
    """A worktree whose fork is still being created."""

    undo: Undo
    worktree: Worktree
    warnings: tuple[str, ...]

    def belongs_to(self, session: SessionRef) -> None:
        """Keep the worktree, because its fork now exists."""
        worktrees.belongs_to(self.worktree, str(session))
        self.undo.keep()


def _make_folder(plan: WorktreePlan, worktree: Worktree) -> None:
    """Create the agent's folder, which may be missing in that code; refuse anything else there."""
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
