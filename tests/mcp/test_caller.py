"""Who calls: the session of the agent that started the server."""

import json
import os
import sys
from pathlib import Path

import pytest

from prong.app import App
from prong.mcp.call import calling_session
from prong.model.sessions import SessionRef
from prong.session import own_session
from prong.testing.home import IsolatedHome
from tests.cli.shell import Shell

CODEX = "x-codex-turn-metadata"


@pytest.mark.usefixtures("shell")
def test_nobody() -> None:
    assert calling_session({}, App().stores) is None


@pytest.mark.usefixtures("shell")
@pytest.mark.parametrize("told", [None, "x", 5, [], {}, {"thread_id": 5}, {"session_id": None}])
def test_nonsense_is_nobody(told: object) -> None:
    assert calling_session({CODEX: told}, App().stores) is None


@pytest.mark.usefixtures("shell")
def test_codex_says_it_with_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "other")
    told = {"session_id": "s", "thread_id": "t", "turn_id": "u"}
    assert calling_session({CODEX: told}, App().stores) == SessionRef("codex", "t")


@pytest.mark.usefixtures("shell")
def test_claude_has_it_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "abc")
    assert calling_session({}, App().stores) == SessionRef("claude", "abc")


def test_what_claude_has_open_now_counts_more(
    shell: Shell, isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After `/clear` the environment has still the session before."""
    monkeypatch.setenv("CLAUDECODE", "1")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "before")
    registered(isolated_home.claude, os.getppid(), "after")
    assert calling_session({}, App().stores) == SessionRef("claude", "after")
    registered(isolated_home.claude, os.getpid(), "named")
    monkeypatch.setenv("CLAUDE_PID", str(os.getpid()))
    assert calling_session({}, App().stores) == SessionRef("claude", "named")


def registered(root: Path, pid: int, session: str) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip(f"no /proc on {sys.platform}")
    started = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    entry = {"pid": pid, "sessionId": session, "status": "busy", "procStart": started}
    (root / "sessions").mkdir(exist_ok=True)
    (root / "sessions" / f"{pid}.json").write_text(json.dumps(entry))


def test_the_processes_above() -> None:
    found = own_session.ancestors(os.getpid())
    assert found[0] == os.getppid()
    assert 1 not in found
    assert own_session.ancestors(1) == []
