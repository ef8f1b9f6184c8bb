"""Objects and the ref of a snapshot, through one `git fast-import`.

Many files become one pack instead of a flood of loose objects. The ref appears after everything
that it needs, in the last instant; a stream that breaks off leaves none.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple

from prong.errors import External
from prong.vcs.git import Git
from prong.vcs.private import Private
from prong.vcs.repository import Repository

_LOOSE = 100
"""Up to so many objects are kept loose: a pack for each turn would be as bad as the flood."""
_FEW = 5
"""So many, when more files than that changed: the objects may be their folders only."""
_SETTINGS = (
    # Names that are dangerous on other systems are names here; only newer versions look at them.
    "core.protectNTFS=false",
    "core.protectHFS=false",
)
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')


class Entry(NamedTuple):
    """A line of a tree: the object is an id, or a mark of this stream."""

    mode: bytes
    object: str
    path: bytes


class Import:
    """One stream. Give it blobs and commits, then `finish` it."""

    def __init__(
        self, repository: Repository, private: Private, changed: int, config: bytes
    ) -> None:
        loose = f"fastimport.unpackLimit={_FEW if changed > _LOOSE else _LOOSE}"
        settings = [word for setting in (loose, *_SETTINGS) for word in ("-c", setting)]
        git = Git(repository.top, "--git-dir", str(private.git_dir), *settings, config=config)
        self._running = git.start("fast-import", "--quiet", "--done", feed=True)
        self._packs = repository.common_dir / "objects" / "pack"
        self._marks = 0
        self._broken = False

    def blob(self, data: bytes) -> str:
        mark = self._mark()
        self._write(b"blob\nmark %s\ndata %d\n" % (mark.encode(), len(data)), data, b"\n")
        return mark

    def commit(
        self,
        ref: str,
        message: bytes,
        time: datetime,
        parents: Iterable[str],
        base: str | None,
        changes: Iterable[Entry],
        deleted: Sequence[bytes] = (),
    ) -> str:
        """A commit on no branch's history but the parents; the ref will be at the last one."""
        mark = self._mark()
        head = (
            f"reset {ref}\n\ncommit {ref}\nmark {mark}\n"
            f"committer prong <prong@localhost> {int(time.timestamp())} +0000\n"
        )
        lines = [head.encode(), b"data %d\n" % len(message), message, b"\n"]
        lines += [f"merge {parent}\n".encode() for parent in parents]
        if base is not None:
            lines.append(f"M 040000 {base} \n".encode())
        lines += [b"D %s\n" % quoted(path) for path in deleted]
        lines += [
            b"M %s %s %s\n" % (entry.mode, entry.object.encode(), quoted(entry.path))
            for entry in changes
        ]
        lines.append(b"\n")
        self._write(*lines)
        return mark

    def tree(self, commit: str) -> str:
        """The tree of a commit that was sent."""
        self._write(_tree_of(commit))
        line = b"" if self._broken else self._running.line()
        if not line:
            self._broken = True
        return (line.decode().splitlines() or self._end(1))[0].split()[2]

    def finish(self, commit: str, marks: Sequence[str]) -> tuple[str, list[str]]:
        """Write everything. The tree of the commit with that mark, and the ids of others."""
        # Its answers come in the order of the questions.
        questions = [*(f"get-mark {mark}\n" for mark in marks), "done\n"]
        self._write(_tree_of(commit), "".join(questions).encode())
        lines = self._end(len(marks) + 1)
        return lines[0].split()[2], lines[1:]

    def _end(self, expected: int) -> list[str]:
        """So many answers, after which it ends."""
        answer = self._running.answer()
        if not answer.ok:
            self._clean_up(answer.complaint)
        lines = answer.expect().decode().splitlines()
        if self._broken or len(lines) != expected:
            raise External("git fast-import did not answer", stderr=answer.complaint)
        return lines

    def abandon(self) -> None:
        """Nothing of it shall stay."""
        self._running.kill()

    def _clean_up(self, complaint: str) -> None:
        """On a full disk, git leaves there what it could write."""
        for name in set(re.findall(r"/pack/(tmp_pack_\w+)", complaint)):
            with suppress(OSError):
                (self._packs / name).unlink()

    def _mark(self) -> str:
        self._marks += 1
        return f":{self._marks}"

    def _write(self, *pieces: bytes) -> None:
        if self._broken:
            return
        try:
            self._running.stdin.writelines(pieces)
        except BrokenPipeError:
            # Git ended. Why, it says at the end.
            self._broken = True


def _tree_of(commit: str) -> bytes:
    """The question for it."""
    return f'ls {commit} ""\n'.encode()


def quoted(path: bytes) -> bytes:
    """As in C. A path that needs no quotes may have them."""
    if _PLAIN.issuperset(path):
        return b'"%s"' % path
    return b'"%s"' % b"".join(
        bytes((byte,)) if byte in _PLAIN else b"\\%03o" % byte for byte in path
    )
