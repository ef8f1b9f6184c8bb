"""`App.search`: search past turns, and keep the index."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong import paths
from prong.agents.base import ScanCache
from prong.agents.stores import AgentStores
from prong.code.service import CodeService
from prong.config import SearchSettings
from prong.model.record import replace
from prong.model.search import (
    Attempt,
    IndexProgress,
    IndexState,
    SearchRequest,
    SearchResult,
    ignore_progress,
)
from prong.search import query
from prong.session.service import SessionService

if TYPE_CHECKING:
    from prong.search.engines import Engines
    from prong.search.last_search import LastSearch


class SearchService:
    def __init__(
        self,
        stores: AgentStores,
        cache: ScanCache,
        settings: SearchSettings,
        sessions: SessionService,
        code: CodeService,
        folder: Path | None,
    ) -> None:
        """Keep the index in `folder`, or in a temporary one if that is None."""
        self._stores = stores
        self._cache = cache
        self._settings = settings
        self._sessions = sessions
        self._code = code
        self._folder = folder

    @cached_property
    def _engines(self) -> Engines:
        from prong.search.engines import Engines

        return Engines(self._folder, self._stores, self._cache, self._settings)

    def close(self) -> None:
        if "_engines" in self.__dict__:
            self._engines.close()
            del self._engines

    @property
    def last(self) -> LastSearch:
        """Hits of the last search in this terminal, to which `%N` refers."""
        from prong.search.last_search import LastSearch

        return LastSearch(paths.cache_dir() / "searches")

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
        self,
        request: SearchRequest,
        *,
        on_progress: Callable[[IndexProgress], None] = ignore_progress,
    ) -> SearchResult:
        """Search past turns, best first. Updates the index first.

        Raises `UsageError` or `NotFound` for invalid values.
        """
        query.check(request, self._stores)
        query.check_text(request)
        request = self._located(request)
        result = self._engines.find(request, self._sessions, self._code, on_progress)
        return replace(result, notes=(*request.notes, *result.notes))

    def index(
        self,
        *,
        rebuild: bool = False,
        vectors: bool = True,
        on_progress: Callable[[IndexProgress], None] = ignore_progress,
    ) -> IndexState:
        """Update the index; with `vectors`, also embed new turns.

        Raises `Busy` while another process updates it, `Unavailable` when it cannot be stored.
        """
        return self._engines.update(rebuild=rebuild, vectors=vectors, on_progress=on_progress)

    def state(self) -> IndexState:
        """Report what the index covers, without updating it."""
        return self._engines.state()

    def rest(self) -> None:
        """Free memory that no search has needed for a while, in long-running programs."""
        if "_engines" in self.__dict__:
            self._engines.rest()

    def refresh_qmd(self, folder: Path, collection: str) -> list[Attempt]:
        """Update a qmd collection from the exports in a folder."""
        from prong.search.qmd import refresh

        return refresh.refresh_qmd(folder, collection)
