from datetime import UTC, datetime

import pytest

from prong.agents.common import first_line, parse_time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-15T18:27:30.823Z", datetime(2026, 11, 15, 18, 27, 30, 823000, UTC)),
        ("2026-11-15T20:27:30+02:00", datetime(2026, 11, 15, 18, 27, 30, tzinfo=UTC)),
        ("2026-11-15T18:27:30", datetime(2026, 11, 15, 18, 27, 30, tzinfo=UTC)),
        ("", None),
        (None, None),
        ("yesterday", None),
        ("2026-13-45T99:99:99Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:59:59-14:00", None),
    ],
)
def test_times_are_utc_or_none(text: str | None, time: datetime | None) -> None:
    assert parse_time(text) == time


def test_the_first_line_that_says_something() -> None:
    assert first_line("\n  \n  Fix the parser \nand more") == "Fix the parser"
    assert first_line(" \n\t") == ""
    assert len(first_line("x" * 5000)) == 200
