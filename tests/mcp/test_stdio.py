"""`prong mcp` as agents run it: a process that is spoken to on its standard input."""

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import API, Shell, prong
from tests.cli.worker_lab import WorkerLab
from tests.interrupts import unmeasured
from tests.mcp.agent import over_stdio
from tests.mcp.settings import allow
from tests.mcp.test_tools import READING, WRITING


def test_the_same_tools_over_stdio(samples: Shell) -> None:
    with over_stdio(samples.env()) as agent:
        assert set(agent.tools()) == READING | WRITING
        found = agent.ok("smart_fork", intent="rate limiting for the public API")
        assert found["results"][0]["session_id"] == API
        assert agent.ok("read_session", session=API)["messages"]
        assert agent.problem("read_session", session="/etc/passwd")["code"] == "usage"
        assert agent.problem("smart_fork", intent="word " * 1_000_000)["code"] == "usage"
        assert agent.ok("prong_doctor")["findings"]


def test_read_only_over_stdio(samples: Shell) -> None:
    with over_stdio(samples.env(), "--read-only") as agent:
        assert set(agent.tools()) == READING


def test_workers_over_stdio(lab: WorkerLab) -> None:
    allow(lab.shell, "trust")
    id_ = lab.shell.simple(1, "Add rate limiting", cwd=str(lab.project))
    with over_stdio(lab.env(), cwd=lab.project) as agent:
        how = {"prompt": "go on", "trust": True}
        found = agent.ok("smart_fork", intent="rate limiting", fork_index=1, **how)
        name = found["forked_session"]["session_name"]
        assert found["forked_session"]["resume_session_id"] == id_
        assert agent.ok("wait_workers", names=[name])["done"] is True
        # Without a project, the one that the server runs in.
        made = agent.ok("spawn_workers", workers=[{"use_worktree": False, "prompt": "hello"}])
        assert made["workers"][0]["worker"]["workspace"] == str(lab.project)
    # They outlive the server.
    assert lab.status(name)["state"] == "idle"


def test_nothing_else_is_printed(samples: Shell, tmp_path: Path) -> None:
    lines = [
        {"id": 1, "method": "initialize", "params": initialize()},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call("find_sessions", limit=1)},
        {"id": 3, "method": "tools/call", "params": call("smart_fork", intent="parser")},
    ]
    with subprocess.Popen(
        prong("mcp"),
        env=samples.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        told: list[dict[str, Any]] = []
        for line in lines:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **line}).encode() + b"\n")
            process.stdin.flush()
            if "id" in line:
                told.append(json.loads(process.stdout.readline()))
        rest, errors = process.communicate(timeout=30)
    assert [one["id"] for one in told] == [1, 2, 3]
    assert told[0]["result"]["serverInfo"]["name"] == "prong"
    assert "instructions" in told[0]["result"]
    assert rest == b""
    assert b"Traceback" not in errors
    assert process.returncode == 0


def initialize() -> dict[str, Any]:
    client = {"name": "test", "version": "1"}
    return {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it(samples: Shell, number: signal.Signals) -> None:
    first = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize()})
    with subprocess.Popen(
        prong("mcp"), env=unmeasured(samples.env()), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first.encode() + b"\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(10) == -number


def test_lines_that_are_no_messages(samples: Shell) -> None:
    bad = b'{"jsonrpc": "2.0", "id": 7, "method": "nonsense"}\nnot json\n{}\n[]\n\xff\xfe\n'
    first = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": initialize()})
    asked = json.dumps(
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call("find_sessions")}
    )
    with subprocess.Popen(
        prong("mcp"),
        env=samples.env(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(first.encode() + b"\n" + bad + asked.encode() + b"\n")
        process.stdin.flush()
        answers: dict[Any, Any] = {}
        while 2 not in answers:
            told = json.loads(process.stdout.readline())
            answers[told.get("id")] = told
        process.communicate(timeout=30)
    assert answers[2]["result"]["structuredContent"]["sessions"]
    assert "error" in answers[7]
