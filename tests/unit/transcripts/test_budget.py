import pytest

from prong.model import budget


@pytest.mark.parametrize(
    ("tokens", "window", "expected"),
    [
        (0, 100, "ok"),
        (79, 100, "ok"),
        (80, 100, "near"),
        (99, 100, "near"),
        (100, 100, "over"),
        (101, 100, "over"),
        (159_999, 200_000, "ok"),
        (160_000, 200_000, "near"),
        (5, None, "unknown"),
        (5, 0, "unknown"),
        (5, -1, "unknown"),
    ],
)
def test_levels(tokens: int, window: int | None, expected: str) -> None:
    assert budget.level(tokens, window) == expected


def test_four_characters_are_a_token_and_a_rest_is_one_more() -> None:
    assert [budget.estimate(count) for count in (0, 1, 4, 5, 8)] == [0, 1, 1, 2, 2]
    assert budget.estimate(budget.characters(7)) == 7
    assert budget.estimate(budget.characters(7) + 1) == 8


@pytest.mark.parametrize("window", [1, 2, 99, 100, 101, 128_000, 200_000, 272_000])
def test_what_is_trimmed_to_the_room_is_ok_and_one_more_is_not(window: int) -> None:
    assert budget.level(budget.room(window), window) == "ok"
    assert budget.level(budget.room(window) + 1, window) != "ok"
