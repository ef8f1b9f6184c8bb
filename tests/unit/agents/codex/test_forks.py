"""Forks are stubs, rewinds are segments: a session is spread over files."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import zstandard

from prong.agents.codex.store import CodexStore
from prong.app import App
from prong.config import Config
from prong.model.sessions import View
from prong.storage.scan_cache import NoCache
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import CWD, START, Codex, uuid

PARENT, CHILD, GRANDCHILD, SEGMENT = uuid(1), uuid(2), uuid(3), uuid(9)


def thread(codex: Codex, *prompts: str, number: int = 1) -> CodexSample:
    sample = codex.new(number)
    for prompt in prompts:
        sample.turn(prompt, f"answer to {prompt}", commands=[("make", 0)])
    return sample


def rewound(source: CodexSample, turn_count: int, *, hours: int = 1) -> CodexSample:
    """The segment that a rewind starts: same thread, a base in the file before."""
    end = source.ends[turn_count - 1] if turn_count else 1
    segment = CodexSample(
        source.id,
        CWD,
        START + timedelta(hours=hours),
        history_base={"thread_id": source.id, "end_ordinal_exclusive": end, "end_byte_offset": 0},
    )
    segment.lines[0]["ordinal"] = end
    segment.ordinal = end + 1
    segment._count = 1000 * hours
    return segment


def write(codex: Codex, *samples: CodexSample) -> None:
    for sample in samples:
        codex.write(sample.id, sample.lines)


def test_a_fork_has_the_turns_of_its_parent_up_to_the_cut(codex: Codex) -> None:
    source = thread(codex, "one", "two", "three")
    fork = source.fork(CHILD, 2)
    fork.turn("mine", "ok")
    write(codex, source, fork)
    assert codex.prompts(CHILD) == ["one", "two", "mine"]
    assert codex.prompts(PARENT) == ["one", "two", "three"]
    session = codex.session(CHILD)
    assert (str(session.parent), session.inherited) == (f"codex:{PARENT}", 2)
    assert session.turn_count == 3
    assert [turn.id for turn in codex.conversation(CHILD).turns][:2] == source.turns[:2]
    assert session.title == "one"
    assert ("user", "two") in codex.said(CHILD)
    assert ("assistant", "answer to two") in codex.said(CHILD, View.CONTEXT)
    assert "three" not in str(codex.said(CHILD))


def test_a_fork_without_a_turn_of_its_own_is_a_session(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    write(codex, source, source.fork(CHILD, 1))
    assert codex.prompts(CHILD) == ["one"]
    session = codex.session(CHILD)
    assert (session.turn_count, session.inherited) == (1, 1)


def test_a_parent_that_grew_since_does_not_change_the_fork(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    fork = source.fork(CHILD, 2)
    source.turn("later", "ok")
    write(codex, source, fork)
    assert codex.prompts(CHILD) == ["one", "two"]


def test_a_fork_of_a_fork(codex: Codex) -> None:
    source = thread(codex, "one", "two", "three")
    fork = source.fork(CHILD, 2)
    fork.turn("child's", "ok")
    fork.turn("child's second", "ok")
    last = fork.fork(GRANDCHILD, 1)
    last.turn("grandchild's", "ok")
    write(codex, source, fork, last)
    assert codex.prompts(GRANDCHILD) == ["one", "two", "child's", "grandchild's"]
    session = codex.session(GRANDCHILD)
    assert (session.parent, session.inherited) == (codex.session(CHILD).ref, 3)


def test_a_fork_of_a_fork_that_is_cut_in_what_the_first_inherited(codex: Codex) -> None:
    source = thread(codex, "one", "two", "three")
    fork = source.fork(CHILD, 3)
    fork.turn("child's", "ok")
    fork.ends = source.ends
    last = fork.fork(GRANDCHILD, 1)
    last.turn("grandchild's", "ok")
    write(codex, source, fork, last)
    assert codex.prompts(GRANDCHILD) == ["one", "grandchild's"]
    session = codex.session(GRANDCHILD)
    assert (session.turn_count, session.inherited) == (2, 1)


def test_a_cut_in_the_middle_of_a_turn(codex: Codex) -> None:
    """A fork while the source was at work: the prompt is inherited, the answer is not."""
    source = thread(codex, "one", "two")
    source.ends[1] = next(
        line["ordinal"] + 1
        for line in source.lines
        if "'two'" in str(line) and "UserMessage" in str(line)
    )
    fork = source.fork(CHILD, 2)
    text = "<turn_aborted>\nThe user interrupted</turn_aborted>"
    content = [{"type": "input_text", "text": text}]
    fork.add("response_item", type="message", role="user", content=content)
    fork.turn("mine", "ok")
    write(codex, source, fork)
    turns = codex.conversation(CHILD).turns
    assert [(turn.prompt, turn.state) for turn in turns] == [
        ("one", "finished"),
        ("two", "interrupted"),
        ("mine", "finished"),
    ]
    assert codex.session(CHILD).turn_count == 3


@pytest.mark.parametrize("how", ["archived", "packed", "archived and packed"])
def test_the_parent_may_be_archived_or_packed(codex: Codex, how: str) -> None:
    source = thread(codex, "one", "two")
    fork = source.fork(CHILD, 1)
    write(codex, source, fork)
    path = codex.path(PARENT)
    if "packed" in how:
        packed = path.with_name(path.name + ".zst")
        packed.write_bytes(zstandard.compress(path.read_bytes()))
        path.unlink()
        path = packed
    if "archived" in how:
        folder = codex.root / "archived_sessions"
        folder.mkdir()
        path.rename(folder / path.name)
    assert codex.prompts(CHILD) == ["one"]
    assert codex.prompts(PARENT) == ["one", "two"]
    assert codex.session(PARENT).archived == ("archived" in how)


def test_a_missing_base_is_reported_and_the_rest_read(codex: Codex) -> None:
    source = thread(codex, "one")
    fork = source.fork(CHILD, 1)
    fork.turn("mine", "ok")
    write(codex, fork)
    conversation = codex.conversation(CHILD)
    assert [turn.prompt for turn in conversation.turns] == ["mine"]
    assert [skip.reason for skip in conversation.skipped] == [
        f"the rollout it continues is missing: {PARENT}"
    ]
    session = codex.session(CHILD)
    assert (str(session.parent), session.inherited) == (f"codex:{PARENT}", 0)


def test_a_base_that_cannot_be_unpacked(codex: Codex) -> None:
    source = thread(codex, "one")
    fork = source.fork(CHILD, 1)
    fork.turn("mine", "ok")
    write(codex, fork)
    broken = codex.path(PARENT).with_suffix(".jsonl.zst")
    broken.write_bytes(b"no archive")
    conversation = codex.conversation(CHILD)
    assert [turn.prompt for turn in conversation.turns] == ["mine"]
    assert [skip.path for skip in conversation.skipped] == [broken]
    assert codex.session(CHILD).turn_count == 1


@pytest.mark.parametrize(
    "base", [{}, {"thread_id": PARENT}, {"thread_id": PARENT, "end_ordinal_exclusive": "x"}, 5, []]
)
def test_a_base_of_the_wrong_shape(codex: Codex, base: Any) -> None:
    fork = thread(codex, "one").fork(CHILD, 1)
    fork.lines[0]["payload"]["history_base"] = base
    fork.turn("mine", "ok")
    write(codex, fork)
    assert codex.prompts(CHILD) == ["mine"]


def test_a_loop_of_bases_ends(codex: Codex) -> None:
    source = thread(codex, "one")
    fork = source.fork(CHILD, 1)
    fork.turn("mine", "ok")
    base = {"thread_id": CHILD, "end_ordinal_exclusive": 999, "end_byte_offset": 0}
    source.lines[0]["payload"]["history_base"] = base
    write(codex, source, fork)
    assert codex.prompts(CHILD) == ["one", "mine"]
    assert "missing" in codex.conversation(CHILD).skipped[0].reason
    assert codex.session(CHILD).turn_count == 2
    fork.lines[0]["payload"]["history_base"]["thread_id"] = CHILD
    write(codex, fork)
    assert codex.prompts(CHILD) == ["mine"]


def test_a_rewind_starts_a_segment_and_leaves_turns_behind(codex: Codex) -> None:
    source = thread(codex, "one", "two", "three")
    segment = rewound(source, 1)
    segment.turn("two again", "better")
    codex.write(PARENT, source.lines)
    path = codex.write(PARENT, segment.lines, time=segment.start, segment=SEGMENT)
    assert codex.ids() == {PARENT}
    session = codex.session(PARENT)
    assert (session.path, session.turn_count) == (path, 2)
    assert (session.parent, session.inherited) == (None, 0)
    assert codex.prompts(PARENT) == ["one", "two again"]
    assert codex.abandoned(PARENT) == ["two", "three"]
    dead = codex.conversation(PARENT).abandoned[0]
    assert dead.index is None
    assert ("assistant", "answer to two") in codex.said(PARENT, turn=dead.id)
    assert "answer to two" not in str(codex.said(PARENT))


def test_a_rewind_to_the_very_beginning(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    segment = rewound(source, 0)
    segment.turn("afresh", "ok")
    codex.write(PARENT, source.lines)
    codex.write(PARENT, segment.lines, time=segment.start, segment=SEGMENT)
    assert codex.prompts(PARENT) == ["afresh"]
    assert codex.abandoned(PARENT) == ["one", "two"]


def test_two_rewinds(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    first = rewound(source, 1)
    first.turn("second try", "ok")
    second = rewound(source, 1, hours=2)
    second.turn("third try", "ok")
    codex.write(PARENT, source.lines)
    codex.write(PARENT, first.lines, time=first.start, segment=SEGMENT)
    codex.write(PARENT, second.lines, time=second.start, segment=uuid(10))
    assert codex.prompts(PARENT) == ["one", "third try"]
    assert sorted(codex.abandoned(PARENT)) == ["second try", "two"]


def test_a_fork_of_a_segment(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    segment = rewound(source, 1)
    segment.turn("second try", "ok")
    codex.write(PARENT, source.lines)
    codex.write(PARENT, segment.lines, time=segment.start, segment=SEGMENT)
    fork = segment.fork(CHILD, 1)
    fork.lines[0]["payload"]["history_base"]["thread_id"] = SEGMENT
    fork.turn("mine", "ok")
    write(codex, fork)
    assert codex.prompts(CHILD) == ["one", "second try", "mine"]
    session = codex.session(CHILD)
    assert (session.parent, session.inherited) == (codex.session(PARENT).ref, 2)


def test_a_rewound_fork_keeps_its_parent(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    fork = source.fork(CHILD, 1)
    fork.turn("mine", "ok")
    segment = rewound(fork, 1)
    segment.turn("again", "ok")
    write(codex, source, fork)
    codex.write(CHILD, segment.lines, time=segment.start, segment=SEGMENT)
    session = codex.session(CHILD)
    assert codex.prompts(CHILD) == ["one", "mine", "again"]
    assert (str(session.parent), session.inherited) == (f"codex:{PARENT}", 1)


def test_a_file_by_its_path_finds_its_base(codex: Codex) -> None:
    source = thread(codex, "one", "two")
    fork = source.fork(CHILD, 1)
    fork.turn("mine", "ok")
    write(codex, source, fork)
    elsewhere = Codex(codex.root.parent / "elsewhere")
    session = elsewhere.store.session_at(codex.path(CHILD))
    assert session
    assert (session.turn_count, session.inherited) == (2, 1)
    turns = elsewhere.store.conversation(session).turns
    assert [turn.prompt for turn in turns] == ["one", "mine"]


def test_the_live_segment_is_the_one_that_nobody_continues(codex: Codex) -> None:
    """File names have local times: after a flight to the west a later file has an earlier name."""
    source = thread(codex, "one", "two")
    segment = rewound(source, 1)
    segment.turn("two again", "better")
    codex.write(PARENT, source.lines)
    earlier = START - timedelta(hours=8)
    path = codex.write(PARENT, segment.lines, time=earlier, segment=SEGMENT)
    assert codex.session(PARENT).path == path
    assert codex.prompts(PARENT) == ["one", "two again"]


def test_an_old_copy_in_another_root_hides_nothing(codex: Codex, tmp_path: Path) -> None:
    source = thread(codex, "one")
    backup = Codex(tmp_path / "backup")
    old = backup.write(PARENT, source.lines)
    source.turn("two", "2")
    live = codex.write(PARENT, source.lines)
    for roots in ([codex.root, backup.root], [backup.root, codex.root]):
        scan = CodexStore(roots).scan(NoCache())
        assert {session.path: session.turn_count for session in scan.sessions} == {live: 2, old: 1}
        (best,) = App(Config(), stores={"codex": CodexStore(roots)}, remember=False).sessions.all()
        assert best.path == live
