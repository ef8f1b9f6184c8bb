"""Forks as the real programs make them, found again by our own reading of the files."""

from __future__ import annotations

import shutil

from prong.agents.claude.store import ClaudeStore
from prong.storage.scan_cache import NoCache
from prong.testing.home import IsolatedHome
from tests.drivers.claude_cli import ClaudeCli
from tests.e2e.labs.cache import ScenarioCache


def parents(home: IsolatedHome) -> dict[str, tuple[str, int]]:
    scan = ClaudeStore([home.claude]).scan(NoCache())
    return {
        session.id: (session.parent.id, session.inherited)
        for session in scan.sessions
        if session.parent
    }


def test_a_forked_fork_that_goes_on(isolated_home: IsolatedHome, claude_cli: ClaudeCli) -> None:
    cwd = isolated_home.project()
    first = claude_cli.run("first one", cwd).session_id
    claude_cli.run("first two", cwd, resume=first)
    middle = claude_cli.run("middle one", cwd, resume=first, fork=True).session_id
    last = claude_cli.run("last one", cwd, resume=middle, fork=True).session_id
    truth = {middle: (first, 2), last: (middle, 3)}
    assert parents(isolated_home) == truth
    claude_cli.run("middle two", cwd, resume=middle)
    assert parents(isolated_home) == truth


def test_a_fork_of_a_branch(
    isolated_home: IsolatedHome, claude_cli: ClaudeCli, claude_sessions: ScenarioCache
) -> None:
    """`--fork-session` keeps the marks of `/branch`, which name the grandparent."""
    branch = claude_sessions.get("branch_child")
    cwd = isolated_home.project()
    claude_cli.run("makes the folder", cwd)
    for file in branch.path.parent.glob("*.jsonl"):
        shutil.copy(file, claude_cli.project_folder(cwd))
    fork = claude_cli.run("in the fork", cwd, resume=branch.session_id, fork=True).session_id
    assert b'"forkedFrom"' in claude_cli.session_file(fork).read_bytes()
    assert parents(isolated_home)[fork] == (branch.session_id, 3)
