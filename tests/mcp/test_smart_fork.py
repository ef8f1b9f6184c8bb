"""smart_fork: searching, choosing and forking."""

from pathlib import Path

from prong.testing.home import IsolatedHome
from tests.cli.shell import API, Shell
from tests.cli.worker_lab import WorkerLab
from tests.mcp.agent import Agent
from tests.mcp.settings import allow

INTENT = "rate limiting for the public API"


def test_a_search_answers_with_ranked_turns(samples: Shell, agent: Agent) -> None:
    (samples.home.projects / "shop").mkdir(parents=True, exist_ok=True)
    found = agent.ok("smart_fork", intent=INTENT)
    assert found["query"] == INTENT
    assert found["engine"] == "builtin"
    assert found["fallback_used"] is False
    assert found["qmd_error"] is None
    assert found["index_complete"] is True
    assert found["attempts"] is None, "nothing failed"
    assert found["forked_session"] is None
    best = found["results"][0]
    assert [one["rank"] for one in found["results"]] == [*range(1, len(found["results"]) + 1)]
    assert best["session_id"] == API
    assert best["agent"] == "claude"
    assert best["ref"] == f"claude:{API}@{best['turn']}"
    assert best["working_directory"] == str(samples.home.projects / "shop")
    assert 0 < best["score"] <= 1
    assert best["date"].endswith("Z")
    assert best["snippet"]
    assert best["jsonl_path"] is None, "ref names the session"
    assert best["can_fork"] is True
    assert best["warning"] is None
    assert "untrusted" in found["notice"]


def test_no_more_than_asked_for(samples: Shell, agent: Agent) -> None:
    assert len(agent.ok("smart_fork", intent="the", limit=1)["results"]) == 1
    all_ = agent.ok("smart_fork", intent="the")["results"]
    found = agent.ok("smart_fork", intent="the", min_score=all_[0]["score"])
    assert len(found["results"]) < len(all_)
    found = agent.ok("smart_fork", intent=INTENT, include_snippets=False)
    assert {one["snippet"] for one in found["results"]} == {None}


def test_only_sessions_of_a_project_or_an_agent(samples: Shell, agent: Agent) -> None:
    elsewhere = str(samples.home.root / "elsewhere")
    samples.simple(7, "rate limiting, again", cwd=elsewhere)
    found = agent.ok("smart_fork", intent=INTENT, project_path=elsewhere)
    assert {one["working_directory"] for one in found["results"]} == {elsewhere}
    found = agent.ok("smart_fork", intent="parser", agent="codex")
    assert {one["agent"] for one in found["results"]} == {"codex"}
    assert agent.problem("smart_fork", intent="parser", agent="gemini")["code"] == "not_found"


def test_nothing_found_is_an_answer_until_it_is_to_be_forked(agent: Agent) -> None:
    assert agent.ok("smart_fork", intent=INTENT)["results"] == []
    told = agent.problem("smart_fork", intent=INTENT, auto_fork=True)
    assert told["code"] == "not_found"
    assert "nothing was found" in told["message"]


def test_a_rank_that_is_not_there(samples: Shell, agent: Agent) -> None:
    told = agent.problem("smart_fork", intent=INTENT, limit=2, fork_index=3)
    assert told["code"] == "not_found"
    assert "no result 3" in told["message"]
    assert agent.problem("smart_fork", intent=INTENT, fork_index=0)["code"] == "usage"


def test_what_does_not_go_together(agent: Agent) -> None:
    told = agent.problem("smart_fork", intent=INTENT, auto_fork=True, fork_index=1)
    assert "exclude" in told["message"]
    told = agent.problem("smart_fork", intent=INTENT, dry_run=True)
    assert "needs a fork" in told["message"]


def test_a_fork_runs_as_a_worker_with_the_history(lab: WorkerLab, agent: Agent) -> None:
    allow(lab.shell, "trust")
    lab.shell.simple(1, "Add rate limiting to the public API", cwd=str(lab.project))
    how = {"name": "limiter", "prompt": "go on", "trust": True}
    found = agent.ok("smart_fork", intent=INTENT, fork_index=1, **how)
    made = found["forked_session"]
    assert made["session_name"] == "limiter"
    assert made["terminal_id"].startswith("tmux:%")
    assert made["resume_session_id"] == found["results"][0]["session_id"]
    assert made["new_session_id"] != made["resume_session_id"]
    assert Path(made["workspace"]).is_dir()
    assert made["workspace"] != str(lab.project)
    assert agent.ok("wait_workers", names=["limiter"])["done"] is True
    said = agent.ok("read_session", session="limiter")["messages"]
    assert [one["text"] for one in said] == [
        "Add rate limiting to the public API",
        "Done.",
        "go on",
        "You said: go on",
    ]
    assert said[0]["turn"] == 1


def test_auto_fork_takes_the_best_that_can_be_forked(lab: WorkerLab, agent: Agent) -> None:
    allow(lab.shell, "trust")
    source = lab.shell.simple(1, "Add rate limiting to the public API", cwd=str(lab.project))
    made = agent.ok("smart_fork", intent=INTENT, auto_fork=True, trust=True)["forked_session"]
    assert made["resume_session_id"] == source
    assert agent.ok("worker_status", name=made["session_name"])["worker"]["state"] == "idle"


def test_auto_fork_passes_over_one_whose_folder_is_gone(lab: WorkerLab, agent: Agent) -> None:
    lab.shell.simple(1, "Add rate limiting to the public API", cwd="/nowhere/at/all")
    there = lab.shell.simple(2, "Limits for the API", cwd=str(lab.project))
    found = agent.ok("smart_fork", intent=INTENT, auto_fork=True, dry_run=True)
    assert found["plan"]["parent"] == f"claude:{there}@1"
    assert "/nowhere/at/all" in found["notes"][-1]
    told = agent.problem("smart_fork", intent=INTENT, fork_index=1, dry_run=True)
    assert "no longer exists" in told["message"]
    elsewhere = {"project_path": "/nowhere/at/all", "auto_fork": True, "dry_run": True}
    told = agent.problem("smart_fork", intent=INTENT, **elsewhere)
    assert told["code"] == "not_found"
    assert "fork_session" in told["hint"]


def test_a_dry_run_finds_what_is_wrong(lab: WorkerLab, agent: Agent) -> None:
    lab.shell.simple(1, "Add rate limiting to the public API", cwd=str(lab.project))
    fork = {"intent": INTENT, "fork_index": 1, "dry_run": True}
    assert agent.problem("smart_fork", **fork, name="../x")["code"] == "usage"
    assert agent.problem("smart_fork", **fork, headless=True, prompt=" ")["code"] == "usage"


def test_a_dry_run_makes_nothing(lab: WorkerLab, agent: Agent) -> None:
    lab.shell.simple(1, "Add rate limiting to the public API", cwd=str(lab.project))
    found = agent.ok("smart_fork", intent=INTENT, auto_fork=True, dry_run=True)
    assert found["forked_session"] is None
    assert found["plan"]["parent"] == f"claude:{found['results'][0]['session_id']}@1"
    assert not Path(found["plan"]["workspace"]).exists()
    assert agent.ok("list_workers")["workers"] == []


def test_the_session_that_asks_is_left_out(samples: Shell, agent: Agent) -> None:
    turn = {"x-codex-turn-metadata": {"thread_id": "nobody", "session_id": "nobody"}}
    assert agent.ok("smart_fork", turn, intent="parser")["own_session"] == "codex:nobody"
    found = agent.ok("smart_fork", intent="parser", agent="codex")["results"]
    own = found[0]["session_id"]
    turn = {"x-codex-turn-metadata": {"thread_id": own}}
    others = agent.ok("smart_fork", turn, intent="parser")
    assert own not in {one["session_id"] for one in others["results"]}
    assert others["own_session"] == f"codex:{own}"
    both = agent.ok("smart_fork", turn, intent="parser", include_self=True)
    assert own in {one["session_id"] for one in both["results"]}


def test_guidance_when_no_engine_can_answer(
    samples: Shell, isolated_home: IsolatedHome, agent: Agent
) -> None:
    config = isolated_home.root / ".config/prong/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('[search]\nengines = ["qmd"]\n')
    told = agent.problem("smart_fork", intent=INTENT)
    assert told["error"] == "qmd_not_available"
    assert told["code"] == "unavailable"
    assert "qmd" in told["message"]
    assert any(step.startswith("the user types: prong export") for step in told["next_steps"])
    first = told["fallback_sessions"][0]
    assert set(first) == {"session_id", "agent", "project_path", "last_modified"}


def test_a_fall_back_is_told_of(samples: Shell, agent: Agent) -> None:
    found = agent.ok("smart_fork", intent=INTENT, engine="qmd")
    assert found["engine"] == "builtin"
    assert found["fallback_used"] is True
    assert found["qmd_error"]
    assert found["results"]
    assert found["next_steps"]
