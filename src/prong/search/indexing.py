"""Index updates: indexes the texts that a session scan reads, then the rest."""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from prong.agents.base import AgentStore, ScanCache
from prong.errors import ProngError
from prong.log import debug
from prong.model.record import Record, field
from prong.model.search import IndexProgress, IndexState, ignore_progress
from prong.model.sessions import Message, Scan, Session, Turn
from prong.model.turn_text import FileTexts, Stamp, TurnText
from prong.plugins import BUILT_IN
from prong.processes.garbage import no_collections
from prong.search.index import SearchIndex, Update
from prong.session.listing import Listing, Scanner, SessionFilter

if TYPE_CHECKING:
    from prong.search.catalogue import IndexedFile


_RESULT_END = 2_000
"""Characters of a tool result that are indexed from each end."""


def plain_texts(store: AgentStore, session: Session, *, output: bool = True) -> FileTexts:
    """Read all turns of a session from its messages."""
    stamp = Stamp.of(session.path.stat())
    return FileTexts(session.file, stamp, session.id, _turns(store, session, output=output))


def _turns(store: AgentStore, session: Session, *, output: bool) -> Iterator[TurnText]:
    conversation = store.conversation(session)
    turns = {turn.index: turn for turn in conversation.turns}
    for number, messages in groupby(store.messages(session), key=lambda message: message.turn):
        if turn := turns.pop(number, None):
            yield _text(turn, list(messages), output=output)
    for turn in turns.values():
        yield _text(turn, [], output=output)
    for turn in conversation.abandoned:
        yield _text(turn, list(store.messages(session, turn=turn.id)), output=output)


def _text(turn: Turn, messages: Sequence[Message], *, output: bool) -> TurnText:
    answers = [m.text for m in messages if m.role == "assistant" and m.tool is None and m.text]
    results = [m.tool.output for m in messages if m.tool and m.tool.output] if output else []
    return TurnText(
        id=turn.id,
        index=turn.index,
        kind=turn.kind.value,
        started=turn.started.isoformat() if turn.started else None,
        prompt="\n".join((turn.prompt, *turn.queued)),
        answer="\n".join(answers),
        last_answer=answers[-1] if answers else "",
        files=turn.files,
        commands=tuple(command.command for command in turn.commands),
        output="\n".join(map(_ends, results)),
    )


def _ends(result: str) -> str:
    if len(result) <= 2 * _RESULT_END:
        return result
    return f"{result[:_RESULT_END]}\n{result[-_RESULT_END:]}"


OnProgress = Callable[[IndexProgress], None]
_REFRESHED = "refreshed"
_WRITTEN = "written"
_BEHIND = "behind"
_PARTIAL = "partial"
_RATE = 20_000_000
"""Estimated indexing speed in bytes of session files per second."""
_MOMENT = 0.05
"""Lock wait in seconds: another process may hold it only to check whether it is free."""


class _Work(Record):
    """Deadline and progress of a refresh."""

    deadline: float | None
    on_progress: OnProgress
    done: IndexProgress = field(default_factory=lambda: IndexProgress("sessions", 0, 0))

    def in_time(self, stamp: Stamp) -> bool:
        """Return True when a file can be indexed before the deadline."""
        return self.deadline is None or time.monotonic() + stamp.size / _RATE < self.deadline

    def expect(self, stamps: Iterable[Stamp]) -> None:
        for stamp in stamps:
            total, size = self.done.total + 1, self.done.bytes_total + stamp.size
            self.done = self.done._replace(total=total, bytes_total=size)

    def took(self, stamp: Stamp) -> None:
        done, size = self.done.done + 1, self.done.bytes_done + stamp.size
        self.done = self.done._replace(done=done, bytes_done=size)
        self.on_progress(self.done)


class Refreshed(NamedTuple):
    listing: Listing
    busy: bool
    """True when another process was writing, so nothing was indexed."""


class _Seen(NamedTuple):
    """A session listing that is reused while the user types."""

    at: float
    written: bytes | None
    """Time of the last index write when the sessions were listed."""
    listing: Listing


class Indexing:
    def __init__(
        self, index: SearchIndex, stores: Mapping[str, AgentStore], cache: ScanCache
    ) -> None:
        self._index = index
        self._stores = stores
        self._cache = cache
        self._seen: _Seen | None = None

    @property
    def is_new(self) -> bool:
        """True until the first complete refresh."""
        return self._index.catalogue.fact(_REFRESHED) is None

    def _listing(self, runs: "Mapping[str, _AgentRun] | None" = None) -> Listing:
        scans = {name: run.scan for name, run in (runs or {}).items()}
        scanner = Scanner(self._stores, self._cache, scans)
        return scanner.listing(SessionFilter(everything=True))

    @no_collections()
    def refresh(
        self,
        *,
        seconds: float | None = None,
        patience: float = _MOMENT,
        on_progress: OnProgress = ignore_progress,
    ) -> Refreshed:
        """Index changes for at most `seconds`; wait up to `patience` for another writer."""
        work = _Work(None if seconds is None else time.monotonic() + seconds, on_progress)
        with self._index.writing(patience) as update:
            if update is None:
                return Refreshed(self._listing(), busy=True)
            runs = {
                name: _AgentRun(name, store, update, self._index, work)
                for name, store in self._stores.items()
            }
            listing = self._listing(runs)
            behind = sum(run.finish(self._cache) for run in runs.values())
            now = datetime.now(UTC).isoformat().encode()
            update.note(_BEHIND, str(behind).encode())
            update.note(_PARTIAL, b"" if all(run.complete for run in runs.values()) else b"1")
            update.note(_WRITTEN, now)
            if not behind:
                update.note(_REFRESHED, now)
        return Refreshed(listing, busy=False)

    def seen(self, seconds: float) -> Refreshed:
        """Return a listing of at most this age, unless the index was updated since."""
        self._index.reload()
        now, written = time.monotonic(), self._index.catalogue.fact(_WRITTEN)
        seen = self._seen
        if seen is None or now - seen.at > seconds or written != seen.written:
            self._seen = seen = _Seen(now, written, self._listing())
        return Refreshed(seen.listing, busy=False)

    def state(self) -> IndexState:
        """Describe the coverage as of the last refresh."""
        catalogue = self._index.catalogue
        sessions, turns = catalogue.counts()
        age = None
        if refreshed := catalogue.fact(_REFRESHED):
            moment = datetime.fromisoformat(refreshed.decode())
            age = max((datetime.now(UTC) - moment).total_seconds(), 0)
        behind = int((catalogue.fact(_BEHIND) or b"0").decode())
        partial = bool(catalogue.fact(_PARTIAL))
        return IndexState(sessions, turns, age, behind, partial=partial)


class _AgentRun:
    """A refresh of one agent's sessions. It takes the texts that the scan reads."""

    def __init__(
        self, agent: str, store: AgentStore, update: Update, index: SearchIndex, work: _Work
    ) -> None:
        self._agent = agent
        self._store = store
        self._update = update
        self._catalogue = index.catalogue
        self._work = work
        self._scan: Scan | None = None
        self._asked = False
        """Whether the scan read any file, and so has announced all that changed."""
        self._taken: dict[str, IndexedFile] = {}
        self.output = update.output

    @property
    def complete(self) -> bool:
        """False when some sessions could not be listed."""
        return self._scan is not None and self._scan.complete

    def scan(self, cache: ScanCache) -> Scan:
        """Scan the store, indexing texts as they are read."""
        self._scan = self._store.scan_texts(cache, self)
        return self._scan

    @cached_property
    def _known(self) -> "dict[str, IndexedFile]":
        """The files as they were indexed before. A scan without changes does not need them."""
        return {file.path: file for file in self._catalogue.files(self._agent)}

    @property
    def _files(self) -> "dict[str, IndexedFile]":
        return {**self._known, **self._taken}

    # -- what the scan calls -----------------------------------------------------------------------

    def expect(self, files: Mapping[str, Stamp]) -> None:
        self._work.expect(stamp for path, stamp in files.items() if self._is_new(path, stamp))

    def wants(self, path: str, stamp: Stamp) -> bool:
        self._asked = True
        return self._is_new(path, stamp) and self._work.in_time(stamp)

    def take(self, texts: FileTexts) -> None:
        self._asked = True
        old = self._taken.get(texts.path) or self._known.get(texts.path)
        self._taken[texts.path] = self._update.add(self._agent, texts, old)
        self._work.took(texts.stamp)

    def _is_new(self, path: str, stamp: Stamp) -> bool:
        known = self._known.get(path)
        return known is None or known.stamp != stamp

    # -- after the scan ------------------------------------------------------------------------

    def finish(self, cache: ScanCache) -> int:
        """Index what the scan did not read, and return how many files are left over."""
        scan = self._scan
        if scan is None:
            # A plug-in failed: keep its indexed sessions.
            return 0
        seal = f"seal {self._agent}"
        is_settled = not self._taken and not self._catalogue.unfinished()
        if scan.seal and self._catalogue.fact(seal) == scan.seal and is_settled:
            return 0
        stamps = self._stamps(scan, cache)
        remaining = self._catch_up(scan, stamps)
        if scan.complete:
            self._take_out(stamps)
        self._give_titles(scan)
        if not remaining and scan.seal:
            self._update.note(seal, scan.seal)
        return remaining

    def _stamps(self, scan: Scan, cache: ScanCache) -> dict[str, Stamp]:
        """Get the stamps of all files as of the scan."""
        cached = {**cache.known(self._agent), **scan.changed}
        # The cache may contain other roots, too.
        stamps = {
            path: Stamp(file.size, file.mtime_ns, file.inode)
            for path, file in cached.items()
            if path not in scan.gone and self._root_of(path) is not None
        }
        for session in scan.sessions:
            if session.file not in stamps:
                try:
                    stamps[session.file] = Stamp.of(session.path.stat())
                except OSError:
                    continue
        return stamps

    def _catch_up(self, scan: Scan, stamps: Mapping[str, Stamp]) -> int:
        """Index the files that are missing or changed, newest first, while there is time."""
        files = self._files
        paths = [
            path
            for path, stamp in stamps.items()
            if path not in files or files[path].stamp != stamp
        ]
        if not self._asked:
            self._work.expect(stamps[path] for path in paths)
        sessions = {session.file: session for session in scan.sessions}
        remaining = 0
        for path in sorted(paths, key=lambda path: stamps[path].mtime_ns, reverse=True):
            if not self._work.in_time(stamps[path]):
                remaining += 1
                continue
            try:
                texts = self._read(path, sessions.get(path))
            except Exception as error:
                if self._agent in BUILT_IN and not isinstance(error, ProngError | OSError):
                    raise
                # The next refresh retries it; a plug-in must not hide the other agents.
                debug(__name__, "the words of %s are not indexed: %s", path, error)
                remaining += 1
                continue
            if texts is not None:
                self.take(texts._replace(stamp=stamps[path]))
        return remaining

    def _read(self, path: str, session: Session | None) -> FileTexts | None:
        if self._store.supports("file_texts"):
            return self._store.file_texts(path, output=self.output)
        if session is None:
            return None
        texts = plain_texts(self._store, session, output=self.output)
        return texts._replace(turns=list(texts.turns))

    def _root_of(self, path: str) -> str | None:
        """Find the root that contains a file."""
        roots = (f"{root}{os.sep}" for root in self._store.roots)
        return next((root for root in roots if path.startswith(root)), None)

    def _take_out(self, stamps: Mapping[str, Stamp]) -> None:
        present_roots = {self._root_of(path) for path in stamps}
        for path, file in self._known.items():
            root = self._root_of(path)
            # An empty root may be an unmounted disk.
            if path not in stamps and (root is None or root in present_roots):
                self._update.remove(file.mark)

    def _give_titles(self, scan: Scan) -> None:
        files = self._files
        for session in scan.sessions:
            file = files.get(session.file)
            if file is not None and file.title != session.title:
                self._update.give_title(file.mark, session.title, file.title)
