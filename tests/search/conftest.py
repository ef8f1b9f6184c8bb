"""Fixtures of the search tests."""

import pytest

from prong.testing.home import IsolatedHome
from tests.search.lab import SearchLab


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> SearchLab:
    # What a search may take for a refresh is a matter of seconds; on a busy machine they are short.
    monkeypatch.setattr("prong.search.service._REFRESH_SECONDS", 60)
    return SearchLab(isolated_home)
