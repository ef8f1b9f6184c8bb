"""`App.search`: the index, and the engines that search it, asked in order."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from prong.agents.base import ScanCache
from prong.agents.stores import AgentStores
from prong.code.service import CodeService
from prong.config import SearchSettings
from prong.errors import Busy, Unavailable
from prong.log import debug
from prong.model.record import replace
from prong.model.search import (
    Answer,
    Attempt,
    IndexProgress,
    IndexState,
    SearchRequest,
    SearchResult,
    ignore_progress,
)
from prong.model.sessions import Session
from prong.search import query
from prong.search.builtin import BuiltIn, SearchScope
from prong.search.hits import Lookup, masked
from prong.search.index import SearchIndex, has_no_room, is_damage, unavailable
from prong.search.indexing import Indexing, OnProgress
from prong.search.qmd.setup import FILTERS
from prong.session.service import SessionService

if TYPE_CHECKING:
    from prong.search.embedder import Embedder
    from prong.search.vectors import VectorCache

_REFRESH_SECONDS = 0.5
"""Time limit for the refresh before a search. Building a new index has no limit."""
_SEEN_SECONDS = 15.0
"""How long a session listing is reused while the user types.

A newly indexed session triggers a new listing at once, so only a deleted session can show up for
that long. Listing 2,000 sessions takes 20 ms, which every key press would have to wait for.
"""
_PATIENCE = 60.0
"""How long `prong index` waits for another process to finish."""
_TEXTS = 10_000
"""Maximum number of texts in memory at a time."""
_RECENT = 5
"""Number of sessions to suggest when the requested engine cannot answer."""

T = TypeVar("T")


class SearchEngine(Protocol):
    """A search back end. It reports failures in the answer instead of raising."""

    @property
    def name(self) -> str: ...

    def search(self, request: SearchRequest) -> Answer: ...


def ask(
    engines: Sequence[SearchEngine],
    request: SearchRequest,
    is_enough: Callable[[Answer, str], bool] = lambda _answer, _engine: True,
) -> tuple[Answer, str | None]:
    """Return the first answer with the attempts of all engines, and the engine's name or None.

    `is_enough` checks the hits of engines that do not know all filters: if none passes, the next
    engine is asked.
    """
    attempts: list[Attempt] = []
    best, name = Answer((), (), ok=False), None
    for engine in engines:
        answer = engine.search(request)
        attempts += answer.attempts
        if not answer.ok:
            continue
        best, name = answer, engine.name
        # No engine comes after the last one.
        if not answer.found or engine is engines[-1] or is_enough(answer, engine.name):
            break
        reason = "no hit matches the filters"
        attempts.append(Attempt(engine.name, FILTERS, error=reason, hits=0))
    return replace(best, attempts=tuple(attempts)), name


class SearchService:
    """Searches past turns, and keeps the index.

    The index, the model and the vectors are loaded by the first call that needs them.
    """

    def __init__(
        self,
        stores: AgentStores,
        cache: ScanCache,
        settings: SearchSettings,
        sessions: SessionService,
        code: CodeService,
        folder: Path | None,
    ) -> None:
        """Keep the index in `folder`, or in a temporary one if that is None or not writable."""
        self._stores = stores
        self._cache = cache
        self._settings = settings
        self._sessions = sessions
        self._code = code
        self._folder = folder
        self._temporary: Path | None = None
        self._problem: str | None = None
        """Why the index cannot be stored in the cache folder."""

    @cached_property
    def _index(self) -> SearchIndex:
        if self._folder is not None:
            try:
                return SearchIndex(self._folder, output=self._settings.output)
            except OSError as error:
                self._problem = _cannot_be_kept(self._folder, error)
                debug(__name__, "%s", self._problem)
        import tempfile

        self._temporary = Path(tempfile.mkdtemp(prefix="prong-search-"))
        return SearchIndex(self._temporary, output=self._settings.output)

    @cached_property
    def _indexing(self) -> Indexing:
        return Indexing(self._index, self._stores, self._cache)

    @cached_property
    def _embedder(self) -> Embedder:
        from prong.search.embedder import Embedder

        return Embedder(threads=os.cpu_count() or 1)

    @cached_property
    def _vectors(self) -> VectorCache:
        from prong.search.vectors import VectorCache

        return VectorCache(self._index.folder.parent / "vectors.db")

    def rest(self) -> None:
        """Free memory that no search has needed for a while, in long-running programs."""
        if "_embedder" in self.__dict__:
            self._embedder.unload_if_idle()

    def close(self) -> None:
        for name in ("_index", "_vectors"):
            if name in self.__dict__:
                self.__dict__.pop(name).close()
        for name in ("_indexing", "_embedder"):
            self.__dict__.pop(name, None)
        if self._temporary is not None:
            import shutil

            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    # -- the index ---------------------------------------------------------------------------------

    def index(
        self,
        *,
        rebuild: bool = False,
        vectors: bool = True,
        on_progress: OnProgress = ignore_progress,
    ) -> IndexState:
        """Update the index; with `vectors`, also embed new turns.

        Raises `Busy` while another process updates it, `Unavailable` when it cannot be stored.
        """
        indexing = self._indexing
        if self._problem is not None:
            raise Unavailable(self._problem, hint="XDG_CACHE_HOME=DIR prong index keeps it in DIR")

        def refreshed() -> bool:
            if rebuild:
                self._index.clear()
            return not indexing.refresh(patience=_PATIENCE, on_progress=on_progress).busy

        if not self._healing(refreshed):
            raise Busy("another prong is updating the index", hint="prong index --status")
        if vectors:
            self._embed_all(on_progress)
        return self.state()

    def _embed_all(self, on_progress: OnProgress) -> None:
        """Embed every text that has no vector yet, newest sessions first."""
        from prong.search.vectors import fill

        keys = self._keys()
        self._vectors.keep_only(keys)
        before = self._vectors.count()
        heads = self._index.catalogue.newest_heads()
        texts = (text for _, heads_of_turn in heads for text in heads_of_turn if text)
        # In batches: the texts of a large store do not fit in memory.
        while batch := list(islice(texts, _TEXTS)):
            known = self._vectors.count() - before

            def report(done: int, _: int, known: int = known) -> None:
                on_progress(IndexProgress("meaning", known + done, len(keys) - before))

            fill(self._vectors, self._embedder, batch, progress=report)

    def _keys(self) -> set[bytes]:
        return {self._vectors.key_of(text) for text in self._texts()}

    def _texts(self) -> Iterator[str]:
        heads = self._index.catalogue.all_heads()
        return (text for _, texts in heads for text in texts if text)

    def state(self) -> IndexState:
        """Report what the index covers, without updating it."""
        return replace(
            self._healing(self._indexing.state),
            size=self._index.size,
            vectors=self._vectors.count(),
            busy=self._index.is_busy(),
            unread=self._unread(),
            kept=self._temporary is None,
        )

    def _unread(self) -> int:
        if not self._vectors.count():
            # Deduplicating the texts is faster than looking up each key.
            return len(set(self._texts()))
        keys = self._keys()
        return len(keys - self._vectors.known(keys))

    def _healing(self, act: Callable[[], T]) -> T:
        """Run an action; if it reveals a damaged index, rebuild the index and run it again."""
        try:
            return act()
        except OSError as error:
            raise Unavailable(
                f"cannot use the search index: {error}",
                hint="check for free disk space, then: prong index --rebuild",
            ) from error
        except sqlite3.Error as error:
            if has_no_room(error):
                message = f"cannot use the search index: {error}"
                raise Unavailable(message, hint="make room on the disk") from error
            if not is_damage(error):
                raise unavailable(error) from error
            self._index.close()
            self._index.start_again()
            return act()

    # -- searching ---------------------------------------------------------------------------------

    def read(self, words: Sequence[str], request: SearchRequest) -> SearchRequest:
        """Complete a request with typed words, which may contain filters such as `since:3d`.

        Raises `UsageError` or `NotFound` for invalid values. The text may be empty.
        """
        query.check(request, self._stores)
        return self._located(query.read(words, request, self._stores))

    def _located(self, request: SearchRequest) -> SearchRequest:
        """Replace a project's name by its folder."""
        if request.project is None:
            return request
        notes = [*request.notes]
        project = self._sessions.project(request.project, notes)
        return replace(request, project=project, notes=tuple(notes))

    def find(
        self, request: SearchRequest, *, on_progress: OnProgress = ignore_progress
    ) -> SearchResult:
        """Search past turns, best first. Updates the index first.

        Raises `UsageError` or `NotFound` for invalid values.
        """
        query.check(request, self._stores, needs_text=True)
        request = self._located(request)
        try:
            return self._healing(lambda: self._find(request, on_progress))
        except Unavailable as error:
            spare = self._spare(error)
            if spare is None:
                raise
        try:
            return spare.find(request, on_progress=on_progress)
        finally:
            spare.close()

    def _spare(self, error: Unavailable) -> SearchService | None:
        """Create a service with a temporary index when the search could write nothing."""
        # Not inside `find`: a local there would keep the error and its whole traceback alive.
        cause = error.__cause__
        if self._folder is None or self._temporary is not None or not has_no_room(cause):
            return None
        debug(__name__, "%s", error)
        if not isinstance(cause, OSError):
            cause = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        spare = SearchService(
            self._stores, self._cache, self._settings, self._sessions, self._code, None
        )
        spare._problem = _cannot_be_kept(self._folder, cause)
        return spare

    def _find(self, request: SearchRequest, on_progress: OnProgress) -> SearchResult:
        indexing = self._indexing
        if request.live:
            refreshed = indexing.seen(_SEEN_SECONDS)
        else:
            budget = None if indexing.is_new else _REFRESH_SECONDS
            refreshed = indexing.refresh(seconds=budget, on_progress=on_progress)
        listing = refreshed.listing
        lookup = Lookup(request, listing.by_name, self._sessions.turns, self._code)
        engines = [self._engine(name, request, lookup.scope) for name in self._order(request)]

        def has_hits(answer: Answer, engine: str) -> bool:
            return any(True for _ in lookup.hits(answer, engine))

        answer, name = ask(engines, request, has_hits)
        hits = [*lookup.hits(answer, name or "")]
        result = SearchResult(
            query=request,
            hits=lookup.with_code(hits[: request.limit]),
            engine=name,
            attempts=answer.attempts,
            index=replace(indexing.state(), busy=refreshed.busy, kept=self._temporary is None),
            total=max(answer.total or 0, len(hits)),
            refs=listing.refs,
            guidance=_guidance(answer, request, listing.sessions),
            notes=(*request.notes, *self._notes(listing.failed)),
        )
        return masked(result) if request.masked else result

    def _order(self, request: SearchRequest) -> tuple[str, ...]:
        """List the engines to try, in order. The built-in one can always answer."""
        if request.engine in (None, "auto"):
            return self._settings.engines
        return tuple(dict.fromkeys((request.engine or "", "builtin")))

    def _engine(self, name: str, request: SearchRequest, scope: SearchScope) -> SearchEngine:
        if name == "qmd":
            from prong.search.qmd.engine import QmdEngine

            return QmdEngine()
        if request.fast:
            return BuiltIn(self._index, scope)
        from prong.search.vectors import Meaning

        return BuiltIn(self._index, scope, Meaning(self._embedder, self._vectors))

    def _notes(self, failed: Mapping[str, str]) -> Iterator[str]:
        if self._problem is not None:
            yield f"{self._problem}; every search reads all sessions (change XDG_CACHE_HOME)"
        for agent, reason in failed.items():
            yield f"{agent} cannot be searched: {reason}"

    def refresh_qmd(self, folder: Path, collection: str) -> list[Attempt]:
        """Update a qmd collection from the exports in a folder."""
        from prong.search.qmd import refresh

        return refresh.refresh_qmd(folder, collection)


def _cannot_be_kept(folder: Path, error: OSError) -> str:
    return f"the index cannot be written to {folder}: {error.strerror or error}"


def _guidance(
    answer: Answer, request: SearchRequest, sessions: tuple[Session, ...]
) -> Mapping[str, object] | None:
    if all(attempt.engine != "qmd" for attempt in answer.attempts):
        return None
    from prong.search.qmd.setup import guidance

    oldest = datetime.min.replace(tzinfo=UTC)
    newest = sorted(sessions, key=lambda session: session.updated or oldest, reverse=True)
    return guidance(answer.attempts, request.collection, newest[:_RECENT])
