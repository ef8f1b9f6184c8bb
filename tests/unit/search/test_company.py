"""Sessions that were at work beside the best one."""

from hypothesis import given
from hypothesis import strategies as st

from prong.search.ranking import Ranked, WorkContext, lifted

HOUR = 3_600_000
NOON = 20_000 * 24 * HOUR + 12 * HOUR
NEXT_DAY = NOON + 25 * HOUR

Timed = tuple[WorkContext, int]


def work(session: str, folder: str = "/shop", time: int = NOON) -> Timed:
    return WorkContext(("claude", session), (folder,)), time


def lift(ranked: list[Ranked], works: list[Timed]) -> list[Ranked]:
    """As a search does: only the times of those that are beside the best one are asked for."""
    some = [one for one, _ in works]
    return lifted(ranked, some, lambda near: {place: works[place][1] for place in near})


def places(ranked: list[Ranked]) -> list[int]:
    return [place for place, _ in ranked]


works = st.builds(
    work,
    st.sampled_from("abcd"),
    st.sampled_from(["/shop", "/blog"]),
    st.sampled_from([NOON, NOON + HOUR, NEXT_DAY, 0]),
)
Scored = list[tuple[float, Timed]]
scored = st.lists(st.tuples(st.floats(0, 1), works)).map(
    lambda some: sorted(some, key=lambda one: -one[0])
)


@given(scored)
def test_the_best_stays_the_best_and_none_falls(some: Scored) -> None:
    ranked = [Ranked(place, score) for place, (score, _) in enumerate(some)]
    found = lift(ranked, [one for _, one in some])
    values = [score for _, score in found]
    assert sorted(places(found)) == places(ranked)
    assert values == sorted(values, reverse=True)
    assert found[:1] == ranked[:1]
    for place, score in found:
        assert some[place][0] <= score <= some[0][0]


@given(scored)
def test_the_turns_of_a_session_keep_their_order(some: Scored) -> None:
    ranked = [Ranked(place, score) for place, (score, _) in enumerate(some)]
    found = places(lift(ranked, [one for _, one in some]))
    for session in "abcd":
        own = [place for place in found if some[place][1][0].session[1] == session]
        assert own == sorted(own)


def test_a_session_beside_the_best_one_comes_before_a_slightly_better_one() -> None:
    ranked = [Ranked(0, 0.8), Ranked(1, 0.32), Ranked(2, 0.3), Ranked(3, 0.28)]
    elsewhere = work("b", "/blog")
    found = lift(
        ranked, [work("a"), elsewhere, work("c", time=NOON + HOUR), work("d", time=NEXT_DAY)]
    )
    assert places(found) == [0, 2, 1, 3]
    assert [found[2].score, found[3].score] == [0.32, 0.28]


def test_the_nearer_in_time_the_more() -> None:
    ranked = [Ranked(0, 0.8), Ranked(1, 0.3), Ranked(2, 0.3)]
    evening = NOON - 10 * HOUR
    found = lift(ranked, [work("a"), work("b", time=evening), work("c", time=NOON + HOUR)])
    assert places(found) == [0, 2, 1]


def test_without_a_time_or_a_folder_nothing_is_beside_it() -> None:
    ranked = [Ranked(0, 0.8), Ranked(1, 0.3), Ranked(2, 0.2)]
    nowhere = WorkContext(("claude", "b"), ()), NOON
    assert lift(ranked, [work("a"), nowhere, work("c", time=0)]) == ranked


def test_only_the_times_of_those_in_the_folder_are_asked_for() -> None:
    ranked = [Ranked(1, 0.8), Ranked(0, 0.3), Ranked(2, 0.2), Ranked(3, 0.1)]
    some = [work("a")[0], work("b")[0], work("c", "/blog")[0], work("a")[0]]
    asked: list[list[int]] = []

    def times_of(near: list[int]) -> dict[int, int]:
        asked.append(near)
        return {}

    lifted(ranked, some, times_of)
    lifted(ranked, [work("b")[0]] * 4, times_of)
    assert asked == [[1, 0]]


def test_a_score_of_next_to_nothing() -> None:
    found = lift([Ranked(0, 1.0), Ranked(1, 5e-324)], [work("a"), work("b")])
    assert [score for _, score in found] == [1.0, 0.25]


def test_nothing_to_lift() -> None:
    assert lift([], []) == []
