"""A turn that the agent is at work on is running; the same file after a crash is interrupted."""

from __future__ import annotations

import threading
from pathlib import Path

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.sessions import TurnState
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Hold, Reply, Text
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_cli import CodexCli


def last_state(store: AgentStore, path: Path) -> TurnState:
    session = store.session_at(path)
    assert session is not None
    return store.conversation(session).turns[-1].state


def test_claude_in_a_terminal(
    isolated_home: IsolatedHome, fake_anthropic: FakeAnthropic, claude_cli: ClaudeCli
) -> None:
    store = ClaudeStore([isolated_home.claude])
    gate = threading.Event()
    with ClaudeTerminal.open(claude_cli, isolated_home.project()) as terminal:
        terminal.prompt("alpha one")
        path = terminal.session_path()
        assert path is not None
        assert last_state(store, path) is TurnState.FINISHED
        fake_anthropic.enqueue(Reply(Text("half"), Hold(gate), Text(" done")))
        terminal.mark()
        terminal.submit("beta two")
        terminal.wait_busy()
        terminal.wait_written(b"beta two")
        assert last_state(store, path) is TurnState.RUNNING
        gate.set()
        terminal.wait_idle()
        assert last_state(store, path) is TurnState.FINISHED
        gate.clear()
        fake_anthropic.enqueue(Reply(Text("half"), Hold(gate), Text(" done")))
        terminal.mark()
        terminal.submit("gamma three")
        terminal.wait_busy()
        terminal.wait_written(b"gamma three")
        terminal.kill()
    assert last_state(store, path) is TurnState.INTERRUPTED


def test_codex_headless(
    isolated_home: IsolatedHome, fake_openai: FakeOpenAI, codex_cli: CodexCli
) -> None:
    store = CodexStore([isolated_home.codex])
    gate = threading.Event()
    fake_openai.enqueue(Reply(Hold(gate), Text("done")))
    cwd = isolated_home.project()
    worker = threading.Thread(target=codex_cli.run, args=("alpha one", cwd))
    worker.start()
    try:
        fake_openai.wait_for_prompt("alpha one")
        (thread,) = codex_cli.thread_ids()
        path = codex_cli.live_rollout(thread)
        assert last_state(store, path) is TurnState.RUNNING
    finally:
        gate.set()
        worker.join(timeout=60)
    assert last_state(store, path) is TurnState.FINISHED
