"""Write a tree into a new worktree byte for byte: no filter, no line end conversion, no LFS.

Git writes the files, for speed, but from a temporary repository. It borrows the objects of the
user's, and its own attributes, which outrank every `.gitattributes`, turn all conversions off.
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
"""In seconds, later than every file."""


def write_files(common: Path, entry: Path, path: Path, tree: str, staged: str | None) -> None:
    """Write the tree into an empty worktree, and its index into the entry of the worktree.

    `common` is the repository, `entry` its folder for the worktree. Outside the patterns of a
    sparse checkout, only files that differ from the staged tree are written.
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
        # Files that existed although the patterns leave them out.
        differ = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d")
        present = git.run(*differ, staged, tree)
        git.run("update-index", "-z", "--no-skip-worktree", "--stdin", stdin=present)
        git.run("checkout-index", "-z", "--force", "--index", "--stdin", stdin=present)
    # Git reads files as new as the index again, through all filters. They are unchanged.
    os.utime(private / "index", (_FUTURE, _FUTURE))
    (private / "index").replace(entry / "index")
    shutil.rmtree(private)


def settle(index: Path) -> None:
    """Set the index time to now, later than all its files, as this clock is finer than theirs."""
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
    """Format the path of an alternate; quoted as in C if it contains a delimiter."""
    path = os.fsencode(objects)
    if b"\n" not in path and not path.startswith((b'"', b"#")):
        return path + b"\n"
    return b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"\n'


def is_on(folder: Path, name: str) -> bool:
    """Tell whether a git setting is true in a folder."""
    return Git(folder).ask("config", "--type=bool", "--get", name).output.strip() == b"true"
