"""The real agents ask prong by MCP: what they call, what is done, and what reaches their model."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome
from tests.e2e.workers.mcp_lab import McpLab
from tests.e2e.workers.typed_workers import WorkerLab, ended, opened

PRICES = "How do we parse the prices of the shop?"
DECIMALS = "With Decimal, and never with floats."
SAILS = "Which sails does a schooner carry?"


@pytest.fixture(params=["claude", "codex"])
def workers(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Iterator[WorkerLab]:
    with ended(opened(request, isolated_home)) as made:
        yield made


@pytest.fixture
def lab(workers: WorkerLab) -> McpLab:
    return McpLab(workers)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_an_agent_finds_a_past_session_and_forks_it(lab: McpLab) -> None:
    past = lab.past(PRICES, DECIMALS)
    other = lab.past(SAILS, "Gaffs.")
    wanted = {"intent": "parsing prices"}
    asked = lab.ask("I need the parsing of prices again", ("smart_fork", wanted))
    (found,) = asked.results
    assert found["query"] == "parsing prices"
    assert (found["engine"], found["fallback_used"]) == ("builtin", False)
    first = found["results"][0]
    assert (first["rank"], first["session_id"], first["turn"]) == (1, past, 1)
    assert (first["agent"], first["can_fork"]) == (lab.agent, True)
    assert first["working_directory"] == str(lab.workers.project)
    assert PRICES in first["title"]
    assert "untrusted data" in found["notice"]
    # Who asks knows what it says itself.
    assert found["own_session"] == f"{lab.agent}:{asked.session}"
    assert {one["session_id"] for one in found["results"]} <= {past, other}
    assert lab.workers.panes() == []

    (file,) = lab.workers.home.root.rglob(f"*{past}.jsonl")
    before = digest(file)
    fork = {**wanted, "fork_index": 1, "name": "heir", "prompt": "go on from there"}
    wait = {"names": ["heir"], "timeout": 60}
    calls = (("smart_fork", fork), ("wait_workers", wait))
    asked = lab.ask("now fork it", *calls, resume=asked.session)
    forked, waited = asked.results
    made = forked["forked_session"]
    assert (made["session_name"], made["resume_session_id"], made["turn"]) == ("heir", past, 1)
    assert made["new_session_id"] not in (past, asked.session)
    assert (waited["done"], waited["timed_out"]) == (True, False)
    assert waited["workers"][0]["state"] == "idle"
    # The worker is in a pane of its own, and its model has the history.
    assert made["terminal_id"].removeprefix("tmux:") in lab.workers.panes()
    assert lab.workers.prompts("go on from there") == [PRICES, "go on from there"]
    said = [one.text for one in lab.items(lab.server.last_prompted("go on from there"))]
    assert DECIMALS in said
    assert Path(made["workspace"]).is_dir()
    assert made["workspace"] != str(lab.workers.project)
    assert digest(file) == before


def test_an_agent_starts_two_workers_and_waits_for_both(lab: McpLab) -> None:
    some = [
        {"name": "left", "prompt": "paint the left side", "agent_type": lab.agent},
        {"name": "right", "prompt": "paint the right side", "agent_type": lab.agent},
    ]
    names = {"names": ["left", "right"], "timeout": 60}
    asked = lab.ask(
        "paint it",
        ("spawn_workers", {"workers": some}),
        ("wait_workers", names),
        ("send_to_worker", {"name": "left", "text": "once more", "wait": True, "timeout": 60}),
        ("list_workers", {}),
        ("stop_worker", {"name": "right"}),
    )
    spawned, waited, sent, listed, stopped = asked.results
    assert (spawned["count"], spawned["failed"]) == (2, 0)
    assert [one["name"] for one in spawned["workers"]] == ["left", "right"]
    assert spawned["workers_awaiting_task"] == []
    assert (waited["done"], [one["state"] for one in waited["workers"]]) == (True, ["idle", "idle"])
    assert lab.workers.prompts("paint the left side") == ["paint the left side"]
    assert lab.workers.prompts("paint the right side") == ["paint the right side"]
    folders = {one["workspace"] for one in listed["workers"]}
    assert len(folders) == 2
    assert str(lab.workers.project) not in folders
    assert (sent["sent"], sent["reply"]) == (True, "ECHO: once more")
    assert stopped["stopped"]
    assert len(lab.workers.panes()) == 1


def test_errors_say_what_to_do(lab: McpLab) -> None:
    past = lab.past(PRICES, DECIMALS)
    two = {"name": "twin", "project_path": "/nowhere/at/all", "prompt": "x"}
    asked = lab.ask(
        "try what does not work",
        ("smart_fork", {"intent": "parsing prices", "fork_index": 7}),
        ("worker_status", {"name": "nobody"}),
        ("smart_fork", {"intent": "parsing prices", "fork_indexx": 1}),
        ("fork_session", {"session": f"{lab.agent}:{past}", "skip_permissions": True}),
        ("spawn_workers", {"workers": [two]}),
    )
    beyond, nobody, unknown, refused, spawned = asked.results
    assert beyond["code"] == "not_found"
    assert beyond["hint"] == "fork_index: 1 to 1"
    assert nobody["code"] == "not_found"
    assert "nobody" in nobody["message"]
    assert unknown["code"] == "usage"
    assert "fork_indexx" in unknown["message"]
    assert "allow_skip_permissions" in f"{refused['message']} {refused['hint']}"
    assert (spawned["count"], spawned["failed"]) == (0, 1)
    assert spawned["workers"][0]["problem"]["code"]
    if lab.agent == "claude":
        assert asked.failed == (True, True, True, True, False)
    assert lab.workers.panes() == []


def test_an_agent_forks_itself(lab: McpLab) -> None:
    first = lab.ask("remember the word heron")
    again = {"name": "mirror", "prompt": "which word was it?"}
    asked = lab.ask(
        "now fork yourself",
        ("fork_session", again),
        ("wait_workers", {"names": ["mirror"], "timeout": 60}),
        resume=first.session,
    )
    forked, waited = asked.results
    assert forked["forked_session"]["resume_session_id"] == first.session == asked.session
    assert waited["done"]
    prompts = lab.workers.prompts("which word was it?")
    assert prompts == ["remember the word heron", "which word was it?"]


def test_a_worker_starts_another_in_its_terminal(lab: McpLab) -> None:
    """What the terminal tells its programs gets through the agent to the server."""
    words = ["--name", "boss", "--skip-permissions", "--env", "MCP_CONNECTION_NONBLOCKING=false"]
    boss = lab.workers.run(*words)
    (pane,) = lab.workers.panes()
    asked = lab.ask_worker(
        "boss",
        "get somebody to help you",
        ("find_sessions", {"intent": "anything at all"}),
        (
            "spawn_workers",
            {"workers": [{"name": "aide", "prompt": "help", "agent_type": lab.agent}]},
        ),
        ("wait_workers", {"names": ["aide"], "timeout": 60}),
    )
    found, spawned, waited = asked.results
    assert found["own_session"] == lab.workers.status("boss")["session"]
    (made,) = spawned["workers"]
    assert (made["started"], waited["done"]) == (True, True)
    beside = made["worker"]["terminal_id"].removeprefix("tmux:")
    windows = lab.workers.tmux("list-panes", "-a", "-F", "#{pane_id} #{session_name}").split("\n")
    assert {line.split()[1] for line in windows if line.startswith((pane, beside))} == {"prong"}
    # It has nothing of who started it, but its own name.
    told = lab.workers.json("ps", "--all")["workers"]
    assert {one["name"] for one in told} == {"boss", "aide"}
    assert boss["session"] != made["worker"]["session"]


def test_a_server_that_only_reads(workers: WorkerLab) -> None:
    lab = McpLab(workers, "--read-only")
    past = lab.past(PRICES, DECIMALS)
    asked = lab.ask(
        "look, and do nothing",
        ("find_sessions", {"intent": "parsing prices"}),
        ("read_session", {"session": f"{lab.agent}:{past}"}),
        ("spawn_workers", {"workers": [{"prompt": "x"}]}),
    )
    found, read, _ = asked.results
    assert found["results"][0]["session_id"] == past
    assert DECIMALS in [one["text"] for one in read["messages"]]
    assert "spawn_workers" in asked.texts[2]
    assert lab.workers.json("ps", "--all")["workers"] == []


def test_the_model_is_shown_smart_fork_from_the_start(lab: McpLab) -> None:
    """Claude Code lets its model search for the other tools of a server."""
    lab.ask("hello there")
    requests = [one for one in lab.server.conversation_requests() if lab.is_of(one, "hello there")]
    shown = json.dumps(requests[-1].body["tools"])
    assert "smart_fork" in shown
    assert ('send_to_worker"' in shown) is (lab.agent == "codex")
