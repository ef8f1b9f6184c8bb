"""Which turns come first: what the words say and what the sentence model says, in one number.

    score    = standing x fit, lifted or lowered by the circumstances
    standing = how the turn, its session and its title do beside the best of this query
    fit      = how much of the query the turn has in itself: its words, and its meaning

Standing sorts the candidates of one query. Fit is the same for any other query and any other
store, so that a score says something by itself: the best of many turns that do not fit has a low
one. docs/internals/search-quality.md has what each part is worth, and where the weights come from.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

RERANKED = 50
"""How many of the best turns by words the sentence model looks at."""


class Candidate(NamedTuple):
    """What is known of a turn that has some of the words."""

    turn: float
    """BM25 of the turn; zero when only its session has the words."""
    session: float
    """BM25 of its session."""
    title: float
    """BM25 of the session's title."""
    coverage: float
    """How much of the query stands in the turn, in [0, 1]."""
    here: bool = False
    """Its session was in the folder that the person is in."""
    aside: bool = False
    """No person asked for it: a notification, or a program's own session."""
    abandoned: bool = False
    """It is on a branch that was left."""


class Weights(NamedTuple):
    """What counts how much. Chosen on one half of the benchmark's queries."""

    floor: float = 0.5
    """Of standing, that every candidate has."""
    turn: float = 1.0
    session: float = 2.0
    title: float = 0.3
    coverage: float = 1.0
    meaning: float = 2.0
    unread: float = 0.35
    """The nearness of a turn that the model has not read."""
    here: float = 1.2
    aside: float = 0.8
    abandoned: float = 0.85


WEIGHTS = Weights()


class Ranked(NamedTuple):
    place: int
    """Where the candidate stands in the list that was given."""
    score: float
    """In [0, 1]."""


def rank(
    candidates: Sequence[Candidate],
    nearness: Sequence[float | None] | None = None,
    weights: Weights | None = None,
) -> list[Ranked]:
    """All candidates, the best first.

    `nearness` has a cosine of the query and each candidate, None for those that the model has not
    read; it is None itself when the model was not asked.
    """
    weights = weights or WEIGHTS
    standings = _standings(candidates, weights)
    known = [None] * len(candidates) if nearness is None else nearness
    scores = [
        standing * _fit(candidate, near, weights) * _circumstances(candidate, weights)
        for candidate, standing, near in zip(candidates, standings, known, strict=True)
    ]
    order = sorted(range(len(scores)), key=lambda place: -scores[place])
    if nearness is None:
        scores = [_as_with_model(score, weights) for score in scores]
    return [Ranked(place, min(scores[place], 1.0)) for place in order]


def best(candidates: Sequence[Candidate], count: int, weights: Weights | None = None) -> list[int]:
    """The places of the best by words, for the model to look at."""
    return [ranked.place for ranked in rank(candidates, None, weights)[:count]]


def _standings(candidates: Sequence[Candidate], weights: Weights) -> list[float]:
    """Between `floor` and 1, for the candidate that is the best in every way."""
    turns = _of_best([candidate.turn for candidate in candidates])
    sessions = _of_best([candidate.session for candidate in candidates])
    titles = _of_best([candidate.title for candidate in candidates])
    whole = weights.floor + weights.turn + weights.session + weights.title
    return [
        (weights.floor + weights.turn * turn + weights.session * session + weights.title * title)
        / whole
        for turn, session, title in zip(turns, sessions, titles, strict=True)
    ]


def _of_best(scores: Sequence[float]) -> list[float]:
    most = max(scores, default=0)
    return [score / most if most > 0 else 0.0 for score in scores]


def _fit(candidate: Candidate, near: float | None, weights: Weights) -> float:
    """The mean of how many of the words are there and how near the meaning is."""
    nearness = weights.unread if near is None else min(max(near, 0.0), 1.0)
    whole = weights.coverage + weights.meaning
    return (weights.coverage * candidate.coverage + weights.meaning * nearness) / whole


def _as_with_model(score: float, weights: Weights) -> float:
    """A score by words alone, as high as one with the model is on average. The order stays."""
    most = (weights.coverage + weights.meaning * weights.unread) / (
        weights.coverage + weights.meaning
    )
    return (score / most) ** 2


def _circumstances(candidate: Candidate, weights: Weights) -> float:
    factor = weights.here if candidate.here else 1.0
    if candidate.aside:
        factor *= weights.aside
    if candidate.abandoned:
        factor *= weights.abandoned
    return factor


def rarity(having: int, documents: int) -> float:
    """What a word is worth that so many of the documents have."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))
