"""The built-in engine: words first, then what the sentence model makes of the best of them."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from prong.errors import ProngError
from prong.hits import Answer, Attempt, Found, Query
from prong.model import SessionRef, Turn, TurnKind
from prong.search import fuse
from prong.search.analyzers import plain_words
from prong.search.catalogue import ORDINAL_BITS, Heads, IndexedFile, IndexedTurn
from prong.search.file_names import FileName
from prong.search.index import SearchIndex, milliseconds
from prong.search.lexical import (
    Coverage,
    Scope,
    Words,
    number_of,
    query_text,
    words_of,
)
from prong.search.meaning import Meaning
from prong.search.passages import Marker
from prong.secrets import mask

_POOL = 200
"""How many turns are looked at. Copies of one turn count once, so there may be more to get."""
_TITLES = 10
"""How many sessions are looked at for their title alone."""
_MOST_WANTED = 1_000
"""A list that is to be longer may be shorter than it could be."""
_FEW = 10
"""With fewer turns that have some of the words, those that say it in others are looked for."""
_NEAR = 20
"""How many texts of those."""
_NEARNESS = 0.3
"""The cosine of a text that has to do with the query; others have about 0.1."""
_PLENTY = 10
"""With so many turns of a session, no more are looked for."""
_PER_SESSION = 3
"""How many turns of one session a list has."""


Name = tuple[str, str]
"""Agent and id of a session."""


class Standing(NamedTuple):
    """What a session is to a query, besides its words."""

    family: Name
    """The session at the root of its lineage."""
    here: bool = False
    """It was in the folder that the person is in."""
    headless: bool = False


@dataclass(frozen=True)
class Shelf:
    """The sessions that may be found."""

    standing: Callable[[Name], Standing | None]
    """None for a session that may not be found."""
    only: AbstractSet[Name] | None = None
    """The sessions that may be found; None for all."""
    here: AbstractSet[Name] = frozenset()
    """Those of the folder that the person is in."""
    turn_ids: AbstractSet[str] | None = None
    """Only these turns; None for all."""


class BuiltIn:
    """Answers from the index."""

    name = "builtin"

    def __init__(
        self, index: SearchIndex, shelf: Callable[[Query], Shelf], meaning: Meaning | None
    ) -> None:
        """`shelf` tells which sessions a query is about; `meaning` is None without the model."""
        self._index = index
        self._shelf = shelf
        self._meaning = meaning

    def search(self, query: Query) -> Answer:
        started = time.monotonic()
        words = words_of(query.text)
        attempts: list[Attempt] = []
        found: list[Found] = []
        total = 0
        if words:
            search = _Search(self._index, words, query, self._shelf(query))
            turns = search.candidates()
            lexical = Attempt(self.name, "words", seconds=time.monotonic() - started)
            attempts.append(replace(lexical, hits=len(turns)))
            if len(turns) < _FEW:
                turns += search.near(self._nearest(query), turns)
            similarity = self._similarity(query, turns, attempts)
            found, total = search.found(turns, similarity)
        return Answer(tuple(found), tuple(attempts), total=total)

    def _nearest(self, query: Query) -> AbstractSet[int]:
        """Turns that say it in other words, as far as the model has read them."""
        if query.fast or self._meaning is None:
            return frozenset()
        heads = self._index.catalogue.all_heads()
        # What is wrong with the model is told when the turns are compared.
        with suppress(ProngError):
            near = self._meaning.nearest(query_text(query.text), heads, _NEAR)
            return {key for key, cosine in near.items() if cosine >= _NEARNESS}
        return frozenset()

    def _similarity(
        self, query: Query, turns: "Sequence[_Candidate]", attempts: list[Attempt]
    ) -> dict[int, float] | None:
        """How near each of the best turns is to the query, by its key."""
        attempt = Attempt(self.name, "meaning")
        if query.fast or self._meaning is None:
            reason = "it was not asked for" if query.fast else "the sentence model is not there"
            attempts.append(replace(attempt, error=reason, skipped=True))
            return None
        started = time.monotonic()
        best = fuse.best([turn.numbers for turn in turns], fuse.RERANKED)
        read = [turns[number].place.turn for number in best]
        heads = self._index.catalogue.heads(turn.key for turn in read)
        # The best first: they are read first when there are many that the model does not know.
        texts = {turn.key: heads[turn.key] for turn in read if turn.key in heads}
        try:
            similarity = self._meaning.similarities(query_text(query.text), texts)
        except ProngError as error:
            attempts.append(replace(attempt, error=error.message))
            return None
        seconds = time.monotonic() - started
        attempts.append(replace(attempt, seconds=seconds, hits=len(similarity)))
        return similarity


class _Place(NamedTuple):
    """A turn in a file."""

    turn: IndexedTurn
    file: IndexedFile
    standing: Standing

    @property
    def session(self) -> SessionRef:
        return SessionRef(self.file.agent, self.file.session)


class _Candidate(NamedTuple):
    """A turn that has some of the words, with all of its copies."""

    place: _Place
    copies: tuple[_Place, ...]
    numbers: fuse.Candidate


class _Search:
    """One query over the index."""

    def __init__(self, index: SearchIndex, words: Words, query: Query, shelf: Shelf) -> None:
        self._catalogue = index.catalogue
        self._lexical = index.words
        self._words = words
        self._query = query
        self._shelf = shelf
        self._per_session = 1 if query.by_session else _PER_SESSION

    # -- who may be it -------------------------------------------------------------------------

    def candidates(self) -> list[_Candidate]:
        """The turns to choose from, each once."""
        since, ids = self._query.since, self._shelf.turn_ids
        scope = Scope(
            self._catalogue.marks_of(self._shelf.only) if self._shelf.only is not None else None,
            int(since.timestamp() * 1000) if since else None,
            tuple(word for name in self._query.files for word in plain_words(name)),
            # A number may stand for other turns as well: they are left out below.
            None if ids is None else [number_of(id_) for id_ in ids],
        )
        wanted = min(self._query.limit, _MOST_WANTED)
        limit = max(_POOL, wanted)
        sessions = self._lexical.sessions(self._words, scope, limit)
        titles = self._lexical.titles(self._words, scope, max(_TITLES, wanted))
        coverage = self._lexical.coverage(self._words, scope, fuse.rarity)
        scores: dict[int, float] = {}
        while True:
            turns = self._lexical.turns(self._words, scope, limit)
            scores |= turns
            scores |= self._more(scope, scores, titles)
            found = self._joined(scores, sessions, titles, coverage)
            counts = Counter(one.place.session for one in found)
            listed = sum(min(count, self._per_session) for count in counts.values())
            enough = len(found) >= _POOL // 2 and listed >= wanted
            if enough or len(turns) < limit or limit > 50 * _POOL:
                return found
            # A session with very many such turns must not hide all others.
            full = {one.place.file.mark for one in found if counts[one.place.session] >= _PLENTY}
            scope = scope._replace(without=tuple(full))
            limit *= 4

    def near(self, keys: AbstractSet[int], known: Iterable[_Candidate]) -> list[_Candidate]:
        """Those of these turns that are not known, though they have none of the words."""
        seen = {one.turn.key for old in known for one in (old.place, *old.copies)}
        since = self._query.since
        start = int(since.timestamp() * 1000) if since else 0
        turns = self._catalogue.turns(keys - seen)
        wanted = {key: 0.0 for key, turn in turns.items() if milliseconds(turn.started) >= start}
        return self._joined(wanted, {}, {}, Coverage({}, 0.0))

    def _more(
        self, scope: Scope, scores: Mapping[int, float], titles: Mapping[int, float]
    ) -> dict[int, float]:
        """Turns of this folder, and of sessions with the words in their title."""
        more: dict[int, float] = {}
        here = self._catalogue.marks_of(self._shelf.here)
        if here and scope.marks is None:
            more = dict(self._lexical.turns(self._words, scope._replace(marks=here), _POOL // 2))
        if not scope.files and scope.since is None:
            # Only the title has the words: the session begins with what it is about.
            known = {key >> ORDINAL_BITS for key in (*scores, *more)}
            more |= {mark << ORDINAL_BITS: 0.0 for mark in titles if mark not in known}
        return more

    def _joined(
        self,
        scores: Mapping[int, float],
        sessions: Mapping[int, float],
        titles: Mapping[int, float],
        coverage: Coverage,
    ) -> list[_Candidate]:
        turns = self._catalogue.turns(scores)
        files = self._catalogue.files_of(turn.mark for turn in turns.values())
        found: list[_Candidate] = []
        for group in self._groups(turns.values(), files):
            first = min(group, key=_age)
            numbers = fuse.Candidate(
                turn=max(scores[one.turn.key] for one in group),
                session=max(sessions.get(one.file.mark, 0.0) for one in group),
                title=max(titles.get(one.file.mark, 0.0) for one in group),
                coverage=max(coverage.of(one.turn.key) for one in group),
                here=any(one.standing.here for one in group),
                aside=first.turn.kind == TurnKind.NOTIFICATION or first.standing.headless,
                abandoned=all(one.turn.number is None for one in group),
            )
            rest = sorted((one for one in group if one is not first), key=_age)
            found.append(_Candidate(first, tuple(rest), numbers))
        return found

    def _groups(
        self, turns: Collection[IndexedTurn], files: Mapping[int, IndexedFile]
    ) -> "Iterable[list[_Place]]":
        """The turns that may be found, copies of one turn together."""
        touched = self._touched(turn.key for turn in turns)
        places: list[_Place] = []
        for turn in turns:
            file = files.get(turn.mark)
            standing = self._shelf.standing((file.agent, file.session)) if file else None
            if file is None or standing is None:
                continue
            if (touched is not None and turn.key not in touched) or (
                self._shelf.turn_ids is not None and turn.id not in self._shelf.turn_ids
            ):
                continue
            places.append(_Place(turn, file, standing))
        return _together(places)

    def _touched(self, keys: Iterable[int]) -> AbstractSet[int] | None:
        """The turns that touched the wanted files; None when all are wanted."""
        names = [FileName(name) for name in self._query.files]
        if not names:
            return None
        touched = self._catalogue.files_touched(keys)
        return {key for key, files in touched.items() if all(n.fits(files) for n in names)}

    # -- which of them ---------------------------------------------------------------------------

    def found(
        self, candidates: Sequence[_Candidate], similarity: Mapping[int, float] | None
    ) -> tuple[list[Found], int]:
        """The best, as many as are wanted, and how many there would be."""
        near = (
            None
            if similarity is None
            else [similarity.get(candidate.place.turn.key) for candidate in candidates]
        )
        ranked = fuse.rank([candidate.numbers for candidate in candidates], near)
        marker = Marker(self._words)
        most = self._per_session
        kept: list[tuple[_Candidate, float]] = []
        total = 0
        counts: dict[SessionRef, int] = defaultdict(int)
        least = self._query.min_score or 0
        for place, score in ranked:
            if score < least:
                break
            candidate = candidates[place]
            ref = candidate.place.session
            counts[ref] += 1
            if counts[ref] <= most:
                total += 1
                if len(kept) < self._query.limit:
                    kept.append((candidate, score))
        heads = self._catalogue.heads(candidate.place.turn.key for candidate, _ in kept)
        found = [
            replace(
                self._as_found(candidate, heads[candidate.place.turn.key], score, marker),
                more=max(counts[candidate.place.session] - most, 0),
            )
            for candidate, score in kept
            if candidate.place.turn.key in heads
        ]
        return found, total

    def _as_found(self, candidate: _Candidate, heads: Heads, score: float, marker: Marker) -> Found:
        turn, file, _ = candidate.place
        # Before it is cut: half a key is not known for one.
        texts = map(mask, heads) if self._query.masked else heads
        return Found(
            score=score,
            session_id=file.session,
            agent=file.agent,
            turn=_turn(turn, heads.prompt),
            passage=marker.passage(texts),
            copies=_once_each(candidate),
            date=turn.started,
            source=file.path,
        )


def _together(places: Sequence[_Place]) -> list[list[_Place]]:
    """Copies of one turn together; also those that only a third one shows to be copies."""
    leaders = list(range(len(places)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = number = leaders[leaders[number]]
        return number

    known: dict[object, int] = {}
    for number, place in enumerate(places):
        for sign in _signs(place):
            other = known.setdefault(sign, number)
            if other != number:
                leaders[leader(number)] = leader(other)
    groups: dict[int, list[_Place]] = defaultdict(list)
    for number, place in enumerate(places):
        groups[leader(number)].append(place)
    return list(groups.values())


def _signs(place: _Place) -> Iterable[object]:
    """Turns that share one of these are copies of each other.

    They have the same id, and the same words or the same origin: some agents number their turns.
    Where a fork gave new ids, they have the same words, and either the same time or the same place
    in one lineage. Turns of one session that say the same are not copies.
    """
    turn, file, (family, *_) = place
    yield file.agent, turn.id, turn.fingerprint
    if turn.number is not None:
        yield turn.fingerprint, family, turn.number
    if turn.started:
        yield file.agent, turn.id, family, turn.started
        yield turn.fingerprint, turn.started


def _once_each(candidate: _Candidate) -> tuple[tuple[SessionRef, int | None], ...]:
    """The other sessions that have the turn. A session may be in two files."""
    copies = ((copy.session, copy.turn.number) for copy in candidate.copies)
    return tuple(dict.fromkeys(copy for copy in copies if copy[0] != candidate.place.session))


def _age(place: _Place) -> tuple[bool, bool, int, str]:
    """The original first: it is in the session at the root, or in the oldest file.

    The path decides between files of one time, so that the order is always the same.
    """
    name = (place.file.agent, place.file.session)
    return (
        place.turn.number is None,
        place.standing.family != name,
        place.file.stamp.mtime_ns,
        place.file.path,
    )


def _turn(turn: IndexedTurn, prompt: str) -> Turn:
    """The turn, as far as the catalogue knows it."""
    at = milliseconds(turn.started)
    started = datetime.fromisoformat(turn.started) if at and turn.started else None
    return Turn(turn.number, turn.id, TurnKind(turn.kind), prompt, started)
