"""What `prong-hook` finds at the end of a session file is what the readers find."""

import tempfile
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.agents.claude.last_turn import ClaudeLastTurn
from prong.agents.codex.last_turn import CodexLastTurn
from prong.agents.last_turn import LastTurn
from tests.property.claude_sessions import Story, stories
from tests.property.codex_sessions import Thread, threads
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import START, Claude, as_bytes, uuid

CLAUDE = ClaudeLastTurn()
CODEX = CodexLastTurn()


def last_turn(data: bytes, read: Any = CLAUDE.last) -> LastTurn | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "session.jsonl"
        path.write_bytes(data)
        return read(path)


def answer_of(sample: ClaudeSample) -> str:
    return next(line["uuid"] for line in reversed(sample.lines) if line["type"] == "assistant")


@given(stories(), st.binary(max_size=20).filter(lambda data: b"\n" not in data))
def test_claude(story: Story, half: bytes) -> None:
    data = as_bytes(story.sample.lines)
    found = last_turn(data + half)
    assert found is not None
    # Also of a rewound session: the prompt that was sent last.
    assert found.id == list(story.prompts)[-1]
    lines = story.sample.lines
    begin = next(at for at, line in enumerate(lines) if line.get("uuid") == found.id)
    after = [line["uuid"] for line in lines[begin:] if line["type"] == "assistant"]
    assert found.message == (after[-1] if after else None)
    assert found.prompt == list(story.prompts.values())[-1].strip()


@given(threads())
def test_codex(thread: Thread) -> None:
    data = as_bytes(thread.sample.lines)
    turns = [id_ for id_, _ in thread.turns]
    found = last_turn(data, CODEX.last)
    assert found is not None
    assert found.id == turns[-1]
    prompt = last_turn(data, partial(CODEX.prompt, turn=turns[-1]))
    assert prompt == dict(thread.turns)[turns[-1]]
    before = last_turn(data, partial(CODEX.last, running=turns[-1]))
    assert (before.id if before else None) == (turns[-2] if len(turns) > 1 else None)


def test_prompts_that_were_queued_together_are_one_turn(claude: Claude) -> None:
    sample = claude.new()
    sample.prompt("first")
    sample.answer("done")
    sample.prompt("second")
    sample.prompt("third")
    openers = [line for line in sample.lines if "turnPosition" in line]
    openers[-1]["turnPosition"] = openers[-2]["turnPosition"]
    sample.answer("both")
    path = sample.write(claude.root)
    found = CLAUDE.last(path)
    assert found is not None
    assert found.id == claude.conversation(sample.id).turns[-1].id
    assert len(found.prompt_ids) == 2
    first, second, third = [line["promptId"] for line in sample.lines if "promptId" in line]
    assert [found.has_prompt(one) for one in (first, second, third)] == [False, True, True]


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    return Claude(tmp_path / "claude")


@pytest.mark.parametrize("size", [10, 65_000, 65_536, 200_000, 3_000_000])
def test_long_lines(claude: Claude, size: int) -> None:
    sample = claude.new()
    turn = sample.prompt("x" * size)
    sample.answer("y" * size)
    message = answer_of(sample)
    for _ in range(3):
        sample.side("api-request-blob", blob="z" * size)
    found = CLAUDE.last(sample.write(claude.root))
    assert found is not None
    assert (found.id, found.message) == (turn, message)


def test_turns_that_another_session_made(claude: Claude) -> None:
    """Their code is that session's business."""
    source = claude.new()
    source.prompt("first")
    source.answer("done")
    fork = source.branch_off(uuid(9), answer_of(source))
    found = last_turn(as_bytes(fork.lines))
    assert found is not None
    assert (found.id, found.message) == ("", answer_of(source))
    own = fork.prompt("second")
    found = last_turn(as_bytes(fork.lines))
    assert found is not None
    assert (found.id, found.number) == (own, 2)


def test_turns_that_are_older_than_their_codex_file() -> None:
    """A fork that is a copy: the same."""
    thread = CodexSample(uuid(3), "/home/ada/shop", START)
    turn = thread.turn("first", "done")
    found = last_turn(as_bytes(thread.lines), CODEX.last)
    assert found is not None
    assert found.id == turn
    head, *rest = thread.lines
    later = (START + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    found = last_turn(as_bytes([{**head, "timestamp": later}, *rest]), CODEX.last)
    assert found is not None
    assert found.id == ""


def test_no_file_and_nothing_in_it(tmp_path: Path) -> None:
    assert CLAUDE.last(tmp_path / "none") is None
    assert CODEX.last(tmp_path / "none") is None
    for data in (b"", b"\n\n", b"[]\n1\n", b"\xff\x00{\n", b'{"type":"user","message":[]}\n'):
        (tmp_path / "file").write_bytes(data)
        assert CLAUDE.last(tmp_path / "file") is None
        assert CODEX.last(tmp_path / "file") is None
        assert CODEX.answer(tmp_path / "file", uuid(1)) == (None, "")
        assert CODEX.folder(tmp_path / "file") is None
    assert CODEX.folder(tmp_path / "none") is None


def test_after_a_rewind_the_last_turn_of_codex_is_in_the_file_before(tmp_path: Path) -> None:
    def turn(number: int) -> list[dict[str, Any]]:
        started = {"type": "task_started", "turn_id": uuid(number)}
        asked = {"type": "user_message", "message": "hello"}
        return [{"type": "event_msg", "payload": payload} for payload in (started, asked)]

    first = as_bytes([{"type": "session_meta", "payload": {"id": uuid(1)}}, *turn(2)])
    old = tmp_path / f"2026/11/17/rollout-2026-11-17T10-00-00-{uuid(1)}.jsonl"
    new = tmp_path / f"2026/11/18/rollout-2026-11-18T10-00-00-{uuid(1)}_{uuid(9)}.jsonl"
    base = {"thread_id": uuid(1), "end_byte_offset": len(first)}
    for path in (old, new):
        path.parent.mkdir(parents=True)
    old.write_bytes(first + as_bytes(turn(3)))
    meta = {"type": "session_meta", "payload": {"id": uuid(1), "history_base": base}}
    new.write_bytes(as_bytes([meta, *turn(4)]))
    assert CODEX.last(new, uuid(4)) == LastTurn(uuid(2))
    old.unlink()
    assert CODEX.last(new, uuid(4)) == LastTurn("")


def test_a_codex_fork_and_its_answer(tmp_path: Path) -> None:
    base = {"history_base": {"thread_id": uuid(1)}, "cwd": "/home/ada/shop"}
    meta = {"type": "session_meta", "payload": base}
    started = {"type": "event_msg", "payload": {"type": "task_started", "turn_id": uuid(2)}}
    words = [{"type": "output_text", "text": "Done."}]
    said = {"payload": {"type": "message", "role": "assistant", "id": "msg_1", "content": words}}
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(as_bytes([meta, started, said]))
    assert CODEX.last(path, uuid(2)) == LastTurn("")
    assert CODEX.answer(path, uuid(2)) == ("msg_1", "Done.")
    assert CODEX.answer(path, uuid(3)) == (None, "")
    assert CODEX.folder(path) == "/home/ada/shop"
    old = {"type": "event_msg", "payload": {"type": "user_message", "message": "hello"}}
    path.write_bytes(as_bytes([old, started]))
    assert CODEX.last(path, uuid(2)) == LastTurn("")
    path.write_bytes(as_bytes([started, old]))
    assert CODEX.last(path, uuid(2)) is None
