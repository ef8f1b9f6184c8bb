"""Search queries, engine hits and results, as values."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from prong.model.record import Record, field

if TYPE_CHECKING:
    from prong.model.sessions import Session, SessionRef, Turn


class SearchRequest(Record, frozen=True):
    """A search. Filters exclude turns; `here` only ranks turns of that folder higher."""

    text: str = ""
    agent: str | None = None
    project: Path | None = None
    """Sessions that ever ran in this folder or below it. May be the name of such a folder."""
    since: datetime | None = None
    files: tuple[str, ...] = ()
    """Turns that touched a file with this name, or below this folder."""
    has_snapshot: bool = False
    limit: int = 10
    min_score: float | None = None
    here: Path | None = None
    fast: bool = False
    """Keyword search only, without the sentence model."""
    by_session: bool = False
    """One hit per session: its best turn."""
    engine: str | None = None
    """One of `ENGINES`; None for the configured engines."""
    collection: str = "claude-sessions"
    without: "tuple[SessionRef, ...]" = ()
    """Sessions to exclude, such as the one that is searching."""
    masked: bool = True
    """Mask secrets in passages, including those that a passage cuts off."""
    live: bool = False
    """Search as you type: the last word may be partial, and passages are prompts."""
    notes: tuple[str, ...] = ()
    """How its words were understood."""

    @property
    def is_narrowed(self) -> bool:
        """Whether some sessions are excluded, whatever the text is."""
        return any((self.agent, self.project, self.since, self.has_snapshot))


ENGINES = ("auto", "builtin", "qmd")


class Passage(NamedTuple):
    """Text around a match, and the positions of the matching words in it."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class Found(Record, frozen=True):
    """One result of an engine. Only the session id is required."""

    score: float
    """In [0, 1]."""
    session_id: str | None
    agent: str | None = None
    turn: "Turn | None" = None
    """As much of it as the engine knows."""
    before: str | None = None
    """The id of the turn before it, if the engine knows that."""
    passage: Passage | None = None
    """None for the beginning of the prompt."""
    copies: "tuple[tuple[SessionRef, int | None], ...]" = ()
    """The same turn in other sessions, with its number there."""
    more: int = 0
    """How many more turns of the session match but are not included."""
    cwd: str | None = None
    date: str | None = None
    source: str | None = None
    """Where the engine found it, in its own words."""
    turn_number: int | None = None
    """The turn's number, when the engine knows only that.

    `date` is then a time within that turn, because a rewind can give its number to another turn.
    """


class Attempt(Record, frozen=True):
    """One attempt of an engine to answer a query."""

    engine: str
    mode: str
    command: tuple[str, ...] = ()
    error: str | None = None
    skipped: bool = False
    seconds: float = 0
    hits: int | None = None


class Answer(Record, frozen=True):
    """An engine's answer to a query. When it is not `ok`, the next engine is tried."""

    found: tuple[Found, ...]
    attempts: tuple[Attempt, ...]
    ok: bool = True
    total: int | None = None
    """Number of results without a limit; None if unknown."""


class Hit(Record, frozen=True):
    """A turn to fork from, or a session if the engine knows no turn."""

    session: "Session | None"
    """None when the session no longer exists."""
    ref: "SessionRef | None"
    turn: "Turn | None"
    score: float
    passage: Passage
    engine: str
    also: "tuple[tuple[SessionRef, int | None], ...]" = ()
    """Sessions that contain a copy of the turn, with its number there."""
    cwd: str | None = None
    date: datetime | None = None
    source: str | None = None
    more: int = 0
    """How many more turns of the session match but are not listed."""
    warning: str | None = None
    """Why it cannot be forked."""
    family: "SessionRef | None" = None
    """The root session of its lineage, which all forks of one conversation share."""

    @property
    def can_fork(self) -> bool:
        return self.session is not None and self.warning is None


class IndexState(Record, frozen=True):
    """The coverage of the built-in index."""

    sessions: int = 0
    turns: int = 0
    age_s: float | None = None
    """Seconds since the last update; None if never updated."""
    behind: int = 0
    """Sessions with changes that are not indexed yet."""
    size: int = 0
    vectors: int = 0
    unread: int = 0
    """Texts that are not embedded yet."""
    busy: bool = False
    partial: bool = False
    """Some sessions could not be listed during the last update."""
    kept: bool = True
    """False for a temporary index: the cache folder is not writable."""

    @property
    def complete(self) -> bool:
        unknown = self.age_s is None or self.busy or self.partial
        return not unknown and not self.behind


class SearchResult(Record, frozen=True):
    """The hits of a query, and how they were found."""

    query: SearchRequest
    hits: tuple[Hit, ...]
    engine: str | None
    """The engine that answered; None if none could."""
    attempts: tuple[Attempt, ...]
    index: IndexState
    total: int = 0
    """Number of turns (or sessions) without the limit."""
    guidance: Mapping[str, object] | None = None
    """What to do when the requested engine is unavailable."""
    notes: tuple[str, ...] = field(default=())
    refs: "tuple[SessionRef, ...]" = ()
    """Every existing session: a shortened id must match only one."""

    @property
    def failures(self) -> tuple[Attempt, ...]:
        """Failed attempts, except the sentence model that a fast search skips on purpose."""
        fast = self.query.fast
        return tuple(
            attempt
            for attempt in self.attempts
            if attempt.error is not None
            and not (fast and attempt.skipped and attempt.engine == "builtin")
        )


class IndexProgress(NamedTuple):
    """Progress of an index update."""

    phase: Literal["sessions", "meaning"]
    """First changed sessions are read, then their texts are embedded."""
    done: int
    total: int
    """Files in the first phase, texts in the second."""
    bytes_done: int = 0
    bytes_total: int = 0


def ignore_progress(_: IndexProgress) -> None:
    """Progress callback that does nothing."""
