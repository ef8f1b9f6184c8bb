"""Pytest plug-in: temporary home and fake model servers.

No fixture is autouse, because pytest loads this in every project that has prong installed. To run
all tests of a project in a temporary home, add to its conftest.py:

    @pytest.fixture(autouse=True)
    def _home(isolated_home: IsolatedHome) -> None: ...
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # keep imports light for test runs that use none of this
    from prong.testing.anthropic import FakeAnthropic
    from prong.testing.home import IsolatedHome
    from prong.testing.openai import FakeOpenAI


@pytest.fixture
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IsolatedHome:
    """A temporary home that this process and its children use until the test ends."""
    from prong.testing.home import ESCAPES, MACHINE, IsolatedHome

    home = IsolatedHome.create(tmp_path / "home")
    for name in ESCAPES:
        monkeypatch.delenv(name, raising=False)
    for name, value in (home.variables() | MACHINE).items():
        monkeypatch.setenv(name, value)
    return home


@pytest.fixture
def fake_anthropic() -> Iterator[FakeAnthropic]:
    """A running fake of the Anthropic API."""
    from prong.testing.anthropic import FakeAnthropic

    with FakeAnthropic() as server:
        yield server


@pytest.fixture
def fake_openai() -> Iterator[FakeOpenAI]:
    """A running fake of the OpenAI API."""
    from prong.testing.openai import FakeOpenAI

    with FakeOpenAI() as server:
        yield server
