"""What a search is told of Codex sessions."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prong.agents.codex import words
from prong.agents.codex.facts import CodexFacts
from prong.model.turn_text import TurnText
from prong.storage.scan_cache import NoCache
from prong.testing.contract import MemoryCache, TextCollector
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import START, Codex, uuid

ID, AGENT, FORK = uuid(1), uuid(2), uuid(3)


def heard(codex: Codex, path: Path, *, output: bool = True) -> list[TurnText]:
    """The turns of a file, as a scan and as the file alone tell them."""
    sink = TextCollector(output=output)
    codex.store.scan_texts(NoCache(), sink)
    alone = codex.store.file_texts(str(path), output=output)
    assert alone is not None
    turns = list(alone.turns)
    assert sink.files[str(path)] == alone._replace(turns=tuple(turns))
    return turns


def result(sample: CodexSample, output: Any, kind: str = "function_call_output") -> None:
    sample.add("response_item", type=kind, call_id="c1", output=output)


def test_what_was_asked_said_and_done(codex: Codex) -> None:
    sample = codex.new()
    id_ = sample.turn("make it fast", "It is fast.", commands=[("make", 0)], files=["/w/a.py"])
    (turn,) = heard(codex, codex.write(ID, sample.lines))
    assert turn == TurnText(
        id=id_,
        index=1,
        kind="human",
        started=sample.lines[1]["timestamp"],
        prompt="make it fast",
        answer="It is fast.",
        last_answer="It is fast.",
        files=("/w/a.py",),
        commands=("make",),
        output="Process exited with code 0\nOutput:\n",
    )


def test_output_only_when_it_is_wanted(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("look", "seen", commands=[("ls", 0)])
    (turn,) = heard(codex, codex.write(ID, sample.lines), output=False)
    assert (turn.output, turn.commands) == ("", ("ls",))


def test_what_is_typed_meanwhile_belongs_to_the_prompt(codex: Codex) -> None:
    sample = codex.new()
    turn_id = sample.turn("long job", "done")
    item = {"type": "UserMessage", "content": [{"type": "text", "text": "faster"}]}
    sample.add("event_msg", type="item_completed", turn_id=turn_id, item=item)
    end = sample.lines.pop(-2)
    sample.lines.append(end)
    (turn,) = heard(codex, codex.write(ID, sample.lines))
    assert turn.prompt == "long job\nfaster"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("plain", "plain"),
        (
            [{"type": "input_text", "text": "one"}, {"type": "input_text", "text": "two"}],
            "one\ntwo",
        ),
        (json.dumps({"output": "a\nb", "metadata": {"exit_code": 0}}), '{"output": "a\nb", '),
        (None, ""),
        ({"content": "x"}, ""),
    ],
)
def test_forms_of_a_result(codex: Codex, output: Any, text: str) -> None:
    sample = codex.new()
    sample.turn("look", "seen")
    result(sample, output)
    (turn,) = heard(codex, codex.write(ID, sample.lines))
    assert turn.output.startswith(text)
    assert bool(turn.output) == bool(text)


def test_a_file_of_events_only(codex: Codex) -> None:
    sample = codex.new()
    sample.add("event_msg", type="user_message", message="hi")
    sample.add("event_msg", type="agent_message", message="hello")
    (turn,) = heard(codex, codex.write(ID, sample.lines))
    assert (turn.prompt, turn.answer) == ("hi", "hello")


def test_turns_that_were_rolled_back_have_no_number(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    sample.turn("two", "2")
    sample.add("event_msg", type="thread_rolled_back", num_turns=1)
    sample.turn("three", "3")
    turns = heard(codex, codex.write(ID, sample.lines))
    assert [(turn.index, turn.prompt, turn.answer) for turn in turns] == [
        (1, "one", "1"),
        (2, "three", "3"),
        (None, "two", "2"),
    ]


def test_a_fork_tells_only_its_own_turns_and_their_numbers(codex: Codex) -> None:
    sample = codex.new()
    for number in range(3):
        sample.turn(f"prompt {number}", f"answer {number}")
    codex.write(ID, sample.lines)
    fork = sample.fork(FORK, 2)
    fork.turn("other way", "found")
    path = codex.write(FORK, fork.lines)
    (turn,) = heard(codex, path)
    assert (turn.index, turn.prompt) == (3, "other way")
    assert codex.conversation(FORK).turns[2].id == turn.id


def test_what_cannot_be_kept_is_read_again(codex: Codex, monkeypatch: pytest.MonkeyPatch) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    codex.write(ID, sample.lines)
    ids = [uuid(number) for number in range(10, 14)]
    for id_ in ids:
        fork = sample.fork(id_, 1)
        fork.turn(f"prompt of {id_}", "answer " * 1000, commands=[("make", 0)])
        codex.write(id_, fork.lines)
    usual = TextCollector()
    codex.store.scan_texts(NoCache(), usual)
    assert [turn.index for turn in usual.files[codex.session(ids[0]).file].turns] == [2]
    most: list[int] = []
    keep = words.CodexListener.summarise

    def summarise(self: words.CodexListener, *given: Any) -> CodexFacts:
        facts = keep(self, *given)
        most.append(sum(heard.words.size for heard in self.waiting))
        return facts

    monkeypatch.setattr(words.CodexListener, "summarise", summarise)
    monkeypatch.setattr(words, "_MOST_KEPT", 20_000)
    sink = TextCollector()
    codex.store.scan_texts(NoCache(), sink)
    assert sink.files == usual.files
    assert sorted(sink.taken) == sorted(usual.taken)
    assert 7000 <= max(most) <= 20_000


def test_a_file_that_alone_is_too_much_is_heard(
    codex: Codex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(words, "_MOST_KEPT", 1)
    sample = codex.new()
    sample.turn("one", "1")
    codex.write(ID, sample.lines)
    fork = sample.fork(FORK, 1)
    fork.turn("two", "2")
    (turn,) = heard(codex, codex.write(FORK, fork.lines))
    assert (turn.index, turn.prompt) == (2, "two")


def test_a_fork_is_numbered_also_when_its_parent_is_known_already(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    codex.write(ID, sample.lines)
    cache = MemoryCache()
    cache.save("codex", codex.store.scan(cache))
    fork = sample.fork(FORK, 1)
    fork.turn("two", "2")
    path = str(codex.write(FORK, fork.lines))
    sink = TextCollector()
    codex.store.scan_texts(cache, sink)
    assert sink.taken == [path]
    assert [turn.index for turn in sink.files[path].turns] == [2]


def test_a_fork_whose_parent_is_gone(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    fork = sample.fork(FORK, 1)
    fork.turn("two", "2")
    (turn,) = heard(codex, codex.write(FORK, fork.lines))
    assert (turn.index, turn.prompt) == (1, "two")


def rewind(codex: Codex, sample: CodexSample) -> Path:
    """Back to the first turn, and another way."""
    again = sample.fork(ID, 1)
    while again.uuid() not in sample.turns[1:]:
        pass  # So that it has no ids that were given before.
    again.turn("three", "3")
    return codex.write(ID, again.lines, segment=uuid(9), time=sample.now)


def test_a_rewind_renumbers_a_file_that_does_not_change(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    sample.turn("two", "2")
    before = str(codex.write(ID, sample.lines))
    cache, sink = MemoryCache(), TextCollector()
    cache.save("codex", codex.store.scan_texts(cache, sink))
    assert [turn.index for turn in sink.files[before].turns] == [1, 2]
    after = rewind(codex, sample)
    cache.save("codex", codex.store.scan_texts(cache, sink))
    assert [turn.index for turn in sink.files[before].turns] == [1, None]
    assert [turn.index for turn in sink.files[str(after)].turns] == [2]
    sink.taken.clear()
    os.utime(after)
    codex.store.scan_texts(cache, sink)
    assert sink.taken == [str(after)]


def test_what_a_rewind_left_behind_has_no_number(codex: Codex) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    sample.turn("two", "2")
    before = codex.write(ID, sample.lines)
    after = rewind(codex, sample)
    left, right = heard(codex, before), heard(codex, after)
    assert [(turn.index, turn.prompt) for turn in left] == [(1, "one"), (None, "two")]
    assert [(turn.index, turn.prompt) for turn in right] == [(2, "three")]
    assert {codex.session(ID).turn_count} == {2}


def parent(codex: Codex, form: str) -> CodexSample:
    sample = codex.new()
    sample.turn("before", "yes")
    sample.turn("send somebody", "done")
    arguments = json.dumps({"task_name": "look", "message": "look around"})
    spawn = {"type": "function_call", "name": "spawn_agent", "call_id": "c1"}
    sample.add("response_item", **spawn, arguments=arguments)
    if form == "item":
        item = {"type": "CollabAgentToolCall", "id": "c1", "prompt": "look around"}
        sample.add(
            "event_msg", type="item_completed", item={**item, "receiver_thread_ids": [AGENT]}
        )
    else:
        sample.add("event_msg", type="sub_agent_activity", agent_thread_id=AGENT, event_id="c1")
    return sample


def agent(codex: Codex, *answers: str) -> CodexSample:
    source: Any = {"subagent": {"thread_spawn": {"parent_thread_id": ID, "depth": 1}}}
    sample = CodexSample(AGENT, "/w", START, source=source, parent_thread_id=ID)
    sample.now = START
    for answer in answers:
        sample.turn("look around", answer)
    return sample


@pytest.mark.parametrize("form", ["item", "event"])
@pytest.mark.parametrize("newer", ["parent", "agent"])
def test_a_sub_agent_is_heard_in_the_turn_that_sent_it(codex: Codex, form: str, newer: str) -> None:
    path = codex.write(ID, parent(codex, form).lines)
    child = codex.write(AGENT, agent(codex, "I see a door.", "It is open.").lines)
    os.utime(path if newer == "parent" else child, (4_000_000_000, 4_000_000_000))
    before, turn = heard(codex, path)
    assert before.aside == ""
    assert turn.aside == "look around\nI see a door.\nIt is open."
    assert heard(codex, child) == []


def test_what_a_sub_agent_knows_from_its_parent_it_did_not_say(codex: Codex) -> None:
    path = codex.write(ID, parent(codex, "item").lines)
    sample = agent(codex, "I see a door.")
    old = {"type": "message", "role": "assistant", "content": [{"text": "said before"}]}
    line = {"timestamp": "2020-01-01T00:00:00Z", "type": "response_item", "payload": old}
    codex.write(AGENT, [sample.lines[0], line, *sample.lines[1:]])
    assert heard(codex, path)[1].aside == "look around\nI see a door."


def test_a_sub_agent_that_is_known_already_is_heard(codex: Codex) -> None:
    codex.write(AGENT, agent(codex, "I see a door.").lines)
    cache = MemoryCache()
    cache.save("codex", codex.store.scan(cache))
    path = str(codex.write(ID, parent(codex, "item").lines))
    sink = TextCollector()
    codex.store.scan_texts(cache, sink)
    assert [turn.aside for turn in sink.files[path].turns] == ["", "look around\nI see a door."]


def test_another_session_is_no_sub_agent(codex: Codex) -> None:
    other = codex.new(2)
    other.turn("hi", "hello")
    codex.write(AGENT, other.lines)
    path = codex.write(ID, parent(codex, "item").lines)
    assert heard(codex, path)[1].aside == "look around"


def test_a_packed_file(codex: Codex) -> None:
    import zstandard

    sample = codex.new()
    sample.turn("one", "1")
    path = codex.write(ID, sample.lines)
    packed = path.with_name(f"{path.name}.zst")
    packed.write_bytes(zstandard.compress(path.read_bytes()))
    path.unlink()
    (turn,) = heard(codex, packed)
    assert turn.answer == "1"


def test_a_file_that_no_scan_has_seen(codex: Codex, tmp_path: Path) -> None:
    sample = codex.new()
    sample.turn("one", "1")
    path = codex.write(ID, sample.lines)
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(path.read_bytes())
    found = codex.store.file_texts(str(copy))
    assert found is not None
    assert (found.session_id, [turn.index for turn in found.turns]) == (ID, [1])
