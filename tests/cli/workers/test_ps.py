"""`prong ps` and `prong status`: what workers do, in as much room as there is."""

import os
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from prong.cli.workers.table import print_workers
from prong.model.workers import Evidence, Pane, WorkerInfo, WorkerState, WorkerStatus
from prong.paths import state_dir
from prong.storage.workers import WorkerRecords
from prong.views.text import cells
from tests.cli.shell import API, PARSER, Shell
from tests.cli.terminal import on_terminal

NOW = datetime.now(UTC)


def info(name: str, **fields: Any) -> WorkerInfo:
    given: dict[str, Any] = {
        "agent": "claude",
        "workspace": Path("/srv/worktrees/shop") / name,
        "command": ("claude", "--model", "opus"),
        "created": NOW - timedelta(hours=3),
        "session": API,
        "branch": f"prong/{name}",
        **fields,
    }
    return WorkerInfo(name=name, **given)


def status(worker: WorkerInfo, state: str, **fields: Any) -> WorkerStatus:
    minutes = timedelta(minutes=fields.pop("minutes", 3))
    detail = fields.pop("detail", None)
    claim = Evidence(WorkerState(state), "hook", NOW - minutes, detail)
    return WorkerStatus(worker, claim, **fields)


FOUND = [
    status(info("calm-otter", pane=Pane("tmux", "%3")), "busy", turn=12, last_line="I see " * 40),
    status(
        info("parser", agent="codex", session=PARSER, pane=Pane("tmux", "%4")),
        "idle",
        turn=3,
        minutes=70,
        last_line="Done.\x1b[31m\nAll of it.",
    ),
    status(info("reviewer"), "waiting", detail="permission_prompt", last_line="May I?"),
    status(info("night-run", headless=True), "gone"),
]


def shown(capsys: pytest.CaptureFixture[str], columns: int | None) -> list[str]:
    print_workers(FOUND)
    return capsys.readouterr().out.splitlines()


@pytest.fixture
def recorded(shell: Shell) -> WorkerRecords:
    """Workers that ran once and are gone, as after a reboot."""
    records = WorkerRecords(state_dir() / "state.db")
    records.add(info("calm-otter", pane=Pane("tmux", "%3", "/nowhere/sock")))
    records.add(info("old-one", stopped=NOW))
    return records


def test_one_that_is_long_gone_is_left_out(shell: Shell) -> None:
    records = WorkerRecords(state_dir() / "state.db")
    records.add(info("old-one", created=NOW - timedelta(days=30)))
    assert shell.json("ps") == {"workers": []}
    assert [one["name"] for one in shell.json("ps", "--all")["workers"]] == ["old-one"]


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
def test_every_line_fits(
    shell: Shell,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    columns: int,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    lines = shown(capsys, columns)
    assert len(lines) == 5
    assert all(cells(line) <= columns for line in lines)
    for name, state in (("calm-otter", "busy"), ("parser", "idle"), ("night-run", "gone")):
        (line,) = (line for line in lines if line.startswith(name))
        assert state in line
    assert "I see" in lines[1]


def test_columns_go_where_there_is_no_room(
    shell: Shell, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    heads: list[set[str]] = []
    for columns in (40, 60, 80, 120, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        heads.append({*shown(capsys, columns)[0].split()})
    assert all(small <= large for small, large in pairwise(heads))
    assert heads[0] == {"name", "state", "age", "last", "line"}
    assert heads[-1] - heads[0] == {"agent", "session", "turn", "pane", "branch", "workspace"}


def test_a_pipe_gets_everything_and_nothing_that_a_terminal_obeys(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "\n".join(shown(capsys, None))
    assert "\x1b" not in text
    assert "I see " * 39 in text
    assert "/srv/worktrees/shop/night-run" in text
    assert "[permission_prompt] May I?" in text
    assert "headless" in text


def test_without_workers_it_says_what_to_type(shell: Shell) -> None:
    result = shell.run("ps")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "prong run" in result.stderr
    assert shell.json("ps") == {"workers": []}


def test_one_that_is_gone_can_be_restarted(shell: Shell, recorded: WorkerRecords) -> None:
    result = shell.run("ps")
    assert "calm-otter  gone" in result.stdout
    assert "prong restart calm-otter" in result.stderr


def test_those_that_were_stopped_are_listed_when_asked_for(
    shell: Shell, recorded: WorkerRecords
) -> None:
    result = shell.run("ps")
    assert "old-one" not in result.stdout
    assert "1 worker left out, stopped or long gone: prong ps --all" in result.stderr
    every = shell.run("ps", "--all")
    assert "old-one" in every.stdout
    assert "prong restart old-one" not in every.stderr
    names = [one["name"] for one in shell.json("ps", "--all")["workers"]]
    assert names == ["calm-otter", "old-one"]


def test_json_of_a_worker(shell: Shell, recorded: WorkerRecords) -> None:
    (worker,) = shell.json("ps")["workers"]
    assert worker["name"] == "calm-otter"
    assert worker["state"] == "gone"
    assert worker["session"] == f"claude:{API}"
    assert worker["pane"] == {"terminal": "tmux", "id": "%3"}
    assert worker["command"] == ["claude", "--model", "opus"]
    assert worker["created"].endswith("Z")
    assert worker["stopped"] is None


def test_status_tells_whether_it_is_idle(shell: Shell, recorded: WorkerRecords) -> None:
    found = shell.json("status", "calm-otter")
    assert list(found)[:5] == ["worker", "idle", "state", "evidence", "age_s"]
    assert (found["worker"], found["idle"], found["state"]) == ("calm-otter", False, "gone")
    text = shell.run("status", "calm-otter")
    assert text.stdout.startswith("calm-otter is gone")
    assert f"claude:{API}" in text.stdout
    assert "prong restart calm-otter" in text.stderr


@pytest.mark.parametrize("command", ["status", "send", "attach", "log", "stop", "restart", "wait"])
def test_an_unknown_name(shell: Shell, command: str) -> None:
    words = ["nobody", "hello"] if command == "send" else ["nobody"]
    problem = shell.problem(3, command, *words)
    assert problem["message"] == "no worker named nobody"
    assert problem["hint"] == "prong ps"


def test_colours_on_a_terminal_only_and_not_against_the_persons_will(
    shell: Shell, recorded: WorkerRecords
) -> None:
    assert "\x1b[" in on_terminal(shell, "ps").output
    assert "\x1b[" not in on_terminal(shell, "ps", NO_COLOR="1").output
    assert os.linesep in shell.ok("ps")
