"""The dialects: paginated, legacy, and the bare lines of the first months."""

import json
from typing import Any

import pytest

from prong.model.sessions import Command, TurnKind, View
from tests.unit.agents.stores import CWD, START, Codex, RawLine, uuid

ID, OTHER = uuid(1), uuid(2)
_seconds = iter(range(10_000))


def line(type_: str, **payload: Any) -> dict[str, Any]:
    """A line without an ordinal: legacy."""
    time = f"2026-03-01T10:{next(_seconds) // 60 % 60:02}:{next(_seconds) % 60:02}.000Z"
    return {"timestamp": time, "type": type_, "payload": payload}


def meta(id_: str = ID, **fields: Any) -> dict[str, Any]:
    return line("session_meta", id=id_, cwd=CWD, source="cli", cli_version="0.50.0", **fields)


def event(type_: str, **fields: Any) -> dict[str, Any]:
    return line("event_msg", type=type_, **fields)


def item(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return line("response_item", type="message", role=role, content=content)


def legacy_turn(prompt: str, answer: str) -> list[dict[str, Any]]:
    return [
        item("user", prompt),
        event("user_message", message=prompt, kind="plain"),
        event("agent_reasoning", text="hmm"),
        item("assistant", answer),
        event("agent_message", message=answer),
    ]


def test_legacy_prompts_are_events(codex: Codex) -> None:
    context = item("user", "<environment_context>x</environment_context>")
    lines = [meta(), context, *legacy_turn("one", "1"), *legacy_turn("two", "2")]
    codex.write(ID, lines)
    assert codex.prompts(ID) == ["one", "two"]
    assert codex.session(ID).turn_count == 2
    assert codex.said(ID) == [
        ("user", "one"),
        ("assistant", "1"),
        ("user", "two"),
        ("assistant", "2"),
    ]
    assert codex.said(ID, View.CONTEXT)[1:] == codex.said(ID)
    turns = codex.conversation(ID).turns
    assert [turn.state for turn in turns] == ["finished", "finished"]
    assert len({turn.id for turn in turns}) == 2


def test_legacy_ids_do_not_move_when_the_file_grows(codex: Codex) -> None:
    lines = [meta(), *legacy_turn("one", "1"), *legacy_turn("one", "again")]
    codex.write(ID, lines)
    before = [turn.id for turn in codex.conversation(ID).turns]
    codex.write(ID, [*lines, *legacy_turn("two", "2")])
    assert [turn.id for turn in codex.conversation(ID).turns][:2] == before


def test_legacy_prompts_of_the_same_moment_have_ids_of_their_own(codex: Codex) -> None:
    turn = legacy_turn("again", "1")
    codex.write(ID, [meta(), *turn, *turn])
    assert len({turn.id for turn in codex.conversation(ID).turns}) == 2


def test_answers_without_a_prompt_are_a_conversation(codex: Codex) -> None:
    codex.write(ID, [meta(), event("agent_message", message="hello")])
    assert codex.session(ID).turn_count == 0
    assert codex.said(ID) == [("assistant", "hello")]


def test_legacy_with_events_only(codex: Codex) -> None:
    lines = [
        meta(),
        event("user_message", message="one"),
        event("agent_reasoning", text="hmm"),
        event("agent_message", message="1"),
    ]
    codex.write(ID, lines)
    assert codex.said(ID) == [("user", "one"), ("thinking", "hmm"), ("assistant", "1")]


def test_legacy_with_items_only(codex: Codex) -> None:
    codex.write(ID, [meta(), item("user", "one"), item("assistant", "1")])
    assert codex.prompts(ID) == ["one"]
    assert codex.said(ID) == [("user", "one"), ("assistant", "1")]


@pytest.mark.parametrize(
    "text",
    [
        "<environment_context>x</environment_context>",
        "<user_instructions>x</user_instructions>",
        "<turn_aborted>x</turn_aborted>",
        "<skill>x</skill>",
        "<user_shell_command>x</user_shell_command>",
        "<recommended_plugins>x</recommended_plugins>",
        "<codex_delegation>x</codex_delegation>",
        "# AGENTS.md instructions for /w",
        "\n <environment_context>x</environment_context>",
        "",
    ],
)
def test_what_codex_put_there_is_no_prompt(codex: Codex, text: str) -> None:
    codex.write(ID, [meta(), item("user", text), item("user", "real"), item("developer", "x")])
    assert codex.prompts(ID) == ["real"]
    assert codex.said(ID) == [("user", "real")]
    assert len(codex.said(ID, View.CONTEXT)) == (2 if text else 1)


def test_what_an_editor_put_around_a_prompt(codex: Codex) -> None:
    text = "# Context from my IDE setup:\n## Open tabs:\n- a\n\n## My request for Codex:\nfix it\n"
    codex.write(ID, [meta(), item("user", text)])
    assert codex.prompts(ID) == ["fix it"]
    bare = "# Context from my IDE setup:\nnothing asked"
    codex.write(ID, [meta(), item("user", bare)])
    assert codex.prompts(ID) == [bare]


def test_a_prompt_with_a_picture(codex: Codex) -> None:
    shown = item("user", "look")
    shown["payload"]["content"].append({"type": "input_image", "image_url": "data:"})
    codex.write(ID, [meta(), shown])
    assert codex.prompts(ID) == ["look\n[image]"]
    assert codex.said(ID) == [("user", "look\n[image]")]


def test_a_legacy_fork_is_a_copy_with_two_headers(codex: Codex) -> None:
    source = [meta(), *legacy_turn("one", "1"), *legacy_turn("two", "2")]
    fork = [meta(OTHER, forked_from_id=ID), *source, *legacy_turn("mine", "3")]
    codex.write(ID, [*source, *legacy_turn("three", "3")])
    codex.write(OTHER, fork)
    assert codex.prompts(OTHER) == ["one", "two", "mine"]
    session = codex.session(OTHER)
    assert (str(session.parent), session.inherited, session.turn_count) == (f"codex:{ID}", 2, 3)
    assert codex.session(ID).parent is None


def test_a_legacy_fork_whose_parent_is_gone(codex: Codex) -> None:
    codex.write(OTHER, [meta(OTHER, forked_from_id=ID), meta(), *legacy_turn("one", "1")])
    session = codex.session(OTHER)
    assert (str(session.parent), session.inherited) == (f"codex:{ID}", 0)


def test_turns_that_were_rolled_back(codex: Codex) -> None:
    rollback = event("thread_rolled_back", num_turns=2)
    lines = [meta(), *legacy_turn("one", "1"), *legacy_turn("two", "2"), *legacy_turn("three", "3")]
    codex.write(ID, [*lines, rollback, *legacy_turn("four", "4")])
    assert codex.prompts(ID) == ["one", "four"]
    assert codex.abandoned(ID) == ["two", "three"]
    assert codex.session(ID).turn_count == 2
    dead = codex.conversation(ID).abandoned[0]
    assert codex.said(ID, turn=dead.id)[:1] == [("user", "two")]


@pytest.mark.parametrize("count", [99, 0, -1, None, "x"])
def test_rolling_back_an_odd_number_of_turns(codex: Codex, count: Any) -> None:
    rollback = event("thread_rolled_back", num_turns=count)
    codex.write(ID, [meta(), *legacy_turn("one", "1"), rollback, *legacy_turn("two", "2")])
    assert codex.prompts(ID) == (["two"] if count == 99 else ["one", "two"])


BARE: list[RawLine] = [
    {
        "id": ID,
        "timestamp": "2025-08-20T10:00:00.000Z",
        "instructions": None,
        "git": {"branch": "b"},
    },
    {"record_type": "state"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hmm"}]},
    {
        "type": "function_call",
        "name": "shell",
        "arguments": json.dumps({"command": ["bash", "-lc", "make test"]}),
        "call_id": "c1",
    },
    {
        "type": "function_call_output",
        "call_id": "c1",
        "output": json.dumps({"output": "bad", "metadata": {"exit_code": 2}}),
    },
    {"record_type": "state"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1"}]},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "one"}]},
]


def test_bare_lines(codex: Codex) -> None:
    codex.write(ID, BARE)
    conversation = codex.conversation(ID)
    assert [turn.prompt for turn in conversation.turns] == ["one", "one"]
    assert len({turn.id for turn in conversation.turns}) == 2
    assert conversation.turns[0].commands == (Command("make test", 2),)
    assert [turn.state for turn in conversation.turns] == ["finished", "interrupted"]
    assert codex.said(ID) == [
        ("user", "one"),
        ("thinking", "hmm"),
        ("assistant", "call"),
        ("tool", '{"output": "bad", "metadata": {"exit_code": 2}}'),
        ("assistant", "1"),
        ("user", "one"),
    ]
    session = codex.session(ID)
    assert session.branch == "b"
    assert session.started
    assert session.started.year == 2025


def test_a_bare_line_with_an_odd_payload(codex: Codex) -> None:
    odd = {**json.loads(json.dumps(BARE[2])), "payload": 5}
    codex.write(ID, [BARE[0], odd])
    assert codex.said(ID) == [("user", "one")]


def test_paginated(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1", commands=[("ls", 0)])
    sample.turn("two", "2")
    codex.write(ID, sample.lines)
    turns = codex.conversation(ID).turns
    assert [(turn.index, turn.id, turn.prompt) for turn in turns] == [
        (1, sample.turns[0], "one"),
        (2, sample.turns[1], "two"),
    ]
    assert turns[0].kind is TurnKind.HUMAN
    assert turns[0].started
    assert turns[0].started > START
    assert codex.said(ID) == [
        ("user", "one"),
        ("assistant", "call"),
        ("tool", "Process exited with code 0\nOutput:\n"),
        ("assistant", "1"),
        ("user", "two"),
        ("assistant", "2"),
    ]


def test_unknown_lines_pass_by(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    sample.add("world_state", anything=[1])
    sample.add("event_msg", type="brand_new", item={"type": "UserMessage"})
    sample.add("response_item", type="ghost_snapshot", ghost={})
    codex.write(ID, sample.lines)
    assert codex.prompts(ID) == ["one"]
    assert codex.said(ID) == [("user", "one"), ("assistant", "1")]


@pytest.mark.parametrize("payload", [None, 5, "x", [], {}, {"type": 5}, {"type": "message"}])
@pytest.mark.parametrize("type_", ["event_msg", "response_item", "turn_context", "compacted"])
def test_lines_of_the_wrong_shape_do_no_harm(codex: Codex, payload: Any, type_: str) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    odd = {"timestamp": 5, "ordinal": "x", "type": type_, "payload": payload}
    codex.write(ID, [*sample.lines, odd])
    assert codex.prompts(ID) == ["one"]
    for view in View:
        assert all(role in ("user", "assistant", "summary") for role, _ in codex.said(ID, view))


def test_numbers_beyond_all_bounds(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    for line_ in sample.lines:
        line_["ordinal"] = 10**25
    codex.write(ID, sample.lines)
    assert codex.prompts(ID) == ["one"]


def test_nothing_but_a_header_is_no_conversation(codex: Codex) -> None:
    path = codex.write(ID, codex.new().lines)
    scan = codex.scan()
    assert scan.sessions == ()
    assert [(skip.path, skip.reason) for skip in scan.skipped] == [(path, "no conversation in it")]
