"""Sessions that were at work side by side: in one folder, within a day of each other.

One piece of work often takes several sessions: one plans it, one writes it, one looks it over. So a
session beside the best one of a list is likelier to belong there than its own words tell.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from prong.search import fuse
from prong.search.fuse import Ranked

_REACH = 24 * 60 * 60 * 1000
"""Milliseconds after which sessions have nothing to do with each other."""


class Work(NamedTuple):
    """Whose work a turn is part of, and where that was done."""

    session: tuple[str, str]
    """Agent and id."""
    folders: tuple[str, ...]
    """All in which its session was."""


def beside(ranked: Sequence[Ranked], works: Sequence[Work]) -> list[int]:
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
    ranked: Sequence[Ranked], works: Sequence[Work], times: Mapping[int, int]
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
            gain = fuse.WEIGHTS.company * _nearness(times.get(best, 0), time) * behind
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
