"""Fixtures of the search tests."""

import pytest

from prong.testing.home import IsolatedHome
from tests.search.lab import SearchLab


@pytest.fixture
def lab(isolated_home: IsolatedHome) -> SearchLab:
    return SearchLab(isolated_home)
