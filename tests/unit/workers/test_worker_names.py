"""Names of workers."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.errors import UsageError
from prong.workers import names

AGENTS = ("claude", "codex")


@pytest.mark.parametrize("name", ["calm-otter", "a1z", "x", "review-2", "z" * 32])
def test_names_that_may_be(name: str) -> None:
    assert names.checked(name, AGENTS) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "Otter",
        "a b",
        "a.b",
        "a:b",
        "a@2",
        "%1",
        "-x",
        "x-",
        "../x",
        "z" * 33,
        "deadbeef",
        "60309e1e-c4ea",
        "123",
        "last",
        "claude",
        "é",
        "x\n",
    ],
)
def test_names_that_may_not_be(name: str) -> None:
    with pytest.raises(UsageError) as error:
        names.checked(name, AGENTS)
    assert "calm-otter" in (error.value.hint or "")


def test_a_made_up_name_is_one_that_may_be_and_that_nobody_has() -> None:
    taken: set[str] = set()
    for _ in range(500):
        name = names.made_up(taken)
        assert name not in taken
        assert names.checked(name, AGENTS) == name
        taken.add(name)


@given(st.from_regex(r"[a-z0-9][a-z0-9-]{0,30}[a-z]", fullmatch=True), st.integers(0, 40))
def test_one_more_of_the_same(name: str, others: int) -> None:
    taken = {name}
    for _ in range(others):
        more = names.after(name, taken)
        assert more not in taken
        assert len(more) <= names.LONGEST
        assert re.search(r"-\d+$", more)
        taken.add(more)


def test_one_more_of_a_long_name_is_no_session() -> None:
    name = names.after("deadbeefdeadbeefdeadbeefdeadbeefz"[1:], set())
    assert names.checked(name, AGENTS) == name


def test_a_fork_of_a_fork_does_not_pile_up_numbers() -> None:
    assert names.after("calm-otter-2", {"calm-otter", "calm-otter-2"}) == "calm-otter-3"
