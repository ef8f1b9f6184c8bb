"""What a search is told of Claude Code sessions."""

import json
from pathlib import Path
from typing import Any

import pytest

from prong.agents import words
from prong.model.turn_text import TurnText
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import START, Claude, as_bytes, uuid

ID = uuid(1)


def heard(claude: Claude, sample: ClaudeSample, *, output: bool = True) -> list[TurnText]:
    path = claude.write(ID, sample.lines)
    found = claude.store.file_texts(str(path), output=output)
    assert found is not None
    assert (found.path, found.session_id) == (str(path), ID)
    return list(found.turns)


def test_what_was_asked_said_and_done(claude: Claude) -> None:
    sample = claude.new()
    id_ = sample.prompt("make it fast")
    sample.tools(("Bash", {"command": "make"}, "compiled"))
    sample.answer("It is compiled.")
    sample.tools(("Write", {"file_path": "/w/a.py", "content": "x"}, "written"))
    attachment = {"type": "queued_command", "prompt": "and small", "commandMode": "prompt"}
    sample.chain("attachment", attachment=attachment)
    sample.answer("It is fast.")
    (turn,) = heard(claude, sample)
    assert turn == TurnText(
        id=id_,
        index=1,
        kind="human",
        started=sample.lines[0]["timestamp"],
        prompt="make it fast\nand small",
        answer="It is compiled.\nIt is fast.",
        last_answer="It is fast.",
        files=("/w/a.py",),
        commands=("make",),
        output="compiled\nwritten",
    )


def test_output_only_when_it_is_wanted(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("look")
    sample.tools(("Bash", {"command": "ls"}, "a.py"))
    (turn,) = heard(claude, sample, output=False)
    assert (turn.output, turn.commands) == ("", ("ls",))


def test_thoughts_are_no_answer(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("hi")
    sample.answer("hello")
    thought = {"type": "thinking", "thinking": "hmm", "signature": "x"}
    sample.lines[1]["message"]["content"].insert(0, thought)
    (turn,) = heard(claude, sample)
    assert turn.answer == "hello"


def test_an_abandoned_turn_has_no_number(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("first")
    leaf = sample.leaf
    sample.prompt("wrong way")
    sample.answer("lost")
    sample.leaf = leaf
    sample.prompt("right way")
    sample.answer("found")
    told = {turn.prompt: (turn.index, turn.answer) for turn in heard(claude, sample)}
    assert told == {"one": (1, "first"), "right way": (2, "found"), "wrong way": (None, "lost")}


def test_what_stands_before_a_compaction_is_told_and_the_summary_is_not(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("first")
    sample.compact("all of it in short")
    sample.prompt("two")
    sample.answer("second")
    turns = heard(claude, sample)
    assert [(turn.index, turn.answer) for turn in turns] == [(1, "first"), (2, "second")]
    assert "in short" not in str(turns)


@pytest.mark.parametrize("form", ["text", "blocks"])
def test_of_a_long_result_both_ends_are_kept(claude: Claude, form: str) -> None:
    sample = claude.new()
    sample.prompt("look")
    long = "begin é " + "x" * 2_000_000 + " \\ö end"
    sample.tools(("Bash", {"command": "ls"}, long))
    if form == "blocks":
        blocks = [{"type": "text", "text": long}]
        sample.lines[-1]["message"]["content"][0]["content"] = blocks
    (turn,) = heard(claude, sample)
    assert turn.output.startswith("begin é ")
    assert turn.output.endswith(" \\ö end")
    assert len(turn.output) <= 2 * words.RESULT_END + 1


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}], "one\ntwo"),
        ([{"type": "image", "source": {"data": "A" * 100_000}}, {"text": "seen"}], "seen"),
        ([], ""),
        ("", ""),
        (None, ""),
        (5, ""),
        ({"text": "x"}, ""),
        ([5], ""),
    ],
)
def test_forms_of_a_result(claude: Claude, content: Any, output: str) -> None:
    sample = claude.new()
    sample.prompt("look")
    sample.tools(("Read", {"file_path": "/a"}, "x"))
    sample.lines[-1]["message"]["content"][0]["content"] = content
    (turn,) = heard(claude, sample)
    assert turn.output == output


def launched(claude: Claude) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("before")
    sample.answer("yes")
    sample.prompt("send somebody")
    task = {"description": "a look", "prompt": "look around", "subagent_type": "Explore"}
    sample.tools(("Agent", task, "found it"))
    sample.lines[-1]["toolUseResult"] = {"status": "completed", "agentId": "a1b2"}
    sample.answer("done")
    return sample


def agent_file(path: Path, *answers: str) -> None:
    sample = ClaudeSample(uuid(50), "/w", START)
    sample.prompt("look around")
    for answer in answers:
        sample.answer(answer)
    for line in sample.lines:
        line["isSidechain"] = True
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(as_bytes(sample.lines))


@pytest.mark.parametrize("place", ["subagents", "beside"])
def test_a_sub_agent_is_heard_in_the_turn_that_sent_it(claude: Claude, place: str) -> None:
    sample = launched(claude)
    path = claude.path(ID)
    folder = path.with_suffix("") / "subagents" if place == "subagents" else path.parent
    agent_file(folder / "agent-a1b2.jsonl", "I see a door.", "It is open.")
    before, turn = heard(claude, sample)
    assert before.aside == ""
    assert turn.aside == "a look\nlook around\nI see a door.\nIt is open."
    assert turn.answer == "done"


def test_a_sub_agent_that_still_runs_is_known_by_its_meta_file(claude: Claude) -> None:
    sample = launched(claude)
    del sample.lines[-3:]
    call = sample.lines[-1]["message"]["content"][0]["id"]
    file = claude.path(ID).with_suffix("") / "subagents" / "agent-a1b2.jsonl"
    agent_file(file, "I am on my way.")
    file.with_suffix(".meta.json").write_text(json.dumps({"toolUseId": call}), encoding="utf-8")
    assert heard(claude, sample)[1].aside == "a look\nlook around\nI am on my way."


def test_of_a_talkative_sub_agent_both_ends_are_kept(claude: Claude) -> None:
    sample = launched(claude)
    file = claude.path(ID).with_suffix("") / "subagents" / "agent-a1b2.jsonl"
    agent_file(file, "first words", "x" * 100_000, "last words")
    aside = heard(claude, sample)[1].aside
    assert "first words" in aside
    assert aside.endswith("last words")
    assert len(aside) < words.ASIDE_LENGTH + 100


def test_without_the_file_the_task_is_told(claude: Claude) -> None:
    assert heard(claude, launched(claude))[1].aside == "a look\nlook around"


def test_lines_of_old_sub_agents_stand_in_the_file_itself(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    leaf = sample.leaf
    sample.leaf = None
    for text in ("go", "went"):
        sample.chain("assistant", message={"content": [{"type": "text", "text": text}]})
        sample.lines[-1]["isSidechain"] = True
    sample.leaf = leaf
    sample.answer("first")
    sample.prompt("two")
    sample.answer("second")
    turns = heard(claude, sample)
    assert [(turn.answer, turn.aside) for turn in turns] == [("first", "go\nwent"), ("second", "")]


def test_a_line_that_is_written_twice_has_its_last_words(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("draft")
    again = json.loads(json.dumps(sample.lines[1]))
    again["message"]["content"][0]["text"] = "final"
    sample.lines.append(again)
    assert [turn.answer for turn in heard(claude, sample)] == ["final"]


def test_a_file_in_which_nobody_says_anything(claude: Claude) -> None:
    sample = claude.new()
    sample.side("mode", mode="normal")
    assert heard(claude, sample) == []


def test_a_wrong_byte_costs_nothing_else(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    sample.answer("good")
    sample.answer("b@d")
    data = as_bytes(sample.lines).replace(b"b@d", b"b\xffd")
    path = claude.write(ID, [data])
    found = claude.store.file_texts(str(path))
    assert found is not None
    (turn,) = found.turns
    assert turn.answer == "good\nb\N{REPLACEMENT CHARACTER}d"
