"""Which turns come first: what the words say and what the sentence model says, in one number.

    score    = standing x fit, lifted or lowered by the circumstances
    standing = how the turn, its session and its title do beside the best of this query
    fit      = how much of the query the turn has in itself: its words, and its meaning

Standing sorts the candidates of one query. Fit is the same for any other query and any other
store, so that a score says something by itself: the best of many turns that do not fit has a low
one. docs/internals/search-quality.md has what each part is worth, and where the weights come from.
"""

import math
from collections.abc import Mapping, Sequence
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
    typed: bool = False
    """One of its commands has the whole query."""


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
    company: float = 0.25
    """How much a session beside the best one makes up for of what it is behind (`company`)."""


WEIGHTS = Weights()
_FEW_TYPED = 10
"""What more turns have in a command is what everybody types, and tells nothing."""


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
    known = [None] * len(candidates) if nearness is None else nearness
    scores = _scores(candidates, known, weights)
    order = sorted(range(len(scores)), key=scores.__getitem__, reverse=True)
    if nearness is None:
        most = _without_model(weights)
        scores = [(score / most) ** 2 for score in scores]
    return [Ranked(place, min(scores[place], 1.0)) for place in order]


def best(candidates: Sequence[Candidate], count: int, weights: Weights | None = None) -> list[int]:
    """The places of the best by words, for the model to look at."""
    return [ranked.place for ranked in rank(candidates, None, weights)[:count]]


def _scores(
    candidates: Sequence[Candidate], nearness: Sequence[float | None], weights: Weights
) -> list[float]:
    # One loop and no calls: it is gone through hundreds of times for every query.
    best_turn = max([one.turn for one in candidates], default=0.0) or 1.0
    best_session = max([one.session for one in candidates], default=0.0) or 1.0
    best_title = max([one.title for one in candidates], default=0.0) or 1.0
    floor, unread = weights.floor, weights.unread
    of_turn, of_session, of_title = weights.turn, weights.session, weights.title
    of_words, of_meaning = weights.coverage, weights.meaning
    most = floor + of_turn + of_session + of_title
    whole = most * (of_words + of_meaning)
    few_typed = sum([one.typed for one in candidates]) <= _FEW_TYPED
    scores: list[float] = []
    for (turn, session, title, coverage, here, aside, abandoned, typed), near in zip(
        candidates, nearness, strict=True
    ):
        if typed and few_typed:
            # This is what was asked for, whatever else its session was about: a commit is made at
            # the end of one, with a subject that the session may never have spoken of.
            standing = most
        else:
            # Between `floor` and the most, for the candidate that is the best in every way.
            standing = (
                floor
                + of_turn * (turn / best_turn)
                + of_session * (session / best_session)
                + of_title * (title / best_title)
            )
        # How many of the words are there, and how near the meaning is.
        known = unread if near is None else min(max(near, 0.0), 1.0)
        score = standing * (of_words * coverage + of_meaning * known) / whole
        if here:
            score *= weights.here
        if aside:
            score *= weights.aside
        if abandoned:
            score *= weights.abandoned
        scores.append(score)
    return scores


def _without_model(weights: Weights) -> float:
    """The most that a score by words alone can be.

    The square of its share of that is as high as a score with the model is on average, and the
    order stays.
    """
    return (weights.coverage + weights.meaning * weights.unread) / (
        weights.coverage + weights.meaning
    )


def rarity(having: int, documents: int) -> float:
    """What a word is worth that so many of the documents have."""
    return math.log(1 + (documents - having + 0.5) / (having + 0.5))


_REACH = 24 * 60 * 60 * 1000
"""Milliseconds after which sessions have nothing to do with each other."""


class WorkContext(NamedTuple):
    """Whose work a turn is part of, and where that was done."""

    session: tuple[str, str]
    """Agent and id."""
    folders: tuple[str, ...]
    """All in which its session was."""


def beside(ranked: Sequence[Ranked], works: Sequence[WorkContext]) -> list[int]:
    """The places of turns: the best one, and the best of each session that shares a folder with it.

    None when there is no such session.
    """
    if not ranked:
        return []
    folders = set(works[ranked[0].place].folders)
    firsts: dict[tuple[str, str], int] = {}
    for place, _ in ranked:
        firsts.setdefault(works[place].session, place)
    found = [place for place in firsts.values() if not folders.isdisjoint(works[place].folders)]
    return found if len(found) > 1 else []


def lifted(
    ranked: Sequence[Ranked], works: Sequence[WorkContext], times: Mapping[int, int]
) -> list[Ranked]:
    """The same turns, those of sessions beside the best one nearer to it.

    `times` are those of the turns `beside`, in milliseconds, by place. The best one stays the best:
    others only make up for a part of what they are behind it. The turns of one session keep their
    order, and their distance as a share.
    """
    scores = dict(ranked)
    best = ranked[0].place if ranked else 0
    gains: dict[tuple[str, str], tuple[float, float]] = {}
    """What the best turn of a session makes up for, and its score."""
    for place, time in times.items():
        behind = scores[best] - scores[place]
        if behind > 0 and scores[place] > 0:
            gain = WEIGHTS.company * _nearness(times.get(best, 0), time) * behind
            gains[works[place].session] = (gain, scores[place])
    if not gains:
        return list(ranked)
    found: list[Ranked] = []
    for place, score in ranked:
        gain, most = gains.get(works[place].session, (0.0, 1.0))
        found.append(Ranked(place, score + gain * (score / most)))
    return sorted(found, key=lambda one: -one.score)


def _nearness(one: int, other: int) -> float:
    """1 for the same time, less with each hour between; 0 when a time is not known."""
    return max(1 - abs(one - other) / _REACH, 0.0) if one and other else 0.0
