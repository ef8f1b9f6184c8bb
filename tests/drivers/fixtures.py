"""Fixtures of the drivers: the real agents and a terminal. A missing program is a skip."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.programs import MissingProgram
from tests.drivers.tmux import Tmux

NO_SKIP = "PRONG_NO_SKIP"


@pytest.fixture
def claude_cli(isolated_home: IsolatedHome, fake_anthropic: FakeAnthropic) -> ClaudeCli:
    """The real Claude Code, in the throw-away home, talking to the fake server."""
    try:
        return ClaudeCli(isolated_home, fake_anthropic.url)
    except MissingProgram as missing:
        pytest.skip(str(missing))


@pytest.fixture
def codex_cli(isolated_home: IsolatedHome, fake_openai: FakeOpenAI) -> CodexCli:
    """The real Codex, in the throw-away home, talking to the fake server."""
    try:
        return CodexCli(isolated_home, fake_openai.url)
    except MissingProgram as missing:
        pytest.skip(str(missing))


@pytest.fixture
def tmux(isolated_home: IsolatedHome) -> Iterator[Tmux]:
    """A terminal on a private tmux socket."""
    try:
        terminal = Tmux(isolated_home.root)
    except MissingProgram as missing:
        pytest.skip(str(missing))
    with terminal:
        yield terminal


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
