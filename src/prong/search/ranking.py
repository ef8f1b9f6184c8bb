"""Ranking of search hits: one score from keywords and the sentence model.

    score    = standing x fit, lifted or lowered by the circumstances
    standing = how the turn, its session and its title compare to the best of this query
    fit      = how much of the query the turn contains: its words, and its meaning

Standing orders the candidates of one query. Fit is comparable across queries and stores, so the
score says something by itself: the best of many turns that do not fit has a low one.
docs/internals/search-quality.md explains what each part is worth, and where the weights come from.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

RERANKED = 50
"""Number of the best keyword matches that the sentence model compares."""


class Candidate(NamedTuple):
    """The ranking features of a turn."""

    turn: float
    """BM25 of the turn; zero when only its session has the words."""
    session: float
    """BM25 of its session."""
    title: float
    """BM25 of the session's title."""
    coverage: float
    """Share of the query that the turn contains, in [0, 1]."""
    here: bool = False
    """Its session was in the folder that the search was started in."""
    aside: bool = False
    """True for a turn that no person asked for: a notification, or a headless session."""
    abandoned: bool = False
    """True for a turn on an abandoned branch."""
    typed: bool = False
    """True when one of its commands contains the whole query."""


class Weights(NamedTuple):
    """Weights of the features, tuned on one half of the benchmark's queries."""

    floor: float = 0.5
    """Standing that every candidate has."""
    turn: float = 1.0
    session: float = 2.0
    title: float = 0.3
    coverage: float = 1.0
    meaning: float = 2.0
    unread: float = 0.35
    """Assumed similarity of a turn without a vector."""
    here: float = 1.2
    aside: float = 0.8
    abandoned: float = 0.85
    company: float = 0.25
    """Share of the gap to the best hit that a neighbouring session makes up (see `lifted`)."""


WEIGHTS = Weights()
_FEW_TYPED = 10
"""If more turns typed the query, it is a common command and says nothing."""


class Ranked(NamedTuple):
    place: int
    """Index in the list of candidates."""
    score: float
    """In [0, 1]."""


def rank(
    candidates: Sequence[Candidate],
    nearness: Sequence[float | None] | None = None,
    weights: Weights | None = None,
) -> list[Ranked]:
    """Rank all candidates, best first.

    `nearness` holds the cosine of each candidate, None for one without a vector; it is None itself
    when the model was not used.
    """
    weights = weights or WEIGHTS
    cosines = [None] * len(candidates) if nearness is None else nearness
    scores = _scores(candidates, cosines, weights)
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    if nearness is None:
        # The highest score that is possible without the model. The square of a score's share of it
        # is on average as high as a score with the model, and keeps the order.
        meaning, words = weights.meaning, weights.coverage
        highest = (words + meaning * weights.unread) / (words + meaning)
        scores = [(score / highest) ** 2 for score in scores]
    return [Ranked(index, min(scores[index], 1.0)) for index in order]


def best(candidates: Sequence[Candidate], count: int) -> list[int]:
    """Return the indexes of the best keyword matches, for the model to compare."""
    return [ranked.place for ranked in rank(candidates)[:count]]


def _scores(
    candidates: Sequence[Candidate], nearness: Sequence[float | None], weights: Weights
) -> list[float]:
    # One loop without calls: it runs hundreds of times per query.
    best_turn = max([candidate.turn for candidate in candidates], default=0.0) or 1.0
    best_session = max([candidate.session for candidate in candidates], default=0.0) or 1.0
    best_title = max([candidate.title for candidate in candidates], default=0.0) or 1.0
    floor, unread = weights.floor, weights.unread
    of_turn, of_session, of_title = weights.turn, weights.session, weights.title
    of_words, of_meaning = weights.coverage, weights.meaning
    max_standing = floor + of_turn + of_session + of_title
    highest = max_standing * (of_words + of_meaning)
    few_typed = sum([candidate.typed for candidate in candidates]) <= _FEW_TYPED
    scores: list[float] = []
    for (turn, session, title, coverage, here, aside, abandoned, typed), near in zip(
        candidates, nearness, strict=True
    ):
        if typed and few_typed:
            # This is the turn asked for, whatever else its session was about: a commit is made at
            # the end, with a subject that the session may never have mentioned.
            standing = max_standing
        else:
            # Between `floor` and the maximum, which only the best in every feature reaches.
            standing = (
                floor
                + of_turn * (turn / best_turn)
                + of_session * (session / best_session)
                + of_title * (title / best_title)
            )
        # The share of the words that it contains, and how similar the meaning is.
        cosine = unread if near is None else min(max(near, 0.0), 1.0)
        score = standing * (of_words * coverage + of_meaning * cosine) / highest
        if here:
            score *= weights.here
        if aside:
            score *= weights.aside
        if abandoned:
            score *= weights.abandoned
        scores.append(score)
    return scores


def rarity(having: int, documents: int) -> float:
    """Weight a word by its inverse document frequency, as BM25 does."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


_REACH = 24 * 60 * 60 * 1000
"""Milliseconds after which sessions are unrelated."""


class WorkContext(NamedTuple):
    """The session and folders of a turn."""

    session: tuple[str, str]
    """Agent and id."""
    folders: tuple[str, ...]
    """All folders that its session was in."""


def lifted(
    ranked: Sequence[Ranked],
    works: Sequence[WorkContext],
    times_of: Callable[[list[int]], Mapping[int, int]],
) -> list[Ranked]:
    """Raise the turns of sessions that worked in a folder of the best one.

    `times_of` maps indexes to milliseconds. The best turn stays the best, because others make up
    only part of the gap. Turns of one session keep their order and relative distance.
    """
    best = ranked[0].place if ranked else 0
    folders = set(works[best].folders if ranked else ())
    firsts: dict[tuple[str, str], int] = {}
    for index, _ in ranked:
        firsts.setdefault(works[index].session, index)
    near = [index for index in firsts.values() if not folders.isdisjoint(works[index].folders)]
    times = times_of(near) if len(near) > 1 else dict[int, int]()
    scores = dict(ranked)
    gains: dict[tuple[str, str], tuple[float, float]] = {}
    """Gain and score of the best turn of each session."""
    for index, time in times.items():
        gap = scores[best] - scores[index]
        if gap > 0 and scores[index] > 0:
            gain = WEIGHTS.company * _nearness(times.get(best, 0), time) * gap
            gains[works[index].session] = (gain, scores[index])
    if not gains:
        return list(ranked)
    raised: list[Ranked] = []
    for index, score in ranked:
        gain, best_score = gains.get(works[index].session, (0.0, 1.0))
        raised.append(Ranked(index, score + gain * (score / best_score)))
    return sorted(raised, key=lambda one: -one.score)


def _nearness(one: int, other: int) -> float:
    """Return 1 for equal times, less with each hour between, 0 for an unknown time."""
    return max(1 - abs(one - other) / _REACH, 0.0) if one and other else 0.0
