"""Forks of hand-made sessions send what the agent itself would send, at every turn."""

from pathlib import Path

import pytest

from tests.e2e.fidelity import odd_sessions, real_claude
from tests.e2e.fidelity.odd_sessions import OddSession
from tests.e2e.fidelity.real_claude import ClaudeJudge
from tests.e2e.fidelity.real_sessions import Outcome, verdicts

TURNS = {
    "teammates": 3,
    "notices": 3,
    "without_words": 6,
    "documents": 3,
    "server_tools": 3,
    "microcompacted": 3,
    "sub_agent_between": 2,
    "queued_image": 2,
    "glued_lines": 3,
    "lost_calls": 7,
    "expanded_commands": 5,
    "blank_prompts": 3,
    "only_shell": 1,
    "only_commands": 1,
    "only_summary": 1,
}


@pytest.mark.parametrize("name", odd_sessions.BUILDERS)
def test_every_turn_is_exact(name: str, tmp_path: Path) -> None:
    session = OddSession(name)
    odd_sessions.BUILDERS[name](session)
    found = real_claude.session_at(session.write(tmp_path), tmp_path)
    assert found is not None
    with ClaudeJudge(found, tmp_path / "home") as judge:
        points = judge.points()
        assert [point.turn for point in points] == list(range(1, TURNS[name] + 1))
        judged = [verdict for point in points for verdict in verdicts(judge, point, ["prong"])]
    assert [str(verdict) for verdict in judged if verdict.outcome is not Outcome.EXACT] == []
