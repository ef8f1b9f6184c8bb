"""States, steering prompts, compactions, sub-agents."""

import fcntl
from typing import Any

import pytest

from prong.model.sessions import TurnKind, View
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import Codex, uuid

ID, AGENT = uuid(1), uuid(2)


def started(sample: CodexSample, prompt: str, turn: str = "t1") -> None:
    sample.add("event_msg", type="task_started", turn_id=turn)
    typed(sample, prompt, turn)


def typed(sample: CodexSample, prompt: str, turn: str = "t1") -> None:
    content = [{"type": "input_text", "text": prompt}]
    sample.add("response_item", type="message", role="user", content=content)
    item = {"type": "UserMessage", "content": [{"type": "text", "text": prompt}]}
    sample.add("event_msg", type="item_completed", turn_id=turn, item=item)


def states(codex: Codex, sample: CodexSample) -> list[str]:
    codex.write(ID, sample.lines)
    return [turn.state for turn in codex.conversation(ID).turns]


def test_finished(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    assert states(codex, sample) == ["finished"]


@pytest.mark.parametrize(
    ("error", "state"),
    [({"message": "bad request"}, "failed"), (None, "finished"), ("text", "failed")],
)
def test_failed(codex: Codex, error: Any, state: str) -> None:
    sample = codex.new()
    started(sample, "one")
    sample.add("event_msg", type="task_complete", turn_id="t1", error=error)
    assert states(codex, sample) == [state]


def test_aborted(codex: Codex) -> None:
    sample = codex.new()
    started(sample, "one")
    content = [{"type": "input_text", "text": "<turn_aborted>\nx</turn_aborted>"}]
    sample.add("response_item", type="message", role="user", content=content)
    sample.add("event_msg", type="turn_aborted", turn_id="t1", reason="interrupted")
    sample.turn("two", "2")
    assert states(codex, sample) == ["interrupted", "finished"]
    assert codex.prompts(ID) == ["one", "two"]


def test_no_end_and_no_process_is_interrupted(codex: Codex) -> None:
    sample = codex.new()
    started(sample, "one")
    assert states(codex, sample) == ["interrupted"]
    locks = codex.root / "thread-writer-locks"
    locks.mkdir()
    (locks / f"{ID}.lock").write_bytes(b"")
    assert states(codex, sample) == ["interrupted"]


def test_running_while_a_process_holds_the_lock(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    started(sample, "two")
    locks = codex.root / "thread-writer-locks"
    locks.mkdir(parents=True)
    with (locks / f"{ID}.lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert states(codex, sample) == ["finished", "running"]
        sample.add("event_msg", type="task_complete", turn_id="t1")
        assert states(codex, sample) == ["finished", "finished"]


def test_a_prompt_typed_while_busy_belongs_to_the_turn(codex: Codex) -> None:
    sample = codex.new()
    started(sample, "one")
    typed(sample, "and faster")
    sample.add("event_msg", type="task_complete", turn_id="t1")
    codex.write(ID, sample.lines)
    (turn,) = codex.conversation(ID).turns
    assert (turn.prompt, turn.queued) == ("one", ("and faster",))
    assert codex.said(ID) == [("user", "one"), ("user", "and faster")]
    assert codex.session(ID).turn_count == 1


def test_exec_is_a_program_s(codex: Codex) -> None:
    sample = codex.new(source="exec")
    sample.turn("one", "1")
    codex.write(ID, sample.lines)
    session = codex.session(ID)
    assert (session.headless, session.entrypoint) == (True, "exec")
    assert codex.conversation(ID).turns[0].kind is TurnKind.SDK


SUMMARY: list[dict[str, Any]] = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "all so far"}]},
]


def compacted(codex: Codex, **payload: Any) -> CodexSample:
    sample = codex.new()
    sample.turn("one", "1")
    sample.add("event_msg", type="task_started", turn_id="compaction")
    sample.add("compacted", **payload)
    sample.add("event_msg", type="task_complete", turn_id="compaction")
    sample.turn("two", "2")
    codex.write(ID, sample.lines)
    return sample


def test_a_compaction_replaces_the_context_and_keeps_the_history(codex: Codex) -> None:
    compacted(codex, message="", replacement_history=SUMMARY)
    conversation = codex.conversation(ID)
    assert [turn.prompt for turn in conversation.turns] == ["one", "two"]
    assert conversation.compactions == (1,)
    assert codex.said(ID) == [
        ("user", "one"),
        ("assistant", "1"),
        ("summary", "all so far"),
        ("user", "two"),
        ("assistant", "2"),
    ]
    assert codex.said(ID, View.CONTEXT) == [
        ("user", "one"),
        ("user", "all so far"),
        ("user", "two"),
        ("assistant", "2"),
    ]


def test_a_compaction_that_says_its_summary(codex: Codex) -> None:
    compacted(codex, message="in short")
    assert ("summary", "in short") in codex.said(ID)
    # It does not say what replaces the past: then it is what people wrote, and the summary.
    assert codex.said(ID, View.CONTEXT) == [
        ("user", "one"),
        ("user", "in short"),
        ("user", "two"),
        ("assistant", "2"),
    ]


@pytest.mark.parametrize("history", [None, 5, "x", [], [None, 3], [{}], [{"content": 5}]])
def test_a_compaction_of_the_wrong_shape(codex: Codex, history: Any) -> None:
    compacted(codex, replacement_history=history)
    assert ("summary", "") in codex.said(ID)
    assert codex.prompts(ID) == ["one", "two"]


def test_a_fork_behind_a_compaction(codex: Codex) -> None:
    sample = compacted(codex, message="", replacement_history=SUMMARY)
    fork = sample.fork(uuid(5), 2)
    fork.turn("three", "3")
    codex.write(uuid(5), fork.lines)
    assert codex.prompts(uuid(5)) == ["one", "two", "three"]
    assert codex.said(uuid(5), View.CONTEXT)[1] == ("user", "all so far")


def subagent(codex: Codex) -> CodexSample:
    source: Any = {"subagent": {"thread_spawn": {"parent_thread_id": ID, "depth": 1}}}
    agent = codex.new(2, source=source, parent_thread_id=ID)
    agent.turn("look", "seen")
    return agent


@pytest.mark.parametrize("form", ["item", "event"])
def test_sub_agents_are_linked_and_not_listed(codex: Codex, form: str) -> None:
    sample = codex.new()
    started(sample, "send somebody")
    if form == "item":
        item: dict[str, Any] = {
            "type": "CollabAgentToolCall",
            "id": "c1",
            "tool": "spawn_agent",
            "receiver_thread_ids": [AGENT, uuid(77)],
        }
        sample.add("event_msg", type="item_completed", turn_id="t1", item=item)
        sample.add("event_msg", type="item_completed", turn_id="t1", item=item)
    else:
        event = {"type": "sub_agent_activity", "agent_thread_id": AGENT, "event_id": "c1"}
        sample.add("event_msg", **event)
    codex.write(ID, sample.lines)
    path = codex.write(AGENT, subagent(codex).lines)
    assert codex.ids() == {ID}
    assert codex.scan().skipped == ()
    (agent,) = codex.conversation(ID).subagents
    assert (agent.id, agent.path, agent.call_id) == (AGENT, path, "c1")


def test_raw_lines_are_the_bytes_of_the_file(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1", commands=[("make", 0)])
    sample.turn("two\u2028", "2")
    path = codex.write(ID, sample.lines)
    lines = set(path.read_bytes().split(b"\n"))
    session = codex.session(ID)
    everything = list(codex.store.raw(session))
    assert set(everything) <= lines
    second = list(codex.store.raw(session, turn=sample.turns[1]))
    assert everything[-len(second) :] == second
    assert list(codex.store.raw(session, turn="unknown")) == []
