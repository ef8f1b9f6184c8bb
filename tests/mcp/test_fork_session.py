"""fork_session: a session by name, and the one that asks."""

from pathlib import Path

import pytest

from tests.cli.shell import API, Shell
from tests.cli.worker_lab import WorkerLab
from tests.mcp.agent import Agent
from tests.mcp.settings import allow


def test_a_fork_at_a_turn_that_does_not_run(lab: WorkerLab, agent: Agent) -> None:
    sample = lab.shell.session(1, cwd=str(lab.project))
    for prompt in ("one", "two", "three"):
        sample.prompt(prompt)
        sample.answer(f"{prompt} it is")
    sample.write(lab.shell.home.claude)
    before = sample_bytes(lab.shell, sample.id)
    made = agent.ok("fork_session", session=sample.id[:8], turn=2, run=False, title="a try")
    fork = made["fork"]
    assert fork["parent"] == f"claude:{sample.id}@2"
    assert fork["method"] == "copy"
    assert Path(fork["workspace"]).is_dir()
    assert fork["command"][0] == "claude"
    assert made["forked_session"] is None
    said = agent.ok("list_turns", session=fork["child"])
    assert [one["prompt"] for one in said["turns"]] == ["one", "two"]
    assert sample_bytes(lab.shell, sample.id) == before


def sample_bytes(shell: Shell, id_: str) -> bytes:
    (path,) = shell.home.claude.glob(f"projects/*/{id_}.jsonl")
    return path.read_bytes()


def test_a_dry_run_writes_nothing(lab: WorkerLab, agent: Agent) -> None:
    id_ = lab.shell.simple(1, cwd=str(lab.project))
    plan = agent.ok("fork_session", session=f"claude:{id_}@1", dry_run=True)["plan"]
    assert plan["parent"] == f"claude:{id_}@1"
    assert not Path(plan["workspace"]).exists()
    assert len(agent.ok("find_sessions")["sessions"]) == 1


def test_what_a_fork_into_another_agent_will_not_have(lab: WorkerLab, agent: Agent) -> None:
    sample = lab.shell.session(1, cwd=str(lab.project))
    sample.prompt("look")
    link = {"type": "image", "source": {"type": "url", "url": "https://example.org/x"}}
    sample.lines[-1]["message"]["content"] = [{"type": "text", "text": "look"}, link]
    sample.answer("seen")
    sample.write(lab.shell.home.claude)
    words = {"session": sample.id, "agent": "codex", "code": "none"}
    told = "1 image is left out: the other agent cannot take it"
    assert told in agent.ok("fork_session", dry_run=True, run=False, **words)["plan"]["warnings"]
    assert told in agent.ok("fork_session", run=False, **words)["fork"]["warnings"]


def test_fork_me(lab: WorkerLab, agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = lab.shell.session(1, cwd=str(lab.project))
    for prompt in ("one", "two"):
        sample.prompt(prompt)
        sample.answer(f"{prompt} it is")
    sample.prompt("Fork yourself.")
    sample.write(lab.shell.home.claude)
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", sample.id)
    made = agent.ok("fork_session", prompt="the other half", name="half")
    assert made["fork"]["parent"] == f"claude:{sample.id}@2"
    assert made["forked_session"]["session_name"] == "half"
    assert made["forked_session"]["resume_session_id"] == sample.id
    assert "the turn before this one" in made["notes"][0]
    agent.ok("wait_workers", names=["half"])
    said = agent.ok("read_session", session="half", from_turn=3)["messages"]
    assert [one["text"] for one in said] == ["the other half", "You said: the other half"]
    earlier = agent.ok("fork_session", turn=1, run=False)
    assert earlier["fork"]["parent"] == f"claude:{sample.id}@1"


def test_fork_me_at_the_first_turn(
    samples: Shell, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "the calling session is unknown" in agent.problem("fork_session")["message"]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "00000000-1111-4222-8333-444444444444")
    assert "no turn yet" in agent.problem("fork_session")["message"]


def test_no_fork_of_what_is_not_there(samples: Shell, agent: Agent) -> None:
    assert agent.problem("fork_session", session="ffffffff")["code"] == "not_found"
    assert agent.problem("fork_session", session=f"claude:{API}", turn=99)["code"] == "not_found"
    told = agent.problem("fork_session", session=f"claude:{API}@1", turn=1)
    assert "twice" in told["message"]


def test_permissions_are_for_the_user_to_give(lab: WorkerLab, agent: Agent) -> None:
    id_ = lab.shell.simple(1, cwd=str(lab.project))
    for wish in ("skip_permissions", "trust"):
        told = agent.problem("fork_session", session=id_, **{wish: True})
        assert told["code"] == "usage"
        assert f"allow_{wish} = true" in told["hint"]
        assert agent.ok("list_workers")["workers"] == []
    allow(lab.shell, "skip_permissions", "trust")
    plan = agent.ok("fork_session", session=id_, skip_permissions=True, trust=True, dry_run=True)
    assert "--dangerously-skip-permissions" in plan["plan"]["command"]


def test_permissions_are_not_inherited(lab: WorkerLab, agent: Agent) -> None:
    lab.run("--name", "bold", "--skip-permissions", "hello")
    lab.until("bold", "idle")
    for tool, arguments in (
        ("fork_session", {"session": "bold"}),
        ("clone_worker", {"name": "bold"}),
    ):
        told = agent.problem(tool, **arguments)
        assert "allow_skip_permissions" in told["hint"]
    told = agent.ok("spawn_workers", workers=[{"fork_from": "bold"}])
    assert "allow_skip_permissions" in told["workers"][0]["problem"]["hint"]
    allow(lab.shell, "skip_permissions")
    assert agent.ok("fork_session", session="bold", run=False)["fork"]
