"""Incremental scan of session files: open only what changed, and continue files that grew.

A file is unchanged if its size, modification time and inode are. Small changed files are read
again. Large ones are continued from where the last scan stopped, if the hash of everything before
is the same: a file that was rewritten and grew again looks like growth, but is not.
"""

import os
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import BinaryIO, Generic, Protocol, TypeVar

import msgspec

from prong.agents import jsonl
from prong.agents.base import ScanCache
from prong.model.record import Record
from prong.model.sessions import KnownFile, Scan, Session, Skipped
from prong.model.turn_text import Stamp, TextSink

CONTINUED_FROM = 4 << 20
"""Bytes. Smaller files are read again when they change."""

_BLOCK = 1 << 20


class State(Protocol):
    """The result of reading a file, including how far it was read."""

    read_to: int


S = TypeVar("S", bound=State)
F = TypeVar("F", bound=msgspec.Struct)


class _Bookmark(msgspec.Struct, array_like=True):
    """The stored state of a large file, and the hash of what was read."""

    read_to: int
    digest: bytes
    state: msgspec.Raw


class FileReader(ABC, Generic[S, F]):
    """How an agent reads a file (into a state), and what the cache keeps of it (the facts)."""

    state: type[S]
    facts: type[F]

    @abstractmethod
    def read(self, file: BinaryIO, previous: S | None = None) -> S:
        """Read the whole file, or what was appended after `previous`."""

    @abstractmethod
    def summarise(self, state: S, path: str, stat: os.stat_result) -> F:
        """Return the facts of the file that was read last."""


class SessionFiles(Record, Generic[S, F], frozen=True):
    """The kind of session files that one agent writes."""

    agent: str
    version: int
    """Increase it when the meaning of facts or states changes, so that files are read again."""
    reader: Callable[[], FileReader[S, F]]
    """Called only if a file changed, so that most scans need not import the reader."""

    def recall(self, cache: ScanCache, path: str, stat: os.stat_result) -> S | None:
        """Return the state of a large file from the last scan; None if it changed or is small."""
        known = cache.file(self.agent, path) if stat.st_size > CONTINUED_FROM else None
        bookmark = self.bookmark(known) if known and _is_same(known, stat) else None
        return self.state(bookmark) if bookmark else None

    def bookmark(self, known: KnownFile | None) -> "_Bookmark | None":
        if known is None or known.state is None or known.state[:1] != bytes([self.version]):
            return None
        try:
            return msgspec.msgpack.decode(memoryview(known.state)[1:], type=_Bookmark)
        except ValueError:
            return None

    def state(self, bookmark: "_Bookmark") -> S | None:
        try:
            return msgspec.msgpack.decode(bookmark.state, type=self.reader().state)
        except ValueError:
            return None


class _Result(msgspec.Struct, array_like=True):
    """The result of a complete scan, reused while nothing changes."""

    seal: bytes
    sessions: list[Session]
    empty: list[str]
    """Files without a conversation."""


class FileScan(Generic[S, F]):
    """One scan of the files of an agent."""

    def __init__(
        self,
        kind: SessionFiles[S, F],
        cache: ScanCache,
        roots: Sequence[Path],
        sink: TextSink | None = None,
        listening: Callable[[TextSink], FileReader[S, F]] | None = None,
    ) -> None:
        """`listening` makes a reader that passes texts to the sink, for files that it wants.

        Such a reader reads whole files: earlier text is not kept. Only files below `roots` can be
        reported gone: a cache may cover other roots too.
        """
        self.kind = kind
        self.cache = cache
        self.roots = roots
        self.sink = sink
        self.facts: dict[str, F] = {}
        self.changed: dict[str, KnownFile] = {}
        self.skipped: list[Skipped] = []
        self.stats: dict[str, os.stat_result] = {}
        self._listening = listening
        self._version = bytes([kind.version])

    @cached_property
    def _reader(self) -> FileReader[S, F]:
        return self.kind.reader()

    @cached_property
    def _decode_facts(self) -> Callable[[memoryview], F]:
        return msgspec.msgpack.Decoder(self._reader.facts).decode

    @cached_property
    def _listener(self) -> FileReader[S, F]:
        assert self.sink is not None
        return self._listening(self.sink) if self._listening else self._reader

    @cached_property
    def known(self) -> dict[str, KnownFile]:
        """The cached files below the roots."""
        below = tuple(f"{root}{os.sep}" for root in self.roots)
        everything = self.cache.known(self.kind.agent)
        return {path: file for path, file in everything.items() if path.startswith(below)}

    def finish(
        self,
        assemble: Callable[[], tuple[list[Session], list[Skipped]]],
        *,
        complete: bool,
        more: object = None,
    ) -> Scan:
        """Read changed files and assemble the sessions, or return the cached result.

        `more` is anything else that the sessions depend on.
        """
        seal = self._seal(more)
        if complete and (result := self._sealed(seal)):
            empty = tuple(no_conversation(path) for path in result.empty)
            return Scan(tuple(result.sessions), empty, seal=seal)
        self._read_changed()
        sessions, skipped = assemble()
        is_reusable = complete and not self.skipped and all(skip.harmless for skip in skipped)
        result = _Result(seal, sessions, [str(skip.path) for skip in skipped])
        return Scan(
            sessions=tuple(sessions),
            skipped=(*skipped, *self.skipped),
            changed=self.changed,
            gone=frozenset(path for path in self.known if path not in self.stats)
            if complete
            else frozenset(),
            complete=complete,
            result=_packed(result) if is_reusable else None,
            seal=seal if complete else b"",
        )

    def _seal(self, more: object) -> bytes:
        """Fingerprint everything that the sessions depend on."""
        lines = [
            f"{path}\0{stat.st_size}\0{stat.st_mtime_ns}\0{stat.st_ino}"
            for path, stat in self.stats.items()
        ]
        text = os.fsencode("\n".join([*map(str, self.roots), repr(more), *lines]))
        # Two checksums detect changes as well as a hash does, and need not import hashlib, which
        # takes longer to load than all else here.
        sums = (zlib.crc32(text), zlib.adler32(text), len(text))
        return self._version + b"%08x%08x%x" % sums

    def _sealed(self, seal: bytes) -> _Result | None:
        stored = self.cache.result(self.kind.agent)
        # The seal is near the beginning: do not decode a result that has another.
        if stored is None or seal not in stored[:64]:
            return None
        try:
            return msgspec.msgpack.decode(stored, type=_Result)
        except ValueError:
            return None

    def _read_changed(self) -> None:
        facts: dict[str, F] = {}
        changed: list[tuple[str, os.stat_result]] = []
        for path, stat in self.stats.items():
            cached = self.known.get(path)
            is_same = cached is not None and _is_same(cached, stat)
            cached_facts = self._remembered(cached) if cached is not None and is_same else None
            if cached_facts is not None:
                facts[path] = cached_facts
            else:
                changed.append((path, stat))
        # Newest first: a search in progress most likely needs those.
        changed.sort(key=lambda file: file[1].st_mtime_ns, reverse=True)
        if changed and self.sink is not None:
            self.sink.expect({path: Stamp.of(stat) for path, stat in changed})
        for path, stat in changed:
            if (new_facts := self._read(path, stat)) is not None:
                facts[path] = new_facts
        self.facts = {path: facts[path] for path in self.stats if path in facts}

    def _remembered(self, known: KnownFile) -> F | None:
        if not known.facts.startswith(self._version):
            return None
        try:
            return self._decode_facts(memoryview(known.facts)[1:])
        except ValueError:
            return None

    def _read(self, path: str, stat: os.stat_result) -> F | None:
        is_wanted = self.sink is not None and self.sink.wants(path, Stamp.of(stat))
        reader = self._listener if is_wanted else self._reader
        try:
            with jsonl.open_file(Path(path)) as file:
                if stat.st_size <= CONTINUED_FROM or path.endswith(".zst"):
                    state, bookmark = reader.read(file), None
                else:
                    state, bookmark = self._read_large(reader, path, file, stat)
        except FileNotFoundError:
            # Deleted since the listing.
            del self.stats[path]
            return None
        except OSError as error:
            self.skipped.append(Skipped(Path(path), error.strerror or str(error)))
            return None
        facts = reader.summarise(state, path, stat)
        if (packed := _packed(facts)) is not None:
            size, time, inode = stat.st_size, stat.st_mtime_ns, stat.st_ino
            self.changed[path] = KnownFile(size, time, inode, self._version + packed, bookmark)
        return facts

    def _read_large(
        self, reader: FileReader[S, F], path: str, file: BinaryIO, stat: os.stat_result
    ) -> tuple[S, bytes | None]:
        """Continue where the last scan stopped, if possible; return also the next bookmark."""
        prefix = _Prefix(file)
        previous = None
        if reader is self._reader:
            previous = self._continue(path, stat, prefix)
            if previous is None:
                prefix = _Prefix(file)
        state = reader.read(file, previous)
        digest, packed = prefix.digest(state.read_to), _packed(state)
        if digest is None or packed is None:
            return state, None
        bookmark = _Bookmark(state.read_to, digest, msgspec.Raw(packed))
        return state, self._version + msgspec.msgpack.encode(bookmark)

    def _continue(self, path: str, stat: os.stat_result, prefix: "_Prefix") -> S | None:
        known = self.known.get(path)
        if known is None or known.inode != stat.st_ino or known.size > stat.st_size:
            return None
        bookmark = self.kind.bookmark(self.cache.file(self.kind.agent, path))
        if bookmark is None or prefix.digest(bookmark.read_to) != bookmark.digest:
            return None
        return self.kind.state(bookmark)


class _Prefix:
    """Incremental hash of the beginning of a file; each end must be at or after the last."""

    def __init__(self, file: BinaryIO) -> None:
        import hashlib

        self._file = file
        self._hash = hashlib.sha256()
        self._at = 0

    def digest(self, end: int) -> bytes | None:
        """Hash the file up to this offset; None when it is shorter."""
        self._file.seek(self._at)
        while self._at < end:
            block = self._file.read(min(end - self._at, _BLOCK))
            if not block:
                return None
            self._hash.update(block)
            self._at += len(block)
        return self._hash.digest()


def no_conversation(path: str) -> Skipped:
    """Describe a file without messages, which is skipped silently."""
    return Skipped(Path(path), "no conversation in it", harmless=True)


def _packed(value: object) -> bytes | None:
    """Encode for the cache; None for a number out of range or a path that is not text."""
    try:
        return msgspec.msgpack.encode(value)
    except (OverflowError, UnicodeEncodeError):
        return None


def _is_same(known: KnownFile, stat: os.stat_result) -> bool:
    return (
        known.mtime_ns == stat.st_mtime_ns
        and known.size == stat.st_size
        and known.inode == stat.st_ino
    )
