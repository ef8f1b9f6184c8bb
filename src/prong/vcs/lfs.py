"""Git LFS pointers, and the content that the repository already has for them.

Git stores a small pointer in place of a large file, and git-lfs keeps the content in a folder of
its own. What `git lfs checkout` does offline is done here without it: git-lfs is a filter, and the
settings of a repository can make it run other programs. Nothing is downloaded.
"""

import hashlib
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prong.vcs.git import Git

# Pointers with extensions are left alone: their content needs a program to become the file.
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\noid sha256:([0-9a-f]{64})\nsize (\d{1,18})\n?"
)
_SMALLEST, _LARGEST = 100, 200
"""Bytes of a pointer without extensions, generously."""
_LFS = b"filter=lfs"
_PIECE = 1 << 20


class Pointer(NamedTuple):
    path: str
    oid: str
    size: int


def read_pointer(path: str, content: bytes) -> Pointer | None:
    found = _POINTER.fullmatch(content)
    return Pointer(path, found[1].decode(), int(found[2])) if found else None


def pointers(git: Git, tree: str) -> list[Pointer]:
    """The pointers in a tree, if its attributes mention LFS at all."""
    attributes: list[bytes] = []
    candidates: dict[bytes, list[str]] = {}
    for line in git.run("ls-tree", "-r", "-l", "-z", "--full-tree", tree).split(b"\0")[:-1]:
        about, _, name = line.partition(b"\t")
        _, _, blob, size = about.split()
        if os.path.basename(name) == b".gitattributes":
            attributes.append(blob)
        elif size.isdigit() and _SMALLEST <= int(size) <= _LARGEST:
            candidates.setdefault(blob, []).append(os.fsdecode(name))
    if not any(_LFS in content for content in _contents(git, attributes).values()):
        return []
    contents = _contents(git, [*candidates])
    read = (read_pointer(name, contents[blob]) for blob in contents for name in candidates[blob])
    return sorted(pointer for pointer in read if pointer is not None)


def _contents(git: Git, blobs: list[bytes]) -> dict[bytes, bytes]:
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
