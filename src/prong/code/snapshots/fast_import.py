"""Write the objects and the ref of a snapshot with one `git fast-import`.

Many files become one pack instead of many loose objects. Git writes into a folder of this snapshot,
and the objects move to the repository once all are complete, as git itself does on a push. If the
process is killed or the disk is full, only that folder remains, which the next snapshot removes.
The ref is written last.
"""

import errno
import os
import stat
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, Self

from prong.code.git import Deadline, Git
from prong.code.snapshots.private_folder import Private
from prong.errors import External

_LOOSE = 100
"""Up to this many objects are stored loose: a pack for each turn would be as bad."""
_FEW = 5
"""The limit if more files than that changed: then the few objects may be just their folders."""
_SETTINGS = (
    # Allow names that are dangerous on other systems; only newer versions check them.
    "core.protectNTFS=false",
    "core.protectHFS=false",
)
_REF = "refs/prong/new"
"""The ref of commits in the stream. It is reset before the end, so git never writes it."""
_FAN_OUT = 2
"""Loose objects are in folders named by the first two digits of their ids."""
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')


class ImportedEntry(NamedTuple):
    """A line of a tree; `object` is an id or a mark of this stream."""

    mode: bytes
    object: str
    path: bytes


class Import:
    """A `git fast-import` process: send blobs and commits, then `finish` and `publish`."""

    def __init__(self, private: Private, changed: int, config: bytes, deadline: Deadline) -> None:
        loose = f"fastimport.unpackLimit={_FEW if changed > _LOOSE else _LOOSE}"
        settings = [word for setting in (loose, *_SETTINGS) for word in ("-c", setting)]
        git = Git(
            private.repository.top,
            *("--git-dir", str(private.git_dir), *settings),
            objects=private.make_objects(),
            deadline=deadline,
            config=config,
        )
        self._running = git.start("fast-import", "--quiet", "--done", feed=True)
        self._private = private
        self._config = config
        self._deadline = deadline
        self._marks = 0
        self._broken = False

    def blob(self, data: bytes) -> str:
        mark = self._mark()
        self._write(b"blob\nmark %s\ndata %d\n" % (mark.encode(), len(data)), data, b"\n")
        return mark

    def commit(
        self,
        message: bytes,
        time: datetime,
        parents: Iterable[str],
        base: str | None,
        changes: Iterable[ImportedEntry],
        deleted: Sequence[bytes] = (),
    ) -> str:
        """Send a commit with these parents, which is on no branch."""
        mark = self._mark()
        head = f"reset {_REF}\n\ncommit {_REF}\nmark {mark}\n"
        committer = f"committer prong <prong@localhost> {int(time.timestamp())} +0000\n"
        lines = [f"{head}{committer}data {len(message)}\n".encode(), message, b"\n"]
        lines += [f"merge {parent}\n".encode() for parent in parents]
        if base is not None:
            lines.append(f"M 040000 {base} \n".encode())
        lines += [b"D %s\n" % quoted(path) for path in deleted]
        lines += [
            b"M %s %s %s\n" % (entry.mode, entry.object.encode(), quoted(entry.path))
            for entry in changes
        ]
        self._write(*lines, b"\n")
        return mark

    def tree(self, commit: str) -> str:
        self._write(_tree_of(commit))
        line = b"" if self._broken else self._running.line()
        if not line:
            self._broken = True
        return (line.decode().splitlines() or self._end(1))[0].split()[2]

    def finish(self, commit: str, marks: Sequence[str]) -> tuple[str, list[str]]:
        """Write everything. Returns the tree of `commit`, and the ids for `marks`."""
        # Git answers in order. `_end` reads answers while it writes the questions:
        # with many of both, each side would otherwise block on the other.
        questions = "".join(f"get-mark {mark}\n" for mark in marks)
        rest = _tree_of(commit) + f"{questions}reset {_REF}\n\ndone\n".encode()
        lines = self._end(len(marks) + 1, rest)
        return lines[0].split()[2], lines[1:]

    def publish(self, ref: str, commit: str, replaced: str | None) -> None:
        """Move the objects to the repository, then set the ref unless it has changed since."""
        repository = self._private.repository
        _move_objects(self._private.objects, repository.common_dir / "objects")
        git = Git(repository.top, deadline=self._deadline, config=self._config)
        git.run("update-ref", ref, commit, replaced or "0" * len(commit))

    def _end(self, expected: int, rest: bytes | None = None) -> list[str]:
        """Send the rest, wait for the end, and check the number of answers."""
        answer = self._running.answer(rest)
        lines = answer.expect().decode().splitlines()
        if self._broken or len(lines) != expected:
            raise External("git fast-import did not answer", stderr=answer.complaint)
        return lines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._running.kill()

    def _mark(self) -> str:
        self._marks += 1
        return f":{self._marks}"

    def _write(self, *pieces: bytes) -> None:
        if self._broken:
            return
        try:
            self._running.stdin.writelines(pieces)
        except BrokenPipeError:
            # Git ended. `_end` reports the reason.
            self._broken = True


def _tree_of(commit: str) -> bytes:
    return f'ls {commit} ""\n'.encode()


def quoted(path: bytes) -> bytes:
    """Quote a path as in C. Quotes are allowed even where they are not needed."""
    if not _PLAIN.issuperset(path):
        path = b"".join(bytes((byte,)) if byte in _PLAIN else b"\\%03o" % byte for byte in path)
    return b'"%s"' % path


def _move_objects(source: Path, target: Path) -> None:
    """Move all loose objects and packs. `.idx` files come last, since they make a pack visible."""
    for folder in source.iterdir():
        if len(folder.name) == _FAN_OUT:
            _make_folder(target / folder.name)
            for path in folder.iterdir():
                _move(path, target / folder.name / path.name)
    packs = target / "pack"
    _make_folder(packs)
    for path in sorted((source / "pack").iterdir(), key=lambda path: path.suffix == ".idx"):
        _move(path, packs / path.name)


def _make_folder(path: Path) -> None:
    """Create a folder with the permissions of its parent: a group may share the repository."""
    try:
        path.mkdir()
    except FileExistsError:
        return
    mode = stat.S_IMODE(path.parent.stat().st_mode)
    if stat.S_IMODE(path.stat().st_mode) != mode:
        path.chmod(mode)


def _move(source: Path, target: Path) -> None:
    """Move a file, unless it exists: names are hashes, so equal names mean equal content."""
    if target.exists():
        return
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _copy(source, target)


def _copy(source: Path, target: Path) -> None:
    """Copy to another file system, atomically, via a temporary name that git cleans up."""
    temporary = target.with_name(f"tmp_obj_{os.urandom(8).hex()}")
    try:
        temporary.write_bytes(source.read_bytes())
        temporary.chmod(stat.S_IMODE(source.stat().st_mode))
        temporary.rename(target)
    finally:
        temporary.unlink(missing_ok=True)
