"""The order of candidates, and what a score says."""

from hypothesis import given
from hypothesis import strategies as st

from prong.search.ranking import WEIGHTS, Candidate, Weights, best, rank, rarity

shares = st.floats(0, 1)
scores = st.floats(0, 100)
candidates = st.builds(
    Candidate,
    turn=scores,
    session=scores,
    title=scores,
    coverage=shares,
    here=st.booleans(),
    aside=st.booleans(),
    abandoned=st.booleans(),
    typed=st.booleans(),
)
GOOD = Candidate(turn=10, session=10, title=0, coverage=1)


def first(*some: Candidate, near: list[float | None] | None = None) -> int:
    return rank(some, near)[0].place


@given(st.lists(st.tuples(candidates, st.none() | st.floats(-1, 1))))
def test_all_come_once_by_falling_scores_between_0_and_1(
    some: list[tuple[Candidate, float | None]],
) -> None:
    ranked = rank([one for one, _ in some], [near for _, near in some])
    assert sorted(place for place, _ in ranked) == list(range(len(some)))
    values = [score for _, score in ranked]
    assert values == sorted(values, reverse=True)
    assert all(0 <= value <= 1 for value in values)


@given(st.lists(candidates))
def test_the_model_looks_at_the_best_by_words(some: list[Candidate]) -> None:
    assert best(some, 3) == [place for place, _ in rank(some)[:3]]


def test_nothing_to_rank() -> None:
    assert rank([]) == []
    assert best([], 5) == []


def test_each_part_decides_when_the_rest_is_equal() -> None:
    for weaker in (
        GOOD._replace(turn=5),
        GOOD._replace(session=5),
        GOOD._replace(coverage=0.5),
        GOOD._replace(aside=True),
        GOOD._replace(abandoned=True),
    ):
        assert first(weaker, GOOD) == 1
    assert first(GOOD, GOOD._replace(title=3)) == 1
    assert first(GOOD, GOOD._replace(here=True)) == 1
    assert first(GOOD, GOOD, near=[0.2, 0.7]) == 1


def test_the_folder_lifts_and_does_not_filter() -> None:
    poor = Candidate(turn=2, session=2, title=0, coverage=0.2, here=True)
    assert first(poor, GOOD) == 1
    assert len(rank([poor, GOOD])) == 2


def test_a_turn_that_typed_the_query_is_what_it_asks_for() -> None:
    typed = Candidate(turn=8, session=2, title=0, coverage=1, typed=True)
    assert first(GOOD, typed) == 1
    assert first(GOOD, typed._replace(typed=False)) == 0
    # What everybody types tells nothing.
    assert first(GOOD, *[typed] * 20) == 0


def test_an_unread_turn_is_between_a_near_one_and_a_far_one() -> None:
    places = [place for place, _ in rank([GOOD] * 3, [0.0, None, 0.9])]
    assert places == [2, 1, 0]


def test_a_score_without_the_model_says_the_same() -> None:
    assert rank([GOOD._replace(title=1)])[0].score == 1
    assert rank([GOOD._replace(coverage=0.5)])[0].score > 0.4
    assert rank([GOOD._replace(coverage=0.1)])[0].score < 0.3


def test_the_best_of_what_does_not_fit_has_a_low_score() -> None:
    """Each is the best of its query, so that only what it has in itself can tell."""
    fits = rank([GOOD], [0.7])[0].score
    does_not = rank([GOOD._replace(coverage=0.15)], [0.2])[0].score
    assert does_not < 0.25
    assert fits > 0.6


def test_equal_ones_stay_in_the_order_they_were_given() -> None:
    assert [place for place, _ in rank([GOOD] * 4)] == [0, 1, 2, 3]


def test_other_weights_can_be_tried() -> None:
    long, short = GOOD._replace(turn=1), GOOD._replace(session=1)
    assert rank([long, short], weights=WEIGHTS._replace(turn=0))[0].place == 0
    assert rank([long, short], weights=Weights(session=0))[0].place == 1


def test_a_rare_word_is_worth_more() -> None:
    assert rarity(1, 1000) > rarity(10, 1000) > rarity(900, 1000) > 0
