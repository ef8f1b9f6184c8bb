"""`App`: the composition root and full Python API of prong.

Use cases are imported inside the methods: most commands need few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property, partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar, Unpack

from prong import config, paths
from prong.agents.base import AgentStore, CanFork, ForkSource, HasProgram, HookScope, capable
from prong.config import Config
from prong.errors import NotFound, ProngError
from prong.forks.readings import Readings
from prong.model.code import Snapshot
from prong.model.forks import Fork, ForkPlan, Launch
from prong.model.record import replace
from prong.model.search import (
    Attempt,
    IndexProgress,
    IndexState,
    Query,
    SearchResult,
    ignore_progress,
)
from prong.model.sessions import Conversation, Message, Session, Turn, View
from prong.plugins import Registry
from prong.processes.garbage import no_collections
from prong.session.listing import Listing, Scanner, SessionFilter
from prong.setup import database
from prong.storage.scan_cache import NoCache, SqliteScanCache

if TYPE_CHECKING:
    from prong.code import diff
    from prong.code.capture import Capture
    from prong.code.worktrees.status import PrunePlan, WorktreeStatus
    from prong.files.edits import Edit
    from prong.forks.plan import ForkOptions
    from prong.model.workers import WorkerInfo
    from prong.processes.programs import Programs
    from prong.search import service
    from prong.search.last_search import LastSearch
    from prong.session import lineage, resolve
    from prong.session.export import ExportPlan
    from prong.setup import demo, doctor
    from prong.setup.hooks import HookPlan, HookStatus
    from prong.setup.mcp import McpSetup
    from prong.setup.schedule import ScheduleArguments, SchedulePlan, ScheduleStatus
    from prong.storage.forks import ForkRecords, Health
    from prong.workers.daemon import Daemon
    from prong.workers.panes import Terminals
    from prong.workers.service import Workers

T = TypeVar("T")


class App:
    """Every operation of prong, synchronous. Resources are opened on first use.

    Use it in a `with` statement, or close it, to release the scan cache.
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
        self._readings = Readings()
        database.opened(self)

    @cached_property
    def settings(self) -> Config:
        return self._settings or config.load()

    @cached_property
    def registry(self) -> Registry:
        return Registry(self.settings.extra_roots, self.settings.commands)

    @cached_property
    def _cache(self) -> SqliteScanCache | NoCache:
        return SqliteScanCache(paths.cache_dir() / "cache.db") if self.remembers else NoCache()

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self.stores, self._cache)

    def close(self) -> None:
        """Close all files. The application can be used again and reopens them."""
        self._readings.close()
        if "_engines" in self.__dict__:
            self._engines.close()
            del self._engines
        if "_cache" in self.__dict__:
            self._cache.close()
            del self._cache
            self.__dict__.pop("_scanner", None)
        database.closed(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def stores(self) -> Mapping[str, AgentStore]:
        """Agent stores by name: those of the registry, unless others were passed."""
        return self._stores if self._stores is not None else self.registry.stores

    @cached_property
    def _records(self) -> ForkRecords | None:
        from prong.storage.forks import ForkRecords

        return ForkRecords(self.database) if self.remembers else None

    @property
    def database(self) -> Path:
        """Path of state.db, which is repaired or rebuilt when damaged."""
        reopen = partial(App, self._settings, stores=self._stores, state=self._state)
        return database.of(self.state_dir, reopen if self.remembers else None)

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

    @property
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
    def daemon(self) -> Daemon:
        from prong.workers.daemon import Daemon

        return Daemon(self.state_dir)

    @cached_property
    def terminals(self) -> Terminals:
        from prong.workers.panes import Terminals

        return Terminals(self.registry, self.settings.terminal)

    @cached_property
    def workers(self) -> Workers:
        """Operations on workers: start, inspect, prompt and stop."""
        from prong.workers.service import Workers

        return Workers(self)

    # -- sessions ----------------------------------------------------------------------------

    def list_sessions(self, wanted: SessionFilter | None = None) -> Listing:
        """List matching sessions, newest first."""
        return self._scanner.listing(wanted or SessionFilter())

    def sessions(self, agent: str | None = None) -> list[Session]:
        """List all sessions of one agent, or of all agents, newest first."""
        return list(self.list_sessions(SessionFilter(agent, everything=True)).sessions)

    def resolve(self, text: str) -> resolve.ResolvedSession:
        """Resolve `claude:60309e1e@12` and other forms to a session and an optional turn."""
        from prong.session import resolve

        hit, worker = self.last_search.hit, self._worker
        return resolve.Resolver(self.stores, self.sessions, hit, worker).find(text)

    def _worker(self, name: str) -> WorkerInfo | None:
        # Called only when the name may be a worker's: most commands need no workers.
        return self.workers.current(name)

    def session(self, text: str) -> Session:
        return self.resolve(text).session

    @no_collections()
    def conversation(self, session: Session | str) -> Conversation:
        """Read the turns of a session."""
        session = self.session(session) if isinstance(session, str) else session
        return self.store(session.agent).conversation(session)

    def turns(self, session: Session | str) -> tuple[Turn, ...]:
        """List the active turns of a session."""
        return self.conversation(session).turns

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: Turn | None = None
    ) -> Iterator[Message]:
        """Iterate over the messages of a session, or of one turn."""
        return self.store(session.agent).messages(
            session, view=view, turn=turn.id if turn else None
        )

    def raw(self, session: Session, *, turn: Turn | None = None) -> Iterator[bytes]:
        """Iterate over the lines of a session, or of one turn, as the agent wrote them."""
        return self.store(session.agent).raw(session, turn=turn.id if turn else None)

    def turn(self, conversation: Conversation, text: str) -> Turn | None:
        """Find a turn by `12`, `-1` or an id prefix; None for 0, before the first."""
        from prong.session import resolve

        return resolve.find_turn(conversation, text)

    def tree(self, session: Session | None = None, *, everything: bool = False) -> lineage.Forest:
        """Build the lineage of one session's family, or of all sessions."""
        from prong.session import lineage

        recorded = self._records.all() if self._records else ()
        return lineage.forest(self.sessions(), session, everything=everything, recorded=recorded)

    # -- search ------------------------------------------------------------------------------

    @cached_property
    def _engines(self) -> service.Engines:
        from prong.search import service

        folder = paths.cache_dir() / "search" if self.remembers else None
        return service.engines(folder, self.stores, self._cache, self.settings.search)

    def find(
        self,
        query: Query,
        engine: str | None = None,
        *,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> SearchResult:
        """Search past turns, best first. Updates the index first."""
        from prong.search import service

        return service.find(self, self._engines, query, engine, on_progress or ignore_progress)

    def index(
        self,
        *,
        rebuild: bool = False,
        vectors: bool = True,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> IndexState:
        """Update the index; with `vectors`, also embed new turns."""
        from prong.search import service

        progress = on_progress or ignore_progress
        return service.index(self._engines, rebuild=rebuild, vectors=vectors, on_progress=progress)

    def index_state(self) -> IndexState:
        """Report what the index covers, without updating it."""
        from prong.search import service

        return service.state(self._engines)

    def rest(self) -> None:
        """Free memory that no search has needed for a while, in long-running programs."""
        if "_engines" in self.__dict__:
            self._engines.rest()

    # -- forks -------------------------------------------------------------------------------

    @no_collections()
    def plan_fork(self, point: str, options: ForkOptions | None = None) -> ForkPlan:
        """Plan a fork at `SESSION[@TURN]`. Writes only caches."""
        from prong.forks import plan as planning
        from prong.forks.plan import ForkOptions

        return planning.plan(self, point, options or ForkOptions())

    @no_collections()
    def fork(self, plan: ForkPlan) -> Fork:
        """Create a planned fork."""
        from prong.forks import make

        return make.fork(self, plan)

    def forks(self, plan: ForkPlan, count: int = 1) -> Iterator[Fork]:
        """Create several forks of one point, yielding each when it exists."""
        from prong.forks import make

        return make.several(self, plan, count)

    def resume(self, session: Session, prompt: str | None = None) -> Launch:
        """Return the command that resumes a session in its own folder."""
        from prong.session import resume as resuming

        return resuming.launch(self, session, prompt)

    def when_idle(
        self,
        session: Session,
        act: Callable[[], T],
        seconds: float = inf,
        waiting: Callable[[], None] = lambda: None,
    ) -> T:
        """Retry `act` until the agent is idle and `act` no longer raises `Busy`.

        Raises `Busy` itself when that takes longer than `seconds`.
        """
        from prong.session.idle import when_idle

        return when_idle(self, session, act, seconds, waiting)

    def reading(self, session: Session) -> ForkSource:
        """Read a session for a fork. It stays open until another one is read."""
        store = capable(self.store(session.agent), CanFork, "be forked")
        return self._readings.of(store, session, self._cache)

    def is_current(self, source: ForkSource) -> bool:
        """Return whether the session is unchanged since it was read."""
        return self._readings.is_current(source)

    def path_of(self, agent: str, id_: str) -> Path | None:
        """Return the file of a session; None while it does not exist."""
        return next((session.path for session in self.sessions(agent) if session.id == id_), None)

    def recorded_forks(self) -> list[Fork]:
        """List all recorded forks in order of creation."""
        return self._records.all() if self._records else []

    def record(self, fork: Fork) -> Fork:
        """Record a fork. A failure only adds a warning, since the fork exists."""
        from prong.session import lineage

        if self._records is None:
            return fork
        try:
            if not self._records.all():
                # The records are new or lost: restore what the session files tell.
                self._records.restore(lineage.rebuild(self.sessions()))
            self._records.add(fork)
        except ProngError as error:
            warning = f"the fork was not recorded: {error.message}"
            return replace(fork, warnings=(*fork.warnings, warning))
        return fork

    # -- code --------------------------------------------------------------------------------

    @cached_property
    def capture(self) -> Capture:
        from prong.code import locate
        from prong.code.capture import Capture

        def folders() -> Iterator[Path]:
            return locate.of_sessions(self.sessions(), self.recorded_forks())

        _, limit = self.database, self.settings.snapshots.limit
        agent_folders = partial(locate.of_agents, self.stores)
        return Capture(self.state_dir, self.recorded_forks, limit, folders, agent_folders)

    def capture_in_use(self) -> Capture | None:
        """Return the snapshot service, or None without loading it if no snapshot was ever taken."""
        is_used = self.remembers and (self.state_dir / "state.db").exists()
        return self.capture if is_used else None

    def kept_turns(self) -> set[str]:
        """Return the ids of all turns with a snapshot."""
        return capture.turn_ids() if (capture := self.capture_in_use()) else set()

    def snapshots(self, conversation: Conversation) -> dict[str, Snapshot]:
        """Return the snapshots of a conversation by turn id."""
        return self.capture.of(conversation) if self.remembers else {}

    def with_code(self, conversation: Conversation, *, lfs: bool = True) -> Conversation:
        """Add snapshots to the turns of a conversation; with `lfs`, also list missing LFS files."""
        return self.capture.with_code(conversation, lfs=lfs) if self.remembers else conversation

    def keep_code(self, conversation: Conversation, *, again: bool = False) -> Snapshot:
        """Take a snapshot of the current code for the session's last turn."""
        return self.capture.keep(conversation, again=again)

    def diff_code(
        self, first: str, second: str | None = None, paths: Sequence[str] = ()
    ) -> diff.CodeDiff:
        """Diff the code of `SESSION[@TURN]`, `SESSION@A..B`, or of two sessions.

        `paths` limits the diff to these files and folders.
        """
        from prong.code import diff

        return diff.diff(self, first, second, paths)

    def change_of(self, conversation: Conversation, turn: Turn) -> diff.CodeDiff:
        """Diff the code before and after a turn."""
        from prong.code import diff

        return diff.of_turn(self, conversation, turn)

    # -- worktrees ---------------------------------------------------------------------------

    def worktrees(self) -> list[WorktreeStatus]:
        """List the worktrees that prong created, oldest first."""
        from prong.code.worktrees import status as worktrees

        return worktrees.listed(self)

    def plan_prune(self, names: Sequence[str] = (), *, force: bool = False) -> PrunePlan:
        """Plan which worktrees to remove: finished ones, or the named ones. Removes nothing."""
        from prong.code.worktrees import status as worktrees

        return worktrees.plan_prune(self, names, force=force)

    def prune(self, worktree: WorktreeStatus, *, force: bool = False) -> str | None:
        """Remove a worktree; return the name of its branch if that is kept."""
        from prong.code.worktrees import status as worktrees

        return worktrees.prune(self, worktree, force=force)

    # -- hooks -------------------------------------------------------------------------------

    def hooks(
        self, *, scope: HookScope = "user", folder: Path | None = None, agent: str | None = None
    ) -> list[HookStatus]:
        """Report whether prong's hooks are installed in the agents' settings."""
        from prong.setup import hooks

        return hooks.status(self, scope, folder or Path.cwd(), agent)

    def plan_hooks(
        self,
        *,
        scope: HookScope = "user",
        folder: Path | None = None,
        agent: str | None = None,
        remove: bool = False,
    ) -> list[HookPlan]:
        """Plan the installation or removal of hooks. Writes nothing."""
        from prong.setup import hooks

        plan = hooks.plan_remove if remove else hooks.plan_install
        return plan(self, scope, folder or Path.cwd(), agent)

    def change_hooks(self, plan: HookPlan) -> None:
        """Apply a hook plan to the settings of an agent."""
        from prong.setup import hooks

        hooks.change(self, plan)

    def hook_backup(self, plan: HookPlan, edit: Edit) -> Path | None:
        """Return the backup of a changed settings file; None when there was no file."""
        from prong.setup import hooks

        return hooks.backup(self, plan, edit)

    def hooked(self, agent: str, launch: Launch) -> Launch:
        """Add prong's hooks to a single launch of an agent."""
        from prong.setup import hooks

        return hooks.for_one_run(self, agent, launch)

    @cached_property
    def mcp_setup(self) -> McpSetup:
        """Setup of prong's MCP server in the agents' settings."""
        from prong.setup.mcp import McpSetup

        return McpSetup(self)

    # -- exports -----------------------------------------------------------------------------

    def plan_export(
        self,
        folder: Path,
        wanted: SessionFilter | None = None,
        *,
        masked: bool = True,
        prune: bool = False,
    ) -> ExportPlan:
        """Plan the export of sessions as Markdown into a folder. Writes nothing."""
        from prong.session import export

        return export.plan(self, folder, wanted or SessionFilter(), masked=masked, prune=prune)

    def export(
        self, plan: ExportPlan, on_progress: Callable[[IndexProgress], None] = ignore_progress
    ) -> ExportPlan:
        """Export sessions; return the plan with the result of each."""
        from prong.session import export

        return export.export(self, plan, on_progress)

    def refresh_qmd(self, folder: Path, collection: str) -> list[Attempt]:
        """Update a qmd collection from the exports in a folder."""
        from prong.search.qmd import refresh

        return refresh.refresh_qmd(folder, collection)

    # -- schedules ---------------------------------------------------------------------------

    def schedules(self) -> list[ScheduleStatus]:
        """Report the scheduled jobs of each scheduler."""
        from prong.setup import schedule

        return schedule.status(self)

    def plan_schedule(
        self, every: timedelta, export: Path | None = None, **how: Unpack[ScheduleArguments]
    ) -> SchedulePlan:
        """Plan a scheduled update of the index, and of exports. Writes nothing."""
        from prong.setup import schedule

        return schedule.plan_install(self, every, export, **how)

    def plan_unschedule(self, scheduler: str | None = None) -> list[SchedulePlan]:
        """Plan the removal of scheduled updates. Writes nothing."""
        from prong.setup import schedule

        return schedule.plan_remove(self, scheduler)

    def change_schedule(self, plan: SchedulePlan) -> None:
        """Carry out a plan that installs or removes a schedule."""
        from prong.setup import schedule

        schedule.change(self, plan)

    # -- the installation --------------------------------------------------------------------

    def doctor(self) -> doctor.Report:
        """Check the installation and suggest fixes."""
        from prong.setup import doctor

        return doctor.examine(self)

    def fix(self) -> list[doctor.Finding]:
        """Clean up after interrupted forks and repair the records; return what was done."""
        from prong.setup import doctor

        return list(doctor.fix(self))

    def state_health(self) -> Health | None:
        """Check the health of the fork records; None when nothing is recorded."""
        return self._records.health() if self._records else None

    def demo(self, home: Path) -> demo.Demo:
        """Write sample sessions into an empty folder."""
        from prong.setup import demo

        return demo.write(self.registry, home)

    def roots(self, agent: str | None = None) -> list[Path]:
        """List the roots of one agent, or of all."""
        return [root for store in self._chosen(agent) for root in store.roots]

    def root_variables(self, agent: str | None = None) -> list[str]:
        """List the environment variables that set the roots."""
        variables: list[str] = []
        for store in self._chosen(agent):
            # A plug-in may fail even here; `prong doctor` reports it.
            with suppress(Exception):
                if isinstance(store, HasProgram):
                    variables.append(store.program.root_variable)
        return variables

    def _chosen(self, agent: str | None) -> list[AgentStore]:
        return [store for name, store in self.stores.items() if agent in (None, name)]

    def store(self, agent: str) -> AgentStore:
        try:
            return self.stores[agent]
        except KeyError:
            raise NotFound(
                f"unknown agent {agent!r}", hint=f"one of {', '.join(self.stores)}"
            ) from None
