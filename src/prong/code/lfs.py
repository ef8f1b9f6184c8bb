"""Git LFS pointers, and their content where the repository already has it.

Git stores a small pointer instead of a large file, and git-lfs keeps the content in its own folder.
This module does what `git lfs checkout` does offline, but without git-lfs: that is a filter, and
the settings of a repository can make it run other programs. Nothing is downloaded.
"""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prong.code.git import Git

# Pointers with extensions are skipped: their content needs a program to become the file.
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n?"
)
_SMALLEST, _LARGEST = 100, 200
"""Size in bytes of a pointer without extensions, with a margin."""
_ATTRIBUTES = b".gitattributes"
_LFS = b"filter=lfs"
_PAIR = re.compile(rb"[0-9a-f]{40,64} ([0-9a-f]{40,64})\n")
_PIECE = 1 << 20

_Files = dict[bytes, bytes | None]
"""File path -> blob, or None for a deleted file."""


class Pointer(NamedTuple):
    path: str
    oid: str
    size: int


def read_pointer(path: str, content: bytes) -> Pointer | None:
    match = _POINTER.fullmatch(content)
    return Pointer(path, match[1].decode(), int(match[2])) if match else None


def pointers(git: Git, trees: Iterable[str]) -> dict[str, list[Pointer]]:
    """Find the LFS pointers of each tree with LFS; any number of trees takes as many processes."""
    first, *others = dict.fromkeys(trees)
    base = _listed(git, first)
    changed = {first: _Files(), **_changed(git, first, others)}
    rules = {blob for files in (base, *changed.values()) for blob in _rules(files)}
    rules = {blob for blob, content in git.objects_of(rules).items() if _LFS in content}
    if not rules:
        return {}
    blobs = {blob for files in (base, *changed.values()) for blob in files.values() if blob}
    contents = git.objects_of(_small(git, blobs))
    ruled = {path: blob for path, blob in base.items() if blob in rules}
    pointed = {path: blob for path, blob in base.items() if blob in contents}
    result: dict[str, list[Pointer]] = {}
    for tree, files in changed.items():
        if not rules.isdisjoint({**ruled, **files}.values()):
            read = (
                read_pointer(os.fsdecode(path), contents[blob])
                for path, blob in {**pointed, **files}.items()
                if blob in contents
            )
            result[tree] = sorted(pointer for pointer in read if pointer is not None)
    return result


def _listed(git: Git, tree: str) -> _Files:
    lines = git.items("ls-tree", "-r", "-z", "--full-tree", tree)
    return {
        path: fields.split()[2] for fields, _, path in (line.partition(b"\t") for line in lines)
    }


def _changed(git: Git, base: str, trees: Iterable[str]) -> dict[str, _Files]:
    """List how each of the trees differs from a base tree."""
    stdin = "".join(f"{base} {tree}\n" for tree in trees)
    if not stdin:
        return {}
    changed: dict[str, _Files] = {}
    tree = ""
    fields = iter(git.run("diff-tree", "-r", "-z", "--stdin", stdin=stdin.encode()).split(b"\0"))
    for field in fields:
        rest = field
        while pair := _PAIR.match(rest):
            tree, rest = pair[1].decode(), rest[pair.end() :]
            changed[tree] = _Files()
        if rest:
            _, _, _, blob, status = rest.split()
            changed[tree][next(fields)] = None if status == b"D" else blob
    return changed


def _rules(files: _Files) -> Iterator[bytes]:
    for path, blob in files.items():
        if blob and path.endswith(_ATTRIBUTES) and path[: -len(_ATTRIBUTES)][-1:] in (b"", b"/"):
            yield blob


def _small(git: Git, blobs: Iterable[bytes]) -> list[bytes]:
    """Return the blobs that have the size of a pointer."""
    stdin = b"".join(blob + b"\n" for blob in blobs)
    form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    lines = map(bytes.split, git.run("cat-file", form, stdin=stdin).splitlines())
    return [
        fields[0]
        for fields in lines  # two words if it is missing, such as the commit of a submodule
        if len(fields) == 3 and fields[1] == b"blob" and _SMALLEST <= int(fields[2]) <= _LARGEST
    ]


def store_of(git: Git, common: Path) -> Path:
    """Return the folder of LFS contents: `lfs` in the git folder, or `lfs.storage`."""
    chosen = os.fsdecode(git.ask("config", "--get", "lfs.storage").output.rstrip(b"\n"))
    return common / (chosen or "lfs") / "objects"


def stored(store: Path, pointer: Pointer) -> Path | None:
    """Return the path of a pointer's content; None if the repository lacks it."""
    path = store / pointer.oid[:2] / pointer.oid[2:4] / pointer.oid
    with suppress(OSError):
        if path.is_file() and path.stat().st_size == pointer.size:
            return path
    return None


def check_out(store: Path, target: Path) -> bool:
    """Replace a pointer by its content; False if it is none, or the content is lost or damaged."""
    if target.is_symlink() or not target.is_file() or target.stat().st_size > _LARGEST:
        return False
    pointer = read_pointer(target.name, target.read_bytes())
    content = stored(store, pointer) if pointer else None
    if pointer is None or content is None:
        return False
    mode = target.stat().st_mode & 0o777
    staging = target.with_name(f".{pointer.oid}.prong")
    digest = hashlib.sha256()
    try:
        with content.open("rb") as source, staging.open("xb") as file:
            while piece := source.read(_PIECE):
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != pointer.oid:
            return False
        staging.chmod(mode)
        staging.replace(target)
    finally:
        staging.unlink(missing_ok=True)
    return True
