"""What the index of words tells of a turn."""

import pytest

from prong.search.candidates import FoundTurn, number_of, place_of


@pytest.mark.parametrize("number", [None, 1, 7, 1_000_000])
@pytest.mark.parametrize("kind", ["human", "notification"])
@pytest.mark.parametrize("id_", ["", "a", "019a-77", "é"])
def test_a_place_tells_what_it_was_made_of(number: int | None, kind: str, id_: str) -> None:
    place = place_of(number_of(id_), number, kind)
    turn = FoundTurn(score=1.0, key=5 << 20 | 3, fingerprint=1, place=place)
    assert (turn.number, turn.id, turn.mark) == (number, number_of(id_), 5)
    assert turn.is_notification == (kind == "notification")
    assert 0 <= place < 1 << 64
