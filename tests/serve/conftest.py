from collections.abc import Generator

import pytest

from prong.testing.home import IsolatedHome
from tests.serve.lab import Lab


@pytest.fixture
def lab(isolated_home: IsolatedHome) -> Generator[Lab]:
    lab = Lab(isolated_home)
    try:
        yield lab
    finally:
        lab.end()
