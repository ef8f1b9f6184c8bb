"""The error tree: every class has a code, a status, and the one shape of `problem()`."""

from collections.abc import Iterator

import pytest

from prong import errors
from prong.errors import ProngError

# DESIGN.md, "Errors".
STATUSES = {
    "usage": 2,
    "config": 2,
    "taken": 2,
    "not_found": 3,
    "ambiguous": 3,
    "busy": 4,
    "dirty": 4,
    "unavailable": 5,
    "unsupported": 6,
    "corrupt": 7,
    "external": 8,
    "internal": 1,
}


def tree(base: type[ProngError] = ProngError) -> Iterator[type[ProngError]]:
    yield base
    for child in base.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from tree(child)


def test_codes_and_exit_statuses_are_those_of_the_design() -> None:
    assert {cls.code: cls.exit_code for cls in tree()} == STATUSES


def test_no_two_classes_share_a_code() -> None:
    codes = [cls.code for cls in tree()]
    assert len(codes) == len(set(codes))


@pytest.mark.parametrize("cls", list(tree()), ids=lambda cls: cls.__name__)
def test_every_class_is_drawn_in_the_docstring_with_its_status(cls: type[ProngError]) -> None:
    assert errors.__doc__
    lines = [line for line in errors.__doc__.splitlines() if cls.__name__ in line.split()]
    lines += [line for line in errors.__doc__.splitlines() if f"- {cls.__name__} " in line]
    assert lines
    if cls is not ProngError:
        assert str(cls.exit_code) in lines[0].split()


@pytest.mark.parametrize("cls", list(tree()), ids=lambda cls: cls.__name__)
def test_http_statuses_are_errors(cls: type[ProngError]) -> None:
    assert 400 <= cls.http_status < 600


def test_a_problem_has_all_that_is_known() -> None:
    error = errors.NotFound("no session x", hint="prong list", path="/x")
    assert error.problem() == {
        "code": "not_found",
        "message": "no session x",
        "hint": "prong list",
        "details": {"path": "/x"},
    }
    assert str(error) == "no session x"


def test_a_hint_is_not_always_there() -> None:
    assert errors.Corrupt("broken").problem()["hint"] is None
