"""What differs in a working tree from what is staged. Git lists it; nothing is read here.

Whether git looks into a file is decided by the times in the index alone, but for files as new as
the index. Those it reads, with all filters; where that fails (a filter is not installed, the file
shrinks under it), git is asked to believe its index, and we look at every new file ourselves.
"""

import os
import re
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prong.vcs import index
from prong.vcs.git import Git, Running
from prong.vcs.private import Private, home
from prong.vcs.repository import Repository
from prong.vcs.sizes import Sizes, packed

LINKED = b"160000"
"""The mode of a submodule."""
_LIST = ("ls-files", "-z", "-t", "-v", "-s", "-c", "-o", "--exclude-standard")
_DIFFER = ("diff-files", "-z", "--raw", "--no-renames")
_CLOSED = r"^warning: could not open directory '(.*)'"
_STORED = "files are in it as git stores them, not as they lie there: out of time"
_OFF = (b"", b"false", b"no", b"off", b"0")


class Staged(NamedTuple):
    """A line of the index."""

    mode: bytes
    blob: str
    stage: bytes
    path: bytes


class Differences:
    """What must be looked at to know the working tree."""

    def __init__(self) -> None:
        self.modified: dict[bytes, bytes | None] = {}
        """Path -> the mode that git sees, or None where the file itself tells it."""
        self.deleted: list[bytes] = []
        self.intended: list[bytes] = []
        """Announced with `git add --intent-to-add`."""
        self.submodules: list[bytes] = []
        """Those that differ: another commit, or something in them that is not committed."""
        self.nested: list[bytes] = []
        """Repositories that this one knows nothing of."""
        self.staged: list[Staged] | None = None
        """The whole index, where it has no tree: during a merge conflict."""
        self.degraded: list[str] = []


class Working:
    """The questions to git about one working tree, asked at the same time."""

    def __init__(self, repository: Repository, private: Private, git: Git) -> None:
        self._repository = repository
        self._top = os.fsencode(repository.top)
        self._private = private
        self._git = git
        self._listing = git.start(*_LIST, output=private.folder / "files")
        self._differing = self._differ("none")

    def differences(self, config: bytes, *, conflict: bool) -> Differences:
        found = Differences()
        settings = _settings(config)
        listing = self._listing.answer()
        if not listing.ok:
            if not self._git.deadline.over:
                listing.expect()
            found.degraded.append("untracked files are not in it: to find them takes too long")
        records = listing.output.split(b"\0")[:-1] if listing.ok else []
        closed = listing.complaint and re.findall(_CLOSED, listing.complaint, re.MULTILINE)
        if closed:
            found.degraded.append(f"git could not look into {', '.join(closed[:3])}")
        odd = [record for record in records if record[:5] != b"H 100"]
        links = self._classify(odd, found)
        self._read_differing(found, records, links, settings)
        if conflict:
            # That there is no time for what is not staged does not make it less.
            index = records if listing.ok else self._list_index()
            found.staged = [_staged(record) for record in index if record[:2] != b"? "]
        if listing.ok and self._converts(listing.output, settings):
            self._find_converted(records, found, settings)
        return found

    def abandon(self) -> None:
        """Nobody wants to know any more."""
        self._listing.kill()
        self._differing.kill()

    def _list_index(self) -> list[bytes]:
        git = Git(self._git.folder, *self._git.options, index=self._git.index)
        return git.run(*_LIST[:-2]).split(b"\0")[:-1]

    def _differ(self, submodules: str) -> Running:
        ignore = f"--ignore-submodules={submodules}"
        return self._git.start(*_DIFFER, ignore, output=self._private.folder / "differing")

    def _classify(self, odd: list[bytes], found: Differences) -> list[bytes]:
        """What is not an ordinary file that is just tracked. Returns the submodules."""
        links: list[bytes] = []
        for record in odd:
            tag, rest = record[:1], record[2:]
            if tag == b"?":
                if rest.endswith(b"/"):
                    found.nested.append(rest[:-1])
                else:
                    found.modified[rest] = None
                continue
            entry = _staged(record)
            if entry.mode == LINKED:
                links.append(entry.path)
            elif tag in b"Ss" or tag.islower():
                # Marked so that git does not look: we do. Missing, it is deleted or sparse.
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
    ) -> None:
        differing = self._differing.answer()
        if not differing.ok and not self._git.deadline.over:
            original = _mtime(self._private.index)
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
        fields = differing.output.split(b"\0")[:-1]
        for about, path in zip(fields[::2], fields[1::2], strict=True):
            old, new, _, _, kind = about.lstrip(b":").split(b" ")
            if kind == b"D":
                found.deleted.append(path)
                # A file of this name may lie behind a link that was a folder. It is not this one.
                found.modified.pop(path, None)
                if self._is_repository(path) and path not in found.nested:
                    found.nested.append(path)
            elif new == LINKED or (old == LINKED and kind == b"M"):
                found.submodules.append(path)
            else:
                # Where the file system cannot tell, git knows the mode.
                found.modified[path] = None if trusted or kind == b"U" else new
                if kind == b"A":
                    found.intended.append(path)

    def _converts(self, listing: bytes, settings: dict[bytes, bytes]) -> bool:
        """Whether files may have other bytes than their blobs, though git sees no change."""
        if settings.get(b"core.autocrlf", b"false").lower() not in _OFF:
            return True
        if b".gitattributes\0" in listing:
            return True
        settled = os.environ.get("XDG_CONFIG_HOME") or f"{os.environ.get('HOME', '')}/.config"
        places = (
            self._repository.top / ".gitattributes",
            self._repository.common_dir / "info" / "attributes",
            Path(settled) / "git" / "attributes",
            Path("/etc/gitattributes"),
        )
        return b"core.attributesfile" in settings or any(place.exists() for place in places)

    def _find_converted(
        self, records: list[bytes], found: Differences, settings: dict[bytes, bytes]
    ) -> None:
        """Converting ends of lines or an encoding changes the size: those files are read, too."""
        width = 32 if settings.get(b"extensions.objectformat") == b"sha256" else 20
        cache = home(self._repository) / "sizes"
        temporary = self._private.folder / "sizes"
        sizes = Sizes(cache, self._git, width).differing(self._sizes(records, width), temporary)
        if sizes is None:
            found.degraded.append(_STORED)
            return
        if not sizes:
            return
        seen = {*found.deleted, *found.modified}
        suspects = [record for record in records if record[9 : 9 + 2 * width] in sizes]
        converted = [
            path
            for blob, path, status in self._present(suspects)
            if packed(status.st_size) != packed(sizes[blob]) and path not in seen
        ]
        if not converted:
            return
        # A file of an own filter, as that of LFS, stays what git has of it.
        asked = b"".join(path + b"\0" for path in converted)
        answer = self._git.ask("check-attr", "-z", "--stdin", "filter", stdin=asked)
        if not answer.ok and self._git.deadline.over:
            found.degraded.append(_STORED)
            return
        values = answer.expect().split(b"\0")[2::3]
        for path, value in zip(converted, values, strict=True):
            if value in {b"unspecified", b"unset"}:
                found.modified[path] = None

    def _sizes(self, records: list[bytes], width: int) -> set[bytes]:
        """Size and blob of the tracked files. Where git sees no change, its index knows both."""
        found: set[bytes] | None = None
        with suppress(FileNotFoundError, IndexError):
            found = index.sizes(self._private.index.read_bytes(), width)
        if found is None:
            found = {
                packed(status.st_size) + bytes.fromhex(blob.decode())
                for blob, _, status in self._present(records)
            }
        return found

    def _present(self, records: list[bytes]) -> Iterator[tuple[bytes, bytes, os.stat_result]]:
        """Blob, path and status of the ordinary tracked files that are there."""
        # There may be a hundred thousand: the short way.
        top = self._top + b"/"
        for record in records:
            if record[:5] != b"H 100":
                continue
            about, _, path = record.partition(b"\t")
            try:
                status = os.lstat(top + path)
            except OSError:
                continue
            if stat.S_ISREG(status.st_mode):
                yield about[9:-2], path, status

    def _stat(self, path: bytes) -> os.stat_result | None:
        try:
            return os.lstat(b"%s/%s" % (self._top, path))
        except OSError:
            return None

    def _is_there(self, path: bytes) -> bool:
        """Whether there is such a file, and not just one behind a link that was a folder."""
        folder = os.path.dirname(b"%s/%s" % (self._top, path))
        return self._stat(path) is not None and os.path.realpath(folder) == folder

    def _is_repository(self, path: bytes) -> bool:
        return self._stat(path + b"/.git") is not None


def _staged(record: bytes) -> Staged:
    about, path = record[2:].split(b"\t", 1)
    mode, blob, stage = about.split(b" ")
    return Staged(mode, blob.decode(), stage, path)


def _settings(config: bytes) -> dict[bytes, bytes]:
    """The last value of each; a name without one is true."""
    found: dict[bytes, bytes] = {}
    for entry in config.split(b"\0")[:-1]:
        name, equals, value = entry.partition(b"\n")
        found[name] = value if equals else b"true"
    return found


def _mtime(path: Path) -> int:
    try:
        return int(path.stat().st_mtime)
    except OSError:
        return 0
