"""Tests open many databases; each is let go of when its test is over."""

from collections.abc import Generator

import pytest

from prong.storage import connection


@pytest.fixture(autouse=True)
def _close() -> Generator[None]:
    yield
    connection.close_all()
