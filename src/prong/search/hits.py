"""Search hits: the session, turn, code and passage of each engine result."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from prong.code.service import CodeService
from prong.errors import ProngError
from prong.model.record import replace
from prong.model.search import Answer, Found, Hit, Passage, SearchRequest, SearchResult
from prong.model.sessions import Session, SessionRef, Turn
from prong.redaction.secrets import mask_passage
from prong.redaction.visible import safe
from prong.search.builtin import BuiltIn, Name, SearchScope, Standing
from prong.search.query_terms import file_filter
from prong.session.lineage import family_of
from prong.session.listing import Project


class Lookup:
    """The sessions that a search covers, and the hits in them."""

    def __init__(
        self,
        request: SearchRequest,
        sessions: Mapping[Name, Session],
        turns: Callable[[Session], Sequence[Turn]],
        code: CodeService,
    ) -> None:
        """Use `turns` to read a session, for results of engines that do not know its turns."""
        self._request = request
        self._sessions = sessions
        self._read_turns = turns
        self._recorded = code.recorded()
        self._before: dict[str, str | None] = {}
        """The id of the turn before each turn that was found."""
        only = None
        if request.project is not None:
            only = self._in_project(request.project)
        if request.agent is not None:
            only = {
                name for name in (sessions if only is None else only) if name[0] == request.agent
            }
        turn_ids = None
        if request.has_snapshot:
            turn_ids = self._recorded.turn_ids() if self._recorded else set[str]()
        here = self._in_project(_root_of(request.here)) if request.here else set[Name]()
        self.scope = SearchScope(self._standing, only=only, here=here, turn_ids=turn_ids)

    def _in_project(self, folder: Path) -> set[Name]:
        project = Project(folder)
        return {name for name, session in self._sessions.items() if project.had(session)}

    def _standing(self, name: Name) -> Standing | None:
        session, only = self._sessions.get(name), self.scope.only
        if session is None or session.ref in self._request.without:
            return None
        if only is not None and name not in only:
            return None
        family = family_of(session, self._sessions)
        return Standing(family, name in self.scope.here, session.headless, session.cwds)

    def hits(self, answer: Answer, engine: str) -> Iterator[Hit]:
        """Look up the results of an engine; drop those that the request excludes."""
        for result in answer.found:
            session = self._session(result)
            if session is not None:
                if self._standing((session.agent, session.id)) is None:
                    continue
            elif self._request.agent and result.agent not in (None, self._request.agent):
                continue  # The session is gone, but the result names its agent.
            if result.score < (self._request.min_score or 0):
                continue
            hit = self._hit(result, session, engine)
            if engine == BuiltIn.name or self._is_wanted(hit):
                yield hit

    def _is_wanted(self, hit: Hit) -> bool:
        """Apply filters that qmd does not know; a session hit passes if any of its turns does."""
        request = self._request
        if request.since is not None and (hit.date is None or hit.date < request.since):
            return False
        if not request.files and not request.has_snapshot:
            return True
        turns = [hit.turn] if hit.turn else self._turns(hit.session)
        if request.has_snapshot:
            if hit.session is None or self._recorded is None:
                return False
            if not self._recorded.among(hit.session.agent, [turn.id for turn in turns]):
                return False
        fits = file_filter(request.files)
        return any(fits(turn.files) for turn in turns)

    def _turns(self, session: Session | None) -> Sequence[Turn]:
        try:
            return self._read_turns(session) if session else ()
        except (ProngError, OSError):
            return ()

    def _session(self, found: Found) -> Session | None:
        if found.session_id is None:
            return None
        if found.agent:
            return self._sessions.get((found.agent, found.session_id))
        same = (session for session in self._sessions.values() if session.id == found.session_id)
        return next(same, None)

    def _hit(self, found: Found, session: Session | None, engine: str) -> Hit:
        turn = found.turn or self._numbered(session, found)
        if turn is not None:
            self._before[turn.id] = found.before
        gone = "the session no longer exists" if found.session_id else "its session is unknown"
        ref = session.ref if session else None
        if ref is None and found.session_id and found.agent:
            ref = SessionRef(found.agent, found.session_id)
        return Hit(
            session=session,
            ref=ref,
            turn=turn,
            score=found.score,
            passage=found.passage or Passage(" ".join(turn.prompt.split()) if turn else ""),
            engine=engine,
            also=found.copies,
            cwd=found.cwd or (session.cwd if session else None),
            date=_date(found, session),
            source=found.source,
            more=found.more,
            warning=None if session else gone,
            family=SessionRef(*family_of(session, self._sessions)) if session else None,
        )

    def _numbered(self, session: Session | None, found: Found) -> Turn | None:
        """Find a turn by number, unless a rewind has given the number to another turn."""
        time = _date(found, None)
        if found.turn_number is None or time is None:
            return None
        # Result times have no microseconds.
        earlier = [
            turn
            for turn in self._turns(session)
            if turn.started and turn.started < time + timedelta(milliseconds=1)
        ]
        return earlier[-1] if earlier and earlier[-1].index == found.turn_number else None

    def with_code(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Add what is recorded of the code of turns."""
        if self._recorded is None:
            return tuple(hits)
        from prong.code.recorded import ListedTurn

        listed = [
            ListedTurn(hit.session, hit.turn, self._before.get(hit.turn.id))
            for hit in hits
            if hit.session and hit.turn
        ]
        turns = iter(self._recorded.add_to(listed))
        return tuple(
            replace(hit, turn=next(turns)) if hit.session and hit.turn else hit for hit in hits
        )


def masked(result: SearchResult) -> SearchResult:
    """Mask secrets in the passages, prompts and titles of a result."""
    hits = (
        replace(
            hit,
            turn=hit.turn and replace(hit.turn, prompt=safe(hit.turn.prompt)),
            session=hit.session and replace(hit.session, title=safe(hit.session.title)),
            passage=mask_passage(hit.passage),
        )
        for hit in result.hits
    )
    return replace(result, hits=tuple(hits))


def _root_of(folder: Path) -> Path:
    """Find the repository root of a folder, or return the folder itself."""
    return next((top for top in (folder, *folder.parents) if os.path.lexists(top / ".git")), folder)


def _date(found: Found, session: Session | None) -> datetime | None:
    if found.turn and found.turn.started:
        return found.turn.started
    try:
        date = datetime.fromisoformat(found.date) if found.date else None
    except ValueError:
        date = None
    if date is not None:
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    return session.updated if session else None
