"""`App.sessions`: list, resolve and read sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from prong.model.forks import Launch
from prong.model.search import IndexProgress, ignore_progress
from prong.model.sessions import Conversation, Message, Session, Turn, View
from prong.processes.garbage import no_collections
from prong.session.listing import Listing, Scanner, SessionFilter

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.workers import WorkerInfo
    from prong.session import lineage, resolve
    from prong.session.export import ExportPlan

T = TypeVar("T")


class SessionService:
    def __init__(self, app: App) -> None:
        self._app = app

    @cached_property
    def _scanner(self) -> Scanner:
        return Scanner(self._app.stores, self._app.cache)

    def close(self) -> None:
        self.__dict__.pop("_scanner", None)

    def list(self, wanted: SessionFilter | None = None) -> Listing:
        """List matching sessions, newest first."""
        return self._scanner.listing(wanted or SessionFilter())

    def all(self, agent: str | None = None) -> list[Session]:
        """List all sessions of one agent, or of all agents, newest first."""
        return [*self.list(SessionFilter(agent, everything=True)).sessions]

    def resolve(self, text: str) -> resolve.ResolvedSession:
        """Resolve `claude:60309e1e@12` and other forms to a session and an optional turn."""
        from prong.session import resolve

        hit, worker = self._app.search.last.hit, self._worker
        return resolve.Resolver(self._app.stores, self.all, hit, worker).find(text)

    def _worker(self, name: str) -> WorkerInfo | None:
        # Called only when the name may be a worker's: most commands need no workers.
        return self._app.workers.current(name)

    def get(self, text: str) -> Session:
        """Resolve a name to a session, whatever turn it names."""
        return self.resolve(text).session

    @no_collections()
    def conversation(self, session: Session | str) -> Conversation:
        """Read the turns of a session."""
        session = self.get(session) if isinstance(session, str) else session
        return self._app.store(session.agent).conversation(session)

    def turns(self, session: Session | str) -> tuple[Turn, ...]:
        """List the active turns of a session."""
        return self.conversation(session).turns

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: Turn | None = None
    ) -> Iterator[Message]:
        """Iterate over the messages of a session, or of one turn."""
        return self._app.store(session.agent).messages(
            session, view=view, turn=turn.id if turn else None
        )

    def raw(self, session: Session, *, turn: Turn | None = None) -> Iterator[bytes]:
        """Iterate over the lines of a session, or of one turn, as the agent wrote them."""
        return self._app.store(session.agent).raw(session, turn=turn.id if turn else None)

    def turn(self, conversation: Conversation, text: str) -> Turn | None:
        """Find a turn by `12`, `-1` or an id prefix; None for 0, before the first."""
        from prong.session import resolve

        return resolve.find_turn(conversation, text)

    def tree(self, session: Session | None = None, *, everything: bool = False) -> lineage.Forest:
        """Build the lineage of one session's family, or of all sessions."""
        from prong.session import lineage

        recorded = self._app.forks.recorded()
        return lineage.forest(self.all(), session, everything=everything, recorded=recorded)

    def path_of(self, agent: str, id_: str) -> Path | None:
        """Return the file of a session; None while it does not exist."""
        return next((session.path for session in self.all(agent) if session.id == id_), None)

    def resume(self, session: Session, prompt: str | None = None) -> Launch:
        """Return the command that resumes a session in its own folder."""
        from prong.session import resume as resuming

        return resuming.launch(self._app, session, prompt)

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

        return when_idle(self._app, session, act, seconds, waiting)

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

        return export.plan(self._app, folder, wanted or SessionFilter(), masked=masked, prune=prune)

    def export(
        self, plan: ExportPlan, on_progress: Callable[[IndexProgress], None] = ignore_progress
    ) -> ExportPlan:
        """Export sessions; return the plan with the result of each."""
        from prong.session import export

        return export.export(self._app, plan, on_progress)
