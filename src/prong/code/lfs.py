"""Git LFS pointers, and the content that the repository already has for them.

Git stores a small pointer in place of a large file, and git-lfs keeps the content in a folder of
its own. What `git lfs checkout` does offline is done here without it: git-lfs is a filter, and the
settings of a repository can make it run other programs. Nothing is downloaded.
"""

import hashlib
import os
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prong.code.git import Git

# Pointers with extensions are left alone: their content needs a program to become the file.
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n?"
)
_SMALLEST, _LARGEST = 100, 200
"""Bytes of a pointer without extensions, generously."""
_ATTRIBUTES = b".gitattributes"
_LFS = b"filter=lfs"
_PAIR = re.compile(rb"[0-9a-f]{40,64} ([0-9a-f]{40,64})\n")
_PIECE = 1 << 20

_Files = dict[bytes, bytes | None]
"""The blobs of files by path; None for one that was deleted."""


class Pointer(NamedTuple):
    path: str
    oid: str
    size: int


def read_pointer(path: str, content: bytes) -> Pointer | None:
    found = _POINTER.fullmatch(content)
    return Pointer(path, found[1].decode(), int(found[2])) if found else None


def pointers(git: Git, trees: Iterable[str]) -> dict[str, list[Pointer]]:
    """The pointers in each of these trees, where its attributes mention LFS at all.

    The first tree is listed as a whole, the others by what differs from it. So many trees take as
    many git processes as two.
    """
    first, *others = dict.fromkeys(trees)
    base = _listed(git, first)
    changed = {first: _Files(), **_changed(git, first, others)}
    rules = {blob for files in (base, *changed.values()) for blob in _rules(files)}
    rules = {blob for blob, content in _contents(git, rules).items() if _LFS in content}
    if not rules:
        return {}
    blobs = {blob for files in (base, *changed.values()) for blob in files.values() if blob}
    contents = _contents(git, _small(git, blobs))
    ruled = {path: blob for path, blob in base.items() if blob in rules}
    pointed = {path: blob for path, blob in base.items() if blob in contents}
    found: dict[str, list[Pointer]] = {}
    for tree, files in changed.items():
        if rules.isdisjoint({**ruled, **files}.values()):
            continue
        blobs_of_tree = {**pointed, **files}
        read = (
            read_pointer(os.fsdecode(path), contents[blob])
            for path, blob in blobs_of_tree.items()
            if blob in contents
        )
        found[tree] = sorted(pointer for pointer in read if pointer is not None)
    return found


def _listed(git: Git, tree: str) -> _Files:
    files = _Files()
    for line in git.run("ls-tree", "-r", "-z", "--full-tree", tree).split(b"\0")[:-1]:
        about, _, path = line.partition(b"\t")
        files[path] = about.split()[2]
    return files


def _changed(git: Git, base: str, trees: Iterable[str]) -> dict[str, _Files]:
    """What differs from a tree in each of the others."""
    asked = "".join(f"{base} {tree}\n" for tree in trees)
    if not asked:
        return {}
    found: dict[str, _Files] = {}
    tree = ""
    fields = iter(git.run("diff-tree", "-r", "-z", "--stdin", stdin=asked.encode()).split(b"\0"))
    for field in fields:
        rest = field
        while pair := _PAIR.match(rest):
            tree, rest = pair[1].decode(), rest[pair.end() :]
            found[tree] = _Files()
        if rest:
            _, _, _, blob, status = rest.split()
            found[tree][next(fields)] = None if status == b"D" else blob
    return found


def _rules(files: _Files) -> Iterator[bytes]:
    """The blobs of files with attributes."""
    for path, blob in files.items():
        if blob and path.endswith(_ATTRIBUTES) and path[: -len(_ATTRIBUTES)][-1:] in (b"", b"/"):
            yield blob


def _small(git: Git, blobs: Iterable[bytes]) -> list[bytes]:
    """Those that are of the size of a pointer."""
    asked = b"".join(blob + b"\n" for blob in blobs)
    form = "--batch-check=%(objectname) %(objecttype) %(objectsize)"
    lines = map(bytes.split, git.run("cat-file", form, stdin=asked).splitlines())
    return [
        words[0]
        for words in lines  # of two words for what is missing, such as the commit of a submodule
        if len(words) == 3 and words[1] == b"blob" and _SMALLEST <= int(words[2]) <= _LARGEST
    ]


def _contents(git: Git, blobs: Collection[bytes]) -> dict[bytes, bytes]:
    if not blobs:
        return {}
    asked = b"".join(blob + b"\n" for blob in blobs)
    answer, at = git.run("cat-file", "--batch", stdin=asked), 0
    contents: dict[bytes, bytes] = {}
    while at < len(answer):
        end = answer.index(b"\n", at)
        words = answer[at:end].split()
        if len(words) != 3:  # `missing`, in a partial clone
            at = end + 1
            continue
        size = int(words[2])
        contents[words[0]] = answer[end + 1 : end + 1 + size]
        at = end + 1 + size + 1
    return contents


def store_of(git: Git, common: Path) -> Path:
    """The folder of the contents: `lfs` in the git folder, unless `lfs.storage` names another."""
    chosen = os.fsdecode(git.ask("config", "--get", "lfs.storage").output.rstrip(b"\n"))
    return common / (chosen or "lfs") / "objects"


def stored(store: Path, pointer: Pointer) -> Path | None:
    """The content of a pointer; None where the repository does not have it."""
    path = store / pointer.oid[:2] / pointer.oid[2:4] / pointer.oid
    with suppress(OSError):
        if path.is_file() and path.stat().st_size == pointer.size:
            return path
    return None


def check_out(content: Path, pointer: Pointer, target: Path) -> bool:
    """Replace the pointer at `target` by its content; False when the content is damaged."""
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
