import json
from pathlib import Path
from typing import Any

from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import Claude, as_bytes, uuid

ID = uuid(1)


def launched(claude: Claude, tool: str = "Agent", agent: str | None = "a1b2") -> ClaudeSample:
    sample = claude.new()
    sample.prompt("send somebody")
    sample.tools((tool, {"prompt": "look around", "subagent_type": "Explore"}, "found it"))
    if agent:
        sample.lines[-1]["toolUseResult"] = {"status": "completed", "agentId": agent}
    sample.answer("done")
    return sample


def agent_file(path: Path) -> Path:
    line: dict[str, Any] = {
        "type": "user",
        "uuid": uuid(50),
        "parentUuid": None,
        "isSidechain": True,
        "agentId": "a1b2",
        "sessionId": ID,
        "message": {"role": "user", "content": "look around"},
        "timestamp": "2026-11-01T12:00:00Z",
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes([line]))
    return path


def call_id(sample: ClaudeSample) -> str:
    return sample.lines[1]["message"]["content"][0]["id"]


def test_new_layout_with_what_its_meta_file_says(claude: Claude) -> None:
    sample = launched(claude, agent=None)
    path = claude.write(ID, sample.lines)
    file = agent_file(path.with_suffix("") / "subagents" / "agent-a1b2.jsonl")
    meta = {"agentType": "Explore", "toolUseId": call_id(sample), "finished": True}
    file.with_suffix(".meta.json").write_text(json.dumps(meta), encoding="utf-8")
    (agent,) = claude.conversation(ID).subagents
    assert (agent.id, agent.path, agent.kind) == ("a1b2", file, "Explore")
    assert agent.call_id == call_id(sample)
    assert claude.ids() == {ID}


def test_new_layout_without_a_meta_file_is_linked_by_the_result(claude: Claude) -> None:
    sample = launched(claude)
    path = claude.write(ID, sample.lines)
    file = agent_file(path.with_suffix("") / "subagents" / "agent-a1b2.jsonl")
    (agent,) = claude.conversation(ID).subagents
    assert (agent.path, agent.kind, agent.call_id) == (file, "Explore", call_id(sample))


def test_a_damaged_meta_file_tells_nothing(claude: Claude) -> None:
    path = claude.write(ID, launched(claude, agent=None).lines)
    file = agent_file(path.with_suffix("") / "subagents" / "agent-a1b2.jsonl")
    file.with_suffix(".meta.json").write_bytes(b'{"agentType":"\xff')
    (agent,) = claude.conversation(ID).subagents
    assert (agent.path, agent.kind, agent.call_id) == (file, None, None)


def test_old_layout_beside_the_session(claude: Claude) -> None:
    sample = launched(claude, "Task")
    path = claude.write(ID, sample.lines)
    file = agent_file(path.with_name("agent-a1b2.jsonl"))
    agent_file(path.with_name("agent-stranger.jsonl"))
    (agent,) = claude.conversation(ID).subagents
    assert (agent.id, agent.path, agent.call_id) == ("a1b2", file, call_id(sample))
    assert claude.ids() == {ID}
    assert claude.scan().skipped == ()


def test_an_agent_whose_file_is_gone_is_none(claude: Claude) -> None:
    claude.write(ID, launched(claude).lines)
    assert claude.conversation(ID).subagents == ()


def test_an_agent_id_in_another_tool_s_result_is_none(claude: Claude) -> None:
    path = claude.write(ID, launched(claude, "mcp__other").lines)
    agent_file(path.with_name("agent-a1b2.jsonl"))
    assert claude.conversation(ID).subagents == ()


def test_sidechain_lines_in_the_main_file_are_not_the_conversation(claude: Claude) -> None:
    sample = launched(claude)
    inline = {**sample.lines[0], "uuid": uuid(60), "isSidechain": True}
    inline["message"] = {"role": "user", "content": "to the sub-agent"}
    claude.write(ID, [*sample.lines, inline])
    assert claude.prompts(ID) == ["send somebody"]
    assert claude.abandoned(ID) == []
    assert "to the sub-agent" not in str(claude.said(ID))


def test_the_transcript_of_an_agent_can_be_read_by_its_path(claude: Claude) -> None:
    path = claude.write(ID, launched(claude).lines)
    file = agent_file(path.with_suffix("") / "subagents" / "agent-a1b2.jsonl")
    session = claude.store.session_at(file)
    assert session is not None
    (turn,) = claude.store.conversation(session).turns
    assert turn.prompt == "look around"
    (message,) = claude.store.messages(session)
    assert (message.role, message.text) == ("user", "look around")
