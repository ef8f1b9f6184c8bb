"""Fixtures of the drivers: the real agents and a terminal. A missing program skips the test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.programs import MissingProgram
from tests.drivers.tmux import Tmux


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
