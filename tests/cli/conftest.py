"""Every test here has a throw-away home; `samples` fills it with the sessions of `prong demo`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.testing.home import IsolatedHome
from tests.cli import agents, worker_lab
from tests.cli.shell import Shell
from tests.cli.worker_lab import WorkerLab


@pytest.fixture
def shell(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """An empty home, and nothing in the environment that changes what is printed."""
    for name in ("COLUMNS", "NO_COLOR", "PRONG_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(isolated_home.root)
    # Most commands run inside of the tests, which are not to get slower by it.
    monkeypatch.setattr("os.nice", _as_before)
    return Shell(isolated_home)


def _as_before(_: int) -> int:
    return 0


@pytest.fixture
def samples(shell: Shell) -> Shell:
    """The sample sessions of both agents."""
    cwd = str(shell.home.projects / "shop")
    # Half an hour in the future, so that "4h ago" stays true while the tests run.
    now = datetime.now(UTC) + timedelta(minutes=30)
    ClaudeStore([shell.home.claude]).write_samples(cwd, now)
    CodexStore([shell.home.codex]).write_samples(cwd, now)
    return shell


@pytest.fixture
def shop(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The sample sessions, their folder, and agents to run."""
    (samples.home.projects / "shop").mkdir(parents=True, exist_ok=True)
    agents.install_both(samples, monkeypatch)
    return samples


@pytest.fixture
def lab(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    """An agent to run in panes, and a project for it."""
    with worker_lab.made(shell, monkeypatch) as made:
        yield made
