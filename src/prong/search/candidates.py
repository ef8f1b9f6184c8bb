"""Turn candidates: the word-index fields that allow comparing hundreds of turns."""

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from prong.search.catalogue import ORDINAL_BITS, Catalogue, IndexedTurn

_NOTIFICATION = "notification"
PLACE_BITS = 31
"""Number of bits of a place below the id."""
_PLACES = (1 << PLACE_BITS) - 1
NUMBERED = _PLACES & ~1
"""Bits of a place that are all zero on an abandoned branch."""


class FoundTurn(NamedTuple):
    """A matching turn, with what reveals that it is a copy of another one."""

    score: float
    key: int
    fingerprint: int
    """Hash of its text, identical in the copies that forks contain."""
    place: int
    """Its packed `place_of`."""

    @property
    def mark(self) -> int:
        return self.key >> ORDINAL_BITS

    @property
    def number(self) -> int | None:
        """Number in its session; None on an abandoned branch."""
        return (self.place & _PLACES) >> 1 or None

    @property
    def id(self) -> int:
        """The `number_of` its id."""
        return self.place >> PLACE_BITS

    @property
    def is_notification(self) -> bool:
        return bool(self.place & 1)


def place_of(id_: int, number: int | None, kind: str) -> int:
    """Pack a turn's `number_of` id, its number, and whether it is a notification.

    Reading one number takes half the time of reading two.
    """
    return id_ << PLACE_BITS | (number or 0) << 1 & _PLACES | (kind == _NOTIFICATION)


def number_of(id_: str) -> int:
    """Hash a turn id to a small number, which is not unique."""
    return zlib.crc32(id_.encode("utf-8", "replace"))


Name = tuple[str, str]
"""Agent and id of a session."""


class Standing(NamedTuple):
    """How a session relates to a query, besides its words."""

    family: Name
    """The session at the root of its lineage."""
    here: bool = False
    """True when it was in the folder that the search was started in."""
    headless: bool = False
    folders: tuple[str, ...] = ()


class TurnPlace(NamedTuple):
    turn: FoundTurn
    session: Name
    standing: Standing


def together(
    places: Sequence[TurnPlace], catalogue: Catalogue
) -> tuple[list[TurnPlace], list[list[TurnPlace]]]:
    """Separate turns without copies from groups of copies, the original first in each."""
    # Copies share the text or the id. Most turns share neither.
    words = Counter([place.turn.fingerprint for place in places])
    ids = Counter([place.turn.place >> PLACE_BITS for place in places])
    if len(words) == len(ids) == len(places):
        return list(places), []
    maybe = [p for p in places if words[p.turn.fingerprint] > 1 or ids[p.turn.id] > 1]
    alone = [p for p in places if words[p.turn.fingerprint] == ids[p.turn.id] == 1]
    groups: list[list[TurnPlace]] = []
    for group in _groups(maybe, catalogue.turns(place.turn.key for place in maybe)):
        if len(group) == 1:
            alone += group
        else:
            groups.append(_by_age(group, catalogue))
    return alone, groups


def _by_age(copies: list[TurnPlace], catalogue: Catalogue) -> list[TurnPlace]:
    """Sort copies, the original first: in the root session, then in the oldest file."""
    files = catalogue.files_of(place.turn.mark for place in copies)

    def age(place: TurnPlace) -> tuple[bool, bool, int, str]:
        file = files.get(place.turn.mark)
        return (
            place.turn.number is None,
            place.standing.family != place.session,
            file.stamp.mtime_ns if file else 0,
            file.path if file else "",
        )

    return sorted(copies, key=age)


def _groups(places: Sequence[TurnPlace], turns: Mapping[int, IndexedTurn]) -> list[list[TurnPlace]]:
    """Group the copies of each turn, also those linked only through a third one."""
    leaders = list(range(len(places)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = number = leaders[leaders[number]]
        return number

    owners: dict[object, int] = {}
    places = [place for place in places if place.turn.key in turns]
    for number, place in enumerate(places):
        for sign in _signs(place, turns[place.turn.key]):
            other = owners.setdefault(sign, number)
            if other != number:
                leaders[leader(number)] = leader(other)
    groups: dict[int, list[TurnPlace]] = defaultdict(list)
    for number, place in enumerate(places):
        groups[leader(number)].append(place)
    return list(groups.values())


def _signs(place: TurnPlace, turn: IndexedTurn) -> Iterable[object]:
    """Yield keys; turns that share one are copies of each other.

    The id alone is not enough, because some agents only number their turns: the text or the origin
    must match, too. Where a fork assigned new ids, the text must match, and either the time or the
    number within one lineage. Repeated prompts in one session are not copies.
    """
    _, (agent, _), (family, *_) = place
    yield agent, turn.id, turn.fingerprint
    if turn.number is not None:
        yield turn.fingerprint, family, turn.number
    if turn.started:
        yield agent, turn.id, family, turn.started
        yield turn.fingerprint, turn.started
