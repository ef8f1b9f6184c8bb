"""Lines as messages."""

from typing import Any

import pytest

from prong.model.sessions import Message, View
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import Claude, uuid

ID = uuid(1)


def talk(claude: Claude) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("do it")
    return sample


def messages(claude: Claude, sample: ClaudeSample, view: View = View.HISTORY) -> list[Message]:
    claude.write(ID, sample.lines)
    return list(claude.store.messages(claude.session(ID), view=view))


def assistant(sample: ClaudeSample, *blocks: Any) -> None:
    message = {"id": "msg_1", "role": "assistant", "model": "m", "content": list(blocks)}
    sample.chain("assistant", message=message)


def test_thinking_text_and_tools(claude: Claude) -> None:
    sample = talk(claude)
    assistant(sample, {"type": "thinking", "thinking": "hmm", "signature": "s"})
    assistant(sample, {"type": "text", "text": "I will"})
    sample.tools(("Bash", {"command": "ls"}, "a.txt"))
    found = messages(claude, sample)
    assert [(m.role, m.text) for m in found[:3]] == [
        ("user", "do it"),
        ("thinking", "hmm"),
        ("assistant", "I will"),
    ]
    call, result = found[3].tool, found[4].tool
    assert call
    assert result
    assert (call.name, call.input, call.output) == ("Bash", '{"command": "ls"}', None)
    assert (result.name, result.id, result.output) == ("Bash", call.id, "a.txt")
    assert all(m.turn == 1 and m.time for m in found)


@pytest.mark.parametrize(
    ("content", "output"),
    [
        ("plain", "plain"),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "image"}], "[image]"),
        ([{"type": "tool_reference", "tool_name": "x"}], "[tool_reference]"),
        (["bare", 5], "bare\n5"),
        ({"answers": 1}, '{"answers": 1}'),
        (None, ""),
        ([], ""),
    ],
)
def test_tool_results_of_every_shape(claude: Claude, content: Any, output: str) -> None:
    sample = talk(claude)
    sample.tools(("Read", {}, content))
    tool = messages(claude, sample)[-1].tool
    assert tool
    assert (tool.output, tool.failed) == (output, False)


def test_a_result_without_its_call_is_kept(claude: Claude) -> None:
    sample = talk(claude)
    block = {"type": "tool_result", "tool_use_id": "toolu_lost", "content": "out", "is_error": True}
    sample.chain("user", message={"role": "user", "content": [block]})
    tool = messages(claude, sample)[-1].tool
    assert tool
    assert (tool.id, tool.name, tool.output, tool.failed) == ("toolu_lost", "", "out", True)


def test_prompts_with_pictures_and_papers(claude: Claude) -> None:
    sample = talk(claude)
    blocks = [{"type": "text", "text": "see"}, {"type": "image"}, {"type": "document"}]
    sample.lines[0]["message"]["content"] = blocks
    assert [m.text for m in messages(claude, sample)] == ["see", "[image]", "[document]"]


def test_reminders_are_for_the_model_only(claude: Claude) -> None:
    sample = talk(claude)
    sample.lines[0]["message"]["content"] = "<system-reminder>psst</system-reminder>do it"
    sample.lines[0]["entrypoint"] = "claude-desktop"
    meta = {"role": "user", "content": "Stop hook feedback:\nmore"}
    sample.chain("user", message=meta, isMeta=True)
    assert [m.text for m in messages(claude, sample)] == ["do it"]
    assert [m.text for m in messages(claude, sample, View.CONTEXT)] == [
        "<system-reminder>psst</system-reminder>do it",
        "Stop hook feedback:\nmore",
    ]


def test_local_commands_are_told_to_the_model(claude: Claude) -> None:
    sample = talk(claude)
    text = "<local-command-stdout>Set model</local-command-stdout>"
    sample.chain("system", subtype="local_command", content=text)
    sample.chain("system", subtype="local_command", content="shown only", isDisplayOnly=True)
    sample.chain("system", subtype="turn_duration", durationMs=1)
    assert [m.text for m in messages(claude, sample)] == ["do it"]
    assert [m.text for m in messages(claude, sample, View.CONTEXT)] == ["do it", text]


def test_an_api_error_is_seen_by_people_and_not_sent(claude: Claude) -> None:
    sample = talk(claude)
    sample.answer("API Error: 500")
    sample.lines[-2]["isApiErrorMessage"] = True
    assert [m.text for m in messages(claude, sample)] == ["do it", "API Error: 500"]
    assert [m.text for m in messages(claude, sample, View.CONTEXT)] == ["do it"]


ODD_MESSAGES: list[Any] = [
    None,
    5,
    "text",
    [],
    {},
    {"content": None},
    {"content": 7},
    {"content": [None, 3, [], {}]},
]


@pytest.mark.parametrize("message", ODD_MESSAGES)
@pytest.mark.parametrize("type_", ["user", "assistant"])
def test_lines_of_the_wrong_shape_say_nothing_and_keep_the_chain(
    claude: Claude, message: Any, type_: str
) -> None:
    sample = talk(claude)
    sample.chain(type_, message=message)
    sample.prompt("still there")
    assert [m.text for m in messages(claude, sample)] == ["do it", "still there"]


def test_what_is_printed_can_be_encoded(claude: Claude) -> None:
    sample = talk(claude)
    sample.answer("broken @ byte")
    path = claude.write(ID, sample.lines)
    path.write_bytes(path.read_bytes().replace(b"@", b"\xff").replace(b"do it", b"\\udcff"))
    texts = [m.text for m in claude.store.messages(claude.session(ID))]
    assert texts == ["\ufffd", "broken \ufffd byte"]


def test_a_file_that_was_cut_short_meanwhile(claude: Claude) -> None:
    sample = talk(claude)
    sample.answer("a" * 3_000_000)
    path = claude.write(ID, sample.lines)
    stream = claude.store.messages(claude.session(ID))
    assert next(stream).text == "do it"
    path.write_bytes(b"")
    assert list(stream) == []
