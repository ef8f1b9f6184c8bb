"""The steps of creating a worktree. Each is written to the journal before it is done."""

import os
from dataclasses import replace
from datetime import UTC, datetime
from itertools import chain, count
from pathlib import Path

from prong.code.changed_files import LINKED
from prong.code.git import Git
from prong.code.ignored import ignored_among
from prong.code.repository import Repository, refuse_pipes
from prong.code.snapshots import refs
from prong.code.worktrees import record
from prong.code.worktrees.journal import Undo, alone, entries_of, inside, under_way
from prong.code.worktrees.record import Worktree, place_of
from prong.code.worktrees.restore import restore, settle, write_files
from prong.errors import NotFound, ProngError, Taken, UsageError
from prong.files.journal import step
from prong.model.code import Snapshot

_NEW = ("worktree", "add", "--quiet", "--no-checkout")
_OF_WORKTREES = ("gitdir", "commondir", "HEAD")


def give_back(undo: Undo, snapshot: Snapshot, path: Path, branch: str) -> Worktree:
    """Create a worktree from a snapshot: files, index, head and nested repositories."""
    # A worktree needs a commit; before the first one, that of the snapshot will do.
    empty = _add(undo, snapshot.repo, path, branch, snapshot.head, snapshot.commit)
    worktree = restore(snapshot, empty)
    return _give_back_nested(undo, worktree, {one.path: one.commit for one in snapshot.nested})


def check_out(undo: Undo, repo: Path, path: Path, branch: str, commit: str) -> Worktree:
    """Create a worktree from a commit with the user's filters, like `git worktree add`."""
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
    return _give_back_nested(undo, worktree, {})


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
        if branch.startswith("-"):
            raise _wrong_name(branch)
        if head is None:
            name = f"refs/heads/{branch}"
            if not git.ask("check-ref-format", name).ok:
                raise _wrong_name(branch)
            if git.ask("show-ref", "--verify", "--quiet", name).ok:
                raise _taken(branch)
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
                _explain(result.complaint, branch)
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


def _explain(complaint: str, branch: str) -> None:
    if "already exists" in complaint:
        raise _taken(branch)
    if "cannot create" in complaint:
        # Git stores branches as files and folders: `a/b` cannot exist beside `a`.
        raise Taken(
            f"another branch is in the way of {branch}", hint="--branch NAME", branch=branch
        )
    if "invalid ref format" in complaint:
        raise _wrong_name(branch)


def _taken(branch: str) -> Taken:
    return Taken(f"the branch {branch} exists already", branch=branch)


def _wrong_name(branch: str) -> UsageError:
    return UsageError(f"{branch!r} cannot be the name of a branch", branch=branch)


def _give_back_nested(undo: Undo, worktree: Worktree, captured: dict[str, str]) -> Worktree:
    """Create worktrees of nested repositories.

    Those with changes have snapshots; a submodule without any is checked out at its commit.
    """
    names: list[str] = []
    warnings: list[str] = []
    for name, commit in {**_submodules(worktree.path), **captured}.items():
        source, target = worktree.repo / name, worktree.path / name
        if name not in captured and not (source / ".git").exists():
            continue  # also empty in the source
        try:
            branch = _free_branch(source, worktree.branch)
            if name not in captured:
                inner = check_out(undo, source, target, branch, commit)
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


def _submodules(path: Path) -> dict[str, str]:
    """Map submodule paths to commits; empty without `.gitmodules`."""
    if not (path / ".gitmodules").is_file():
        return {}
    submodules: dict[str, str] = {}
    for line in Git(path).run("ls-files", "-z", "-s").split(b"\0"):
        if line.startswith(LINKED):
            entry, _, name = line.partition(b"\t")
            submodules[os.fsdecode(name)] = entry.split(b" ")[1].decode()
    return submodules


def _free_branch(repo: Path, branch: str) -> str:
    """Return a branch name that is free: two nested repositories may share their branches."""
    names = Git(repo).run("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads")
    taken = set(os.fsdecode(names).splitlines())
    numbered = (f"{branch}-{number}" for number in count(2))
    return next(name for name in chain([branch], numbered) if name not in taken)
