"""Pytest plug-in: temporary home, fake model servers, and no silent skips in CI.

No fixture is autouse, because pytest loads this in every project that has prong installed. To run
all tests of a project in a temporary home, add to its conftest.py:

    @pytest.fixture(autouse=True)
    def _home(isolated_home: IsolatedHome) -> None: ...
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # keep imports light for test runs that use none of this
    from prong.testing.anthropic import FakeAnthropic
    from prong.testing.home import IsolatedHome
    from prong.testing.openai import FakeOpenAI

NO_SKIP = "PRONG_NO_SKIP"


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


# -- skips in CI are failures: a test that did not run proves nothing ----------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one when PRONG_NO_SKIP is set."""
    report = yield
    # Expected failures are reported as skips, too, but they did run.
    if report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failed one when PRONG_NO_SKIP is set."""
    report = yield
    if report.skipped:
        _fail(report)
    return report


def _fail(report: pytest.TestReport | pytest.CollectReport) -> None:
    if os.environ.get(NO_SKIP, "") in ("", "0"):
        return
    # A skip's longrepr is (file, line, reason).
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    report.outcome = "failed"
    report.longrepr = f"{NO_SKIP} is set, and this was skipped: {reason}"
