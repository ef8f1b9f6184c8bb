"""What the index of words tells of a turn besides its words: enough to compare hundreds of them."""

import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from prong.search.catalogue import ORDINAL_BITS, Catalogue, IndexedTurn

_NOTIFICATION = "notification"
PLACE_BITS = 31
"""Of a place, those that are not the id's."""
_PLACES = (1 << PLACE_BITS) - 1
NUMBERED = _PLACES & ~1
"""Of a place, the bits that are all zero on an abandoned branch."""


class FoundTurn(NamedTuple):
    """A turn that has some of the words, and what shows that it is a copy of another one."""

    score: float
    key: int
    fingerprint: int
    """Of its words: a copy in a fork has the same."""
    place: int
    """The `place_of` it."""

    @property
    def mark(self) -> int:
        """Of its file."""
        return self.key >> ORDINAL_BITS

    @property
    def number(self) -> int | None:
        """In its session; None on an abandoned branch."""
        return (self.place & _PLACES) >> 1 or None

    @property
    def id(self) -> int:
        """The `number_of` its id."""
        return self.place >> PLACE_BITS

    @property
    def is_notification(self) -> bool:
        return bool(self.place & 1)


def place_of(id_: int, number: int | None, kind: str) -> int:
    """Of a turn, in one: the `number_of` its id, where it stands, and whether nobody asked for it.

    One number is read in half the time of two.
    """
    return id_ << PLACE_BITS | (number or 0) << 1 & _PLACES | (kind == _NOTIFICATION)


def number_of(id_: str) -> int:
    """A number for a turn's id, much smaller than the id. Others may have the same."""
    return zlib.crc32(id_.encode("utf-8", "replace"))


Name = tuple[str, str]
"""Agent and id of a session."""


class Standing(NamedTuple):
    """What a session is to a query, besides its words."""

    family: Name
    """The session at the root of its lineage."""
    here: bool = False
    """It was in the folder that the person is in."""
    headless: bool = False
    folders: tuple[str, ...] = ()
    """All that it was in."""


class TurnPlace(NamedTuple):
    """A turn in a session."""

    turn: FoundTurn
    session: Name
    standing: Standing


def together(
    places: Sequence[TurnPlace], catalogue: Catalogue
) -> tuple[list[TurnPlace], list[list[TurnPlace]]]:
    """The turns that have no copy among these, and those that have some, the original first."""
    # Copies have the same words or the same id. Most turns share neither with any other.
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
    """The original first: it is in the session at the root, or in the oldest file.

    The path decides between files of one time, so that the order is always the same.
    """
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
    """Copies of one turn together; also those that only a third one shows to be copies."""
    leaders = list(range(len(places)))

    def leader(number: int) -> int:
        while leaders[number] != number:
            leaders[number] = number = leaders[leaders[number]]
        return number

    known: dict[object, int] = {}
    places = [place for place in places if place.turn.key in turns]
    for number, place in enumerate(places):
        for sign in _signs(place, turns[place.turn.key]):
            other = known.setdefault(sign, number)
            if other != number:
                leaders[leader(number)] = leader(other)
    groups: dict[int, list[TurnPlace]] = defaultdict(list)
    for number, place in enumerate(places):
        groups[leader(number)].append(place)
    return list(groups.values())


def _signs(place: TurnPlace, turn: IndexedTurn) -> Iterable[object]:
    """Turns that share one of these are copies of each other.

    They have the same id, and the same words or the same origin: some agents number their turns.
    Where a fork gave new ids, they have the same words, and either the same time or the same place
    in one lineage. Turns of one session that say the same are not copies.
    """
    _, (agent, _), (family, *_) = place
    yield agent, turn.id, turn.fingerprint
    if turn.number is not None:
        yield turn.fingerprint, family, turn.number
    if turn.started:
        yield agent, turn.id, family, turn.started
        yield turn.fingerprint, turn.started
