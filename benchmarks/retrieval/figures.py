"""What a list of sessions is worth for a query, and how sure a mean of that is."""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

DRAWS = 2_000
_DEPTH = 10


class Figures(NamedTuple):
    """Of one query. All in [0, 1]."""

    at_1: float
    """One of the sessions that answer is the first."""
    at_5: float
    """One is among the first five."""
    at_10: float
    reciprocal: float
    """1 / the place of the first one; 0 when it is not among the first ten."""
    ndcg: float
    """nDCG@10: all that answer count, the more the further up they are."""


def figures(ranking: Sequence[str], answers: frozenset[str]) -> Figures:
    """What the first ten of a ranking are worth, the best first."""
    shown = enumerate(ranking[:_DEPTH], start=1)
    places = [place for place, one in shown if one in answers]
    first = places[0] if places else math.inf
    gained = sum(1 / math.log2(place + 1) for place in places)
    most = sum(1 / math.log2(place + 1) for place in range(1, min(len(answers), _DEPTH) + 1))
    return Figures(first <= 1, first <= 5, first <= 10, 1 / first, gained / most)


def means(all_figures: Sequence[Figures]) -> Figures:
    return Figures(*(fmean(column) for column in zip(*all_figures, strict=True)))


class Interval(NamedTuple):
    low: float
    high: float


def interval(values: Sequence[float], seed: int = 1) -> Interval:
    """Where the mean lies in 95 of 100 cases, had other queries of the kind been asked.

    For a difference, give the differences query by query.
    """
    import numpy as np

    numbers = np.asarray(values)
    drawn = np.random.default_rng(seed).integers(0, len(numbers), (DRAWS, len(numbers)))
    low, high = np.quantile(numbers[drawn].mean(axis=1), (0.025, 0.975))
    return Interval(float(low), float(high))
