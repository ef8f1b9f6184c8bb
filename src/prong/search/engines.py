"""Search engines, asked in order, and what they share: the index, the model and its vectors."""

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

from prong.agents.base import AgentStore, ScanCache
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
)
from prong.model.sessions import Session
from prong.search.builtin import BuiltIn, SearchScope
from prong.search.hits import Lookup, masked
from prong.search.index import SearchIndex, has_no_room, is_damage, unavailable
from prong.search.indexing import Indexing, OnProgress, Refreshed
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


class Engines:
    """The index in a folder, and what searches need besides.

    The model and the vectors are loaded by the first search that needs them.
    """

    def __init__(
        self,
        folder: Path | None,
        stores: Mapping[str, AgentStore],
        cache: ScanCache,
        settings: SearchSettings,
    ) -> None:
        """Open the index, in a temporary folder if the given one is None or not writable."""
        self._sources = stores, cache, settings
        self.problem: str | None = None
        """Why the index cannot be stored in the cache folder."""
        index = None
        if folder is not None:
            try:
                index = SearchIndex(_checked(folder), output=settings.output)
            except OSError as error:
                self.problem = _cannot_be_kept(folder, error)
                debug(__name__, "%s", self.problem)
        self.is_temporary = index is None
        if folder is None or index is None:
            import tempfile

            folder = Path(tempfile.mkdtemp(prefix="prong-search-"))
            index = SearchIndex(folder, output=settings.output)
        self._folder = folder
        self.index = index
        self.indexing = Indexing(index, stores, cache)

    @cached_property
    def embedder(self) -> Embedder:
        from prong.search.embedder import Embedder

        return Embedder(threads=os.cpu_count() or 1)

    @cached_property
    def vectors(self) -> VectorCache:
        from prong.search.vectors import VectorCache

        return VectorCache(self._folder / "vectors.db")

    def rest(self) -> None:
        """Unload the model after a period without use."""
        if "embedder" in self.__dict__:
            self.embedder.unload_if_idle()

    def close(self) -> None:
        self.index.close()
        if "vectors" in self.__dict__:
            self.vectors.close()
        if self.is_temporary:
            import shutil

            shutil.rmtree(self._folder, ignore_errors=True)

    # -- the index ---------------------------------------------------------------------------------

    def update(self, *, rebuild: bool, vectors: bool, on_progress: OnProgress) -> IndexState:
        """Update the index and, optionally, the vectors."""
        if self.problem is not None:
            raise Unavailable(self.problem, hint="XDG_CACHE_HOME=DIR prong index keeps it in DIR")

        def refreshed() -> Refreshed:
            if rebuild:
                self.index.clear()
            return self.indexing.refresh(patience=_PATIENCE, on_progress=on_progress)

        if self._healing(refreshed).busy:
            raise Busy("another prong is updating the index", hint="prong index --status")
        if vectors:
            self._embed_all(on_progress)
        return self.state()

    def _embed_all(self, on_progress: OnProgress) -> None:
        """Embed every text that has no vector yet, newest sessions first."""
        from prong.search.vectors import fill

        keys = self._keys()
        self.vectors.keep_only(keys)
        before = self.vectors.count()
        heads = self.index.catalogue.newest_heads()
        texts = (text for _, heads_of_turn in heads for text in heads_of_turn if text)
        # In batches: the texts of a large store do not fit in memory.
        while batch := list(islice(texts, _TEXTS)):
            known = self.vectors.count() - before

            def report(done: int, _: int, known: int = known) -> None:
                on_progress(IndexProgress("meaning", known + done, len(keys) - before))

            fill(self.vectors, self.embedder, batch, progress=report)

    def _keys(self) -> set[bytes]:
        """Compute the vector keys of all indexed texts."""
        return {self.vectors.key_of(text) for text in self._texts()}

    def _texts(self) -> Iterator[str]:
        heads = self.index.catalogue.all_heads()
        return (text for _, texts in heads for text in texts if text)

    def state(self) -> IndexState:
        """Describe the coverage, size and health of the index."""
        return replace(
            self._healing(self.indexing.state),
            size=self.index.size,
            vectors=self.vectors.count(),
            busy=self.index.is_busy(),
            unread=self._unread(),
            kept=not self.is_temporary,
        )

    def _unread(self) -> int:
        """Count the texts without a vector."""
        if not self.vectors.count():
            # Deduplicating the texts is faster than looking up each key.
            return len(set(self._texts()))
        keys = self._keys()
        return len(keys - self.vectors.known(keys))

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
            self.index.close()
            self.index.start_again()
            return act()

    # -- searching ---------------------------------------------------------------------------------

    def find(
        self,
        request: SearchRequest,
        sessions: SessionService,
        code: CodeService,
        on_progress: OnProgress,
    ) -> SearchResult:
        """Find matching turns, best first; with a temporary index when nothing can be written."""
        try:
            return self._healing(lambda: self._find(request, sessions, code, on_progress))
        except Unavailable as error:
            spare = self._spare(error)
            if spare is None:
                raise
        try:
            return spare.find(request, sessions, code, on_progress)
        finally:
            spare.close()

    def _spare(self, error: Unavailable) -> Engines | None:
        """Create temporary engines when the search failed because nothing can be written."""
        # Not inside `find`: a local there would keep the error and its whole traceback alive.
        cause = error.__cause__
        if self.is_temporary or not has_no_room(cause):
            return None
        debug(__name__, "%s", error)
        if not isinstance(cause, OSError):
            cause = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        spare = Engines(None, *self._sources)
        spare.problem = _cannot_be_kept(self._folder, cause)
        return spare

    def _find(
        self,
        request: SearchRequest,
        sessions: SessionService,
        code: CodeService,
        on_progress: OnProgress,
    ) -> SearchResult:
        if request.live:
            refreshed = self.indexing.seen(_SEEN_SECONDS)
        else:
            budget = None if self.indexing.is_new else _REFRESH_SECONDS
            refreshed = self.indexing.refresh(seconds=budget, on_progress=on_progress)
        listing = refreshed.listing
        lookup = Lookup(request, listing.by_name, sessions.turns, code)
        engines = [self._engine(name, request, lookup.scope) for name in self._order(request)]

        def has_hits(answer: Answer, engine: str) -> bool:
            return next(lookup.hits(answer, engine), None) is not None

        answer, name = ask(engines, request, has_hits)
        hits = [*lookup.hits(answer, name or "")]
        result = SearchResult(
            query=request,
            hits=lookup.with_code(hits[: request.limit]),
            engine=name,
            attempts=answer.attempts,
            index=replace(self.indexing.state(), busy=refreshed.busy, kept=not self.is_temporary),
            total=max(answer.total or 0, len(hits)),
            refs=listing.refs,
            guidance=_guidance(answer, request, listing.sessions),
            notes=tuple(self._notes(listing.failed)),
        )
        return masked(result) if request.masked else result

    def _order(self, request: SearchRequest) -> tuple[str, ...]:
        """List the engines to try, in order. The built-in one can always answer."""
        *_, settings = self._sources
        if request.engine in (None, "auto"):
            return settings.engines
        return tuple(dict.fromkeys((request.engine or "", "builtin")))

    def _engine(self, name: str, request: SearchRequest, scope: SearchScope) -> SearchEngine:
        if name == "qmd":
            from prong.search.qmd.engine import QmdEngine

            return QmdEngine()
        if request.fast:
            return BuiltIn(self.index, scope)
        from prong.search.vectors import Meaning

        return BuiltIn(self.index, scope, Meaning(self.embedder, self.vectors))

    def _notes(self, failed: Mapping[str, str]) -> Iterator[str]:
        if self.problem is not None:
            yield f"{self.problem}; every search reads all sessions (change XDG_CACHE_HOME)"
        for agent, reason in failed.items():
            yield f"{agent} cannot be searched: {reason}"


def _checked(folder: Path) -> Path:
    """Raise `OSError` for a name that is not UTF-8: tantivy takes the path as text."""
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name is not UTF-8") from None
    return folder


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
