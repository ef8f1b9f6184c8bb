"""The work in a worktree that would be lost with it.

Changes that are also in the newest snapshot of the session are not lost. Repositories below ignored
folders, which git does not see, count too: their work is saved if a remote has it, or the source,
from which some of them were copied.
"""

import hashlib
import os
from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

from prong.code.changed_files import changed_files, hidden_files, inner_git
from prong.code.git import Git
from prong.code.snapshots import refs as snapshot_refs
from prong.code.snapshots.contents import FileContent, read
from prong.code.worktrees import record
from prong.code.worktrees.record import Worktree, entry_of, file_state
from prong.code.worktrees.refs import has_loose_commits, has_snapshot, own_commits
from prong.errors import External, NotFound
from prong.files.size_limit import snapshot_limit
from prong.model.code import Snapshot, TurnKey

UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "sequencer": "a cherry-pick or a revert",
    "BISECT_LOG": "a bisection",
}
"""Files in the entry of a worktree that show which git operation is in progress."""
_SHA1_DIGITS = 40
_STAGED = (
    *("diff-index", "--cached", "-z", "--name-only", "--no-renames"),
    "--ita-invisible-in-index",
)
IGNORED = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")


@dataclass(frozen=True)
class WorktreeWork:
    """What somebody did in a worktree since it was created."""

    files: tuple[str, ...] = ()
    """Files whose state is in no commit and no snapshot, including those in nested worktrees."""
    in_snapshot: tuple[str, ...] = ()
    """Files that were changed and not committed, but are in a snapshot of the session."""
    commits: int = 0
    """Commits that are on no other branch, remote branch or tag."""
    loose: bool = False
    """Whether some commits are on no branch at all and would be lost."""
    under_way: str | None = None
    """The git operation in progress, such as a merge or rebase."""

    @property
    def would_be_lost(self) -> bool:
        return bool(self.files) or self.loose or self.under_way is not None


def work_in(worktree: Worktree) -> WorktreeWork:
    """Collect the work in a worktree and in those nested in it."""
    parts = [("", worktree)]
    replaced: list[str] = []
    for name in worktree.nested:
        try:
            parts.append((f"{name}/", record.read(worktree.path / name)))
        except NotFound:
            if os.path.lexists(worktree.path / name / ".git"):
                replaced.append(name)
    files: list[str] = []
    kept: list[str] = []
    for prefix, part in parts:
        changed, saved = _changed_since(part, worktree.session)
        files += [prefix + name for name in (*changed, *_repositories_with_work(part))]
        kept += [prefix + name for name in saved]
    worktrees = [part for _, part in parts]
    return WorktreeWork(
        (*files, *replaced),
        tuple(kept),
        commits=sum(map(_own_commits, worktrees)),
        loose=any(has_loose_commits(Git(part.path)) for part in worktrees),
        under_way=next(filter(None, map(under_way, worktrees)), None),
    )


def under_way(worktree: Worktree) -> str | None:
    entry = entry_of(worktree.path)
    return next((label for name, label in UNDER_WAY.items() if (entry / name).exists()), None)


def is_locked(worktree: Worktree) -> bool:
    return (entry_of(worktree.path) / "locked").exists()


def _own_commits(worktree: Worktree) -> int:
    """Count the commits of its branch, and of the one checked out instead."""
    git = Git(worktree.path)
    current = git.ask("symbolic-ref", "--quiet", "--short", "HEAD").output
    branches = {worktree.branch, os.fsdecode(current.removesuffix(b"\n"))} - {""}
    return own_commits(git, ["HEAD", f"refs/heads/{worktree.branch}"], branches, worktree.base)


def _changed_since(worktree: Worktree, session: str | None) -> tuple[list[str], list[str]]:
    """Return uncommitted changes: those only here, those in the newest snapshot of the session."""
    with _looking_at_all(worktree.path) as git:
        names = [name for name in changed_files(git) if name not in worktree.nested]
    git, given = Git(worktree.path), worktree.given
    if names and given and given.staged is not None and has_snapshot(git, given.commit):
        # The file may be unchanged while something else is staged.
        staged = _staged_since(git, given.staged)
        names = [
            name
            for name in names
            if name in staged
            or name not in given.files
            or file_state(worktree.path / name) != given.files[name]
        ]
    kept = _in_snapshot(git, session, names)
    return [name for name in names if name not in kept], [name for name in names if name in kept]


@contextmanager
def _looking_at_all(path: Path) -> Generator[Git]:
    """Yield git with an index in which no file is hidden: prong hides what the source hides."""
    git = Git(path)
    # Files that a sparse checkout leaves out do not exist.
    hidden = [name for name in hidden_files(git) if os.path.lexists(path / os.fsdecode(name))]
    if not hidden:
        yield git
        return
    with TemporaryDirectory(prefix="prong-") as folder:
        index = Path(folder) / "index"
        copyfile(entry_of(path) / "index", index)
        git = Git(path, index=index)
        names = b"".join(name + b"\0" for name in hidden)
        for option in ("--no-skip-worktree", "--no-assume-unchanged"):
            git.run("update-index", "-z", option, "--stdin", stdin=names)
        yield git


def _in_snapshot(git: Git, session: str | None, names: Collection[str]) -> set[str]:
    """Return the changed files that are in the snapshot in the same state, staged or not."""
    agent, _, id_ = (session or "").partition(":")
    if not id_ or not names:
        return set()
    prefix = snapshot_refs.session_refs(TurnKey(agent, id_, TurnKey.BASELINE))
    snapshots: list[Snapshot] = snapshot_refs.find(git.folder, prefix)
    if not snapshots or snapshots[-1].staged_tree is None:
        return set()
    kept = _kept_files(git, snapshots[-1].tree, names)
    return kept - _staged_since(git, snapshots[-1].staged_tree) if kept else kept


def _staged_since(git: Git, tree: str) -> set[str]:
    """Return the files that are staged differently from this tree."""
    return set(map(os.fsdecode, git.items(*_STAGED, tree)))


def _kept_files(git: Git, tree: str, names: Collection[str]) -> set[str]:
    blobs: dict[bytes, bytes] = {}
    for line in git.items("ls-tree", "-r", "-z", tree):
        entry, _, name = line.partition(b"\t")
        mode, _, blob = entry.split(b" ")
        blobs[name] = mode + b" " + blob
    limit = snapshot_limit()
    kept: set[str] = set()
    for name in names:
        full = os.fsencode(git.folder / name)
        if os.path.lexists(full + b"/.git"):
            continue  # a repository, which its files do not fully describe
        content = read(full, limit)
        if isinstance(content, FileContent):
            same = content.steady and blobs.get(os.fsencode(name)) == _entry(content, len(tree))
        else:
            # Deleted in both. The files of a folder in its place are changes of their own.
            same = content is None and os.fsencode(name) not in blobs
        if same:
            kept.add(name)
    return kept


def _entry(found: FileContent, digits: int) -> bytes:
    """Return mode and blob id, as git would store the file without filters."""
    digest = hashlib.sha1(usedforsecurity=False) if digits == _SHA1_DIGITS else hashlib.sha256()
    digest.update(b"blob %d\0" % len(found.data))
    digest.update(found.data)
    return found.mode + b" " + digest.hexdigest().encode()


def _repositories_with_work(worktree: Worktree) -> list[str]:
    """List repositories below ignored folders with work that exists nowhere else."""
    ignored = map(os.fsdecode, Git(worktree.path).items(*IGNORED))
    folders = [worktree.path / name for name in ignored if name.endswith("/")]
    names = [path.relative_to(worktree.path) for top in folders for path in _repositories(top)]
    return [str(name) for name in names if _has_work(worktree.path / name, worktree.repo / name)]


def _repositories(folder: Path) -> Iterator[Path]:
    """Yield repositories in a folder and below; not inside each other, nor behind links."""
    folders = [os.fspath(folder)]
    while folders:
        path = folders.pop()
        try:
            with os.scandir(path) as entries:
                inner = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue  # deleted meanwhile, or not readable
        if _is_repository(Path(path)):
            yield Path(path)
        else:
            folders += [entry.path for entry in inner]


def _is_repository(path: Path) -> bool:
    """Check a `.git`: packages contain all kinds of files of that name."""
    if os.path.isdir(path / ".git"):
        return os.path.lexists(path / ".git" / "HEAD")
    try:
        return os.path.isdir(entry_of(path))
    except NotFound:
        return False


def _has_work(path: Path, source: Path) -> bool:
    git = inner_git(path)
    try:
        names = changed_files(git)
        if any(file_state(path / name) != file_state(source / name) for name in names):
            return True
        return _has_commits(git, path, source)
    except External:
        return True  # git cannot read it, so assume that there is work


def _has_commits(git: Git, path: Path, source: Path) -> bool:
    if not (path / ".git").is_dir():
        return has_loose_commits(git)  # a worktree, whose branches are elsewhere
    # A tag may come from the remote as well.
    excluded = ("--remotes", "--tags") if git.run("remote") else ()
    tips: list[bytes] = []
    if _is_repository(source):
        original = inner_git(source)
        tips = original.ask("for-each-ref", "--format=%(objectname)").output.split()
        tips += original.ask("rev-parse", "--verify", "--quiet", "HEAD").output.split()
    stdin = b"".join(b"^" + tip + b"\n" for tip in tips)
    command = ("rev-list", "--count", "--ignore-missing", "--stdin", "HEAD", "--branches")
    return int(git.run(*command, "refs/stash", "--not", *excluded, stdin=stdin)) > 0
