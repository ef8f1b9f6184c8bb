"""Rewinds, parallel tools, compactions: what a person saw, and what the model would get."""

from typing import Any

import pytest

from prong.model.sessions import View
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import Claude, uuid

ID = uuid(1)


def parallel(claude: Claude) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("look")
    sample.tools(("Read", {"file_path": "/a"}, "A"), ("Grep", {}, "B"), ("Glob", {}, "C"))
    sample.answer("seen")
    return sample


def test_parallel_tools_are_all_there_with_their_results(claude: Claude) -> None:
    claude.write(ID, parallel(claude).lines)
    expected = [
        ("user", "look"),
        *[("assistant", "call")] * 3,
        ("tool", "A"),
        ("tool", "B"),
        ("tool", "C"),
        ("assistant", "seen"),
    ]
    assert sorted(claude.said(ID)) == sorted(expected)
    assert sorted(claude.said(ID, View.CONTEXT)) == sorted(expected)
    assert claude.said(ID)[:4] == expected[:4]
    (turn,) = claude.conversation(ID).turns
    assert turn.tools == {"Read": 1, "Grep": 1, "Glob": 1}
    assert claude.abandoned(ID) == []


def test_parallel_calls_come_before_their_results_in_the_context(claude: Claude) -> None:
    claude.write(ID, parallel(claude).lines)
    roles = [role for role, _ in claude.said(ID, View.CONTEXT)]
    assert roles == ["user", *["assistant"] * 3, *["tool"] * 3, "assistant"]


def test_a_lost_sibling_does_not_bring_back_another_message(claude: Claude) -> None:
    sample = parallel(claude)
    calls = [i for i, line in enumerate(sample.lines) if line["type"] == "assistant"]
    del sample.lines[calls[1]]
    for number, line in enumerate(sample.lines):
        # The CLI would look for another parent in the five seconds before.
        line["timestamp"] = f"2026-11-01T12:{number:02d}:00.000Z"
    claude.write(ID, sample.lines)
    assert ("user", "look") not in claude.said(ID)
    assert ("assistant", "seen") in claude.said(ID)


def test_a_result_between_two_calls_of_one_message(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("look")
    sample.tools(("Read", {}, "A"), ("Grep", {}, "B"))
    call, other, result, _ = sample.lines[1:]
    sample.lines[2:4] = [result, other]
    result["parentUuid"], other["parentUuid"] = call["uuid"], result["uuid"]
    sample.answer("seen")
    claude.write(ID, sample.lines)
    assert claude.said(ID, View.CONTEXT) == [
        ("user", "look"),
        ("assistant", "call"),
        ("assistant", "call"),
        ("tool", "A"),
        ("tool", "B"),
        ("assistant", "seen"),
    ]


def test_progress_lines_are_links_of_the_chain_and_say_nothing(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("wait")
    sample.chain("progress", data={"type": "bash_progress", "output": "..."})
    sample.answer("done")
    claude.write(ID, sample.lines)
    assert claude.said(ID) == [("user", "wait"), ("assistant", "done")]
    assert claude.said(ID, View.CONTEXT) == claude.said(ID)


def test_a_loop_on_a_dead_branch(claude: Claude) -> None:
    sample = claude.new()
    loop = [sample.chain("system", subtype="informational") for _ in range(3)]
    sample.lines[0]["parentUuid"] = loop[-1]
    sample.leaf = None
    sample.prompt("alive")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["alive"]
    assert claude.abandoned(ID) == []


def test_a_rewound_branch_is_abandoned_but_can_be_read(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("start")
    fork = sample.answer("ok")
    dead = sample.prompt("wrong way")
    sample.tools(("Bash", {"command": "rm x"}, "gone"))
    sample.answer("done")
    later_dead = sample.prompt("further on")
    sample.leaf = fork
    sample.prompt("right way")
    sample.answer("good")
    claude.write(ID, sample.lines)
    conversation = claude.conversation(ID)
    assert claude.prompts(ID) == ["start", "right way"]
    assert [(turn.id, turn.index, turn.prompt) for turn in conversation.abandoned] == [
        (dead, None, "wrong way"),
        (later_dead, None, "further on"),
    ]
    assert [command.command for command in conversation.abandoned[0].commands] == ["rm x"]
    assert claude.said(ID, turn=dead) == [
        ("user", "wrong way"),
        ("assistant", "call"),
        ("tool", "gone"),
        ("assistant", "done"),
    ]
    assert "wrong way" not in str(claude.said(ID))
    session = claude.session(ID)
    assert session.turn_count == 2
    assert len(list(claude.store.raw(session, turn=dead))) == 5


def test_messages_of_one_turn(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("1")
    second = sample.prompt("two")
    sample.answer("2")
    path = claude.write(ID, sample.lines)
    session = claude.session(ID)
    messages = list(claude.store.messages(session, turn=second))
    assert [(m.turn, m.role, m.text) for m in messages] == [
        (2, "user", "two"),
        (2, "assistant", "2"),
    ]
    lines = path.read_bytes().split(b"\n")
    assert list(claude.store.raw(session, turn=second)) == lines[3:6]
    assert list(claude.store.raw(session)) == lines[:6]
    assert list(claude.store.messages(session, turn=uuid(77))) == []


def compacted(claude: Claude, **metadata: Any) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("before")
    sample.answer("old answer")
    sample.compact("the summary")
    boundary = next(line for line in sample.lines if line.get("subtype") == "compact_boundary")
    boundary["compactMetadata"].update(metadata)
    return sample


def test_what_hangs_to_the_tail_of_the_preserved_lines_follows_the_summary(claude: Claude) -> None:
    sample = compacted(claude)
    prompt, answer = (
        next(line["uuid"] for line in sample.lines if line["type"] == kind)
        for kind in ("user", "assistant")
    )
    boundary = next(line for line in sample.lines if line.get("subtype") == "compact_boundary")
    tail = str(boundary["logicalParentUuid"])
    boundary["compactMetadata"]["preservedSegment"] = {
        "headUuid": answer,
        "anchorUuid": sample.leaf,
        "tailUuid": tail,
    }
    sample.leaf = tail
    sample.prompt("after")
    sample.answer("new answer")
    claude.write(ID, sample.lines)
    assert claude.conversation(ID).turns[0].id == prompt
    assert claude.conversation(ID).compactions == (1,)
    assert claude.said(ID, View.CONTEXT) == [
        ("user", "the summary"),
        ("assistant", "old answer"),
        ("user", "after"),
        ("assistant", "new answer"),
    ]


def test_the_history_goes_on_before_a_compaction_and_the_context_does_not(claude: Claude) -> None:
    sample = compacted(claude)
    sample.prompt("after")
    sample.answer("new answer")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["before", "after"]
    assert claude.conversation(ID).compactions == (1,)
    assert claude.said(ID) == [
        ("user", "before"),
        ("assistant", "old answer"),
        ("summary", "the summary"),
        ("user", "after"),
        ("assistant", "new answer"),
    ]
    assert claude.said(ID, View.CONTEXT) == [
        ("user", "the summary"),
        ("user", "after"),
        ("assistant", "new answer"),
    ]


def test_a_summary_with_a_position_opens_no_turn(claude: Claude) -> None:
    sample = compacted(claude)
    sample.lines[-1]["turnPosition"] = {"promptIndex": 2, "turnIndex": 2}
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["before"]


def test_two_compactions(claude: Claude) -> None:
    sample = compacted(claude)
    sample.prompt("between")
    sample.answer("b")
    sample.compact("second summary")
    sample.prompt("after")
    sample.answer("a")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["before", "between", "after"]
    assert claude.conversation(ID).compactions == (1, 2)
    assert claude.said(ID, View.CONTEXT)[0] == ("user", "second summary")


def test_preserved_messages_stand_behind_the_summary(claude: Claude) -> None:
    """An automatic compaction keeps the prompt at hand, which stands before the boundary."""
    sample = claude.new()
    sample.prompt("old")
    sample.answer("old answer")
    kept = sample.prompt("the prompt that was too much")
    sample.compact("summary of old")
    boundary, summary = sample.lines[-2], sample.lines[-1]
    boundary["compactMetadata"] = {
        "trigger": "auto",
        "preservedSegment": {"headUuid": kept, "anchorUuid": summary["uuid"], "tailUuid": kept},
        "preservedMessages": {"anchorUuid": summary["uuid"], "uuids": [kept], "allUuids": [kept]},
    }
    sample.answer("answered with a fresh mind")
    claude.write(ID, sample.lines)
    assert claude.said(ID, View.CONTEXT) == [
        ("user", "summary of old"),
        ("user", "the prompt that was too much"),
        ("assistant", "answered with a fresh mind"),
    ]
    assert claude.prompts(ID) == ["old", "the prompt that was too much"]


@pytest.mark.parametrize("key", ["uuids", "allUuids"])
def test_the_answer_that_a_compaction_by_hand_preserves(claude: Claude, key: str) -> None:
    sample = claude.new()
    sample.prompt("before")
    sample.answer("kept answer")
    answer = sample.lines[-2]["uuid"]
    sample.compact("the summary")
    boundary = sample.lines[-2]
    boundary["compactMetadata"]["preservedMessages"] = {
        "anchorUuid": sample.lines[-1]["uuid"],
        key: [answer, uuid(99)],
    }
    sample.prompt("after")
    claude.write(ID, sample.lines)
    assert claude.said(ID, View.CONTEXT) == [
        ("user", "the summary"),
        ("assistant", "kept answer"),
        ("user", "after"),
    ]


def partial(claude: Claude, *, up_to: bool) -> ClaudeSample:
    """The rewind menu's "summarise from here" and "summarise up to here"."""
    sample = claude.new()
    sample.prompt("one")
    sample.answer("1")
    first = [line["uuid"] for line in sample.lines]
    sample.prompt("two")
    sample.answer("2")
    second = [line["uuid"] for line in sample.lines if line["uuid"] not in first]
    sample.compact("summary of a part")
    boundary, summary = sample.lines[-2], sample.lines[-1]
    anchor = summary["uuid"] if up_to else boundary["uuid"]
    boundary["logicalParentUuid"] = first[-1]
    boundary["compactMetadata"].update(
        messagesSummarized=2,
        preservedMessages={"anchorUuid": anchor, "uuids": second if up_to else first},
    )
    sample.prompt("three")
    sample.answer("3")
    return sample


def test_summarised_from_a_message_on(claude: Claude) -> None:
    claude.write(ID, partial(claude, up_to=False).lines)
    assert [text for _, text in claude.said(ID, View.CONTEXT)] == [
        "one",
        "1",
        "summary of a part",
        "three",
        "3",
    ]
    assert claude.prompts(ID) == ["one", "two", "three"]
    assert claude.abandoned(ID) == []


def test_summarised_up_to_a_message(claude: Claude) -> None:
    claude.write(ID, partial(claude, up_to=True).lines)
    assert [text for _, text in claude.said(ID, View.CONTEXT)] == [
        "summary of a part",
        "two",
        "2",
        "three",
        "3",
    ]
    assert claude.prompts(ID) == ["one", "two", "three"]
    assert claude.abandoned(ID) == []


def test_a_part_was_summarised_below_a_dead_branch(claude: Claude) -> None:
    sample = partial(claude, up_to=True)
    stray = {**sample.lines[0], "uuid": uuid(70), "message": {"role": "user", "content": "stray"}}
    stray["turnPosition"] = {"promptIndex": 70, "turnIndex": 70}
    at = next(i for i, line in enumerate(sample.lines) if line.get("subtype") == "compact_boundary")
    sample.lines.insert(at, stray)
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["one", "two", "three"]
    assert claude.abandoned(ID) == ["stray"]


def test_the_link_across_a_compaction_may_name_a_line_that_is_not_there(claude: Claude) -> None:
    sample = compacted(claude)
    sample.prompt("after")
    boundary = next(line for line in sample.lines if line.get("subtype") == "compact_boundary")
    boundary["logicalParentUuid"] = uuid(99)
    prompt = sample.lines[0]["uuid"]
    boundary["compactMetadata"]["preservedSegment"] = {"tailUuid": prompt}
    claude.write(ID, sample.lines)
    assert claude.said(ID)[:2] == [("user", "before"), ("summary", "the summary")]
    boundary["compactMetadata"]["preservedSegment"] = {"tailUuid": uuid(98)}
    claude.write(ID, sample.lines)
    assert claude.said(ID)[:2] == [("user", "before"), ("assistant", "old answer")]
    del boundary["compactMetadata"]
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["before", "after"]


def test_a_compaction_whose_link_leads_to_itself(claude: Claude) -> None:
    sample = compacted(claude)
    boundary = sample.lines[-2]
    boundary["logicalParentUuid"] = boundary["uuid"]
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["before"]


def test_a_rewind_to_before_a_compaction(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("before")
    early = sample.answer("old answer")
    sample.compact("the summary")
    sample.prompt("after")
    sample.leaf = early
    sample.prompt("again")
    claude.write(ID, sample.lines)
    assert claude.prompts(ID) == ["before", "again"]
    assert claude.abandoned(ID) == ["after"]
    assert claude.conversation(ID).compactions == ()
    assert claude.said(ID, View.CONTEXT)[0] == ("user", "before")


def test_preserved_messages_that_only_the_ends_of_a_segment_name(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("1")
    head = sample.prompt("two")
    tail = sample.answer("2")
    sample.compact("the summary")
    sample.prompt("three")
    sample.answer("3")
    boundary, summary = (line for line in sample.lines if "ompact" in str(list(line)))
    boundary["compactMetadata"]["preservedSegment"] = {
        "headUuid": head,
        "anchorUuid": summary["uuid"],
        "tailUuid": tail,
    }
    claude.write(ID, sample.lines)
    said = [text for _, text in claude.said(ID, View.CONTEXT)]
    assert said == ["the summary", "two", "2", "three", "3"]
    boundary["compactMetadata"]["preservedSegment"]["headUuid"] = uuid(99)
    claude.write(ID, sample.lines)
    said = [text for _, text in claude.said(ID, View.CONTEXT)]
    assert said == ["the summary", "three", "3"]
