"""`prong-hook`: which turn the code belongs to, and the code of which repository."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prong.testing.home import IsolatedHome
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import START, uuid
from tests.unit.hook.hook_agent import THREAD, Agent, answer_of, prompt_id, rewritten


@pytest.fixture
def agent(isolated_home: IsolatedHome) -> Agent:
    return Agent(isolated_home, isolated_home.project("shop"))


@pytest.fixture
def sample(agent: Agent) -> ClaudeSample:
    return ClaudeSample(uuid(1), str(agent.project), START)


def test_a_turn_that_went_on_after_its_end_and_was_interrupted(
    agent: Agent, sample: ClaudeSample
) -> None:
    turn = sample.prompt("work")
    sample.answer("Done.")
    path = sample.write(agent.home.claude)
    said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
    (agent.project / "a.txt").write_text("one")
    agent.claude("Stop", path, **said)
    assert agent.snapshots()[turn].late is False
    # Another hook kept it from ending; what it did then, nobody is told.
    sample.answer("Going on")
    path = rewritten(sample, agent.home)
    (agent.project / "a.txt").write_text("two")
    told = agent.claude("UserPromptSubmit", path, prompt_id="new")
    assert (told["snapshot"]["turn"], told["snapshot"]["late"]) == (turn, True)
    assert agent.kept(turn, "a.txt") == "two"
    shot = agent.snapshots()[turn]
    assert (shot.late, shot.message_id) == (True, answer_of(sample))
    # A late one is not taken again: nothing says when the rest was written.
    sample.answer("No response requested.")
    path = rewritten(sample, agent.home)
    (agent.project / "a.txt").write_text("by hand")
    assert agent.claude("SessionEnd", path, reason="other")["snapshot"] is None
    assert agent.kept(turn, "a.txt") == "two"


def test_a_snapshot_in_time_is_not_replaced_when_the_answer_came_late(
    agent: Agent, sample: ClaudeSample
) -> None:
    turn = sample.prompt("work")
    sample.answer("Let me see.")
    path = sample.write(agent.home.claude)
    said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
    (agent.project / "a.txt").write_text("one")
    agent.claude("Stop", path, **said)
    sample.answer("Done.")
    path = rewritten(sample, agent.home)
    (agent.project / "a.txt").write_text("by hand")
    told = agent.claude("UserPromptSubmit", path, prompt_id="new")
    assert told["snapshot"]["turn"] == f"next-{turn}"
    assert agent.kept(turn, "a.txt") == "one"
    assert agent.snapshots()[turn].message_id is None


def test_an_end_of_who_knows_what(agent: Agent, sample: ClaudeSample) -> None:
    """Without the id of a prompt, the turn in the file may be the one before."""
    turn = sample.prompt("work")
    sample.answer("Done.")
    path = sample.write(agent.home.claude)
    (agent.project / "a.txt").write_text("one")
    agent.claude("Stop", path, last_assistant_message="Done.")
    assert agent.snapshots()[turn].message_id == answer_of(sample)
    (agent.project / "a.txt").write_text("of the next turn")
    for answer in ("Something else.", "Done."):
        told = agent.claude("Stop", path, last_assistant_message=answer)
        assert (told["state"], told["snapshot"]) == ("idle", None)
    assert agent.kept(turn, "a.txt") == "one"
    # The file says that it went on.
    sample.answer("Something else.")
    path = rewritten(sample, agent.home)
    agent.claude("Stop", path, last_assistant_message="Something else.")
    assert agent.kept(turn, "a.txt") == "of the next turn"


class TestRepositoriesInside:
    """Where the agent is may be another repository than that where it began."""

    @pytest.fixture
    def inner(self, agent: Agent) -> Path:
        path = agent.project / "vendor"
        path.mkdir()
        (path / "v.txt").write_text("v")
        git(path, "init", "-q")
        return path

    def stop(self, agent: Agent, sample: ClaudeSample, cwd: Path) -> tuple[str, dict[str, Any]]:
        turn = sample.prompt("work")
        sample.answer("Done.")
        path = rewritten(sample, agent.home)
        (agent.project / "a.txt").write_text("one")
        agent.env = {"CLAUDE_PROJECT_DIR": str(agent.project)}
        said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
        return turn, agent.claude("Stop", path, cwd=str(cwd), **said)["snapshot"]

    def test_one_that_comes_along(self, agent: Agent, sample: ClaudeSample, inner: Path) -> None:
        turn, told = self.stop(agent, sample, inner)
        assert told["repo"] == str(agent.project)
        assert agent.kept(turn, "a.txt") == "one"
        assert [one.path for one in agent.snapshots()[turn].nested] == ["vendor"]

    def test_a_submodule(self, agent: Agent, sample: ClaudeSample) -> None:
        module = agent.home.project("module")
        allowed = ("-c", "protocol.file.allow=always")
        git(agent.project, *allowed, "submodule", "--quiet", "add", str(module), "deps/m")
        turn, told = self.stop(agent, sample, agent.project / "deps/m")
        assert told["repo"] == str(agent.project)
        assert agent.kept(turn, "a.txt") == "one"

    @pytest.mark.parametrize("pattern", ["vendor/", "/vend*"])
    def test_one_that_git_ignores(
        self, agent: Agent, sample: ClaudeSample, inner: Path, pattern: str
    ) -> None:
        (agent.project / ".gitignore").write_text(f"{pattern}\n")
        _, told = self.stop(agent, sample, inner)
        assert told["repo"] == str(inner)

    def test_another_worktree(self, agent: Agent, sample: ClaudeSample) -> None:
        """Claude Code makes such, and works there."""
        other = agent.project / ".claude/worktrees/one"
        git(agent.project, "worktree", "add", "-q", str(other))
        _, told = self.stop(agent, sample, other)
        assert told["repo"] == str(other)

    def test_one_that_is_elsewhere(self, agent: Agent, sample: ClaudeSample) -> None:
        other = agent.home.project("other")
        _, told = self.stop(agent, sample, other)
        assert told["repo"] == str(other)
        plain = agent.home.root / "plain"
        plain.mkdir()
        _, told = self.stop(agent, sample, plain)
        assert told["repo"] == str(agent.project)

    def test_codex(self, agent: Agent, inner: Path) -> None:
        sample = CodexSample(THREAD, str(agent.project), START)
        turn = sample.turn("work", "Done.")
        path = agent.home.root / "rollout.jsonl"
        path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in sample.lines))
        told = agent.codex("Stop", transcript_path=str(path), turn_id=turn, cwd=str(inner))
        assert told["snapshot"]["repo"] == str(agent.project)


def git(folder: Path, *words: str) -> None:
    subprocess.run(["git", *words], cwd=folder, check=True)
