"""Workers: started by an agent, looked at, talked to, copied and stopped."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.worker_lab import WorkerLab
from tests.mcp.agent import Agent, checked
from tests.mcp.settings import allow


@pytest.fixture(autouse=True)
def _trusted(lab: WorkerLab) -> None:
    allow(lab.shell, "trust")


def test_two_workers_are_started(lab: WorkerLab, agent: Agent) -> None:
    made = agent.ok(
        "spawn_workers",
        workers=[
            {
                "project_path": str(lab.project),
                "name": "first",
                "prompt": "hello",
                "badge": "the first one",
                "issue_id": "SHOP-7",
                "trust": True,
            },
            {"project_path": str(lab.project), "use_worktree": False, "trust": True},
        ],
    )
    first, second = made["workers"]
    assert made["count"] == 2
    assert made["failed"] == 0
    assert first["started"]
    assert first["worker"]["branch"]
    assert first["worker"]["workspace"] != str(lab.project)
    assert first["awaiting_task"] is False
    assert second["worker"]["workspace"] == str(lab.project)
    assert made["workers_awaiting_task"] == [second["name"]]
    assert second["name"] in made["hint"]
    assert agent.ok("wait_workers", names=["first", second["name"]])["done"] is True
    listed = {one["name"]: one for one in agent.ok("list_workers")["workers"]}
    assert listed["first"]["badge"] == "the first one"
    assert listed["first"]["issue_id"] == "SHOP-7"
    assert listed["first"]["last_input"] == "Work on issue SHOP-7.\n\nhello"
    assert listed["first"]["terminal_id"].startswith("tmux:%")
    assert listed[second["name"]]["badge"] is None


def test_one_that_cannot_be_started_keeps_no_other(lab: WorkerLab, agent: Agent) -> None:
    here = {"project_path": str(lab.project), "trust": True}
    made = agent.ok(
        "spawn_workers",
        workers=[
            {"project_path": "/nowhere/at/all"},
            {**here, "name": "../../etc/passwd"},
            {**here, "resume_session_id": "ffffffff"},
            {**here, "agent_type": "gemini"},
            {**here, "skip_permissions": True},
            {**here, "fork_from": "a", "resume_session_id": "b"},
            {**here, "fork_session": True},
            {**here, "worktree": {"branch": "-x"}},
            {**here, "headless": True},
            {**here, "name": "good", "prompt": "hello"},
        ],
    )
    codes = [one["problem"] and one["problem"]["code"] for one in made["workers"]]
    assert codes[:-1] == ["not_found", "usage", "not_found", "not_found", *["usage"] * 5]
    assert codes[-1] is None
    assert [one["number"] for one in made["workers"]] == [*range(1, 11)]
    assert made["count"] == 1
    assert made["failed"] == 9
    assert [one["name"] for one in agent.ok("list_workers")["workers"]] == ["good"]


def test_a_worker_goes_on_with_a_session_only_when_asked(lab: WorkerLab, agent: Agent) -> None:
    id_ = lab.shell.simple(1, "An old question", cwd=str(lab.project))
    here = {"project_path": str(lab.project), "trust": True}
    made = agent.ok(
        "spawn_workers",
        workers=[
            {**here, "name": "fresh"},
            {**here, "name": "forked", "fork_from": f"{id_}@1", "prompt": "and now?"},
            {**here, "name": "again", "continue_session": True, "fork_session": True},
            {"name": "same", "resume_session_id": id_, "trust": True},
        ],
        dry_run=True,
    )
    assert made["count"] == 0
    plans = {one["name"]: one["plan"] for one in made["workers"]}
    assert not made["failed"], [one["problem"] for one in made["workers"]]
    assert "--resume" not in plans["fresh"]["command"]
    assert plans["same"]["session"] == f"claude:{id_}"
    assert plans["same"]["workspace"] == str(lab.project)
    for name in ("forked", "again"):
        assert plans[name]["session"] not in (None, f"claude:{id_}")
        assert plans[name]["worktree"]
    assert agent.ok("list_workers")["workers"] == []


def test_who_asks_is_no_session_to_go_on_with(lab: WorkerLab, agent: Agent) -> None:
    old = lab.shell.simple(1, "An old question", cwd=str(lab.project), age=9)
    own = lab.shell.simple(2, "The question of now", cwd=str(lab.project), age=2)
    config = {"project_path": str(lab.project), "continue_session": True}
    arguments: dict[str, Any] = {"workers": [config], "dry_run": True}
    newest = agent.ok("spawn_workers", **arguments)["workers"][0]["plan"]
    assert newest["session"] == f"claude:{own}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CLAUDE_CODE_SESSION_ID", own)
        made = agent.ok("spawn_workers", **arguments)["workers"][0]["plan"]
        assert made["session"] == f"claude:{old}"
        listed = agent.ok("find_sessions")
        assert [one["id"] for one in listed["sessions"]] == [old]
        assert listed["total"] == 1


def test_a_blank_is_no_task(lab: WorkerLab, agent: Agent) -> None:
    config = {"project_path": str(lab.project), "prompt": " "}
    made = agent.ok("spawn_workers", workers=[config], dry_run=True)["workers"][0]
    assert made["awaiting_task"] is True
    assert "--" not in made["plan"]["command"]


def test_a_plan_of_workers_starts_none(lab: WorkerLab, agent: Agent) -> None:
    workers = [{"project_path": str(lab.project), "prompt": "hello", "plugin_dir": ["/opt/one"]}]
    made = agent.ok("spawn_workers", workers=workers, dry_run=True, layout="new")
    plan = made["workers"][0]["plan"]
    assert "--plugin-dir" in plan["command"]
    assert not Path(plan["workspace"]).exists()
    assert made["workers"][0]["started"] is False


def test_a_worker_is_talked_to(lab: WorkerLab, agent: Agent) -> None:
    start(lab, agent, "talker")
    told = agent.ok("send_to_worker", name="talker", text="hello", dry_run=True)
    assert told["sent"] is False
    told = agent.ok("send_to_worker", name="talker", text="$(touch x); `id` <b>", wait=True)
    assert told["reply"] == "You said: $(touch x); `id` <b>"
    assert told["sent"] is True
    status = agent.ok("worker_status", name="talker")
    assert status["idle"] is True
    assert status["worker"]["turn"] == 1


def test_waiting_keeps_no_other_call(lab: WorkerLab, agent: Agent) -> None:
    worker = start(lab, agent, "slow")
    hold = Path(worker["workspace"]) / "hold"
    hold.touch()
    agent.ok("send_to_worker", name="slow", text="hello")
    lab.until("slow", "busy")
    told = agent.ok("wait_workers", names=["slow"], timeout=0.2)
    assert (told["done"], told["timed_out"]) == (False, True)
    waiting = agent.started("wait_workers", names=["slow"], timeout=50)
    assert agent.ok("worker_status", name="slow")["worker"]["state"] == "busy"
    assert agent.problem("stop_worker", name="slow")["code"] == "busy"
    assert agent.ok("stop_worker", name="slow", dry_run=True)["stopped"] is False
    assert not waiting.done()
    hold.unlink()
    assert checked(waiting.result(30))["done"] is True


def test_a_call_that_the_client_gives_up(lab: WorkerLab, agent: Agent) -> None:
    worker = start(lab, agent, "slow")
    hold = Path(worker["workspace"]) / "hold"
    hold.touch()
    agent.ok("send_to_worker", name="slow", text="hello")
    lab.until("slow", "busy")
    waiting = agent.started("wait_workers", names=["slow"], timeout=3_600)
    with pytest.raises(TimeoutError):
        waiting.result(0.5)
    waiting.cancel()
    assert agent.ok("worker_status", name="slow")["worker"]["state"] == "busy"
    hold.unlink()
    assert agent.ok("wait_workers", names=["slow"])["done"] is True


def test_nobody_waits_for_itself(
    lab: WorkerLab, agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(lab, agent, "me")
    monkeypatch.setenv("PRONG_WORKER", "me")
    assert agent.problem("wait_workers", names=["me"])["code"] == "usage"
    assert agent.problem("send_to_worker", name="me", text="x", wait=True)["code"] == "usage"


def test_keys_in_an_answer_are_masked(lab: WorkerLab, agent: Agent) -> None:
    start(lab, agent, "talker")
    key = f"ghp_{'a1B2' * 9}"
    told = agent.ok("send_to_worker", name="talker", text=f"the key {key}", wait=True)
    assert told["reply"] == "You said: the key [masked: github token]"


def test_a_clone_that_is_given_up_is_not_made(lab: WorkerLab, agent: Agent) -> None:
    worker = start(lab, agent, "slow")
    hold = Path(worker["workspace"]) / "hold"
    hold.touch()
    agent.ok("send_to_worker", name="slow", text="hello")
    lab.until("slow", "busy")
    told = agent.problem("clone_worker", name="slow", timeout=0.1)
    assert told["code"] == "busy"
    assert "0.1 s" in told["message"]
    cloning = agent.started("clone_worker", name="slow", new_name="copy", timeout=3_600)
    while not agent.progress or "is idle" not in (agent.progress[-1] or ""):
        assert agent.ok("worker_status", name="slow")["worker"]["state"] == "busy"
    cloning.cancel()
    agent.ok("list_workers")
    hold.unlink()
    assert agent.ok("wait_workers", names=["slow"])["done"] is True
    assert [one["name"] for one in agent.ok("list_workers")["workers"]] == ["slow"]


def test_a_worker_is_cloned_and_stopped(lab: WorkerLab, agent: Agent) -> None:
    worker = start(lab, agent, "source")
    agent.ok("send_to_worker", name="source", text="remember me", wait=True)
    (Path(worker["workspace"]) / "new.txt").write_text("mine")
    plan = agent.ok("clone_worker", name="source", new_name="copy", dry_run=True)
    assert plan["clone"] is None
    assert plan["workspace"] == worker["workspace"]
    made = agent.ok("clone_worker", name="source", new_name="copy", trust=True)
    assert made["clone"]["name"] == "copy"
    assert (Path(made["workspace"]) / "new.txt").read_text() == "mine"
    said = agent.ok("read_session", session="copy")["messages"]
    assert said[0]["text"] == "remember me"
    assert agent.problem("clone_worker", name="source", new_name="copy")["code"] == "taken"
    assert agent.ok("stop_worker", name="copy")["worker"]["state"] == "gone"
    assert lab.until("source", "idle")


def test_an_agent_that_ends_at_once_is_told_of(lab: WorkerLab, agent: Agent) -> None:
    broken = lab.shell.home.root / "bin" / "claude"
    broken.write_text(broken.read_text().replace("-m tests.cli.stand_in", "-c 'exit(7)'"))
    made = agent.ok("spawn_workers", workers=[{"project_path": str(lab.project), "trust": True}])
    told = made["workers"][0]["problem"]
    assert told["code"] == "external"
    assert made["count"] == 0


def test_a_terminal_for_people_is_not_for_agents(lab: WorkerLab, agent: Agent) -> None:
    """One would end the server, by becoming the agent in its place."""
    config = lab.shell.home.root / ".config/prong/config.toml"
    config.write_text('[mcp]\nallow_trust = true\n[terminal]\ndefault = "exec"\n')
    assert start(lab, agent, "safe")["terminal_id"].startswith("tmux:%")


def start(lab: WorkerLab, agent: Agent, name: str) -> dict[str, str]:
    config = {"project_path": str(lab.project), "name": name, "trust": True}
    made = agent.ok("spawn_workers", workers=[config])
    assert made["count"] == 1, made
    return made["workers"][0]["worker"]
