"""Restore a snapshot in a new worktree: files byte for byte, index, and filtered files.

Git writes the files, for speed, but from a temporary repository: no filter, no line end conversion,
no LFS. It borrows the objects of the user's, and its own attributes, which outrank every
`.gitattributes`, turn all conversions off.
"""

import filecmp
import os
import shutil
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from prong.code import lfs
from prong.code.changed_files import FILTER_OF, LEFT_OUT, filters_in, unchanged
from prong.code.git import Git, items_of
from prong.code.ignored import copy_file
from prong.code.snapshots.refs import RawCommit, intended
from prong.code.worktrees.record import Given, Worktree, common_of, entry_of, file_state
from prong.errors import Corrupt
from prong.files.journal import step
from prong.model.code import Snapshot

_PRIVATE = "prong-checkout"
_ATTRIBUTES = "* -text -eol -crlf -ident -filter -working-tree-encoding\n"
_CONFIG = """\
[core]
	repositoryformatversion = {version}
	bare = false
	autocrlf = false
	protectNTFS = false
	protectHFS = false
	sparseCheckout = {sparse}
	sparseCheckoutCone = {cone}
[index]
	sparse = false
	version = 2
{extensions}"""
_SHA256 = """\
[extensions]
	objectFormat = sha256
"""
_SHA1_DIGITS = 40
_FUTURE = 1 << 32
"""In seconds, later than every file."""
_DIFFER = ("diff-tree", "-r", "-z", "--name-only", "--no-renames")
_FILTERS = ("config", "-z", "--name-only", "--get-regexp", r"^filter\..*\.(smudge|process)$")
_ALIKE = 1 << 20
"""Bytes. A larger file is not a stored form."""
_NAMED = 5
"""Maximum number of files named in a warning."""
_CONFLICT = "a merge was under way: the conflicts are here, but git has forgotten why"


def restore(snapshot: Snapshot, worktree: Worktree) -> Worktree:
    """Fill a new worktree that has no files yet. Returns its completed record."""
    entry = entry_of(worktree.path)
    source = Git(snapshot.repo)
    # These run while git writes the files.
    commit = source.start("cat-file", "commit", snapshot.commit)
    listing = source.start("ls-files", "-z", "-v", "-c")
    command = ("ls-tree", "-r", "-z", "--name-only")
    if snapshot.head is not None:
        command = (*_DIFFER, snapshot.head)
    trees = {snapshot.tree, snapshot.staged_tree or snapshot.tree}
    changed = [source.start(*command, tree) for tree in trees]
    try:
        step("files", worktree.path)
        write_files(worktree, snapshot.tree, snapshot.staged_tree)
        step("index", entry)
        hidden = listing.answer().output
        raw = RawCommit.parse(commit.answer().expect())
        warnings = _write_index(snapshot, worktree.path, raw, hidden)
        warnings += _bring_filtered(snapshot, worktree.path, hidden)
        differing = {name for one in changed for name in items_of(one.answer().expect())}
    finally:
        for running in (commit, listing, *changed):
            running.kill()
    names = {*map(os.fsdecode, differing), *intended(raw.message)}
    files = {name: file_state(worktree.path / name) for name in names}
    given = Given(snapshot.commit, snapshot.staged_tree, files)
    return replace(worktree, snapshot=snapshot.ref, given=given, warnings=warnings)


def write_files(worktree: Worktree, tree: str, staged: str | None) -> None:
    """Write a tree and its index into an empty worktree, within the patterns of its checkout."""
    path, entry = worktree.path, entry_of(worktree.path)
    patterns = entry / "info" / "sparse-checkout"
    sparse = patterns.exists() and Git(path).is_on("core.sparseCheckout")
    cone = sparse and Git(path).is_on("core.sparseCheckoutCone")
    private = entry / _PRIVATE
    for folder in ("objects/info", "refs", "info"):
        (private / folder).mkdir(parents=True)
    (private / "HEAD").write_text("ref: refs/heads/none\n")
    (private / "info/attributes").write_text(_ATTRIBUTES)
    (private / "objects/info/alternates").write_bytes(_alternate(worktree.common / "objects"))
    longer = len(tree) > _SHA1_DIGITS
    config = _CONFIG.format(
        version=int(longer),
        sparse=str(sparse).lower(),
        cone=str(cone).lower(),
        extensions=_SHA256 if longer else "",
    )
    (private / "config").write_text(config)
    if sparse:
        shutil.copyfile(patterns, private / "info" / "sparse-checkout")
    git = Git(path, f"--git-dir={private}", f"--work-tree={path}")
    git.run("read-tree", "-u", "--reset", tree)
    if sparse and staged is not None:
        # Files that existed although the patterns leave them out.
        present = git.run(*_DIFFER, "--diff-filter=d", staged, tree)
        git.run("update-index", "-z", "--no-skip-worktree", "--stdin", stdin=present)
        git.run("checkout-index", "-z", "--force", "--index", "--stdin", stdin=present)
    # Git reads files as new as the index again, through all filters. They are unchanged.
    os.utime(private / "index", (_FUTURE, _FUTURE))
    (private / "index").replace(entry / "index")
    shutil.rmtree(private)


def settle(path: Path) -> None:
    """Set the time of the index to now, later than all files, as this clock is finer."""
    now = time.time_ns()
    os.utime(entry_of(path) / "index", ns=(now, now))


def _alternate(objects: Path) -> bytes:
    """Format the path of an alternate; quoted as in C if it contains a delimiter."""
    path = os.fsencode(objects)
    if b"\n" not in path and not path.startswith((b'"', b"#")):
        return path + b"\n"
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"\n'


def _write_index(
    snapshot: Snapshot, path: Path, commit: RawCommit, listing: bytes
) -> tuple[str, ...]:
    """Restore the index; entries that stay keep what git knows of the files. Returns warnings."""
    git = Git(path)
    if snapshot.staged_tree is None:
        _write_conflict(git, commit)
    elif snapshot.staged_tree != snapshot.tree:
        git.run("read-tree", "-i", "-m", snapshot.staged_tree)
    names = intended(commit.message)
    present = [name for name in names if os.path.lexists(path / name)]
    _intend(git, present)
    with TemporaryDirectory(dir=entry_of(path)) as folder:
        # Git adds existing files only. The index does not say where they were.
        deleted = sorted({*names}.difference(present))
        for name in deleted:
            target = Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.touch()
        _intend(Git(Path(folder), f"--git-dir={entry_of(path)}", f"--work-tree={folder}"), deleted)
    _hide(listing, git)
    settle(path)
    return (_CONFLICT,) if snapshot.staged_tree is None else ()


def _write_conflict(git: Git, commit: RawCommit) -> None:
    """Restore a conflict: the snapshot's last parent has its sides in folders 0, 1, 2 and 3."""
    if not commit.parents:
        raise Corrupt("the snapshot does not have what was staged")
    sides: set[bytes] = set()
    for line in git.items("ls-tree", "-r", "-z", commit.parents[-1]):
        entry, _, name = line.partition(b"\t")
        mode, _, blob = entry.split(b" ")
        stage, _, name = name.partition(b"/")
        sides.add(b" ".join((mode, blob, stage)) + b"\t" + name)
    current = _staged(git)
    removal = b"0 " + b"0" * len(commit.tree) + b"\t"
    removals = [removal + line.partition(b"\t")[2] for line in sorted(current - sides)]
    lines = _joined([*removals, *sorted(sides - current)])
    git.run("update-index", "-z", "--index-info", stdin=lines)


def _hide(listing: bytes, git: Git) -> None:
    """Hide the files that git was told not to check in the source; snapshots do not say which."""
    lines = [line for line in listing.split(b"\0") if line and line[:1] != b"H"]
    if not lines:
        return
    tracked = set(git.items("ls-files", "-z"))
    skipped = () if git.is_on("core.sparseCheckout") else (b"S", b"s")
    for option, tags in (("--skip-worktree", skipped), ("--assume-unchanged", (b"h", b"s"))):
        names = [line[2:] for line in lines if line[:1] in tags and line[2:] in tracked]
        if names:
            git.run("update-index", "-z", option, "--stdin", stdin=_joined(names))


def _bring_filtered(snapshot: Snapshot, path: Path, listing: bytes) -> tuple[str, ...]:
    """Restore files that git stores in another form: LFS, git-crypt. Returns warnings.

    A snapshot has the stored form of unchanged files. Their content is copied from the source if it
    is still the same there, and for LFS files from the store of git-lfs. Filters are not run to
    produce it: that may take long, prompt for a password, or download things. The filter runs once
    over each copy in the other direction, so that git knows that the copy is unchanged.
    """
    if b".gitattributes\0" not in listing:
        return ()
    git, source = Git(path, filters=True), Git(snapshot.repo)
    settings = git.ask(*_FILTERS).items
    filters = {name.split(b".", 1)[1].rpartition(b".")[0] for name in settings}
    if not filters or snapshot.staged_tree is None:
        return ()
    attributes = git.run(*FILTER_OF, stdin=git.run("ls-files", "-z"))
    filtered = {name for name, value in filters_in(attributes).items() if value in filters}
    filtered -= {*git.items(*_DIFFER, snapshot.staged_tree, snapshot.tree)}
    if not filtered:
        return ()
    same = _staged(git) & _staged(source)
    differing = source.ask("diff-files", "-z", "--name-only", LEFT_OUT).items
    dirty = {*differing} - unchanged(source, os.fsencode(snapshot.repo), differing)
    available = {line.partition(b"\t")[2] for line in same} - dirty
    missing: list[str] = []
    copied: set[bytes] = set()
    store = lfs.store_of(git, common_of(path) or path)
    for name in sorted(filtered):
        original, target = (top / os.fsdecode(name) for top in (snapshot.repo, path))
        if name not in available:
            if lfs.check_out(store, target):
                copied.add(name)
            else:
                missing.append(os.fsdecode(name))
        elif not _is_same(original, target):
            target.unlink()
            copy_file(original, target)
            copied.add(name)
    if copied:
        _forget_sizes(git, path, copied)
    if not missing:
        return ()
    more = f" and {len(missing) - _NAMED} more" if len(missing) > _NAMED else ""
    names = ", ".join(missing[:_NAMED]) + more
    return (f"as git stores them, without their filter (try git lfs pull): {names}",)


def _is_same(source: Path, target: Path) -> bool:
    if source.is_symlink() or not source.is_file() or not target.is_file():
        return True  # no output of a filter
    size = source.stat().st_size
    same_size = size == target.stat().st_size and size < _ALIKE
    return same_size and filecmp.cmp(source, target, shallow=False)


def _forget_sizes(git: Git, path: Path, names: set[bytes]) -> None:
    """Make git, and the next snapshot, recognize these files as unchanged.

    Git considers a file of another size changed, so it must forget the size and look again: at
    these files only, since a filter may see changes in the others, which are in stored form.
    """
    lines = [line for line in _staged(git) if line.partition(b"\t")[2] in names]
    git.run("update-index", "-z", "--index-info", stdin=_joined(lines))
    settle(path)
    git.ask("update-index", "-q", "--refresh")
    settle(path)


def _staged(git: Git) -> set[bytes]:
    return {*git.ask("ls-files", "-z", "-s").items}


def _intend(git: Git, names: list[str]) -> None:
    if names:
        options = ("--force", "--pathspec-from-file=-", "--pathspec-file-nul")
        git.run("add", "--intent-to-add", *options, stdin=_joined(map(os.fsencode, names)))


def _joined(lines: Iterable[bytes]) -> bytes:
    return b"".join(line + b"\0" for line in lines)
