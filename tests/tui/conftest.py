"""Every test here has a throw-away home; `samples` fills it with the sessions of `prong demo`."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.app import App
from prong.config import Config
from prong.setup.demo import Demo
from prong.testing.home import IsolatedHome
from prong.tui.index_process import IndexProcess
from tests.cli import agents, worker_lab
from tests.cli.shell import Shell
from tests.cli.worker_lab import WorkerLab


@pytest.fixture
def shell(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """An empty home, and nothing in the environment that changes what is shown."""
    for name in ("COLUMNS", "NO_COLOR", "PRONG_PLUGINS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(isolated_home.root)
    return Shell(isolated_home)


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
def lab(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    """An agent to run in panes, and a project for it."""
    with worker_lab.made(shell, monkeypatch) as made:
        yield made


@pytest.fixture
def no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the words found stays in its order: the sentence model is not asked."""
    monkeypatch.setattr("prong.tui.screens.sessions_screen._SETTLED", 1e6)


@pytest.fixture
def no_index(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that search nothing: no index is brought up to date beside them."""

    def start(_: IndexProcess) -> None:
        pass

    monkeypatch.setattr(IndexProcess, "start", start)


@pytest.fixture
def demo(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Demo:
    """The home of `prong demo`: sessions with the code of their turns, and agents to run."""
    made = App(Config()).setup.demo(shell.home.root / "demo")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("HOME", str(made.repository.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    agents.install_both(shell, monkeypatch)
    monkeypatch.chdir(made.repository)
    return made
