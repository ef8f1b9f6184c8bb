"""`App.search`: search past turns, and keep the index."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from prong import paths
from prong.model.search import (
    Attempt,
    IndexProgress,
    IndexState,
    Query,
    SearchResult,
    ignore_progress,
)

if TYPE_CHECKING:
    from prong.app import App
    from prong.search import engines
    from prong.search.last_search import LastSearch


class SearchService:
    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def _engines(self) -> engines.Engines:
        from prong.search import engines

        app = self._app
        folder = paths.cache_dir() / "search" if app.remembers else None
        return engines.engines(folder, app.stores, app.cache, app.settings.search)

    def close(self) -> None:
        if "_engines" in self.__dict__:
            self._engines.close()
            del self._engines

    @property
    def last(self) -> LastSearch:
        """Hits of the last search in this terminal, to which `%N` refers."""
        from prong.search.last_search import LastSearch

        return LastSearch(paths.cache_dir() / "searches")

    def find(
        self,
        query: Query,
        engine: str | None = None,
        *,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> SearchResult:
        """Search past turns, best first. Updates the index first."""
        from prong.search import engines

        progress = on_progress or ignore_progress
        return engines.find(self._app, self._engines, query, engine, progress)

    def index(
        self,
        *,
        rebuild: bool = False,
        vectors: bool = True,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> IndexState:
        """Update the index; with `vectors`, also embed new turns."""
        from prong.search import engines

        progress = on_progress or ignore_progress
        return engines.index(self._engines, rebuild=rebuild, vectors=vectors, on_progress=progress)

    def state(self) -> IndexState:
        """Report what the index covers, without updating it."""
        from prong.search import engines

        return engines.state(self._engines)

    def rest(self) -> None:
        """Free memory that no search has needed for a while, in long-running programs."""
        if "_engines" in self.__dict__:
            self._engines.rest()

    def refresh_qmd(self, folder: Path, collection: str) -> list[Attempt]:
        """Update a qmd collection from the exports in a folder."""
        from prong.search.qmd import refresh

        return refresh.refresh_qmd(folder, collection)
