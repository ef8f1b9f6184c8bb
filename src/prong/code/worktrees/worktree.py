"""A snapshot given back in a new worktree, exactly, and worktrees removed again.

Nothing of the user's repository changes but what a new worktree and its branch add to it. When a
step fails all of that is taken back, and by `sweep` when the process was killed.
"""

import os
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from prong import paths
from prong.code.git import Git
from prong.code.ignored import IgnoredFiles, bring
from prong.code.worktrees import record, refs, state
from prong.code.worktrees.journal import (
    PRIVATE,
    Undo,
    delete,
    entries_of,
    forget_removed,
    inside,
    under_way,
)
from prong.code.worktrees.make import check_out, give_back
from prong.code.worktrees.record import Worktree
from prong.errors import Busy, Dirty, External, NotFound, UsageError
from prong.files.journal import step
from prong.model.code import Snapshot

_DEPTH = 3
"""How deep in the managed root worktrees are looked for."""
_LONGEST = 200
"""Bytes. The name of a folder may have 255, and something comes behind it."""


def create(
    snapshot: Snapshot,
    path: Path,
    branch: str,
    *,
    root: Path | None = None,
    ignored: IgnoredFiles | None = None,
    undo: Undo | None = None,
) -> Worktree:
    """A new worktree with the code of the snapshot: files, index and head as they were.

    `path` is in the managed root and does not exist yet, nor does the branch. Where nothing was
    committed yet, nothing is on the branch either. With an `undo` of the caller it is part of
    something larger: it is taken back unless the caller says to keep it.
    """
    with _undoing(undo, root) as own:
        return _finish(own, give_back(own, snapshot, path, branch), ignored)


def create_at(
    repo: Path,
    commitish: str,
    path: Path,
    branch: str,
    *,
    root: Path | None = None,
    ignored: IgnoredFiles | None = None,
    undo: Undo | None = None,
) -> Worktree:
    """A new worktree of a commit, with the user's filters, as `git worktree add` makes it."""
    commit = commit_of(repo, commitish)
    with _undoing(undo, root) as own:
        return _finish(own, check_out(own, repo, path, branch, commit), ignored)


@contextmanager
def _undoing(given: Undo | None, root: Path | None) -> Generator[Undo]:
    if given is not None:
        yield given
        return
    with Undo(root or paths.worktrees_dir()) as undo:
        yield undo
        undo.keep()


def belongs_to(worktree: Worktree, session: str) -> None:
    """Remember which session a worktree was made for."""
    record.write(replace(worktree, session=session))


def nearest_commit(repo: Path, branch: str | None, when: datetime) -> str | None:
    """The commit that the branch was at; None when there was none yet.

    As the branch's log has it, and where that does not go back so far, the last commit before.
    """
    git = Git(repo)
    name = f"refs/heads/{branch}"
    if branch is None or not git.ask("show-ref", "--verify", "--quiet", name).ok:
        name = "HEAD"
    time = int(when.timestamp())
    log = git.ask("reflog", "show", "--date=unix", "--format=%H %gd", name, "--").output
    for line in log.decode(errors="replace").splitlines():
        commit, _, at = line.partition(" ")
        if int(at[at.rindex("{") + 1 : -1]) <= time:
            return commit
    found = git.ask("rev-list", "-1", "--first-parent", f"--min-age={time}", name, "--").output
    return found.decode().strip() or None


def place(root: Path, repo: Path, name: str) -> Path:
    """Where in the managed root a worktree of this repository goes.

    One that is made from another worktree goes beside that: whose own name may say nothing.
    """
    import hashlib

    if (repo / ".git").is_file():
        common = record.common_of(repo)
        repo = common.parent if common is not None and common.name == ".git" else repo
    digest = hashlib.sha256(os.fsencode(os.path.realpath(repo))).hexdigest()[:6]
    title = os.fsencode(repo.name or "root")[:_LONGEST].decode(errors="ignore")
    return root / f"{title}-{digest}" / name


def listed(root: Path) -> list[Worktree]:
    """The worktrees in the managed root, oldest first."""
    found: list[Worktree] = []
    for path in _worktree_paths(root, _DEPTH):
        with suppress(NotFound):
            found.append(record.read(path))
    return sorted(found, key=lambda worktree: worktree.created)


def missing(root: Path, folders: Iterable[Path]) -> list[Worktree]:
    """Worktrees of the managed root that repositories know of, but whose folders are gone.

    `folders` are where to look for the repositories.
    """
    if not (root / PRIVATE).is_dir():
        return []  # a disk that is not mounted, perhaps: nothing is known of it
    here = {entry for path in _worktree_paths(root, _DEPTH) if (entry := _entry(path))}
    found: list[Worktree] = []
    commons = {common for folder in folders if (common := record.common_of(folder))}
    for entry in [entry for common in sorted(commons) for entry in entries_of(common)]:
        path = record.place_of(entry)
        # One that somebody moved by hand is there all the same.
        if path is None or os.path.lexists(path) or os.path.realpath(entry) in here:
            continue
        with suppress(NotFound, UsageError):
            found.append(record.read_entry(entry, inside(root, path)))
    return sorted(found, key=lambda worktree: worktree.created)


def strays(root: Path) -> list[Path]:
    """Worktrees in the managed root whose repository is gone, or was moved without them."""
    return [
        path
        for path in _worktree_paths(root, _DEPTH)
        if (entry := _entry(path)) is not None and not Path(entry).is_dir()
    ]


def remove(worktree: Worktree, *, root: Path | None = None, force: bool = False) -> str | None:
    """Delete a worktree and its entry in the repository; the branch too if nothing is on it.

    Returns the name of the branch when it stays. Raises `Dirty` when work would be lost.
    """
    top = root or paths.worktrees_dir()
    path = inside(top, worktree.path)
    if path.is_symlink():
        raise UsageError(f"{path} is a link", path=str(path))
    if path in under_way(top):
        raise Busy(f"{path} is being created or removed", hint="prong doctor --fix", path=str(path))
    # What is on the disk counts, not what somebody remembers.
    found = record.read(path)
    if not force and state.is_locked(found):
        raise Dirty(f"{path} is locked", hint=f"git worktree unlock {path}", path=str(path))
    if not force and state.work_in(found).would_be_lost:
        raise Dirty(
            f"{path} has changes that exist nowhere else",
            hint="commit them, or use --force",
            path=str(path),
        )
    with Undo(top) as undo:
        inner = [each for name in found.nested if (each := _nested(path / name)) is not None]
        return _removed(undo, path, [*inner, found], force=force)


def forget_missing(worktree: Worktree, *, root: Path | None = None) -> str | None:
    """Let the repository forget a worktree whose folder is gone; the same about its branch."""
    top = root or paths.worktrees_dir()
    path = inside(top, worktree.path)
    if os.path.lexists(path):
        raise UsageError(f"{path} is not gone", path=str(path))
    with Undo(top) as undo:
        inner = [
            nested
            for name in worktree.nested
            for nested in missing(top, [worktree.repo / name])
            if nested.path == path / name
        ]
        return _removed(undo, path, [*inner, worktree], force=False)


def _removed(undo: Undo, path: Path, worktrees: list[Worktree], *, force: bool) -> str | None:
    """The outermost is the last one."""
    for one in worktrees:
        _check_repository(one.common)
    entry = {
        "removing": str(path),
        "parts": [(str(one.common), str(one.path), one.branch, one.base) for one in worktrees],
        "snapshot": _own_snapshot(worktrees[-1], force=force),
    }
    undo.will(**entry)
    delete(undo.root, path, undo.token)
    return forget_removed(undo.root, undo.token, entry)


def _check_repository(common: Path) -> None:
    """Git must open it, before anything is deleted: it has to forget the worktree then."""
    if not common.is_dir():
        return
    answer = Git(common).ask("rev-parse", "--absolute-git-dir")
    # A broken one is passed over, and one that is further up is found.
    if not answer.ok or os.path.realpath(_text(answer.output)) != os.path.realpath(common):
        raise External(
            f"git cannot open the repository {common}",
            hint=f"git -C {common} rev-parse",
            stderr=answer.complaint,
        )


def _own_snapshot(worktree: Worktree, *, force: bool) -> str | None:
    """The one that was taken for this worktree alone, and goes with it.

    Unless it is all that is left of what was not committed in the source when it was taken.
    """
    ref = worktree.snapshot
    if ref is None or not refs.is_for_a_worktree(ref) or not worktree.common.is_dir():
        return None
    return ref if force or refs.is_kept_elsewhere(worktree.common, ref) else None


def _finish(undo: Undo, worktree: Worktree, ignored: IgnoredFiles | None) -> Worktree:
    if worktree.repo.is_dir():
        step("copy", worktree.path)
        warnings = bring(worktree.repo, worktree.path, ignored or IgnoredFiles())
        worktree = replace(worktree, warnings=worktree.warnings + warnings)
    step("write", worktree.path)
    record.write(worktree)
    undo.whole(worktree.path)
    return worktree


def _worktree_paths(folder: Path, depth: int) -> Iterator[Path]:
    """Folders with a `.git` in them; nothing is looked for inside of those, nor behind links."""
    try:
        with os.scandir(folder) as found:
            inner = [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return
    for path in sorted(inner):
        if (path / ".git").exists():
            yield path
        elif depth > 1 and path.name != PRIVATE:
            yield from _worktree_paths(path, depth - 1)


def _entry(path: Path) -> str | None:
    try:
        return os.path.realpath(record.entry_of(path))
    except NotFound:
        return None  # a repository of its own


def _nested(path: Path) -> Worktree | None:
    """None when somebody removed it, or put something else in its place."""
    try:
        return record.read(path)
    except NotFound:
        return None


def commit_of(repo: Path, commitish: str) -> str:
    """The commit that a name means. Raises `NotFound` when it means none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{commitish}^{{commit}}")
    answer = Git(repo).ask(*words)
    if not answer.ok:
        raise NotFound(f"{repo} has no commit {commitish}", repo=str(repo), commit=commitish)
    return _text(answer.output)


def _text(line: bytes) -> str:
    return os.fsdecode(line.removesuffix(b"\n"))
