"""The files of a tree into a new worktree, byte for byte: no filter, no line ends, no LFS.

Git writes them, as fast as it can, but in a repository that lasts no longer than that. It borrows
the objects of the user's, and its own attributes, which outrank every `.gitattributes`, turn all
conversions off.
"""

import os
import shutil
import time
from pathlib import Path

from prong.code.git import Git

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
"""Seconds. Later than every file."""


def write_files(common: Path, entry: Path, path: Path, tree: str, staged: str | None) -> None:
    """Write the tree into the empty worktree, and an index of it into the worktree's entry.

    `common` is the repository, `entry` its folder for the worktree. Where the worktree is sparse,
    only what differs from the staged tree is written outside of its patterns.
    """
    patterns = entry / "info" / "sparse-checkout"
    sparse = patterns.exists() and is_on(path, "core.sparseCheckout")
    cone = sparse and is_on(path, "core.sparseCheckoutCone")
    private = entry / _PRIVATE
    _make(private, common, tree, sparse=sparse, cone=cone)
    if sparse:
        shutil.copyfile(patterns, private / "info" / "sparse-checkout")
    git = Git(path, f"--git-dir={private}", f"--work-tree={path}")
    git.run("read-tree", "-u", "--reset", tree)
    if sparse and staged is not None:
        # Files that the patterns leave out, but that were there.
        differ = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d")
        present = git.run(*differ, staged, tree)
        git.run("update-index", "-z", "--no-skip-worktree", "--stdin", stdin=present)
        git.run("checkout-index", "-z", "--force", "--index", "--stdin", stdin=present)
    # Git reads a file that is as new as the index, to be sure of it, through all filters. We know.
    os.utime(private / "index", (_FUTURE, _FUTURE))
    (private / "index").replace(entry / "index")
    shutil.rmtree(private)


def settle(index: Path) -> None:
    """Its time is now: later than every file in it, for this clock is finer than theirs."""
    now = time.time_ns()
    os.utime(index, ns=(now, now))


def _make(private: Path, common: Path, tree: str, *, sparse: bool, cone: bool) -> None:
    for folder in ("objects/info", "refs", "info"):
        (private / folder).mkdir(parents=True)
    (private / "HEAD").write_text("ref: refs/heads/none\n")
    (private / "info/attributes").write_text(_ATTRIBUTES)
    (private / "objects/info/alternates").write_bytes(_alternate(common / "objects"))
    longer = len(tree) > _SHA1_DIGITS
    config = _CONFIG.format(
        version=int(longer),
        sparse=str(sparse).lower(),
        cone=str(cone).lower(),
        extensions=_SHA256 if longer else "",
    )
    (private / "config").write_text(config)


def _alternate(objects: Path) -> bytes:
    """The line of a path; in quotes, as in C, where it has what could end it."""
    path = os.fsencode(objects)
    if b"\n" not in path and not path.startswith((b'"', b"#")):
        return path + b"\n"
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"\n'


def is_on(folder: Path, name: str) -> bool:
    """Whether a setting of git is true there."""
    return Git(folder).ask("config", "--type=bool", "--get", name).output.strip() == b"true"
