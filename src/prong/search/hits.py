"""Search hits: the session, turn, code and passage of each engine result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from prong.errors import ProngError
from prong.model.search import Answer, Found, Hit, Passage, Query
from prong.model.sessions import Session, SessionRef, Turn
from prong.redaction.secrets import mask
from prong.search.builtin import BuiltIn, Name, SearchScope
from prong.search.lexical import words_of
from prong.search.passages import Marker
from prong.search.query_terms import FileNameFilter
from prong.session.lineage import family_of

if TYPE_CHECKING:
    from prong.app import App
    from prong.code.capture import Capture


class Lookup:
    """Converts engine results into hits."""

    def __init__(
        self,
        app: App,
        query: Query,
        engine: str,
        sessions: Mapping[Name, Session],
        shelf: SearchScope,
    ) -> None:
        self._app = app
        self._query = query
        self._engine = engine
        self._sessions = sessions
        self._shelf = shelf

    @cached_property
    def _marker(self) -> Marker:
        return Marker(words_of(self._query.text))

    @cached_property
    def _capture(self) -> Capture | None:
        """The snapshot capture; None when no snapshot was ever taken."""
        capture = self._app.code.capture_in_use()
        if capture is not None:
            capture.take_in()  # once, not for each hit
        return capture

    def _kept(self, session: Session, turns: Iterable[Turn]) -> set[str]:
        """Return the ids of those turns that have a snapshot; a store may have very many."""
        ids = [turn.id for turn in turns]
        return self._capture.among(session.agent, ids) if self._capture else set()

    def hits(self, answer: Answer) -> Iterator[Hit]:
        for result in answer.found:
            session = self._session(result)
            if session is None and self._query.agent not in (
                None,
                result.agent or self._query.agent,
            ):
                continue  # The session is gone, but the result names its agent.
            if session is not None and self._shelf.standing((session.agent, session.id)) is None:
                continue
            if result.score < (self._query.min_score or 0):
                continue
            hit = self._hit(result, session)
            if self._engine == BuiltIn.name or self._is_wanted(hit):
                yield hit

    def _is_wanted(self, hit: Hit) -> bool:
        """Apply filters that qmd does not know; a session hit passes if any of its turns does."""
        query = self._query
        if query.since is not None and (hit.date is None or hit.date < query.since):
            return False
        if not query.files and not query.has_snapshot:
            return True
        turns = [hit.turn] if hit.turn else self._turns(hit.session)
        if query.has_snapshot and not (hit.session and self._kept(hit.session, turns)):
            return False
        names = [FileNameFilter(name) for name in query.files]
        return any(all(name.fits(turn.files) for name in names) for turn in turns)

    def _turns(self, session: Session | None) -> Sequence[Turn]:
        try:
            return self._app.sessions.turns(session) if session else ()
        except (ProngError, OSError):
            return ()

    def _session(self, found: Found) -> Session | None:
        if found.session_id is None:
            return None
        agents = [found.agent] if found.agent else list(self._app.stores)
        names = ((agent, found.session_id) for agent in agents)
        return next((self._sessions[name] for name in names if name in self._sessions), None)

    def _hit(self, found: Found, session: Session | None) -> Hit:
        turn = found.turn or self._numbered(session, found)
        turn = self._with_code(session, turn) if session and turn else turn
        warning = "the session no longer exists" if found.session_id else "its session is unknown"
        ref = session.ref if session else None
        if ref is None and found.session_id and found.agent:
            ref = SessionRef(found.agent, found.session_id)
        return Hit(
            session=session,
            ref=ref,
            turn=turn,
            score=found.score,
            passage=found.passage or self._passage(session, turn),
            engine=self._engine,
            also=found.copies,
            cwd=found.cwd or (session.cwd if session else None),
            date=_date(found, session),
            source=found.source,
            more=found.more,
            warning=None if session else warning,
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

    def _with_code(self, session: Session, turn: Turn) -> Turn:
        """Return the turn with its snapshot details, if it has a snapshot."""
        if not self._kept(session, [turn]):
            return turn
        try:
            # A hit does not show missing LFS files.
            conversation = self._app.code.with_code(
                self._app.sessions.conversation(session), lfs=False
            )
        except (ProngError, OSError):
            return turn
        turns = (*conversation.turns, *conversation.abandoned)
        return next((candidate for candidate in turns if candidate.id == turn.id), turn)

    def _passage(self, session: Session | None, turn: Turn | None) -> Passage:
        """Find the best passage anywhere in the turn, or its beginning if nothing matches."""
        if session is None or turn is None:
            return Passage("")
        if self._query.live:
            return Passage(" ".join(turn.prompt.split()))
        # Most texts contain none of the words, and checking that is faster than masking them.
        texts = (text for text in self._texts(session, turn) if self._marker.is_in(text))
        try:
            passage = self._marker.passage(map(mask, texts) if self._query.masked else texts)
        except (ProngError, OSError):
            passage = None
        return passage or Passage(" ".join(turn.prompt.split()))

    def _texts(self, session: Session, turn: Turn) -> Iterator[str]:
        for message in self._app.sessions.messages(session, turn=turn):
            yield message.text
            if message.tool:
                yield message.tool.output or message.tool.gist or message.tool.input


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
