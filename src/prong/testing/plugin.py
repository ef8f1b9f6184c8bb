"""The pytest plug-in: a throw-away home, fake model servers, and no silent skips in CI.

No fixture is autouse, because pytest loads this in every project that has prong installed. A
project that wants all of its tests in a throw-away home says so in its conftest.py:

    @pytest.fixture(autouse=True)
    def _home(isolated_home: IsolatedHome) -> None: ...
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:  # nothing heavy is imported by a pytest run that does not ask for it
    from prong.testing.anthropic import FakeAnthropic
    from prong.testing.home import IsolatedHome
    from prong.testing.openai import FakeOpenAI

NO_SKIP = "PRONG_NO_SKIP"


@pytest.fixture
def isolated_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> IsolatedHome:
    """A throw-away home; this process and its children use it until the test ends."""
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


# -- a skip in CI is a failure: what was not run was not tested ------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one when PRONG_NO_SKIP is set."""
    report = yield
    # An expected failure is reported as a skip, too; that one was run.
    if report.skipped and not hasattr(report, "wasxfail"):
        _fail(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a whole module that skips itself."""
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
