"""Prompts that were typed while the agent was busy."""

from typing import Any

import pytest

from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import Claude, uuid

ID = uuid(1)


def busy(claude: Claude) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("long job")
    sample.tools(("Bash", {"command": "make"}, "ok"))
    return sample


def queued(claude: Claude, sample: ClaudeSample) -> list[tuple[str, tuple[str, ...]]]:
    claude.write(ID, sample.lines)
    assert claude.session(ID).turn_count == len(claude.conversation(ID).turns)
    return [(turn.prompt, turn.queued) for turn in claude.conversation(ID).turns]


@pytest.mark.parametrize(
    ("prompt", "text"),
    [
        ("faster please", "faster please"),
        ([{"type": "text", "text": "like"}, {"type": "image"}], "like\n[image]"),
    ],
)
@pytest.mark.parametrize("mode", [{"commandMode": "prompt"}, {}])
def test_an_attachment_lands_in_the_running_turn(
    claude: Claude, prompt: Any, text: str, mode: dict[str, str]
) -> None:
    sample = busy(claude)
    sample.chain("attachment", attachment={"type": "queued_command", "prompt": prompt, **mode})
    sample.answer("done")
    assert queued(claude, sample) == [("long job", (text,))]
    assert ("user", text) in claude.said(ID)


def test_a_machine_s_attachment_is_no_prompt(claude: Claude) -> None:
    sample = busy(claude)
    attachment = {"type": "queued_command", "prompt": "x", "commandMode": "task-notification"}
    sample.chain("attachment", attachment=attachment)
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ())]


def test_enqueued_and_removed_was_taken_up_in_the_turn(claude: Claude) -> None:
    sample = busy(claude)
    sample.side("queue-operation", operation="enqueue", content="also the docs")
    sample.side("queue-operation", operation="remove")
    sample.answer("done")
    sample.prompt("next")
    assert queued(claude, sample) == [("long job", ("also the docs",)), ("next", ())]
    assert claude.said(ID).count(("user", "also the docs")) == 1


def test_enqueued_and_dequeued_is_a_turn_of_its_own(claude: Claude) -> None:
    sample = busy(claude)
    sample.side("queue-operation", operation="enqueue", content="next")
    sample.answer("done")
    sample.side("queue-operation", operation="dequeue")
    sample.prompt("next")
    assert queued(claude, sample) == [("long job", ()), ("next", ())]


def test_a_removed_prompt_that_is_also_an_attachment_counts_once(claude: Claude) -> None:
    sample = busy(claude)
    sample.side("queue-operation", operation="enqueue", content="also the docs")
    sample.side("queue-operation", operation="remove", content="also the docs")
    attachment = {"type": "queued_command", "prompt": "also the docs", "commandMode": "prompt"}
    sample.chain("attachment", attachment=attachment)
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ("also the docs",))]


def test_prompts_that_the_person_took_back(claude: Claude) -> None:
    sample = busy(claude)
    sample.side("queue-operation", operation="enqueue", content="no")
    sample.side("queue-operation", operation="popAll")
    sample.side("queue-operation", operation="remove")
    sample.side("queue-operation", operation="something new")
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ())]


def test_remove_takes_the_one_it_names(claude: Claude) -> None:
    sample = busy(claude)
    sample.side("queue-operation", operation="enqueue", content="first")
    sample.side("queue-operation", operation="enqueue", content="second")
    sample.side("queue-operation", operation="remove", content="second")
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ("second",))]


@pytest.mark.parametrize(
    "text", ["<task-notification>x</task-notification>", '{"task_id":"1"}', "  "]
)
def test_what_machines_enqueue_is_no_prompt(claude: Claude, text: str) -> None:
    sample = busy(claude)
    sample.side("queue-operation", operation="enqueue", content=text)
    sample.side("queue-operation", operation="remove")
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ())]


def test_two_queued_prompts_of_one_position_are_one_turn(claude: Claude) -> None:
    sample = busy(claude)
    sample.answer("done")
    sample.prompt("first queued")
    sample.prompt("second queued")
    sample.lines[-1]["turnPosition"] = sample.lines[-2]["turnPosition"]
    sample.answer("both done")
    assert queued(claude, sample) == [("long job", ()), ("first queued", ("second queued",))]
    assert ("user", "second queued") in claude.said(ID)


def test_one_position_but_an_answer_between_are_two_turns(claude: Claude) -> None:
    """With `-p` every prompt has the promptIndex 0 of its own run."""
    sample = claude.new()
    for text in ("one", "two"):
        sample.prompt(text)
        sample.lines[-1]["turnPosition"] = {"promptIndex": 0, "turnIndex": 0}
        sample.answer("ok")
    assert queued(claude, sample) == [("one", ()), ("two", ())]


def test_text_beside_a_tool_result_is_steering(claude: Claude) -> None:
    sample = busy(claude)
    sample.lines[-1]["message"]["content"].append({"type": "text", "text": "use make -j8"})
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ("use make -j8",))]


@pytest.mark.parametrize("text", ["Tool loaded.", "<system-reminder>x</system-reminder>", ""])
def test_machine_text_beside_a_tool_result_is_none(claude: Claude, text: str) -> None:
    sample = busy(claude)
    sample.lines[-1]["message"]["content"].append({"type": "text", "text": text})
    sample.answer("done")
    assert queued(claude, sample) == [("long job", ())]


def test_a_prompt_absorbed_before_a_rewind_belongs_to_the_turn_left_behind(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("one")
    before = sample.answer("1")
    sample.prompt("dead end")
    sample.side("queue-operation", operation="enqueue", content="hurry up")
    sample.side("queue-operation", operation="remove")
    sample.answer("2")
    sample.leaf = before
    sample.prompt("another way")
    sample.answer("3")
    assert queued(claude, sample) == [("one", ()), ("another way", ())]
    (dead,) = claude.conversation(ID).abandoned
    assert (dead.prompt, dead.queued) == ("dead end", ("hurry up",))
    assert ("user", "hurry up") in claude.said(ID, turn=dead.id)
    assert ("user", "hurry up") not in claude.said(ID)


def test_the_same_words_in_another_turn_do_not_hide_an_absorbed_prompt(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("continue")
    sample.answer("1")
    sample.prompt("long job")
    sample.side("queue-operation", operation="enqueue", content="continue")
    sample.side("queue-operation", operation="remove")
    sample.answer("2")
    sample.prompt("something else")
    sample.answer("3")
    sample.prompt("continue")
    found = dict(queued(claude, sample)[1:3])
    assert found == {"long job": ("continue",), "something else": ()}
