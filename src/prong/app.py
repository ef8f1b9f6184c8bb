"""`App`: opens the services of prong, each at its first use.

Modules of a service are imported inside the properties: most commands need few of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from prong import config, paths
from prong.agents.base import AgentStore
from prong.agents.stores import AgentStores
from prong.config import Config
from prong.plugins import Registry
from prong.setup import database
from prong.storage.scan_cache import NoCache, SqliteScanCache

if TYPE_CHECKING:
    from prong.code.service import CodeService
    from prong.forks.service import ForkService
    from prong.model.forks import Fork
    from prong.processes.programs import Programs
    from prong.search.last_search import LastSearch
    from prong.search.service import SearchService
    from prong.session.service import SessionService
    from prong.setup.service import SetupService
    from prong.storage.forks import ForkRecords
    from prong.workers.panes import Terminals
    from prong.workers.service import WorkerService


class App:
    """Every operation of prong, synchronous: `app.sessions`, `app.search`, `app.forks`, ...

    Use it in a `with` statement, or close it, to release what its services opened.
    """

    def __init__(
        self,
        settings: Config | None = None,
        *,
        stores: Mapping[str, AgentStore] | None = None,
        remember: bool = True,
        needs_programs: bool = True,
        state: Path | None = None,
    ) -> None:
        """Create an application; `needs_programs` is False when nothing is started (demo).

        `state` overrides the folder of prong's own state. `remember=False` writes no cache or
        record.
        """
        self._settings = settings
        self._stores = stores
        self.remembers = remember
        self._needs_programs = needs_programs
        self._state = state
        database.opened(self)

    def close(self) -> None:
        """Close all files. The application can be used again and reopens them."""
        for name in ("forks", "search", "cache"):
            service = self.__dict__.pop(name, None)
            if service is not None:
                service.close()
        for name in ("sessions", "code", "workers", "fork_records"):  # they hold files
            self.__dict__.pop(name, None)
        database.closed(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- services ----------------------------------------------------------------------------

    @cached_property
    def sessions(self) -> SessionService:
        """List, resolve and read sessions."""
        from prong.session.service import SessionService

        return SessionService(
            self.stores,
            self.cache,
            hit=lambda number: self.last_search.hit(number),
            # Called only when the name may be a worker's: most commands need no workers.
            worker=lambda name: self.workers.states.current(name),
            recorded=self.recorded_forks,
            has_code=lambda conversation: self.code.has_last_turn(conversation),
            require=lambda program: self.programs.require(program),
        )

    @cached_property
    def search(self) -> SearchService:
        """Search past turns."""
        from prong.search.service import SearchService

        folder = paths.cache_dir() / "search" if self.remembers else None
        settings = self.settings.search
        return SearchService(self.stores, self.cache, settings, self.sessions, self.code, folder)

    @cached_property
    def forks(self) -> ForkService:
        """Plan and create forks."""
        from prong.forks.service import ForkService

        return ForkService(
            self.sessions,
            self.code,
            stores=self.stores,
            cache=self.cache,
            settings=self.settings,
            records=self.fork_records,
            workers=lambda: self.workers.records.all(),
            require=lambda program: self.programs.require(program),
            worktrees=self.worktrees_root,
            journal=self.journal_dir,
        )

    @cached_property
    def code(self) -> CodeService:
        """The code of turns: snapshots, diffs and worktrees."""
        from prong.code.service import CodeService

        return CodeService(
            self.sessions,
            self.stores,
            self.settings,
            (lambda: self.database) if self.remembers else None,
            forks=self.recorded_forks,
            workers=lambda: self.workers.records.all(),
            state=self.state_dir,
        )

    @cached_property
    def workers(self) -> WorkerService:
        """Start, inspect, prompt and stop workers."""
        from prong.storage.workers import WorkerRecords
        from prong.workers.service import WorkerService

        return WorkerService(
            WorkerRecords(self.database),
            stores=self.stores,
            sessions=self.sessions,
            code=self.code,
            fork_service=self.forks,
            terminals=self.terminals,
            settings=self.settings,
            require=lambda program: self.programs.require(program),
            hooked=lambda agent, launch: self.setup.hooks.for_one_run(agent, launch),
        )

    @cached_property
    def setup(self) -> SetupService:
        """Set up prong and check the installation."""
        from prong.setup.service import SetupService

        return SetupService(
            sessions=lambda: self.sessions,
            stores=self.stores,
            registry=self.registry,
            code=lambda: self.code,
            workers=lambda: self.workers.records,
            health=lambda: self.fork_records and self.fork_records.health(),
            state=self.state_dir,
        )

    # -- what services share -----------------------------------------------------------------

    @cached_property
    def settings(self) -> Config:
        return self._settings or config.load()

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.settings.extra_roots, self.settings.commands)

    @cached_property
    def stores(self) -> AgentStores:
        """Agent stores by name: those of the registry, unless others were passed."""
        return AgentStores(self.registry.stores if self._stores is None else self._stores)

    def store(self, agent: str) -> AgentStore:
        return self.stores.named(agent)

    @cached_property
    def cache(self) -> SqliteScanCache | NoCache:
        """Results of earlier scans."""
        return SqliteScanCache(paths.cache_dir() / "cache.db") if self.remembers else NoCache()

    @cached_property
    def fork_records(self) -> ForkRecords | None:
        """Which turn each fork came from; None if nothing is remembered."""
        from prong.storage.forks import ForkRecords

        return ForkRecords(self.database) if self.remembers else None

    def recorded_forks(self) -> list[Fork]:
        """List all recorded forks in order of creation."""
        return self.fork_records.all() if self.fork_records else []

    @cached_property
    def last_search(self) -> LastSearch:
        """Hits of the last search in this terminal, to which `%N` refers."""
        from prong.search.last_search import LastSearch

        return LastSearch(paths.cache_dir() / "searches")

    @cached_property
    def programs(self) -> Programs:
        from prong.processes.programs import Programs

        memory = paths.cache_dir() / "programs.json" if self.remembers else None
        return Programs(memory, needed=self._needs_programs)

    @cached_property
    def terminals(self) -> Terminals:
        from prong.workers.panes import Terminals

        return Terminals(self.registry, self.settings.terminal)

    @property
    def database(self) -> Path:
        """Path of state.db, which is repaired or rebuilt when damaged."""
        settings, stores, state = self._settings, self._stores, self._state

        def rebuild() -> dict[str, int]:
            with App(settings, stores=stores, state=state) as app:
                return app.setup.rebuild()

        return database.of(self.state_dir, rebuild if self.remembers else None)

    @property
    def state_dir(self) -> Path:
        """Folder of the fork records and of the journals of unfinished forks."""
        return self._state or paths.state_dir()

    @property
    def journal_dir(self) -> Path:
        return self.state_dir / "journal"

    @property
    def worktrees_root(self) -> Path:
        """Managed root: the folder in which prong creates worktrees."""
        return self.settings.workspace.root or paths.worktrees_dir()
