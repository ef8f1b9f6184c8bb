"""`/fork` of Claude Code: a copy that goes on in the background, with its parent in `jobs/`."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from prong.testing.home import IsolatedHome
from prong.testing.wait import wait_until
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.e2e.command_line import environment
from tests.e2e.labs import background_jobs


def job(home: IsolatedHome) -> dict[str, Any]:
    """The only state of a background job, {} until it is written."""
    found = list((home.claude / "jobs").glob("*/state.json"))
    assert len(found) < 2
    return json.loads(found[0].read_bytes()) if found else {}


def prong(cli: ClaudeCli, *words: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "prong", *words, "--json"],
        env=environment(cli.home, cli.env(), cli.program),
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


def test_parent_and_turn_are_known_also_when_the_parent_is_deleted(
    isolated_home: IsolatedHome, claude_cli: ClaudeCli
) -> None:
    home = isolated_home
    cwd = home.project()
    with background_jobs.ended(home):
        with ClaudeTerminal.open(claude_cli, cwd) as terminal:
            terminal.prompt("first question")
            terminal.prompt("second question")
            parent = terminal.session_id()
            terminal.command("/fork a task of its own", "session running")
            wait_until(lambda: "forkSessionId" in job(home), what="the state of the job")
            child = job(home)["forkSessionId"]
            told = job(home)
            wait_until(lambda: _has_answer(claude_cli, child), what="the answer in the fork")
            terminal.prompt("third question")
            terminal.exit()
        # The daemon outlives the program that started it.
        assert any("daemon run" in words for words in background_jobs.processes(home).values())
    assert background_jobs.processes(home) == {}
    assert not background_jobs.sockets(home).exists()
    assert told["forkParentSessionId"] == parent
    assert told["forkBoundaryAt"] in claude_cli.session_file(parent).read_text()

    for present in (True, False):
        if not present:
            claude_cli.session_file(parent).unlink()
        [session] = [
            one for one in prong(claude_cli, "list", "--all")["sessions"] if one["id"] == child
        ]
        assert session["parent"] == f"claude:{parent}"
        assert session["inherited"] == 2
        assert session["turns"] == 3
        [root] = prong(claude_cli, "tree", f"claude:{child}")["roots"]
        assert root["ref"] == f"claude:{parent}"
        assert [(one["ref"], one["turn"]) for one in root["children"]] == [(f"claude:{child}", 2)]


def _has_answer(cli: ClaudeCli, session_id: str) -> bool:
    try:
        return b"ECHO: a task of its own" in cli.session_file(session_id).read_bytes()
    except FileNotFoundError:
        return False
