"""A session of one agent, converted, goes on in the real program of the other.

The fake model server kept what the other program sent: every prompt and every answer must be in
it, in order and in the right role.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.forks import Cut
from prong.model.sessions import Message, Session
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Reply, Text, ToolCall, say
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_terminal import CodexTerminal
from tests.drivers.requests import Item, anthropic_items, openai_items
from tests.e2e.labs import claude_scenarios, codex_scenarios
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import PROBE, Scenario
from tests.unit.agents.conversions import Converted, convert

# Tags that Claude Code puts around what a command of the person printed; they are taken off.
PRINTED = ("<bash-", "<local-command-")


def read(store: AgentStore, scenario: Scenario) -> tuple[Session, list[Message]]:
    session = store.session_at(scenario.path)
    assert session is not None
    return session, list(store.messages(session))


def said(messages: Iterable[Message]) -> list[Item]:
    """What has to arrive: texts, and what tools gave back, as words of the one who ran them."""
    items: list[Item] = []
    for message in messages:
        text = message.tool.output or "" if message.tool else message.text
        if message.role == "thinking" or not text.strip() or text.startswith(PRINTED):
            continue
        role = "user" if message.role in ("user", "summary") else "assistant"
        items.append(Item(role, text.strip()))
    return items


def check(sent: list[Item], messages: Iterable[Message], probe: str) -> None:
    """All that was said was sent, in order; the results of parallel tools in any order."""
    assert sent[-1] == Item("user", probe)
    place = 0
    for wanted in said(messages):
        # A merged answer holds several pieces, so the same one may be looked at again.
        found = [
            position
            for position, item in enumerate(sent[:-1])
            if position >= place and item.role == wanted.role and wanted.text in item.text
        ]
        assert found, wanted
        place = found[0]


@pytest.mark.parametrize("name", claude_scenarios.BUILDERS)
def test_codex_goes_on_with_a_session_of_claude(
    name: str,
    claude_sessions: ScenarioCache,
    isolated_home: IsolatedHome,
    codex_cli: CodexCli,
    fake_openai: FakeOpenAI,
) -> None:
    store = ClaudeStore([claude_sessions.get(name).root])
    session, messages = read(store, claude_sessions.get(name))
    cwd = isolated_home.project()
    made = convert(messages, "codex", isolated_home.codex, source=session.id, cwd=cwd)
    assert made.prompts == [turn.prompt for turn in store.conversation(session).turns]
    run = codex_cli.resume(made.session.id, PROBE, cwd)
    assert (run.code, run.thread_id) == (0, made.session.id), run.stderr
    check(openai_items(fake_openai.last_prompted(PROBE).body), messages, PROBE)


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_claude_goes_on_with_a_thread_of_codex(
    name: str,
    codex_threads: ScenarioCache,
    isolated_home: IsolatedHome,
    claude_cli: ClaudeCli,
    fake_anthropic: FakeAnthropic,
) -> None:
    store = CodexStore([codex_threads.get(name).root])
    session, messages = read(store, codex_threads.get(name))
    cwd = isolated_home.project()
    made = convert(messages, "claude", isolated_home.claude, source=session.id, cwd=cwd)
    assert made.prompts == [turn.prompt for turn in store.conversation(session).turns]
    run = claude_cli.run(PROBE, cwd, resume=made.session.id)
    assert (run.code, run.session_id) == (0, made.session.id), run.stderr
    check(anthropic_items(fake_anthropic.last_prompted(PROBE).body), messages, PROBE)


COMPACTED = ("compact_then_turns", "compact_twice", "compact_auto")


@pytest.mark.parametrize("name", [*COMPACTED, "summarize_from", "summarize_up_to"])
def test_codex_gets_what_the_model_of_claude_would_get(
    name: str,
    claude_sessions: ScenarioCache,
    isolated_home: IsolatedHome,
    codex_cli: CodexCli,
    fake_openai: FakeOpenAI,
) -> None:
    store = ClaudeStore([claude_sessions.get(name).root])
    messages = context(store, claude_sessions.get(name))
    cwd = isolated_home.project()
    made = convert(messages, "codex", isolated_home.codex, cwd=cwd)
    assert codex_cli.resume(made.session.id, PROBE, cwd).code == 0
    sent = openai_items(fake_openai.last_prompted(PROBE).body)
    check(sent, messages, PROBE)
    assert "written by claude]" in "".join(item.text for item in sent if item.role == "user")


@pytest.mark.parametrize("name", COMPACTED)
def test_claude_gets_what_the_model_of_codex_would_get(
    name: str,
    codex_threads: ScenarioCache,
    isolated_home: IsolatedHome,
    claude_cli: ClaudeCli,
    fake_anthropic: FakeAnthropic,
) -> None:
    store = CodexStore([codex_threads.get(name).root])
    messages = context(store, codex_threads.get(name))
    cwd = isolated_home.project()
    made = convert(messages, "claude", isolated_home.claude, cwd=cwd)
    assert claude_cli.run(PROBE, cwd, resume=made.session.id).code == 0
    sent = anthropic_items(fake_anthropic.last_prompted(PROBE).body)
    check(sent, messages, PROBE)
    assert "written by codex]" in "".join(item.text for item in sent if item.role == "user")


def context(store: AgentStore, scenario: Scenario) -> list[Message]:
    session = store.session_at(scenario.path)
    assert session is not None
    source = store.source(session)
    try:
        return list(source.messages(Cut(source.conversation.turns[-1].id)))
    finally:
        source.close()


# -- there and back, with both programs ----------------------------------------------------------


def test_there_and_back(
    isolated_home: IsolatedHome,
    claude_cli: ClaudeCli,
    fake_anthropic: FakeAnthropic,
    codex_cli: CodexCli,
    fake_openai: FakeOpenAI,
) -> None:
    """Claude, Codex, Claude: each goes on with all that was said before."""
    cwd = isolated_home.project()
    fake_anthropic.enqueue(
        Reply(Text("I look."), ToolCall("Bash", {"command": "echo tool-says-hi"})),
        say("seen by claude"),
    )
    first = claude_cli.run("alpha in claude", cwd).session_id
    claude_cli.run("beta in claude", cwd, resume=first)
    original = claude_cli.session_file(first)
    before = original.read_bytes()

    there = converted(ClaudeStore([isolated_home.claude]), original, "codex", isolated_home)
    codex_cli.resume(there.session.id, "gamma in codex", cwd)
    sent = [
        Item("user", "alpha in claude"),
        Item(
            "assistant",
            "I look.\n\n[claude ran Bash: echo tool-says-hi]\n"
            "Exit code 0, output:\n```\ntool-says-hi\n```\n\nseen by claude",
        ),
        Item("user", "beta in claude"),
        Item("assistant", "ECHO: beta in claude"),
        Item("user", "gamma in codex"),
    ]
    assert openai_items(fake_openai.last_prompted("gamma in codex").body) == sent

    rollout = codex_cli.live_rollout(there.session.id)
    back = converted(CodexStore([isolated_home.codex]), rollout, "claude", isolated_home)
    assert back.prompts == ["alpha in claude", "beta in claude", "gamma in codex"]
    claude_cli.run("delta in claude", cwd, resume=back.session.id)
    assert anthropic_items(fake_anthropic.last_prompted("delta in claude").body) == [
        *sent,
        Item("assistant", "ECHO: gamma in codex"),
        Item("user", "delta in claude"),
    ]
    assert original.read_bytes() == before


def converted(store: AgentStore, path: Path, agent: str, home: IsolatedHome) -> Converted:
    session = store.session_at(path)
    assert session is not None
    root = home.codex if agent == "codex" else home.claude
    return convert(store.messages(session), agent, root, source=session.id, cwd=home.project())


# -- in the terminal -----------------------------------------------------------------------------


def test_codex_shows_it_and_goes_on(
    claude_sessions: ScenarioCache,
    isolated_home: IsolatedHome,
    codex_cli: CodexCli,
    fake_openai: FakeOpenAI,
) -> None:
    scenario = claude_sessions.get("interrupt_tool")
    session, messages = read(ClaudeStore([scenario.root]), scenario)
    cwd = isolated_home.project()
    made = convert(messages, "codex", isolated_home.codex, source=session.id, cwd=cwd)
    thread = made.session.id
    with CodexTerminal.open(codex_cli, cwd, ["resume", thread], thread) as terminal:
        screen = terminal.tmux.wait_for("ECHO: gamma three")
        shown = ("alpha one", "beta two", "claude ran Bash", "interrupted", "gamma three")
        assert in_order(shown, screen), screen
        terminal.prompt("delta four")
        terminal.exit()
    check(openai_items(fake_openai.last_prompted("delta four").body), messages, "delta four")


def test_claude_shows_it_and_goes_on(
    codex_threads: ScenarioCache,
    isolated_home: IsolatedHome,
    claude_cli: ClaudeCli,
    fake_anthropic: FakeAnthropic,
) -> None:
    scenario = codex_threads.get("tool_calls")
    session, messages = read(CodexStore([scenario.root]), scenario)
    cwd = isolated_home.project()
    made = convert(messages, "claude", isolated_home.claude, source=session.id, cwd=cwd)
    with ClaudeTerminal.open(claude_cli, cwd, ["--resume", made.session.id]) as terminal:
        screen = terminal.tmux.wait_for("ECHO: gamma three")
        shown = ("alpha one", "beta two", "codex ran exec_command", "gamma three")
        assert in_order(shown, screen), screen
        assert "could not be restored" not in screen
        terminal.prompt("delta four")
        terminal.exit()
    check(anthropic_items(fake_anthropic.last_prompted("delta four").body), messages, "delta four")


def in_order(wanted: Iterable[str], screen: str) -> bool:
    at = 0
    for text in wanted:
        at = screen.find(text, at) + 1
        if not at:
            return False
    return True
