"""Objects and the ref of a snapshot, through one `git fast-import`.

Many files become one pack instead of a flood of loose objects. Git writes them into the folder of
this snapshot, and they move to the repository when all of them are there. A run that is killed,
or that finds the disk full, leaves nothing but that folder, which the next snapshot removes. The
ref comes last, after everything that it needs.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from prong.code.git import Deadline, Git
from prong.code.repository import Repository
from prong.code.snapshots.object_folder import move_objects
from prong.code.snapshots.private_folder import Private
from prong.errors import External

_LOOSE = 100
"""Up to so many objects are kept loose: a pack for each turn would be as bad as the flood."""
_FEW = 5
"""So many, when more files than that changed: the objects may be their folders only."""
_SETTINGS = (
    # Names that are dangerous on other systems are names here; only newer versions look at them.
    "core.protectNTFS=false",
    "core.protectHFS=false",
)
_REF = "refs/prong/new"
"""What the stream calls its commits. It is reset before the end, so git writes no such ref."""
_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b'"\\')


class ImportedEntry(NamedTuple):
    """A line of a tree: the object is an id, or a mark of this stream."""

    mode: bytes
    object: str
    path: bytes


class Import:
    """One stream. Give it blobs and commits, then `finish` it."""

    def __init__(
        self,
        repository: Repository,
        private: Private,
        changed: int,
        config: bytes,
        deadline: Deadline,
    ) -> None:
        """When the deadline is over, the stream breaks off."""
        loose = f"fastimport.unpackLimit={_FEW if changed > _LOOSE else _LOOSE}"
        settings = [word for setting in (loose, *_SETTINGS) for word in ("-c", setting)]
        git = Git(
            repository.top,
            *("--git-dir", str(private.git_dir), *settings),
            objects=private.make_objects(),
            deadline=deadline,
            config=config,
        )
        self._running = git.start("fast-import", "--quiet", "--done", feed=True)
        self._repository = repository
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
        """A commit on no branch's history but the parents."""
        mark = self._mark()
        head = (
            f"reset {_REF}\n\ncommit {_REF}\nmark {mark}\n"
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
        # Its answers come in the order of the questions. They are read while these are written:
        # with many of both, each side would otherwise wait for the other to read.
        questions = "".join(f"get-mark {mark}\n" for mark in marks)
        rest = _tree_of(commit) + f"{questions}reset {_REF}\n\ndone\n".encode()
        lines = self._end(len(marks) + 1, rest)
        return lines[0].split()[2], lines[1:]

    def publish(self, ref: str, commit: str, replaced: str | None) -> None:
        """Move what was written to the repository, and then the ref.

        Raises `External` when the ref is not where it was when the snapshot began.
        """
        move_objects(self._private.objects, self._repository.common_dir / "objects")
        git = Git(self._repository.top, deadline=self._deadline, config=self._config)
        git.run("update-ref", ref, commit, replaced or "0" * len(commit))

    def _end(self, expected: int, rest: bytes | None = None) -> list[str]:
        """So many answers, after which it ends."""
        answer = self._running.answer(rest)
        lines = answer.expect().decode().splitlines()
        if self._broken or len(lines) != expected:
            raise External("git fast-import did not answer", stderr=answer.complaint)
        return lines

    def abandon(self) -> None:
        """Nothing of it shall stay."""
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
