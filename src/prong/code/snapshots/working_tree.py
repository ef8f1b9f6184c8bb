"""Staged and unstaged changes, as listed by git. No file is read here.

Git decides by the times in its index whether to read a file, except for files as new as the index.
Those it reads, without filters; if that fails (the file shrinks meanwhile), git is told to trust
its index, and every new file counts as modified.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Self

from prong.code.changed_files import FILTER_OF, LINKED, dirty, filters_in, unchanged
from prong.code.git import Deadline, Git, RunningGit, items_of
from prong.code.repository import Repository
from prong.code.snapshots import sizes as index_sizes
from prong.code.snapshots.fast_import import ImportedEntry
from prong.code.snapshots.private_folder import Private, home
from prong.code.snapshots.sizes import Sizes, packed
from prong.files.regular import read_regular

_INDEX = ("ls-files", "-z", "-t", "-v", "-s", "-c")
_LIST = (*_INDEX, "-o", "--exclude-standard")
_DIFFER = ("diff-files", "-z", "--raw", "--no-renames")
_STAGED = (
    *("diff-index", "--cached", "-z", "--raw", "--no-abbrev", "--no-renames"),
    *("--ignore-submodules=none", "--ita-invisible-in-index"),
)
_EMPTY = (
    b"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    b"473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
)
"""The empty blob, by which git lists what was added with `--intent-to-add` and then deleted."""
_ENTRY = re.compile(rb"([^\0]+)\0  ctime.*?flags: ([0-9a-f]+)\n", re.DOTALL)
_INTENT_TO_ADD = 1 << 29
_CLOSED = r"^warning: could not open directory '(.*)'"
_STORED = "files are in it as git stores them, not as they lie there: out of time"
_ANY_SIZE = (b"working-tree-encoding", b"ident")
"""Attributes that convert a file to other bytes, perhaps without changing its size."""
_OFF = (b"", b"false", b"no", b"off", b"0")
_ATTRIBUTES = b".gitattributes"


class Side(NamedTuple):
    """A line of the index. Its stage is 0 except in a merge conflict."""

    mode: bytes
    blob: str
    stage: bytes
    path: bytes


class Differences:
    """Everything to be read to capture the working tree."""

    def __init__(self) -> None:
        self.modified: dict[bytes, bytes | None] = {}
        """Path -> mode according to git, or None to take that of the file."""
        self.deleted: list[bytes] = []
        self.intended: list[bytes] = []
        """Added with `git add --intent-to-add`, deleted ones included."""
        self.submodules: list[bytes] = []
        """Submodules at another commit or with uncommitted changes."""
        self.nested: list[bytes] = []
        """Repositories inside that are no submodules."""
        self.staged: list[ImportedEntry] = []
        """Entries staged differently from the head."""
        self.unstaged: list[bytes] = []
        """Files of the head that are no longer staged."""
        self.conflict: list[Side] = []
        """The sides of a merge conflict, because of which the index has no tree."""
        self.degraded: list[str] = []


class WorkingTree:
    """Queries to git about one working tree, run in parallel."""

    def __init__(self, repository: Repository, private: Private, git: Git, whole: Deadline) -> None:
        """Start the queries. `git` has the deadline for reading, `whole` that of the snapshot."""
        self._repository = repository
        self._top = os.fsencode(repository.top)
        self._private = private
        self._git = git
        self._patient = Git(git.folder, *git.options, index=git.index, deadline=whole)
        """For queries that a snapshot cannot do without."""
        base = repository.head_tree or git.empty_tree()
        self._listing = git.start(*_LIST, output=private.folder / "files")
        self._differing = self._differ("dirty")
        self._staged = self._patient.start(*_STAGED, base, output=private.folder / "staged")

    def differences(self, config: bytes) -> Differences:
        differences = Differences()
        settings = _settings(config)
        listing = self._listing.answer()
        if not listing.ok:
            if not self._git.deadline.over:
                listing.expect()
            differences.degraded.append(
                "untracked files are not in it: to find them takes too long"
            )
        records = listing.items if listing.ok else []
        closed = listing.complaint and re.findall(_CLOSED, listing.complaint, re.MULTILINE)
        if closed:
            differences.degraded.append(f"git could not look into {', '.join(closed[:3])}")
        odd = [record for record in records if record[:5] != b"H 100"]
        links = self._classify(odd, differences)
        sources = list(_attribute_files(self._repository, listing.output, settings))
        filters = not listing.ok or _may_have(sources, (b"filter",))
        self._read_differing(differences, records, links, settings, filters=filters)
        self._read_staged(differences)
        # What is staged counts, even without time for what is not staged.
        lines = odd if listing.ok else self._patient.items(*_INDEX)
        sides = [_side(record) for record in lines if record[:2] != b"? "]
        differences.conflict = [side for side in sides if side.stage != b"0"]
        if listing.ok:
            self._find_converted(sources, records, differences, settings)
        return differences

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for query in (self._listing, self._differing, self._staged):
            query.kill()

    def _differ(self, submodules: str) -> RunningGit:
        ignore = f"--ignore-submodules={submodules}"
        return self._git.start(*_DIFFER, ignore, output=self._private.folder / "differing")

    def _classify(self, odd: list[bytes], found: Differences) -> list[bytes]:
        """Sort entries other than plain tracked files. Returns the submodules."""
        links: list[bytes] = []
        for record in odd:
            tag, path = record[:1], record[2:]
            if tag == b"?":
                if path.endswith(b"/"):
                    found.nested.append(path[:-1])
                else:
                    found.modified[path] = None
                continue
            entry = _side(record)
            if entry.mode == LINKED:
                links.append(entry.path)
            elif tag in b"Ss" or tag.islower():
                # Git was told not to check it, so it is read. If missing, it is deleted or sparse.
                if self._is_there(entry.path):
                    found.modified[entry.path] = None
                elif tag == b"h":
                    found.deleted.append(entry.path)
        return links

    def _read_differing(
        self,
        found: Differences,
        records: list[bytes],
        links: list[bytes],
        settings: dict[bytes, bytes],
        *,
        filters: bool,
    ) -> None:
        differing = self._differing.answer()
        if not differing.ok and not self._git.deadline.over:
            index = self._private.index
            original = int(index.stat().st_mtime) if index.exists() else 0
            self._private.distrust_no_time()
            differing = self._differ("all").answer()
            if not self._git.deadline.over:
                differing.expect()
            found.submodules += [path for path in links if self._is_repository(path)]
            for _, path, status in self._present(records):
                if int(status.st_mtime) >= original:
                    found.modified[path] = None
        if not differing.ok:
            found.degraded.append("changes that are not staged are not in it: out of time")
            return
        trusted = all(
            settings.get(name, b"true").lower() not in _OFF
            for name in (b"core.filemode", b"core.symlinks")
        )
        fields = differing.items
        same = unchanged(self._git, self._top, fields[1::2] if filters else ())
        for entry, path in zip(fields[::2], fields[1::2], strict=True):
            old, new, _, _, kind = entry.lstrip(b":").split(b" ")
            if kind == b"D":
                found.deleted.append(path)
                # A link that was a folder may lead to a file of this name, which is another one.
                found.modified.pop(path, None)
                if self._is_repository(path) and path not in found.nested:
                    found.nested.append(path)
            elif path in same:
                continue
            elif new == LINKED or (old == LINKED and kind == b"M"):
                found.submodules.append(path)
            else:
                # If the file system has no modes, git knows them.
                found.modified[path] = None if trusted or kind == b"U" else new
                if kind == b"A":
                    found.intended.append(path)
        found.intended += self._intended_among(zip(fields[::2], fields[1::2], strict=True))
        others = [path for path in links if path not in found.submodules]
        found.submodules += dirty(self._repository.top, others, self._git.deadline)

    def _intended_among(self, differing: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
        """Return the deleted files that were added with `--intent-to-add`."""
        deleted = [
            path
            for entry, path in differing
            if entry.endswith(b" D") and entry.split(b" ")[2] in _EMPTY
        ]
        if not deleted:
            return []
        entries = _ENTRY.findall(self._patient.run("ls-files", "-z", "--debug"))
        flags = {name: int(value, 16) for name, value in entries}
        return [name for name in deleted if flags.get(name, 0) & _INTENT_TO_ADD]

    def _read_staged(self, found: Differences) -> None:
        fields = items_of(self._staged.answer().expect())
        for entry, path in zip(fields[::2], fields[1::2], strict=True):
            _, mode, _, blob, kind = entry.split(b" ")
            if kind in (b"D", b"U"):  # in a conflict, a file has sides, but none is staged
                found.unstaged.append(path)
            else:
                found.staged.append(ImportedEntry(mode, blob.decode(), path))

    def _find_converted(
        self,
        sources: list[Path],
        records: list[bytes],
        found: Differences,
        settings: dict[bytes, bytes],
    ) -> None:
        """Add files whose bytes may differ from their blobs although git sees no change."""
        crlf = settings.get(b"core.autocrlf", b"false").lower() not in _OFF
        cache = home(self._repository) / "sizes"
        # Files stay converted when the setting is removed: then the cache exists.
        if not crlf and not sources and not cache.exists():
            return
        converted = self._of_other_size(records, cache, settings)
        if converted is not None and _may_have(sources, _ANY_SIZE):
            recoded = self._recoded()
            converted = None if recoded is None else converted | recoded
        if converted is None or not self._keep_unfiltered(converted, found):
            found.degraded.append(_STORED)

    def _of_other_size(
        self, records: list[bytes], cache: Path, settings: dict[bytes, bytes]
    ) -> dict[bytes, None] | None:
        """Return files of another size, as after converting line ends. None: out of time."""
        width = 32 if settings.get(b"extensions.objectformat") == b"sha256" else 20
        temporary = self._private.folder / "sizes"
        sizes = Sizes(cache, self._git, width).differing(self._sizes(records, width), temporary)
        if sizes is None:
            return None
        suspects = [record for record in records if record[9 : 9 + 2 * width] in sizes]
        return {
            path: None
            for blob, path, status in self._present(suspects if sizes else [])
            if packed(status.st_size) != packed(sizes[blob])
        }

    def _recoded(self) -> dict[bytes, None] | None:
        """Return files that may be converted without changing their size. None: out of time."""
        git = Git(
            self._git.folder,
            *("--no-literal-pathspecs", *self._git.options),
            index=self._git.index,
            deadline=self._git.deadline,
        )
        unspecified = b" ".join(b"!" + name for name in _ANY_SIZE).decode()
        answer = git.ask(*_INDEX, "--", ".", f":(exclude,attr:{unspecified})")
        if not answer.ok and git.deadline.over:
            return None
        records = items_of(answer.expect())
        return {path: None for _, path, _ in self._present(records)}

    def _keep_unfiltered(self, converted: dict[bytes, None], found: Differences) -> bool:
        """Add converted files, but not those with a filter such as LFS. False: out of time."""
        seen = {*found.deleted, *found.modified}
        paths = [path for path in converted if path not in seen]
        if not paths:
            return True
        stdin = b"".join(path + b"\0" for path in paths)
        answer = self._git.ask(*FILTER_OF, stdin=stdin)
        if not answer.ok and self._git.deadline.over:
            return False
        filters = filters_in(answer.expect())
        found.modified |= {
            path: None for path in paths if filters[path] in {b"unspecified", b"unset"}
        }
        return True

    def _sizes(self, records: list[bytes], width: int) -> set[bytes]:
        """Return size and blob of tracked files, from the index if possible."""
        with suppress(FileNotFoundError, IndexError):
            result = index_sizes.sizes(self._private.index.read_bytes(), width)
            if result is not None:
                return result
        return {
            packed(status.st_size) + bytes.fromhex(blob.decode())
            for blob, _, status in self._present(records)
        }

    def _present(self, records: list[bytes]) -> Iterator[tuple[bytes, bytes, os.stat_result]]:
        """Yield blob, path and status of existing plain tracked files."""
        # Optimized, as there may be a hundred thousand.
        top = self._top + b"/"
        for record in records:
            if record[:5] != b"H 100":
                continue
            entry, _, path = record.partition(b"\t")
            try:
                status = os.lstat(top + path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield entry[9:-2], path, status

    def _stat(self, path: bytes) -> os.stat_result | None:
        try:
            return os.lstat(b"%s/%s" % (self._top, path))
        except OSError:
            return None

    def _is_there(self, path: bytes) -> bool:
        """Tell whether a file exists, and not just behind a link that was a folder."""
        folder = os.path.dirname(b"%s/%s" % (self._top, path))
        return self._stat(path) is not None and os.path.realpath(folder) == folder

    def _is_repository(self, path: bytes) -> bool:
        return self._stat(path + b"/.git") is not None


def _side(record: bytes) -> Side:
    fields, path = record[2:].split(b"\t", 1)
    mode, blob, stage = fields.split(b" ")
    return Side(mode, blob.decode(), stage, path)


def _settings(config: bytes) -> dict[bytes, bytes]:
    """Map each setting to its last value; a name without a value is true."""
    settings: dict[bytes, bytes] = {}
    for entry in items_of(config):
        name, equals, value = entry.partition(b"\n")
        settings[name] = value if equals else b"true"
    return settings


def _attribute_files(
    repository: Repository, listing: bytes, settings: Mapping[bytes, bytes]
) -> Iterator[Path]:
    """List the files that can define attributes, in a listing of git or configured."""
    end = _ATTRIBUTES + b"\0"
    position = listing.find(end)
    while position >= 0:
        record = listing[listing.rfind(b"\0", 0, position) + 1 : position + len(_ATTRIBUTES)]
        path = record[2:] if record[:1] == b"?" else record.partition(b"\t")[2]
        yield repository.top / os.fsdecode(path)
        position = listing.find(end, position + 1)
    configured = settings.get(b"core.attributesfile")
    if configured is not None:
        yield Path(os.path.expanduser(os.fsdecode(configured)))  # noqa: PTH111 -- fails on `~nobody`
    config_home = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
    candidates = (
        repository.top / os.fsdecode(_ATTRIBUTES),  # which may itself be ignored
        repository.common_dir / "info" / "attributes",
        Path(config_home) / "git" / "attributes",
        Path("/etc/gitattributes"),
    )
    yield from (candidate for candidate in candidates if candidate.exists())


def _may_have(files: Iterable[Path], names: Iterable[bytes]) -> bool:
    """Return False if none of the files mentions any of these attributes."""
    for file in files:
        try:
            text = read_regular(file)
        except OSError:
            return True  # git may read it from the index
        if any(name in text for name in names):
            return True
    return False
