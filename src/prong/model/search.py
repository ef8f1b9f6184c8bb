"""Searching, as values: a query, what an engine found, and the answer with its whole story."""

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from prong.model.record import Record, field

if TYPE_CHECKING:
    from prong.model.sessions import Session, SessionRef, Turn


class Query(Record, frozen=True):
    """What is looked for. Filters leave out; `here` only lifts what belongs to a folder."""

    text: str
    agent: str | None = None
    project: Path | None = None
    """Sessions that were ever in this folder or below it."""
    since: datetime | None = None
    """Turns that began then or later."""
    files: tuple[str, ...] = ()
    """Turns that touched a file of such a name, or below such a folder."""
    has_snapshot: bool = False
    limit: int = 10
    min_score: float | None = None
    here: Path | None = None
    """The folder that the person is in."""
    fast: bool = False
    """Without the sentence model."""
    by_session: bool = False
    """One hit for a session: its best turn."""
    collection: str = "claude-sessions"
    """Of qmd."""
    without: "tuple[SessionRef, ...]" = ()
    """Sessions that are not looked for: the one that asks."""
    masked: bool = True
    """Keys and tokens in passages are masked, also those that a passage has only a part of."""
    live: bool = False
    """Somebody is still typing: the last word may be a beginning, the sessions are those that were
    seen a moment ago, and no session file is read for a passage."""


class Passage(NamedTuple):
    """A piece of text around a match, and where the matching words stand in it."""

    text: str
    marks: tuple[tuple[int, int], ...] = ()


class Found(Record, frozen=True):
    """What an engine says about one place. An engine need not know more than the session's id."""

    score: float
    """In [0, 1]."""
    session_id: str | None
    agent: str | None = None
    turn: "Turn | None" = None
    """As far as the engine knows it."""
    passage: Passage | None = None
    """None when the place must be looked at for one."""
    copies: "tuple[tuple[SessionRef, int | None], ...]" = ()
    """The same turn in other sessions, with its number there."""
    more: int = 0
    """How many more turns of the session fit and are not given."""
    cwd: str | None = None
    date: str | None = None
    source: str | None = None
    """Where the engine has it from, in its own words."""
    turn_number: int | None = None
    """The turn, where the engine knows no more of it than that.

    `date` is then a time in that turn: after a rewind, another turn may have the number.
    """


class Attempt(Record, frozen=True):
    """One thing that was tried to get an answer."""

    engine: str
    mode: str
    command: tuple[str, ...] = ()
    error: str | None = None
    skipped: bool = False
    seconds: float = 0
    hits: int | None = None


class Answer(Record, frozen=True):
    """What an engine says to a query. Not `ok` when it could not answer: the next one is asked."""

    found: tuple[Found, ...]
    attempts: tuple[Attempt, ...]
    ok: bool = True
    total: int | None = None
    """How many it would give without a limit; None when it does not know."""


class Hit(Record, frozen=True):
    """A turn to fork from, or a session where the engine knows no turn."""

    session: "Session | None"
    """None when the session is gone."""
    ref: "SessionRef | None"
    turn: "Turn | None"
    score: float
    passage: Passage
    engine: str
    also: "tuple[tuple[SessionRef, int | None], ...]" = ()
    """The sessions that have a copy of the turn, and its number there."""
    cwd: str | None = None
    date: datetime | None = None
    source: str | None = None
    more: int = 0
    """How many more turns of the session fit and are not in the list."""
    warning: str | None = None
    """Why it cannot be forked."""
    family: "SessionRef | None" = None
    """The session at the root of its lineage: forks of one conversation have the same."""

    @property
    def can_fork(self) -> bool:
        return self.session is not None and self.warning is None


class IndexState(Record, frozen=True):
    """What the built-in index covers."""

    sessions: int = 0
    turns: int = 0
    age_s: float | None = None
    """Since it was last brought up to date; None when it never was."""
    behind: int = 0
    """Sessions that changed and are not in it yet."""
    size: int = 0
    """Bytes on disk."""
    vectors: int = 0
    """Texts that the sentence model has read."""
    unread: int = 0
    """Texts that it has not read yet."""
    busy: bool = False
    """Another process is writing to it."""
    partial: bool = False
    """Some sessions could not be listed when it was last brought up to date."""
    kept: bool = True
    """False when it is thrown away at the end: the cache folder cannot be written to."""

    @property
    def complete(self) -> bool:
        unknown = self.age_s is None or self.busy or self.partial
        return not unknown and not self.behind


class SearchResult(Record, frozen=True):
    """The answer to a query, and how it came about."""

    query: Query
    hits: tuple[Hit, ...]
    engine: str | None
    """The engine that answered; None when none could."""
    attempts: tuple[Attempt, ...]
    index: IndexState
    total: int = 0
    """How many turns (or sessions) there are above the limit as well."""
    guidance: Mapping[str, object] | None = None
    """What to do when the engine that was asked for is not there."""
    notes: tuple[str, ...] = field(default=())
    refs: "tuple[SessionRef, ...]" = ()
    """All sessions that there are: a short name must fit but one."""

    @property
    def failures(self) -> tuple[Attempt, ...]:
        """What could not be done. Without the sentence model is how a fast search is meant."""
        fast = self.query.fast
        return tuple(
            one
            for one in self.attempts
            if one.error is not None and not (fast and one.skipped and one.engine == "builtin")
        )


class IndexProgress(NamedTuple):
    """How far the index is."""

    phase: Literal["sessions", "meaning"]
    """Reading what changed, then having the sentence model read it."""
    done: int
    total: int
    """Files, then texts."""
    bytes_done: int = 0
    bytes_total: int = 0


def ignore_progress(_: IndexProgress) -> None:
    """Progress callback that does nothing."""
