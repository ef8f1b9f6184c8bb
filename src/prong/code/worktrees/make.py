"""Create worktrees from snapshots or commits. Each step is in the journal before it is done.

Only the new worktree and its branch are added to the user's repository.
"""

import os
import secrets
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from prong.code.branch_names import refuse_unfit
from prong.code.changed_files import submodules
from prong.code.git import Git
from prong.code.ignored import IgnoredFiles, bring, ignored_among
from prong.code.repository import Repository, refuse_pipes
from prong.code.snapshots import refs
from prong.code.snapshots import snapshot as snapshots
from prong.code.worktrees import record
from prong.code.worktrees.journal import Undo, alone, entries_of, inside, under_way
from prong.code.worktrees.record import Worktree, place_of
from prong.code.worktrees.refs import snapshot_for
from prong.code.worktrees.restore import restore, settle, write_files
from prong.errors import NotFound, ProngError, Taken, UsageError
from prong.files.journal import step
from prong.model.code import Snapshot

_NEW = ("worktree", "add", "--quiet", "--no-checkout")
_OF_WORKTREES = ("gitdir", "commondir", "HEAD")


def create(
    undo: Undo, snapshot: Snapshot, path: Path, branch: str, ignored: IgnoredFiles | None = None
) -> Worktree:
    """Create a worktree at a new path and branch, with files, index and head of a snapshot."""
    return _finish(undo, give_back(undo, snapshot, path, branch), ignored)


def create_at(
    undo: Undo,
    repo: Path,
    commitish: str,
    path: Path,
    branch: str,
    ignored: IgnoredFiles | None = None,
) -> Worktree:
    """Create a worktree of a commit, with the user's filters, like `git worktree add`."""
    commit = commit_of(repo, commitish)
    return _finish(undo, _check_out(undo, repo, path, branch, commit), ignored)


def _finish(undo: Undo, worktree: Worktree, ignored: IgnoredFiles | None) -> Worktree:
    if worktree.repo.is_dir():
        step("copy", worktree.path)
        warnings = bring(worktree.repo, worktree.path, ignored or IgnoredFiles())
        worktree = replace(worktree, warnings=worktree.warnings + warnings)
    step("write", worktree.path)
    record.write(worktree)
    undo.whole(worktree.path)
    return worktree


def take_for(undo: Undo, repo: Path, path: Path, limit: int) -> Snapshot:
    """Take a snapshot of the current code, for a worktree at `path` alone."""
    # A snapshot may outlive its worktree, whose name can then be reused.
    key = snapshot_for(f"{path.name}-{secrets.token_hex(4)}")
    undo.will(ref=refs.ref_of(key), repo=str(repo))
    snapshot = snapshots.take(repo, key, limit=limit)
    if snapshot is None:
        raise NotFound(f"{repo} is no longer a git repository")
    return snapshot


def commit_of(repo: Path, commitish: str) -> str:
    """Resolve a name to a commit, or raise `NotFound`."""
    command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commitish}^{{commit}}")
    answer = Git(repo).ask(*command)
    if not answer.ok:
        raise NotFound(f"{repo} has no commit {commitish}", repo=str(repo), commit=commitish)
    return os.fsdecode(answer.output.removesuffix(b"\n"))


def give_back(undo: Undo, snapshot: Snapshot, path: Path, branch: str) -> Worktree:
    """Create a worktree from a snapshot, with nested repositories, but not its record."""
    # A worktree needs a commit; before the first one, that of the snapshot will do.
    empty = _add(undo, snapshot.repo, path, branch, snapshot.head, snapshot.commit)
    worktree = restore(snapshot, empty)
    return _with_nested(undo, worktree, {one.path: one.commit for one in snapshot.nested})


def _check_out(undo: Undo, repo: Path, path: Path, branch: str, commit: str) -> Worktree:
    worktree = _add(undo, repo, path, branch, commit, commit)
    step("files", worktree.path)
    answer = Git(worktree.path, filters=True).ask("read-tree", "-u", "--reset", commit)
    if not answer.ok:
        # Usually a filter that is not installed.
        write_files(worktree, commit, commit)
        settle(worktree.path)
        reason = "".join(answer.complaint.strip().splitlines()[-1:])
        warning = f"files are as git stores them, without their filter: {reason}"
        worktree = replace(worktree, warnings=(warning,))
    return _with_nested(undo, worktree, {})


def _add(
    undo: Undo, repo: Path, path: Path, branch: str, head: str | None, commit: str
) -> Worktree:
    """Create a worktree without files, on a new branch."""
    repository = Repository.find(repo)
    if repository is None:
        raise NotFound(f"{repo} is not a git repository", path=str(repo))
    undo.make_folders(path.parent)
    path = inside(undo.root, path)
    common, git = repository.common_dir, Git(repository.top)
    with alone(common):
        # Journaled steps are undone on failure, so nothing may belong to somebody else.
        refuse_taken(undo.root, path, common)
        if head is None or branch.startswith("-"):
            refuse_unfit(repository.top, [branch])
        refuse_among_files(path, common)
        # `git worktree add` reads these of every worktree.
        others = [entry / name for entry in entries_of(common) for name in _OF_WORKTREES]
        refuse_pipes(others)
        mark = f"prong: worktree {undo.token}"
        undo.will(
            worktree=str(path),
            common=str(common),
            known=[entry.name for entry in entries_of(common)],
            branch=branch,
            head=head,
            mark=mark,
        )
        if head is None:
            step("worktree", path)
            git.run(*_NEW, "--detach", str(path), commit)
            step("branch", path)
            Git(path).run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        else:
            step("branch", common)
            command = ("update-ref", "-z", "--stdin", "--create-reflog", "-m", mark)
            result = git.ask(*command, stdin=os.fsencode(f"create refs/heads/{branch}\0{head}\0"))
            if not result.ok:
                refuse_unfit(repository.top, [branch])  # says why, if it is the name
                result.expect()
            step("worktree", path)
            git.run(*_NEW, str(path), branch)
    return Worktree(path, repository.top, common, branch, head, datetime.now(UTC))


def refuse_taken(root: Path, path: Path, common: Path | None = None) -> None:
    """Raise `Taken` for a path that exists, or that another process creates or removes."""
    places = [place_of(entry) for entry in entries_of(common)] if common else []
    is_empty = path.is_dir() and not path.is_symlink() and not any(path.iterdir())
    is_used = os.path.lexists(path) and not is_empty
    if is_used or path in places or path in under_way(root):
        raise Taken(f"{path} exists already", path=str(path))


def refuse_among_files(path: Path, common: Path) -> None:
    """Raise `UsageError` for a path in a working tree of the repository, unless ignored there."""
    real = Path(os.path.realpath(path))
    common = Path(os.path.realpath(common))
    top = next((above for above in real.parents if os.path.lexists(above / ".git")), None)
    if top is None or record.common_of(top) != common:
        if common not in real.parents:
            return
    elif ignored_among(top, [str(real.relative_to(top))]):
        return
    raise UsageError(
        f"{path} is among the files of {top or common}",
        hint="in config.toml, [workspace] root: a folder outside, or one that git ignores; "
        "or --no-worktree",
        path=str(path),
    )


def _with_nested(undo: Undo, worktree: Worktree, captured: dict[str, str]) -> Worktree:
    """Create worktrees of nested repositories: from their snapshots, else at the commit linked."""
    names: list[str] = []
    warnings: list[str] = []
    linked: dict[str, str] = {}
    if (worktree.path / ".gitmodules").is_file():
        inside = submodules(Git(worktree.path))
        linked = {os.fsdecode(name): commit for name, commit in inside.items()}
    for name, commit in {**linked, **captured}.items():
        source, target = worktree.repo / name, worktree.path / name
        if name not in captured and not (source / ".git").exists():
            continue  # also empty in the source
        try:
            branch = _free_branch(source, worktree.branch)
            if name not in captured:
                inner = _check_out(undo, source, target, branch, commit)
            elif snapshot := refs.at(source, commit, commit)[1]:
                inner = give_back(undo, snapshot, target, branch)
            else:
                raise NotFound(f"{commit} is not a snapshot")
        except ProngError as error:
            warnings.append(f"{name}, a repository of its own, is missing here: {error}")
            continue
        record.write(inner)
        names += [name, *(f"{name}/{deeper}" for deeper in inner.nested)]
        warnings += inner.warnings
    return replace(worktree, nested=tuple(names), warnings=(*worktree.warnings, *warnings))


def _free_branch(repo: Path, branch: str) -> str:
    """Return a branch name that is free: two nested repositories may share their branches."""
    names = Git(repo).run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
    taken = set(os.fsdecode(names).splitlines())
    numbered = (f"{branch}-{number}" for number in count(2))
    return next(name for name in chain([branch], numbered) if name not in taken)
