"""Built-in search engine: keyword search, then semantic ranking of the best hits."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from prong.errors import ProngError
from prong.model.record import Record, replace
from prong.model.search import Answer, Attempt, Found, Passage, SearchRequest
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
from prong.search.lexical import Coverage, Scope
from prong.search.passages import Marker
from prong.search.query_terms import QueryTerms, file_filter, query_text, words_of
from prong.search.turn_words import milliseconds

if TYPE_CHECKING:
    from prong.search.vectors import Meaning

_POOL = 100
"""Number of turns to consider. Copies of a turn count once, so more may be fetched."""
_TITLES = 10
"""Number of sessions to consider for their title alone."""
_MOST_WANTED = 1_000
"""Pool size limit: a longer list may be incomplete."""
_FEW = 10
"""With fewer keyword matches than this, semantic matches are added."""
_NEAR = 20
"""Maximum number of semantic matches."""
_NEARNESS = 0.3
"""Minimum cosine of a semantic match; unrelated texts have about 0.1."""
_PLENTY = 10
"""Once a session has this many turns, it is excluded from further fetches."""
_PER_SESSION = 3
"""Maximum number of turns per session in a result."""


class SearchScope(Record, frozen=True):
    """The sessions and turns that a search covers."""

    standing: Callable[[Name], Standing | None]
    """Returns the standing of a session, or None if it is excluded."""
    only: AbstractSet[Name] | None = None
    """Names of the included sessions; None for all."""
    here: AbstractSet[Name] = frozenset()
    """Sessions of the folder that the search was started in."""
    turn_ids: AbstractSet[str] | None = None
    """Ids of the included turns; None for all."""


class BuiltIn:
    name = "builtin"

    def __init__(
        self, index: SearchIndex, scope: SearchScope, meaning: "Meaning | None" = None
    ) -> None:
        """Without `meaning`, search by keywords alone."""
        self._index = index
        self._scope = scope
        self._meaning = meaning

    def search(self, request: SearchRequest) -> Answer:
        started = time.monotonic()
        words = words_of(request.text)
        if request.live:
            words = self._index.words.completed(words, request.text)
        if not words:
            return Answer((), (), total=0)
        search = _Search(self._index, words, request, self._scope)
        turns = search.candidates()
        by_words = Attempt(self.name, "words", seconds=time.monotonic() - started, hits=len(turns))
        if len(turns) < _FEW:
            turns += search.near(self._nearest(request), turns)
        similarity, by_meaning = self._similarity(request, turns)
        results, total = search.found(turns, similarity)
        return Answer(tuple(results), (by_words, by_meaning), total=total)

    def _nearest(self, request: SearchRequest) -> AbstractSet[int]:
        """Find turns with a similar meaning among those that have vectors."""
        if request.fast or self._meaning is None:
            return frozenset()
        heads = self._index.catalogue.all_heads()
        # A failure of the model is reported when the turns are compared.
        with suppress(ProngError):
            near = self._meaning.nearest(query_text(request.text), heads, _NEAR)
            return {key for key, cosine in near.items() if cosine >= _NEARNESS}
        return frozenset()

    def _similarity(
        self, request: SearchRequest, turns: "Sequence[_Candidate]"
    ) -> tuple[dict[int, float] | None, Attempt]:
        """Compute the similarity of each of the best turns to the query, by turn key."""
        attempt = Attempt(self.name, "meaning")
        if request.fast or self._meaning is None:
            reason = "not requested" if request.fast else "the sentence model is missing"
            return None, replace(attempt, error=reason, skipped=True)
        started = time.monotonic()
        indexes = ranking.best([turn.numbers for turn in turns], ranking.RERANKED)
        best_turns = [turns[number].place.turn for number in indexes]
        heads = self._index.catalogue.heads(turn.key for turn in best_turns)
        # Best first, because only a limited number of new texts is embedded.
        texts = {turn.key: heads[turn.key] for turn in best_turns if turn.key in heads}
        try:
            similarity = self._meaning.similarities(query_text(request.text), texts)
        except ProngError as error:
            return None, replace(attempt, error=error.message)
        seconds = time.monotonic() - started
        return similarity, replace(attempt, seconds=seconds, hits=len(similarity))


class _Candidate(NamedTuple):
    """A matching turn, with all of its copies."""

    place: TurnPlace
    copies: tuple[TurnPlace, ...]
    numbers: ranking.Candidate


class _Search:
    def __init__(
        self, index: SearchIndex, words: QueryTerms, request: SearchRequest, shelf: SearchScope
    ) -> None:
        self._catalogue = index.catalogue
        self._lexical = index.words
        self._words = words
        self._request = request
        self._shelf = shelf
        self._since = int(request.since.timestamp() * 1000) if request.since else None
        self._per_session = 1 if request.by_session else _PER_SESSION

    # -- selecting candidates ------------------------------------------------------------------

    def candidates(self) -> list[_Candidate]:
        """Collect the turns to rank; copies of a turn form one candidate."""
        ids = self._shelf.turn_ids
        scope = Scope(
            self._catalogue.marks_of(self._shelf.only) if self._shelf.only is not None else None,
            self._since,
            tuple(word for name in self._request.files for word in plain_words(name)),
            # Id numbers are not unique; `_wanted` removes the false matches.
            None if ids is None else [number_of(id_) for id_ in ids],
        )
        needed = min(self._request.limit, _MOST_WANTED)
        limit = max(_POOL, needed)
        sessions = self._lexical.sessions(self._words, scope, limit)
        titles = self._lexical.titles(self._words, scope, max(_TITLES, needed))
        coverage = self._lexical.coverage(self._words, scope, ranking.rarity)
        typed = {turn.key: turn for turn in self._lexical.typed(self._words, scope, limit)}
        matches: dict[int, FoundTurn] = {}
        while True:
            turns = self._lexical.turns(self._words, scope, limit)
            matches |= {turn.key: turn for turn in turns}
            matches |= self._more(scope, matches, titles)
            matches |= typed
            hits = self._joined(matches.values(), sessions, titles, coverage, typed)
            counts = Counter([hit.place.session for hit in hits])
            shown = sum(min(count, self._per_session) for count in counts.values())
            enough = len(hits) >= _POOL // 2 and shown >= needed
            if enough or len(turns) < limit or limit > 50 * _POOL:
                return hits
            # A session with very many matching turns must not crowd out all others.
            full = {hit.place.turn.mark for hit in hits if counts[hit.place.session] >= _PLENTY}
            scope = scope._replace(without=tuple(full))
            limit *= 4

    def near(self, keys: AbstractSet[int], known: Iterable[_Candidate]) -> list[_Candidate]:
        """Turn the keys of semantic matches into candidates, without the known ones."""
        known_keys = {place.turn.key for each in known for place in (each.place, *each.copies)}
        turns = self._catalogue.turns(keys - known_keys).values()
        recent = [turn for turn in turns if milliseconds(turn.started) >= (self._since or 0)]
        return self._joined(self._without_words(recent), {}, {}, Coverage({}, 0.0))

    @staticmethod
    def _without_words(turns: Iterable[IndexedTurn]) -> list[FoundTurn]:
        """Wrap turns that were not found by keyword."""
        places = ((turn, place_of(number_of(turn.id), turn.number, turn.kind)) for turn in turns)
        return [FoundTurn(0.0, turn.key, turn.fingerprint, place) for turn, place in places]

    def _more(
        self, scope: Scope, known: Mapping[int, FoundTurn], titles: Mapping[int, float]
    ) -> dict[int, FoundTurn]:
        """Find more turns: in the current folder, and in sessions with a matching title."""
        more: list[FoundTurn] = []
        here = self._catalogue.marks_of(self._shelf.here)
        if here and scope.marks is None:
            more = self._lexical.turns(self._words, scope._replace(marks=here), _POOL // 2)
        if titles and not scope.files and scope.since is None:
            # Only the title matches: a session's first turn usually says what it is about.
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
        candidates: list[_Candidate] = []
        shares, rest = coverage
        for turn_place in alone:
            # This loop runs for hundreds of turns, so it is inlined.
            (score, key, _, place), _, (_, here, headless, _) = turn_place
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
            candidates.append(_Candidate(turn_place, (), numbers))
        for first, *copies in groups:
            group = (first, *copies)
            numbers = ranking.Candidate(
                turn=max(turn_place.turn.score for turn_place in group),
                session=max(sessions.get(turn_place.turn.mark, 0.0) for turn_place in group),
                title=max(titles.get(turn_place.turn.mark, 0.0) for turn_place in group),
                coverage=max(coverage.of(turn_place.turn.key) for turn_place in group),
                here=any(turn_place.standing.here for turn_place in group),
                aside=first.turn.is_notification or first.standing.headless,
                abandoned=all(turn_place.turn.number is None for turn_place in group),
                typed=any(turn_place.turn.key in typed for turn_place in group),
            )
            candidates.append(_Candidate(first, tuple(copies), numbers))
        return candidates

    def _places(self, turns: Collection[FoundTurn]) -> list[TurnPlace]:
        """Attach sessions to turns, dropping excluded ones."""
        marks = {turn.key >> ORDINAL_BITS for turn in turns}
        names = self._catalogue.names_of(marks)
        standing = self._shelf.standing
        standings = {mark: standing(names[mark]) for mark in marks if mark in names}
        matching = self._wanted(turns)
        places: list[TurnPlace] = []
        for turn in turns:
            mark = turn.key >> ORDINAL_BITS
            session_standing = standings.get(mark)
            if session_standing is not None and (matching is None or turn.key in matching):
                places.append(TurnPlace(turn, names[mark], session_standing))
        return places

    def _wanted(self, turns: Iterable[FoundTurn]) -> AbstractSet[int] | None:
        """Return the keys of the turns that match the filters; None without filters."""
        ids = self._shelf.turn_ids
        if ids is None and not self._request.files:
            return None
        keys = [turn.key for turn in turns]
        matching: set[int] | None = None
        if self._request.files:
            fits = file_filter(self._request.files)
            touched = self._catalogue.files_touched(keys)
            matching = {key for key, files in touched.items() if fits(files)}
        if ids is not None:
            indexed = self._catalogue.turns(keys if matching is None else matching)
            matching = {key for key, turn in indexed.items() if turn.id in ids}
        return matching

    # -- ranking the candidates ---------------------------------------------------------------

    def found(
        self, candidates: Sequence[_Candidate], similarity: Mapping[int, float] | None
    ) -> tuple[list[Found], int]:
        """Return the best candidates up to the limit, and the total."""
        numbers = [candidate.numbers for candidate in candidates]
        near: list[float | None] | None = None
        if similarity is not None:
            near = [similarity.get(each.place.turn.key) for each in candidates]
        ranked = self._lifted(ranking.rank(numbers, near), candidates)
        if min_score := self._request.min_score or 0:
            ranked = [entry for entry in ranked if entry.score >= min_score]
        counts = Counter([candidates[index].place.session for index, _ in ranked])
        total = sum([min(count, self._per_session) for count in counts.values()])
        selected: list[tuple[_Candidate, float]] = []
        selected_of = Counter[Name]()
        for index, score in ranked:
            if len(selected) >= self._request.limit:
                break
            candidate = candidates[index]
            selected_of[candidate.place.session] += 1
            if selected_of[candidate.place.session] <= self._per_session:
                selected.append((candidate, score))
        shown = self._catalogue.shown(candidate.place.turn.key for candidate, _ in selected)
        passages = self._passages({key: (t.prompt, t.answer) for key, (t, _) in shown.items()})
        results: list[Found] = []
        for candidate, score in selected:
            (_, key, _, _), (agent, session), _ = candidate.place
            if key not in shown:
                continue  # Another process has just removed it.
            turn, path = shown[key]
            copies = ((copy.session, copy.turn.number) for copy in candidate.copies)
            # A session may span two files, so each copy is listed once.
            others = dict.fromkeys(copy for copy in copies if copy[0] != (agent, session))
            results.append(
                Found(
                    score=score,
                    session_id=session,
                    agent=agent,
                    turn=_turn(turn),
                    before=turn.before,
                    passage=passages.get(key),
                    copies=tuple((SessionRef(*other), number) for other, number in others),
                    more=max(counts[agent, session] - self._per_session, 0),
                    date=turn.started,
                    source=path,
                )
            )
        return results, total

    def _passages(self, heads: Mapping[int, tuple[str, str]]) -> dict[int, Passage]:
        """Find the passage of each turn: in its heads, else in all that is indexed of it."""
        marker = Marker(self._words)
        # Most lists contain no secret, and one check of all texts is faster than ten.
        masked = self._request.masked and may_be_in("\n".join(map("\n".join, heads.values())))
        passages: dict[int, Passage] = {}
        for key, texts in heads.items():
            # Masked before cutting, because half a key is not recognized.
            if passage := marker.passage(map(mask, texts) if masked else texts):
                passages[key] = passage
        if self._request.live:
            return passages
        for key, texts in self._catalogue.texts(heads.keys() - passages.keys()).items():
            # Most texts contain none of the words, and checking that is faster than masking them.
            matching = filter(marker.is_in, texts)
            if passage := marker.passage(map(mask, matching) if self._request.masked else matching):
                passages[key] = passage
        return passages

    def _lifted(
        self, ranked: list[ranking.Ranked], candidates: Sequence[_Candidate]
    ) -> list[ranking.Ranked]:
        """Raise the turns of sessions that worked in the same folders as the best one."""
        works = [
            ranking.WorkContext(candidate.place.session, candidate.place.standing.folders)
            for candidate in candidates
        ]

        def times_of(indexes: list[int]) -> dict[int, int]:
            keys = {index: candidates[index].place.turn.key for index in indexes}
            turns = self._catalogue.turns(keys.values())
            return {at: milliseconds(turns[k].started) for at, k in keys.items() if k in turns}

        return ranking.lifted(ranked, works, times_of)


def _turn(turn: IndexedTurn) -> Turn:
    at = milliseconds(turn.started)
    started = datetime.fromisoformat(turn.started) if at and turn.started else None
    return Turn(turn.number, turn.id, TurnKind(turn.kind), turn.prompt, started)
