"""What a person changes between two turns is not counted to the turn that follows."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import START, uuid
from tests.unit.hook.hook_agent import THREAD, Agent, prompt_id, rewritten

ONE_LINE = {"files": 1, "added": 1, "removed": 0}


@pytest.fixture
def agent(shell: Shell) -> Agent:
    made = Agent(shell.home, shell.home.project("shop"))
    made.env = {"PRONG_HOOK_SECONDS": "50"}  # what it takes under load is not the question here
    return made


def write(agent: Agent, name: str, *, lines: int = 1) -> None:
    (agent.project / name).write_text("a line\n" * lines)


def commit(agent: Agent) -> None:
    for words in (["add", "--all"], ["commit", "--quiet", "--message=by hand"]):
        subprocess.run(["git", *words], cwd=agent.project, env=agent.home.env(), check=True)


def turns(shell: Shell, session: str) -> list[tuple[object, object]]:
    told = shell.json("turns", session)["turns"]
    return [(turn["diffstat"], turn["since"]) for turn in told]


def first_turn(agent: Agent, sample: ClaudeSample) -> Path:
    agent.claude("UserPromptSubmit", agent.home.root / "none.jsonl", prompt_id="p")
    write(agent, "one.txt")
    sample.prompt("make one.txt")
    sample.answer("Done.")
    path = sample.write(agent.home.claude)
    agent.claude("Stop", path, prompt_id=prompt_id(sample), last_assistant_message="Done.")
    return path


def second_turn(agent: Agent, sample: ClaudeSample) -> Path:
    write(agent, "two.txt")
    sample.prompt("make two.txt")
    sample.answer("Made.")
    path = rewritten(sample, agent.home)
    agent.claude("Stop", path, prompt_id=prompt_id(sample), last_assistant_message="Made.")
    return path


def test_a_session_of_claude(agent: Agent, shell: Shell) -> None:
    sample = ClaudeSample(uuid(1), str(agent.project), START)
    path = first_turn(agent, sample)
    write(agent, "prompt-taken-back.txt", lines=2)
    agent.claude("UserPromptSubmit", path, prompt_id="taken back")
    write(agent, "committed.txt", lines=20)
    commit(agent)
    write(agent, "edited.txt", lines=30)
    told = agent.claude("UserPromptSubmit", path, prompt_id="second")
    assert told["snapshot"]["turn"].startswith("next-")
    second_turn(agent, sample)
    assert turns(shell, uuid(1)) == [(ONE_LINE, "prompt"), (ONE_LINE, "prompt")]
    changed = shell.json("diff", f"{uuid(1)}@2")
    assert [file["path"] for file in changed["files"]] == ["two.txt"]
    assert (changed["since"], changed["from"]) == ("prompt", f"claude:{uuid(1)}@1")
    # From the end of one turn to the end of the next, it is all that happened.
    both = shell.json("diff", f"{uuid(1)}@1..2")
    assert {file["path"] for file in both["files"]} == {
        *("prompt-taken-back.txt", "committed.txt", "edited.txt", "two.txt")
    }


def test_a_session_of_codex(agent: Agent, shell: Shell) -> None:
    sample = CodexSample(THREAD, str(agent.project), START)
    path = agent.home.codex / "sessions/2026/11/16" / f"rollout-2026-11-16T04-48-51-{THREAD}.jsonl"
    path.parent.mkdir(parents=True)
    told = {"transcript_path": str(path)}

    def save() -> None:
        path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in sample.lines))

    save()
    first = sample.turn("make one.txt", "Done.")
    agent.codex("UserPromptSubmit", turn_id=first, **told)
    write(agent, "one.txt")
    save()
    agent.codex("Stop", turn_id=first, **told)
    write(agent, "edited.txt", lines=30)
    second = sample.turn("make two.txt", "Made.")
    said = agent.codex("UserPromptSubmit", turn_id=second, **told)
    assert said["snapshot"]["turn"] == f"next-{first}"
    write(agent, "two.txt")
    # More words for the turn that runs do not begin another one.
    assert agent.codex("UserPromptSubmit", turn_id=second, **told)["snapshot"] is None
    save()
    agent.codex("Stop", turn_id=second, **told)
    assert turns(shell, THREAD)[1] == (ONE_LINE, "prompt")


def test_where_nobody_saw_the_prompt(agent: Agent, shell: Shell) -> None:
    sample = ClaudeSample(uuid(1), str(agent.project), START)
    first_turn(agent, sample)
    write(agent, "edited.txt", lines=30)
    second_turn(agent, sample)
    both = {"files": 2, "added": 31, "removed": 0}
    assert turns(shell, uuid(1)) == [(ONE_LINE, "prompt"), (both, "turn")]
    assert shell.json("diff", f"{uuid(1)}@2")["since"] == "turn"
