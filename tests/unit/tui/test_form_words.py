"""Hints of the command line, in a dialog that has no command line."""

import pytest

from prong.tui.content.forking import in_the_form


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("--before-compaction gives it their words", "history <all words> gives it their words"),
        ("--code now, or --code none", "code <as it is now>, or code <untouched>"),
        ("leave --into out", "the folder left as it was"),
        ("--into DIR", "another folder"),
        ("prong fork x@1 --into DIR", "prong fork x@1 --into DIR"),
        ("nothing to say about code", "nothing to say about code"),
        ("--trim keeps the newest turns", "--trim keeps the newest turns"),
    ],
)
def test_options_become_fields(text: str, told: str) -> None:
    assert in_the_form(text) == told
