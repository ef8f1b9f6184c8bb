"""Turn search: refresh the index, query the engines, look up the hits."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prong.errors import Busy, Unavailable, UsageError
from prong.log import debug
from prong.model.record import Record, replace
from prong.model.search import Answer, Hit, IndexProgress, IndexState, Query, SearchResult
from prong.model.sessions import Session
from prong.redaction.secrets import mask_passage
from prong.redaction.visible import safe
from prong.search.builtin import BuiltIn, Name, SearchScope, Standing
from prong.search.chain import Chain, SearchEngine
from prong.search.hits import Lookup
from prong.search.index import SearchIndex, has_no_room, is_damage, unavailable
from prong.search.indexing import Indexing, OnProgress, Refreshed
from prong.session.lineage import family_of
from prong.session.listing import Project

if TYPE_CHECKING:
    from prong.agents.base import AgentStore, ScanCache
    from prong.app import App
    from prong.config import SearchSettings
    from prong.search.embedder import Embedder
    from prong.search.vectors import Meaning, VectorCache


def masked(result: SearchResult) -> SearchResult:
    """Mask secrets in the passages, prompts and titles of a result."""
    return replace(result, hits=tuple(_masked(hit) for hit in result.hits))


def _masked(hit: Hit) -> Hit:
    turn = hit.turn and replace(hit.turn, prompt=safe(hit.turn.prompt))
    session = hit.session and replace(hit.session, title=safe(hit.session.title))
    return replace(hit, turn=turn, session=session, passage=mask_passage(hit.passage))


ENGINES = ("auto", "builtin", "qmd")
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


class Engines(Record, frozen=True, dict=True):
    """The resources that engines share: index, sentence model and vectors."""

    index: SearchIndex
    indexing: Indexing
    folder: Path
    scratch: Path | None = None
    """Temporary folder to delete on close."""
    problem: str | None = None
    """Why the index cannot be stored in the cache folder."""

    # The model and the vectors are loaded by the first search that needs them.

    @cached_property
    def embedder(self) -> Embedder:
        from prong.search.embedder import Embedder

        return Embedder(threads=os.cpu_count() or 1)

    @cached_property
    def vectors(self) -> VectorCache:
        from prong.search.vectors import VectorCache

        return VectorCache(self.folder / "vectors.db")

    def meaning(self) -> Meaning:
        from prong.search.vectors import Meaning

        return Meaning(self.embedder, self.vectors)

    def rest(self) -> None:
        """Unload the model after a period without use."""
        if "embedder" in self.__dict__:
            self.embedder.unload_if_idle()

    def elsewhere(self, error: OSError) -> Engines:
        """Create engines in a temporary folder, for a search that cannot write here."""
        folder = _throw_away_folder()
        index = SearchIndex(folder, output=self.index.output)
        problem = _cannot_be_kept(self.folder, error)
        return Engines(index, self.indexing.of(index), folder, folder, problem)

    def close(self) -> None:
        self.index.close()
        if "vectors" in self.__dict__:
            self.vectors.close()
        if self.scratch is not None:
            import shutil

            shutil.rmtree(self.scratch, ignore_errors=True)


def engines(
    folder: Path | None,
    stores: Mapping[str, AgentStore],
    cache: ScanCache,
    settings: SearchSettings,
) -> Engines:
    """Open the index in a folder, or in a temporary one if the folder is missing or read-only."""
    scratch: Path | None = None
    problem: str | None = None
    try:
        if folder is not None:
            _check_name(folder)
        index = SearchIndex(folder, output=settings.output) if folder is not None else None
    except OSError as error:
        problem = _cannot_be_kept(folder, error)
        debug(__name__, "%s", problem)
        index = None
    if index is None or folder is None:
        folder = scratch = _throw_away_folder()
        index = SearchIndex(folder, output=settings.output)
    indexing = Indexing(index, stores, cache)
    return Engines(index, indexing, folder, scratch, problem)


def _throw_away_folder() -> Path:
    import tempfile

    return Path(tempfile.mkdtemp(prefix="prong-search-"))


def _check_name(folder: Path) -> None:
    """Raise `OSError` for a name that is not UTF-8: tantivy takes the path as text."""
    try:
        os.fspath(folder).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name is not UTF-8") from None


def _cannot_be_kept(folder: Path | None, error: OSError) -> str:
    return f"the index cannot be written to {folder}: {error.strerror or error}"


def index(made: Engines, *, rebuild: bool, vectors: bool, on_progress: OnProgress) -> IndexState:
    """Update the index and, optionally, the vectors.

    Raises `Busy` while another process updates it, `Unavailable` when it cannot be stored.
    """
    if made.problem is not None:
        raise Unavailable(made.problem, hint="XDG_CACHE_HOME=DIR prong index keeps it in DIR")

    def refreshed() -> Refreshed:
        if rebuild:
            made.index.clear()
        return made.indexing.refresh(patience=_PATIENCE, on_progress=on_progress)

    if _healing(made, refreshed).busy:
        raise Busy("another prong is updating the index", hint="prong index --status")
    if vectors:
        _read_all(made, on_progress)
    return state(made)


def _read_all(made: Engines, on_progress: OnProgress) -> None:
    """Embed every text that has no vector yet, newest sessions first."""
    from prong.search.vectors import fill

    heads = made.index.catalogue.newest_heads
    keys = _keys(made)
    made.vectors.keep_only(keys)
    before = made.vectors.count()
    texts = (text for _, heads_of_turn in heads() for text in heads_of_turn if text)
    # In batches: the texts of a large store do not fit in memory.
    while batch := list(islice(texts, _TEXTS)):
        known = made.vectors.count()

        def told(done: int, _: int, known: int = known) -> None:
            on_progress(IndexProgress("meaning", known - before + done, len(keys) - before))

        fill(made.vectors, made.embedder, batch, progress=told)


def _keys(made: Engines) -> set[bytes]:
    """Compute the vector keys of all indexed texts."""
    from prong.search.vectors import VectorCache

    heads = made.index.catalogue.all_heads()
    return {VectorCache.key_of(text) for _, texts in heads for text in texts if text}


def state(made: Engines) -> IndexState:
    """Describe the coverage, size and health of the index."""
    return replace(
        _healing(made, made.indexing.state),
        size=made.index.size,
        vectors=made.vectors.count(),
        busy=made.index.is_busy(),
        unread=_unread(made),
        kept=made.scratch is None,
    )


def _unread(made: Engines) -> int:
    """Count the texts without a vector."""
    if not made.vectors.count():
        # Deduplicating the texts is faster than looking up each key.
        heads = made.index.catalogue.all_heads()
        return len({text for _, texts in heads for text in texts if text})
    keys = _keys(made)
    return len(keys - made.vectors.known(keys))


T = TypeVar("T")


def _healing(made: Engines, act: Callable[[], T]) -> T:
    """Run an action; if it reveals a damaged index, rebuild the index and run it again."""
    try:
        return act()
    except OSError as error:
        message = f"cannot use the search index: {error}"
        raise Unavailable(
            message, hint="check for free disk space, then: prong index --rebuild"
        ) from error
    except sqlite3.Error as error:
        if has_no_room(error):
            message = f"cannot use the search index: {error}"
            raise Unavailable(message, hint="make room on the disk") from error
        if not is_damage(error):
            raise unavailable(error) from error
        made.index.close()
        made.index.start_again()
        return act()


def find(
    app: App, made: Engines, query: Query, engine: str | None, on_progress: OnProgress
) -> SearchResult:
    """Find matching turns, best first."""
    if engine not in (None, *ENGINES):
        raise UsageError(f"unknown engine {engine!r}", hint=f"one of {', '.join(ENGINES)}")
    try:
        return _healing(made, lambda: _find(app, made, query, engine, on_progress))
    except Unavailable as error:
        spare = _spare(made, error)
        if spare is None:
            raise
    try:
        return _healing(spare, lambda: _find(app, spare, query, engine, on_progress))
    finally:
        spare.close()


def _spare(made: Engines, error: Unavailable) -> Engines | None:
    """Create temporary engines when the search failed because nothing can be written."""
    # Not inside `find`: a local there would keep the error and its whole traceback alive.
    cause = error.__cause__
    if made.scratch is not None or not has_no_room(cause):
        return None
    debug(__name__, "%s", error)
    reason = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return made.elsewhere(cause if isinstance(cause, OSError) else reason)


def _find(
    app: App, made: Engines, query: Query, engine: str | None, on_progress: OnProgress
) -> SearchResult:
    if query.live:
        refreshed = made.indexing.seen(_SEEN_SECONDS)
    else:
        budget = None if made.indexing.is_new else _REFRESH_SECONDS
        refreshed = made.indexing.refresh(seconds=budget, on_progress=on_progress)
    listing = refreshed.listing
    sessions = listing.by_name
    scope = _Shelves(app, sessions).of(query)
    chain = Chain([_engine(name, made, scope, query) for name in _order(app, engine)])

    def hits_of(answer: Answer, engine: str) -> Iterator[Hit]:
        return Lookup(app, query, engine, sessions, scope).hits(answer)

    answer, name = chain.ask(query, lambda found, by: next(hits_of(found, by), None) is not None)
    hits = list(hits_of(answer, name or ""))
    result = SearchResult(
        query=query,
        hits=tuple(hits[: query.limit]),
        engine=name,
        attempts=answer.attempts,
        index=replace(made.indexing.state(), busy=refreshed.busy, kept=made.scratch is None),
        total=max(answer.total or 0, len(hits)),
        refs=listing.refs,
        guidance=_guidance(answer, query, listing.sessions),
        notes=tuple(_notes(made, listing.failed)),
    )
    return masked(result) if query.masked else result


def _notes(made: Engines, failed: Mapping[str, str]) -> Iterator[str]:
    if made.problem is not None:
        yield f"{made.problem}; every search reads all sessions (change XDG_CACHE_HOME)"
    for agent, reason in failed.items():
        yield f"{agent} cannot be searched: {reason}"


def _order(app: App, engine: str | None) -> tuple[str, ...]:
    """List the engines to try, in order. The built-in one can always answer."""
    if engine in (None, "auto"):
        return app.settings.search.engines
    return tuple(dict.fromkeys((engine or "", "builtin")))


def _engine(name: str, made: Engines, shelf: SearchScope, query: Query) -> SearchEngine:
    if name == "qmd":
        from prong.search.qmd.engine import QmdEngine

        return QmdEngine()
    return BuiltIn(made.index, lambda _: shelf, None if query.fast else made.meaning())


def _guidance(
    answer: Answer, query: Query, sessions: tuple[Session, ...]
) -> Mapping[str, object] | None:
    if all(attempt.engine != "qmd" for attempt in answer.attempts):
        return None
    from prong.search.qmd.setup import guidance

    return guidance(answer.attempts, query.collection, _recent(sessions))


def _recent(sessions: tuple[Session, ...]) -> list[Session]:
    oldest = datetime.min.replace(tzinfo=UTC)
    return sorted(sessions, key=lambda one: one.updated or oldest, reverse=True)[:_RECENT]


class _Shelves:
    """Resolves a query to the scope of sessions that it searches."""

    def __init__(self, app: App, sessions: Mapping[Name, Session]) -> None:
        self._app = app
        self._sessions = sessions

    def of(self, query: Query) -> SearchScope:
        only: set[Name] | None = None
        if query.agent is not None or query.project is not None:
            project = Project(query.project) if query.project is not None else None
            only = {
                name
                for name, session in self._sessions.items()
                if query.agent in (None, session.agent)
                and (project is None or project.had(session))
            }
        here = self._here(query)
        without = {(ref.agent, ref.id) for ref in query.without}
        return SearchScope(
            standing=partial(self._standing, only=only, here=here, without=without),
            only=only,
            here=here,
            turn_ids=self._app.code.kept_turns() if query.has_snapshot else None,
        )

    def _here(self, query: Query) -> set[Name]:
        if query.here is None:
            return set()
        here = Project(_root_of(query.here))
        return {name for name, session in self._sessions.items() if here.had(session)}

    def _standing(
        self,
        name: Name,
        *,
        only: AbstractSet[Name] | None,
        here: AbstractSet[Name],
        without: AbstractSet[Name],
    ) -> Standing | None:
        session = self._sessions.get(name)
        if session is None or name in without or (only is not None and name not in only):
            return None
        family = family_of(session, self._sessions)
        return Standing(family, name in here, session.headless, session.cwds)


def _root_of(folder: Path) -> Path:
    """Find the repository root of a folder, or return the folder itself."""
    return next((top for top in (folder, *folder.parents) if (top / ".git").exists()), folder)
