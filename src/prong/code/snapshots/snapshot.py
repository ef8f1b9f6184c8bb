"""Capture the code at the end of a turn as a commit under a hidden ref.

Nothing of the user's changes: not the index, head, branches, stash or settings. The tree contains
every tracked and untracked file byte for byte, but no ignored ones. prong reads the files itself,
so that git runs no filters and concurrent writes do no harm. The parents of a snapshot are the
previous one of the session, the head, and a commit of what was staged, so that none of it is
garbage-collected.
"""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from prong.code.changed_files import LINKED
from prong.code.git import Deadline, Git
from prong.code.repository import Repository
from prong.code.snapshots import refs
from prong.code.snapshots.contents import Contents, Known
from prong.code.snapshots.fast_import import Import, ImportedEntry
from prong.code.snapshots.private_folder import Private, home
from prong.code.snapshots.refs import LISTED
from prong.code.snapshots.working_tree import Differences, Side, WorkingTree
from prong.errors import External, ProngError, UsageError
from prong.files.size_limit import SNAPSHOT_LIMIT
from prong.model.code import LeftOut, Snapshot, TurnKey

SECONDS = 300.0
"""Default time limit of a snapshot."""
_READING = 0.5
"""Fraction of the limit for finding differences. The rest is for writing."""
_FOLDER = b"040000"
"""The mode of a subtree."""


class OutOfTime(External):
    """A snapshot that exceeded its time limit. Nothing of it was kept."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"there was not enough time: it takes longer than {seconds:.1f} s")


def take(  # noqa: PLR0913 -- all but the first two by name
    folder: Path,
    key: TurnKey,
    *,
    number: int | None = None,
    message_id: str | None = None,
    limit: int = SNAPSHOT_LIMIT,
    budget_seconds: float = SECONDS,
    partial: bool = True,
    again: bool = False,
    late: bool = False,
    when: datetime | None = None,
) -> Snapshot | None:
    """Capture the code of a turn; None without git.

    `when`: the time of this code, if it is not now; samples are older than their files. An existing
    snapshot is kept unless `again` says that the turn went on since. `late` is recorded. When most
    of the budget is spent, the snapshot becomes partial and says what it lacks. With
    `partial=False`, or if there is no time left to write, `OutOfTime` is raised and nothing kept.
    """
    if message_id is not None and not message_id.isprintable():
        raise UsageError(f"{message_id!r} cannot be the id of a message")
    request = _Request(
        key=key,
        number=number,
        message_id=message_id,
        limit=limit,
        taken=when or datetime.now(UTC),
        again=again,
        late=late,
        reading=Deadline(budget_seconds * (_READING if partial else 1)),
        whole=Deadline(budget_seconds),
    )
    try:
        return _take(folder, request)
    except (External, OSError) as error:
        if request.whole.over:
            raise OutOfTime(budget_seconds) from error
        if isinstance(error, External):
            raise
        raise External(
            f"the snapshot could not be taken: {error.strerror or error}",
            path=os.fsdecode(error.filename or ""),
        ) from error
    finally:
        request.reading.lift()
        request.whole.lift()


def find(folder: Path, beside: TurnKey | None = None) -> list[Snapshot]:
    """List the snapshots of a repository and its worktrees, or of one session, oldest first."""
    repository = Repository.find(folder)
    if repository is None:
        return []
    prefix = refs.REFS if beside is None else refs.session_refs(beside)
    snapshots = refs.find(repository.top, prefix)
    return [snapshot for snapshot in snapshots if snapshot.ref == refs.ref_of(snapshot.key)]


class _Request(NamedTuple):
    key: TurnKey
    number: int | None
    message_id: str | None
    limit: int
    taken: datetime
    again: bool
    late: bool
    reading: Deadline
    """For finding differences."""
    whole: Deadline
    suffix: str = ""
    """Suffix of the ref of a nested repository."""

    @property
    def ref(self) -> str:
        return refs.ref_of(self.key, self.suffix)


def _take(folder: Path, request: _Request, outer: Repository | None = None) -> Snapshot | None:
    git = Git(folder, deadline=request.whole)
    prefix = refs.session_refs(request.key)
    questions = (
        Repository.ask(git),
        refs.ask(git, prefix),
        git.start("config", "-z", "--list"),
    )
    location, listed, config = [question.answer() for question in questions]
    repository = Repository.found(git, location)
    if repository is None:
        return None
    if outer is not None and repository.common_dir == outer.common_dir:
        raise UsageError("another worktree of this repository")
    if outer is not None and repository.top != folder.resolve():
        raise UsageError("no repository that git can open")
    earlier = [
        snapshot
        for snapshot in refs.read(git, listed, prefix, repository.top)
        if snapshot.ref == refs.ref_of(snapshot.key, request.suffix)
    ]
    existing = next((snapshot for snapshot in earlier if snapshot.ref == request.ref), None)
    if existing is not None:
        if not request.again:
            return existing
        earlier = [snapshot for snapshot in earlier if snapshot.taken < existing.taken]
    previous = earlier[-1] if earlier else None
    with Private(repository) as private:
        known = Known(home(repository) / "known.json")
        return _Taking(private, request, previous, existing, config.expect(), known).take()


class _Taking(NamedTuple):
    private: Private
    request: _Request
    previous: Snapshot | None
    """The snapshot before this one in the session."""
    replaced: Snapshot | None
    """An older one of the same turn."""
    config: bytes
    known: Known

    @property
    def repository(self) -> Repository:
        return self.private.repository

    def take(self) -> Snapshot:
        has_index = self.private.copy_index()
        git = self._git(self.request.reading)
        if not has_index:
            git.run("read-tree", self.repository.head or "HEAD")
        with WorkingTree(self.repository, self.private, git, self.request.whole) as working:
            differences = working.differences(self.config)
        nested = self._take_nested(differences)
        base = self.repository.head_tree
        try:
            return self._write(base, differences, nested)
        except External:
            other = self._won_by_another()
            if other is not None:
                return other
            if self.request.whole.over:
                raise
            tree = self._write_staged(differences)
            if not self.known.used and tree is None:
                raise
            # A cached blob may have been garbage-collected.
            self.known.forget()
            return self._write(tree or base, differences, nested)

    def _write_staged(self, found: Differences) -> str | None:
        """Let git write the staged tree, as a partial clone may lack some of the files."""
        if not found.staged:
            return None
        self.private.distrust_no_time()
        result = self._git(self.request.whole).ask("write-tree")
        if not result.ok:
            return None
        found.staged, found.unstaged = [], []
        return result.output.decode().strip()

    def _git(self, deadline: Deadline) -> Git:
        git_dir = ("--git-dir", str(self.repository.git_dir))
        work_tree = ("--work-tree", str(self.repository.top))
        return Git(
            self.repository.top,
            *(*git_dir, *work_tree),
            index=self.private.index,
            deadline=deadline,
            config=self.config,
        )

    def _take_nested(self, found: Differences) -> dict[bytes, Snapshot | LeftOut]:
        taken: dict[bytes, Snapshot | LeftOut] = {}
        for path in (*found.submodules, *found.nested):
            name = os.fsdecode(path)
            suffix = f".{crc32(path):08x}"
            if self.request.reading.over:
                taken[path] = LeftOut(name, 0, "out of time")
                continue
            request = self.request._replace(suffix=suffix)
            try:
                inner = _take(self.repository.top / name, request, self.repository)
            except (OSError, ProngError) as error:
                taken[path] = LeftOut(name, 0, str(error))
            else:
                taken[path] = inner or LeftOut(name, 0, "no repository that git can open")
        return taken

    def _write(
        self, base: str | None, found: Differences, nested: dict[bytes, Snapshot | LeftOut]
    ) -> Snapshot:
        """Write the snapshot; `base` is the tree that staged files are compared with."""
        changed = len(found.staged) + len(found.unstaged) + len(found.deleted)
        new = max(0, len(found.modified) - len(self.known))
        with Import(self.private, changed + new, self.config, self.request.whole) as stream:
            return self._send(stream, base, found, nested)

    def _send(
        self,
        stream: Import,
        base: str | None,
        found: Differences,
        nested: dict[bytes, Snapshot | LeftOut],
    ) -> Snapshot:
        top, request = self.repository.top, self.request
        contents = Contents(os.fsencode(top), stream, self.known, request.reading, request.limit)
        for path, mode in found.modified.items():
            contents.read(path, mode)
        changes, deleted = contents.entries, [*found.deleted, *contents.gone]
        inner = {path: result for path, result in nested.items() if isinstance(result, Snapshot)}
        lost = [result for result in nested.values() if isinstance(result, LeftOut)]
        for path in found.submodules:
            head = inner[path].head if path in inner else None
            if head is not None:
                changes.append(ImportedEntry(LINKED, head, path))
            elif path in inner:
                deleted.append(path)
        snapshots = (self.previous, self.replaced)
        parents = [snapshot.commit for snapshot in snapshots if snapshot is not None]
        parents += [self.repository.head] if self.repository.head else []
        staged, staged_parents = self._send_staged(stream, base, found)
        if found.conflict:
            staged_parents = [self._send_conflict(stream, staged, found.conflict, staged_parents)]
        parents += staged_parents
        message = self._message(None if found.conflict else staged, found, contents, inner, lost)
        commit = stream.commit(message, request.taken, parents, staged, changes, deleted)
        tree, ids = stream.finish(commit, [commit, *(mark for _, _, mark in contents.learned)])
        stream.publish(request.ref, ids[0], self.replaced and self.replaced.commit)
        for (path, status, _), blob in zip(contents.learned, ids[1:], strict=True):
            self.known.learn(path, status, blob, self.private.started)
        self.known.save(self.private.folder / "known.json")
        snapshot = refs.parse(top, request.ref, ids[0], tree, message)
        assert snapshot is not None, "what was written can be read"
        return snapshot

    def _send_staged(
        self, stream: Import, base: str | None, found: Differences
    ) -> tuple[str, list[str]]:
        """Return the staged tree, and the commit that keeps it unless it is the head's."""
        head_tree = self.repository.head_tree
        changes = found.staged, found.unstaged
        if base is not None and base == head_tree and not any(changes):
            return base, []
        message = b"prong: staged\n"
        commit = stream.commit(message, self.request.taken, (), base, *changes)
        return stream.tree(commit), [commit]

    def _send_conflict(
        self, stream: Import, merged: str, conflict: list[Side], kept: list[str]
    ) -> str:
        """Keep the sides of a merge conflict, which has no tree, in folders: 0, 1, 2 and 3."""
        sides = [ImportedEntry(_FOLDER, merged, b"0")]
        sides += [
            ImportedEntry(side.mode, side.blob, side.stage + b"/" + side.path) for side in conflict
        ]
        return stream.commit(b"prong: conflict\n", self.request.taken, kept, None, sides)

    def _message(
        self,
        staged: str | None,
        found: Differences,
        contents: Contents,
        inner: dict[bytes, Snapshot],
        lost: list[LeftOut],
    ) -> bytes:
        left_out = (*contents.left_out, *lost)
        notes = [*found.degraded, *contents.notes()]
        if self.private.unsteady:
            notes.append("the head moved all the time: what is staged may be of another commit")
        if len(left_out) > LISTED:
            notes.append(f"{len(left_out)} files are left out, {LISTED} of them are listed")
        previous, repository = self.previous, self.repository
        before = {item.path for item in previous.nested} if previous else set[str]()
        nested = {os.fsdecode(path): item for path, item in inner.items()}
        fields = {
            "Message-Id": self.request.message_id,
            "Taken": self.request.taken.isoformat(),
            "Head": repository.head,
            "Branch": repository.branch,
            "Staged-Tree": staged,
            "Previous": previous and previous.commit,
            "Previous-Tree": previous and previous.tree,
            "Late": "yes" if self.request.late else None,
            "Degraded": " ".join("; ".join(notes).split()) or None,
        }
        lists = {
            "left_out": [[file.path, file.size, file.reason] for file in left_out[:LISTED]],
            "nested": [[path, item.commit] for path, item in nested.items()],
            "nested_changed": before != {*nested} or any(one.changed for one in nested.values()),
            "intended": [os.fsdecode(path) for path in found.intended],
        }
        return refs.message_of(self.request.key, self.request.number, fields, lists)

    def _won_by_another(self) -> Snapshot | None:
        """Return the snapshot of this turn that another process took at the same time."""
        current = refs.find(self.repository.top, self.request.ref)
        before = self.replaced and self.replaced.commit
        return next((snapshot for snapshot in current if snapshot.commit != before), None)
