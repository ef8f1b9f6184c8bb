"""`App`: the composition root, and the Python API of prong.

What a use case needs is imported when it is asked for: most commands need few of them.
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
from prong.sessions.listing import Listing, Scanner, SessionFilter
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
    from prong.sessions import lineage, resolve
    from prong.sessions.export import ExportPlan
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
    """All that prong can do, synchronously. Everything is opened when first needed.

    Use it in a `with` statement, or close it, to let go of the scan cache.
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
        """`needs_programs` is False where nothing will be started, as in the demo.

        `state` is another folder for what prong writes about forks than the person's own.
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
        """Let go of all files. The application can be used again; they are then opened anew."""
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
        """Every agent by name: those of the registry, unless others were given."""
        return self._stores if self._stores is not None else self.registry.stores

    @cached_property
    def _records(self) -> ForkRecords | None:
        from prong.storage.forks import ForkRecords

        return ForkRecords(self.database) if self.remembers else None

    @property
    def database(self) -> Path:
        """state.db. Whoever uses it has it repaired, and rebuilt, when it is damaged."""
        again = partial(App, self._settings, stores=self._stores, state=self._state)
        return database.of(self.state_dir, again if self.remembers else None)

    @property
    def state_dir(self) -> Path:
        """Where forks are recorded, and the journals of those that are being made."""
        return self._state or paths.state_dir()

    @property
    def journal_dir(self) -> Path:
        return self.state_dir / "journal"

    @property
    def worktrees_root(self) -> Path:
        """The managed root: where worktrees are made."""
        return self.settings.workspace.root or paths.worktrees_dir()

    @property
    def last_search(self) -> LastSearch:
        """The hits of the last search in this terminal, which `%N` names."""
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
        """Agents that run: starting, looking at, talking to and ending them."""
        from prong.workers.service import Workers

        return Workers(self)

    # -- looking -----------------------------------------------------------------------------

    def list_sessions(self, wanted: SessionFilter | None = None) -> Listing:
        """The sessions that fit, newest first."""
        return self._scanner.listing(wanted or SessionFilter())

    def sessions(self, agent: str | None = None) -> list[Session]:
        """Every session of one agent, or of all, newest first."""
        return list(self.list_sessions(SessionFilter(agent, everything=True)).sessions)

    def resolve(self, text: str) -> resolve.ResolvedSession:
        """The session, and the turn if one is named, behind `claude:60309e1e@12` and the like."""
        from prong.sessions import resolve

        hit, worker = self.last_search.hit, self._worker
        return resolve.Resolver(self.stores, self.sessions, hit, worker).find(text)

    def _worker(self, name: str) -> WorkerInfo | None:
        # When there may be one: most commands need nothing of workers.
        return self.workers.current(name)

    def session(self, text: str) -> Session:
        return self.resolve(text).session

    @no_collections()
    def conversation(self, session: Session | str) -> Conversation:
        """The turns of a session."""
        session = self.session(session) if isinstance(session, str) else session
        return self.store(session.agent).conversation(session)

    def turns(self, session: Session | str) -> tuple[Turn, ...]:
        """The active turns of a session."""
        return self.conversation(session).turns

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: Turn | None = None
    ) -> Iterator[Message]:
        """The messages of a session, or of one turn of it."""
        return self.store(session.agent).messages(
            session, view=view, turn=turn.id if turn else None
        )

    def raw(self, session: Session, *, turn: Turn | None = None) -> Iterator[bytes]:
        """The lines of a session as the agent wrote them."""
        return self.store(session.agent).raw(session, turn=turn.id if turn else None)

    def turn(self, conversation: Conversation, text: str) -> Turn | None:
        """The turn that `12`, `-1` or an id prefix names; None for 0, before the first."""
        from prong.sessions import resolve

        return resolve.find_turn(conversation, text)

    def tree(self, session: Session | None = None, *, everything: bool = False) -> lineage.Forest:
        """Who was forked from whom: of one session's family, or of all."""
        from prong.sessions import lineage

        recorded = self._records.all() if self._records else ()
        return lineage.forest(self.sessions(), session, everything=everything, recorded=recorded)

    # -- searching ---------------------------------------------------------------------------

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
        """The turns of past sessions that fit, best first. Brings the index up to date before."""
        from prong.search import service

        return service.find(self, self._engines, query, engine, on_progress or ignore_progress)

    def index(
        self,
        *,
        rebuild: bool = False,
        vectors: bool = True,
        on_progress: Callable[[IndexProgress], None] | None = None,
    ) -> IndexState:
        """Bring the index up to date; with `vectors`, let the sentence model read what is new."""
        from prong.search import service

        progress = on_progress or ignore_progress
        return service.index(self._engines, rebuild=rebuild, vectors=vectors, on_progress=progress)

    def index_state(self) -> IndexState:
        """What the index covers, as it is."""
        from prong.search import service

        return service.state(self._engines)

    def rest(self) -> None:
        """Give memory back that no search has needed for a while. For what runs long."""
        if "_engines" in self.__dict__:
            self._engines.rest()

    # -- forking -----------------------------------------------------------------------------

    @no_collections()
    def plan_fork(self, point: str, options: ForkOptions | None = None) -> ForkPlan:
        """What a fork at `SESSION[@TURN]` would do. Writes nothing but what may be deleted."""
        from prong.forks import plan as planning
        from prong.forks.plan import ForkOptions

        return planning.plan(self, point, options or ForkOptions())

    @no_collections()
    def fork(self, plan: ForkPlan) -> Fork:
        """Make the fork that a plan describes."""
        from prong.forks import make

        return make.fork(self, plan)

    def forks(self, plan: ForkPlan, count: int = 1) -> Iterator[Fork]:
        """Make several forks of one point, each with an id of its own; each is given when made."""
        from prong.forks import make

        return make.several(self, plan, count)

    def resume(self, session: Session, prompt: str | None = None) -> Launch:
        """How to go on with a session itself, in its own folder."""
        from prong.sessions import resume as resuming

        return resuming.launch(self, session, prompt)

    def when_idle(
        self,
        session: Session,
        act: Callable[[], T],
        seconds: float = inf,
        waiting: Callable[[], None] = lambda: None,
    ) -> T:
        """Do what an agent at work is in the way of, when it is done: `act` says `Busy` till then.

        `Busy` as well when that takes longer than so many seconds.
        """
        from prong.sessions.idle import when_idle

        return when_idle(self, session, act, seconds, waiting)

    def reading(self, session: Session) -> ForkSource:
        """A session, read to be forked. It stays open until another one is read."""
        store = capable(self.store(session.agent), CanFork, "be forked")
        return self._readings.of(store, session, self._cache)

    def is_current(self, source: ForkSource) -> bool:
        """True when the session was not touched since it was read."""
        return self._readings.is_current(source)

    def path_of(self, agent: str, id_: str) -> Path | None:
        """Where a session lies that has just been made; None when it is not there yet."""
        return next((one.path for one in self.sessions(agent) if one.id == id_), None)

    def recorded_forks(self) -> list[Fork]:
        """Every fork that was recorded, in the order in which they were made."""
        return self._records.all() if self._records else []

    def record(self, fork: Fork) -> Fork:
        """Remember a fork. The fork is there, so a failure here is no more than a warning."""
        from prong.sessions import lineage

        if self._records is None:
            return fork
        try:
            if not self._records.all():
                # New, or lost: what the files tell comes back.
                self._records.restore(lineage.rebuild(self.sessions()))
            self._records.add(fork)
        except ProngError as error:
            told = f"the fork was not recorded: {error.message}"
            return replace(fork, warnings=(*fork.warnings, told))
        return fork

    # -- code --------------------------------------------------------------------------------

    @cached_property
    def capture(self) -> Capture:
        from prong.code import locate
        from prong.code.capture import Capture

        def folders() -> Iterator[Path]:
            return locate.of_sessions(self.sessions(), self.recorded_forks())

        _, limit = self.database, self.settings.snapshots.limit
        own = partial(locate.of_agents, self.stores)
        return Capture(self.state_dir, self.recorded_forks, limit, folders, own)

    def capture_in_use(self) -> Capture | None:
        """What keeps the code of turns; None, and not loaded, where no code was ever kept."""
        known = self.remembers and (self.state_dir / "state.db").exists()
        return self.capture if known else None

    def kept_turns(self) -> set[str]:
        """The ids of the turns whose code was kept, of whatever session."""
        return capture.turn_ids() if (capture := self.capture_in_use()) else set()

    def snapshots(self, conversation: Conversation) -> dict[str, Snapshot]:
        """The snapshots of a conversation's turns, by the ids of the turns."""
        return self.capture.of(conversation) if self.remembers else {}

    def with_code(self, conversation: Conversation, *, lfs: bool = True) -> Conversation:
        """The conversation, its turns with what is known of their code, LFS files included."""
        return self.capture.with_code(conversation, lfs=lfs) if self.remembers else conversation

    def keep_code(self, conversation: Conversation, *, again: bool = False) -> Snapshot:
        """Keep the code as it is now, as that of the session's last turn."""
        return self.capture.keep(conversation, again=again)

    def diff_code(
        self, first: str, second: str | None = None, paths: Sequence[str] = ()
    ) -> diff.CodeDiff:
        """What changed in `SESSION[@TURN]`, in `SESSION@A..B`, or from one session to another.

        Only what is in these files and folders, if there are any.
        """
        from prong.code import diff

        return diff.diff(self, first, second, paths)

    def change_of(self, conversation: Conversation, turn: Turn) -> diff.CodeDiff:
        """What a turn changed in the code."""
        from prong.code import diff

        return diff.of_turn(self, conversation, turn)

    # -- worktrees ---------------------------------------------------------------------------

    def worktrees(self) -> list[WorktreeStatus]:
        """The worktrees that prong made, oldest first."""
        from prong.code.worktrees import status as worktrees

        return worktrees.listed(self)

    def plan_prune(self, names: Sequence[str] = (), *, force: bool = False) -> PrunePlan:
        """Which worktrees can go: those that are finished, or the named ones. Removes nothing."""
        from prong.code.worktrees import status as worktrees

        return worktrees.plan_prune(self, names, force=force)

    def prune(self, worktree: WorktreeStatus, *, force: bool = False) -> str | None:
        """Remove a worktree; the name of its branch comes back when that stays."""
        from prong.code.worktrees import status as worktrees

        return worktrees.prune(self, worktree, force=force)

    # -- hooks -------------------------------------------------------------------------------

    def hooks(
        self, *, scope: HookScope = "user", folder: Path | None = None, agent: str | None = None
    ) -> list[HookStatus]:
        """Whether our hooks are in the settings of the agents."""
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
        """What installing hooks, or removing them, would change. Writes nothing."""
        from prong.setup import hooks

        plan = hooks.plan_remove if remove else hooks.plan_install
        return plan(self, scope, folder or Path.cwd(), agent)

    def change_hooks(self, plan: HookPlan) -> None:
        """Change the settings of an agent as planned."""
        from prong.setup import hooks

        hooks.change(self, plan)

    def hook_backup(self, plan: HookPlan, edit: Edit) -> Path | None:
        """Where the bytes are that a settings file had before; None when there was no file."""
        from prong.setup import hooks

        return hooks.backup(self, plan, edit)

    def hooked(self, agent: str, launch: Launch) -> Launch:
        """A launch of an agent with our hooks, for this one run."""
        from prong.setup import hooks

        return hooks.for_one_run(self, agent, launch)

    @cached_property
    def mcp_setup(self) -> McpSetup:
        """The MCP server of prong, in the settings of the agents."""
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
        """Which sessions would be written as Markdown into a folder. Writes nothing."""
        from prong.sessions import export

        return export.plan(self, folder, wanted or SessionFilter(), masked=masked, prune=prune)

    def export(
        self, plan: ExportPlan, on_progress: Callable[[IndexProgress], None] = ignore_progress
    ) -> ExportPlan:
        """Write the sessions that a plan names; it comes back with what became of each."""
        from prong.sessions import export

        return export.export(self, plan, on_progress)

    def refresh_qmd(self, folder: Path, collection: str) -> list[Attempt]:
        """Have qmd read the exports in a folder."""
        from prong.search.qmd import refresh

        return refresh.refresh_qmd(folder, collection)

    # -- schedules ---------------------------------------------------------------------------

    def schedules(self) -> list[ScheduleStatus]:
        """What is scheduled, for each scheduler."""
        from prong.setup import schedule

        return schedule.status(self)

    def plan_schedule(
        self, every: timedelta, export: Path | None = None, **how: Unpack[ScheduleArguments]
    ) -> SchedulePlan:
        """What having the index, and exports, brought up to date would write. Writes nothing."""
        from prong.setup import schedule

        return schedule.plan_install(self, every, export, **how)

    def plan_unschedule(self, scheduler: str | None = None) -> list[SchedulePlan]:
        """What would be taken out again. Writes nothing."""
        from prong.setup import schedule

        return schedule.plan_remove(self, scheduler)

    def change_schedule(self, plan: SchedulePlan) -> None:
        """Write what a plan says, and turn it on or off."""
        from prong.setup import schedule

        schedule.change(self, plan)

    # -- the installation --------------------------------------------------------------------

    def doctor(self) -> doctor.Report:
        """What is installed, what is missing, what to type."""
        from prong.setup import doctor

        return doctor.examine(self)

    def fix(self) -> list[doctor.Finding]:
        """Clean up after forks that a killed process left half done; what was done."""
        from prong.setup import doctor

        return list(doctor.fix(self))

    def state_health(self) -> Health | None:
        """How it is with the recorded forks; None when nothing is to be remembered."""
        return self._records.health() if self._records else None

    def demo(self, home: Path) -> demo.Demo:
        """Write sample sessions into an empty folder."""
        from prong.setup import demo

        return demo.write(self.registry, home)

    def roots(self, agent: str | None = None) -> list[Path]:
        """The folders that are looked at, of one agent or of all."""
        return [root for store in self._chosen(agent) for root in store.roots]

    def root_variables(self, agent: str | None = None) -> list[str]:
        """The environment variables that name other folders."""
        variables: list[str] = []
        for store in self._chosen(agent):
            # A plug-in may fail even at this; `prong doctor` tells of it.
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
