"""An agent that calls the server, in a throw-away home."""

import json
from collections.abc import Iterator

import pytest

from tests.cli.conftest import lab as lab  # noqa: PLC0414 -- fixtures that these tests share
from tests.cli.conftest import samples as samples  # noqa: PLC0414
from tests.cli.conftest import shell as shell  # noqa: PLC0414
from tests.cli.shell import Shell
from tests.mcp.agent import Agent, in_memory


@pytest.fixture(autouse=True)
def _of_no_agent(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may run inside of an agent, whose session is none of their business."""
    for name in ("CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _trusted(shell: Shell) -> None:
    """The stand-in asks nobody whether it may work here, so it must not seem to wait for that."""
    trusted = {str(shell.home.projects / "shop"): {"hasTrustDialogAccepted": True}}
    (shell.home.root / ".claude.json").write_text(json.dumps({"projects": trusted}))


@pytest.fixture
def agent(shell: Shell) -> Iterator[Agent]:
    """A client of a server in this process."""
    with in_memory() as made:
        yield made
