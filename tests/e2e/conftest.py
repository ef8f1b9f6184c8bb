"""Fixtures of the tests that drive the real agents."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome
from tests.drivers.programs import MissingProgram, find_program
from tests.drivers.tmux import Tmux
from tests.e2e.labs import claude_scenarios, codex_scenarios
from tests.e2e.labs.cache import ScenarioCache

_CACHES = ("claude_sessions", "codex_threads")


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder is e2e; what needs one scenario is run by one worker."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)
            for fixture in _CACHES:
                if name := _scenario(item, fixture):
                    item.add_marker(pytest.mark.xdist_group(f"{fixture} {name}"))


@pytest.fixture(autouse=True)
def _home(isolated_home: IsolatedHome) -> None:
    """No test here sees the real home."""


@pytest.fixture(scope="session")
def claude_sessions(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScenarioCache]:
    """The messy Claude Code sessions: `claude_sessions.get(name)`."""
    program = _program("claude", "PRONG_TEST_CLAUDE")
    cache = ScenarioCache(
        partial(claude_scenarios.build, program=program), tmp_path_factory.mktemp("claude")
    )
    cache.expect(_wanted(request, "claude_sessions"))
    yield cache
    cache.close()


@pytest.fixture(scope="session")
def codex_threads(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ScenarioCache]:
    """The messy Codex threads: `codex_threads.get(name)`."""
    program = _program("codex", "PRONG_TEST_CODEX")
    cache = ScenarioCache(
        partial(codex_scenarios.build, program=program), tmp_path_factory.mktemp("codex")
    )
    cache.expect(_wanted(request, "codex_threads"))
    yield cache
    cache.close()


def _program(name: str, variable: str) -> Path:
    try:
        Tmux(Path("/"))  # the terminal UIs need it
        return find_program(name, variable)
    except MissingProgram as missing:
        pytest.skip(str(missing))


def _wanted(request: pytest.FixtureRequest, fixture: str) -> list[str]:
    """The scenarios that the collected tests will ask for; a worker does not know which it gets."""
    if hasattr(request.config, "workerinput"):
        return []
    names = (_scenario(item, fixture) for item in request.session.items)
    return list(dict.fromkeys(filter(None, names)))


def _scenario(item: pytest.Item, fixture: str) -> str | None:
    """The test's parameter `name`, when it takes its scenario from this fixture."""
    spec = getattr(item, "callspec", None)
    if spec is None or fixture not in getattr(item, "fixturenames", ()):
        return None
    name = spec.params.get("name")
    return name if isinstance(name, str) else None
