"""`App.sessions`: list, resolve and read sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prong.agents.base import ScanCache
from prong.agents.stores import AgentStores
from prong.errors import UsageError
from prong.model.forks import Fork, Launch
from prong.model.search import IndexProgress, ignore_progress
from prong.model.sessions import Conversation, Message, Program, Session, Turn, View
from prong.processes.garbage import no_collections
from prong.session.listing import Listing, Scanner, SessionFilter

if TYPE_CHECKING:
    from prong.model.workers import WorkerInfo
    from prong.search.last_search import HitPlace
    from prong.session import lineage, resolve
    from prong.session.export import ExportPlan
    from prong.session.transcript import PageRequest, SessionPage

T = TypeVar("T")


class SessionService:
    def __init__(
        self,
        stores: AgentStores,
        cache: ScanCache,
        *,
        hit: Callable[[int], HitPlace],
        worker: Callable[[str], WorkerInfo | None],
        recorded: Callable[[], list[Fork]],
        has_code: Callable[[Conversation], bool],
        require: Callable[[Program], None],
    ) -> None:
        """Use `hit` for `%N`, `worker` for a worker's name, and `recorded` for recorded forks.

        `has_code` tells whether the code of the last turn was captured; `require` raises when a
        program is missing.
        """
        self._stores = stores
        self._cache = cache
        self._hit = hit
        self._worker = worker
        self._recorded = recorded
        self._has_code = has_code
        self._require = require

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self._stores, self._cache)

    def list(self, wanted: SessionFilter | None = None) -> Listing:
        """List matching sessions, newest first."""
        return self._scanner.listing(wanted or SessionFilter())

    def all(self, agent: str | None = None) -> list[Session]:
        """List all sessions of one agent, or of all agents, newest first."""
        return [*self.list(SessionFilter(agent, everything=True)).sessions]

    def resolve(self, text: str) -> resolve.ResolvedSession:
        """Resolve `claude:60309e1e@12` and other forms to a session and an optional turn."""
        from prong.session import resolve

        return resolve.Resolver(
            self._stores, self.all, self._hit, self._worker, self._unlisted
        ).find(text)

    def _unlisted(self, agent: str | None) -> Iterator[Path]:
        listing = self.list(SessionFilter(agent, everything=True))
        return (skipped.path for skipped in listing.skipped if skipped.harmless)

    def get(self, text: str) -> Session:
        """Resolve a name to a session, whatever turn it names."""
        return self.resolve(text).session

    @no_collections()
    def conversation(self, session: Session | str) -> Conversation:
        """Read the turns of a session."""
        session = self.get(session) if isinstance(session, str) else session
        return self._stores.named(session.agent).conversation(session)

    def turns(self, session: Session | str) -> tuple[Turn, ...]:
        """List the active turns of a session."""
        return self.conversation(session).turns

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: Turn | None = None
    ) -> Iterator[Message]:
        """Iterate over the messages of a session, or of one turn."""
        turn_id = turn.id if turn else None
        return self._stores.named(session.agent).messages(session, view=view, turn=turn_id)

    def raw(self, session: Session, *, turn: Turn | None = None) -> Iterator[bytes]:
        """Iterate over the lines of a session, or of one turn, as the agent wrote them."""
        return self._stores.named(session.agent).raw(session, turn=turn.id if turn else None)

    def page(self, name: str, request: PageRequest) -> SessionPage:
        """Read part of a transcript."""
        from prong.session import transcript

        resolved = self.resolve(name)
        turn = None
        if resolved.turn is not None:
            if request.first is not None or request.last is not None:
                raise UsageError("the turn is named twice", hint="leave out what is behind the @")
            turn = self.turn(self.conversation(resolved.session), resolved.turn)
            if turn is None:
                raise UsageError("turn 0 is before the first prompt: nothing to read")
        messages = self.messages(resolved.session, turn=turn)
        return transcript.page(resolved.session, messages, request)

    def turn(self, conversation: Conversation, text: str) -> Turn | None:
        """Find a turn by `12`, `-1` or an id prefix; None for 0, before the first."""
        from prong.session import resolve

        return resolve.find_turn(conversation, text)

    def tree(self, session: Session | None = None, *, everything: bool = False) -> lineage.Forest:
        """Build the lineage of one session's family, or of all sessions."""
        from prong.session import lineage

        return lineage.forest(self.all(), session, everything=everything, recorded=self._recorded())

    def path_of(self, agent: str, id_: str) -> Path | None:
        """Return the file of a session; None while it does not exist."""
        return next((session.path for session in self.all(agent) if session.id == id_), None)

    def resume(self, session: Session, prompt: str | None = None) -> Launch:
        """Return the command that resumes a session in its own folder."""
        from prong.session import resume

        return resume.launch(
            self._stores.named(session.agent),
            session,
            prompt,
            has_code=lambda: self._has_code(self.conversation(session)),
            require=self._require,
        )

    def when_idle(
        self,
        session: Session,
        act: Callable[[], T],
        seconds: float = inf,
        waiting: Callable[[], None] = lambda: None,
    ) -> T:
        """Retry `act` until the agent is idle; raises `Busy` after `seconds`."""
        from prong.session import resume

        store = self._stores.named(session.agent)
        return resume.when_idle(store, session, act, seconds, waiting)

    def project(self, given: Path, notes: list[str]) -> Path:
        """Resolve a project: `shop` may also be the name of a folder that sessions ran in."""
        from prong.session.folder_names import project_folder

        return project_folder(given, self.all, notes)

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

        wanted, roots = wanted or SessionFilter(), self._stores.roots
        export.refuse_agent_folders(folder, roots())
        listing = self.list(wanted)
        return export.plan(folder, listing, roots, agent=wanted.agent, masked=masked, prune=prune)

    def export(
        self, plan: ExportPlan, on_progress: Callable[[IndexProgress], None] = ignore_progress
    ) -> ExportPlan:
        """Export sessions; return the plan with the result of each."""
        from prong.session import export

        return export.export(plan, self.messages, on_progress)
