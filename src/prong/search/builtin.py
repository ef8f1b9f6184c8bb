"""The built-in engine: words first, then what the sentence model makes of the best of them."""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from prong.errors import ProngError
from prong.model.record import Record, replace
from prong.model.search import Answer, Attempt, Found, Query
from prong.model.sessions import SessionRef, Turn, TurnKind
from prong.redaction.secrets import mask, may_be_in
from prong.search import ranking
from prong.search.analyzers import plain_words
from prong.search.candidates import (
    NUMBERED,
    FoundTurn,
    Name,
    Standing,
    TurnPlace,
    number_of,
    place_of,
    together,
)
from prong.search.catalogue import ORDINAL_BITS, IndexedTurn
from prong.search.index import SearchIndex
from prong.search.lexical import (
    Coverage,
    QueryTerms,
    Scope,
    query_text,
    words_of,
)
from prong.search.passages import Marker
from prong.search.query_terms import FileNameFilter
from prong.search.turn_words import milliseconds

if TYPE_CHECKING:
    from prong.search.vectors import Meaning

_POOL = 100
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


class SearchScope(Record, frozen=True):
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
        self, index: SearchIndex, shelf: Callable[[Query], SearchScope], meaning: "Meaning | None"
    ) -> None:
        """`shelf` tells which sessions a query is about; `meaning` is None without the model."""
        self._index = index
        self._shelf = shelf
        self._meaning = meaning

    def search(self, query: Query) -> Answer:
        started = time.monotonic()
        words = words_of(query.text)
        if query.live:
            words = self._index.words.completed(words, query.text)
        attempts: list[Attempt] = []
        found: list[Found] = []
        total = 0
        if words:
            search = _Search(self._index, words, query, self._shelf(query))
            turns = search.candidates()
            seconds = time.monotonic() - started
            attempts.append(Attempt(self.name, "words", seconds=seconds, hits=len(turns)))
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
            reason = "not requested" if query.fast else "the sentence model is missing"
            attempts.append(replace(attempt, error=reason, skipped=True))
            return None
        started = time.monotonic()
        best = ranking.best([turn.numbers for turn in turns], ranking.RERANKED)
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


class _Candidate(NamedTuple):
    """A turn that has some of the words, with all of its copies."""

    place: TurnPlace
    copies: tuple[TurnPlace, ...]
    numbers: ranking.Candidate


class _Search:
    """One query over the index."""

    def __init__(
        self, index: SearchIndex, words: QueryTerms, query: Query, shelf: SearchScope
    ) -> None:
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
        coverage = self._lexical.coverage(self._words, scope, ranking.rarity)
        typed = {turn.key: turn for turn in self._lexical.typed(self._words, scope, limit)}
        known: dict[int, FoundTurn] = {}
        while True:
            turns = self._lexical.turns(self._words, scope, limit)
            known |= {turn.key: turn for turn in turns}
            known |= self._more(scope, known, titles)
            known |= typed
            found = self._joined(known.values(), sessions, titles, coverage, typed)
            counts = Counter([one.place.session for one in found])
            listed = sum(min(count, self._per_session) for count in counts.values())
            enough = len(found) >= _POOL // 2 and listed >= wanted
            if enough or len(turns) < limit or limit > 50 * _POOL:
                return found
            # A session with very many such turns must not hide all others.
            full = {one.place.turn.mark for one in found if counts[one.place.session] >= _PLENTY}
            scope = scope._replace(without=tuple(full))
            limit *= 4

    def near(self, keys: AbstractSet[int], known: Iterable[_Candidate]) -> list[_Candidate]:
        """Those of these turns that are not known, though they have none of the words."""
        seen = {one.turn.key for old in known for one in (old.place, *old.copies)}
        since = self._query.since
        start = int(since.timestamp() * 1000) if since else 0
        turns = self._catalogue.turns(keys - seen).values()
        wanted = [turn for turn in turns if milliseconds(turn.started) >= start]
        return self._joined(self._without_words(wanted), {}, {}, Coverage({}, 0.0))

    @staticmethod
    def _without_words(turns: Iterable[IndexedTurn]) -> list[FoundTurn]:
        """Turns that were not found by their words."""
        return [
            FoundTurn(
                0.0,
                turn.key,
                turn.fingerprint,
                place_of(number_of(turn.id), turn.number, turn.kind),
            )
            for turn in turns
        ]

    def _more(
        self, scope: Scope, known: Mapping[int, FoundTurn], titles: Mapping[int, float]
    ) -> dict[int, FoundTurn]:
        """Turns of this folder, and of sessions with the words in their title."""
        more: list[FoundTurn] = []
        here = self._catalogue.marks_of(self._shelf.here)
        if here and scope.marks is None:
            more = self._lexical.turns(self._words, scope._replace(marks=here), _POOL // 2)
        if titles and not scope.files and scope.since is None:
            # Only the title has the words: the session begins with what it is about.
            marks = {turn.mark for turn in (*known.values(), *more)}
            firsts = [mark << ORDINAL_BITS for mark in titles if mark not in marks]
            more += self._without_words(self._catalogue.turns(firsts).values())
        return {turn.key: turn for turn in more}

    def _joined(
        self,
        turns: Collection[FoundTurn],
        sessions: Mapping[int, float],
        titles: Mapping[int, float],
        coverage: Coverage,
        typed: Collection[int] = (),
    ) -> list[_Candidate]:
        alone, groups = together(self._places(turns), self._catalogue)
        found: list[_Candidate] = []
        shares, rest = coverage
        for one in alone:
            # There are hundreds: what is done here is done often.
            (score, key, _, place), _, (_, here, headless, _) = one
            mark = key >> ORDINAL_BITS
            numbers = ranking.Candidate(
                score,
                sessions.get(mark, 0.0),
                titles.get(mark, 0.0),
                shares.get(key, rest),
                here,
                headless or place & 1 == 1,
                not place & NUMBERED,
                key in typed,
            )
            found.append(_Candidate(one, (), numbers))
        for first, *copies in groups:
            group = (first, *copies)
            numbers = ranking.Candidate(
                turn=max(one.turn.score for one in group),
                session=max(sessions.get(one.turn.mark, 0.0) for one in group),
                title=max(titles.get(one.turn.mark, 0.0) for one in group),
                coverage=max(coverage.of(one.turn.key) for one in group),
                here=any(one.standing.here for one in group),
                aside=first.turn.is_notification or first.standing.headless,
                abandoned=all(one.turn.number is None for one in group),
                typed=any(one.turn.key in typed for one in group),
            )
            found.append(_Candidate(first, tuple(copies), numbers))
        return found

    def _places(self, turns: Collection[FoundTurn]) -> list[TurnPlace]:
        """The turns that may be found."""
        marks = {turn.key >> ORDINAL_BITS for turn in turns}
        names = self._catalogue.names_of(marks)
        standing = self._shelf.standing
        standings = {mark: standing(names[mark]) for mark in marks if mark in names}
        wanted = self._wanted(turns)
        places: list[TurnPlace] = []
        for turn in turns:
            mark = turn.key >> ORDINAL_BITS
            known = standings.get(mark)
            if known is not None and (wanted is None or turn.key in wanted):
                places.append(TurnPlace(turn, names[mark], known))
        return places

    def _wanted(self, turns: Iterable[FoundTurn]) -> AbstractSet[int] | None:
        """The keys of the turns that fit the filters; None when all do."""
        ids = self._shelf.turn_ids
        if ids is None and not self._query.files:
            return None
        keys = [turn.key for turn in turns]
        wanted: set[int] | None = None
        if self._query.files:
            names = [FileNameFilter(name) for name in self._query.files]
            touched = self._catalogue.files_touched(keys)
            wanted = {key for key, files in touched.items() if all(n.fits(files) for n in names)}
        if ids is not None:
            known = self._catalogue.turns(keys if wanted is None else wanted)
            wanted = {key for key, turn in known.items() if turn.id in ids}
        return wanted

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
        ranked = ranking.rank([candidate.numbers for candidate in candidates], near)
        ranked = self._lifted(ranked, candidates)
        marker = Marker(self._words)
        most = self._per_session
        least = self._query.min_score or 0
        if least:
            ranked = [one for one in ranked if one.score >= least]
        counts = Counter([candidates[place].place.session for place, _ in ranked])
        total = sum([min(count, most) for count in counts.values()])
        kept: list[tuple[_Candidate, float]] = []
        seen: dict[Name, int] = defaultdict(int)
        for place, score in ranked:
            if len(kept) >= self._query.limit:
                break
            candidate = candidates[place]
            seen[candidate.place.session] += 1
            if seen[candidate.place.session] <= most:
                kept.append((candidate, score))
        keys = [candidate.place.turn.key for candidate, _ in kept]
        shown = self._catalogue.shown(keys)
        # Most lists have no secret in them, and one look at all of it is faster than ten.
        masked = self._query.masked and may_be_in(
            "\n".join([text for one in shown.values() for text in one.heads])
        )
        found: list[Found] = []
        for candidate, score in kept:
            (_, key, _, _), (agent, session), _ = candidate.place
            if key not in shown:
                continue  # Somebody has just taken it out.
            turn, heads, path = shown[key]
            # Before it is cut: half a key is not known for one.
            texts = map(mask, heads) if masked else heads
            found.append(
                Found(
                    score=score,
                    session_id=session,
                    agent=agent,
                    turn=_turn(turn, heads.prompt),
                    passage=marker.passage(texts),
                    copies=_once_each(candidate),
                    more=max(counts[agent, session] - most, 0),
                    date=turn.started,
                    source=path,
                )
            )
        return found, total

    def _lifted(
        self, ranked: list[ranking.Ranked], candidates: Sequence[_Candidate]
    ) -> list[ranking.Ranked]:
        """The same, with those higher that were at work beside the best one."""
        if not ranked or not candidates[ranked[0].place].place.standing.folders:
            return ranked
        works = [
            ranking.WorkContext(candidate.place.session, candidate.place.standing.folders)
            for candidate in candidates
        ]
        places = {
            place: candidates[place].place.turn.key for place in ranking.beside(ranked, works)
        }
        turns = self._catalogue.turns(places.values())
        times = {
            place: milliseconds(turns[key].started) for place, key in places.items() if key in turns
        }
        return ranking.lifted(ranked, works, times)


def _once_each(candidate: _Candidate) -> tuple[tuple[SessionRef, int | None], ...]:
    """The other sessions that have the turn. A session may be in two files."""
    copies = ((copy.session, copy.turn.number) for copy in candidate.copies)
    others = dict.fromkeys(copy for copy in copies if copy[0] != candidate.place.session)
    return tuple((SessionRef(*session), number) for session, number in others)


def _turn(turn: IndexedTurn, prompt: str) -> Turn:
    """The turn, as far as the catalogue knows it."""
    at = milliseconds(turn.started)
    started = datetime.fromisoformat(turn.started) if at and turn.started else None
    return Turn(turn.number, turn.id, TurnKind(turn.kind), prompt, started)
