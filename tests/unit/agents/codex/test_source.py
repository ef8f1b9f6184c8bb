"""What a fork at a turn would hold: its size, its messages, what is said about it."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from prong.agents.codex.fork.source import CodexSource
from prong.errors import NotFound
from prong.model.forks import Cut
from prong.storage.scan_cache import SqliteScanCache
from tests.samples.codex import CodexSample
from tests.unit.agents.scans import Opened
from tests.unit.agents.stores import Codex, uuid

ID = uuid(1)
SUMMARY = "Another model wrote: it went well"


def tokens(sample: CodexSample, count: int, window: int | None = None) -> None:
    info: dict[str, Any] = {"last_token_usage": {"total_tokens": count}}
    if window:
        info["model_context_window"] = window
    sample.add("event_msg", type="token_count", info=info)


def message(role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def compacted(sample: CodexSample, *kept: str) -> None:
    task = sample.uuid()
    sample.add("event_msg", type="task_started", turn_id=task)
    sample.add("response_item", **message("assistant", "it went well"))
    history = [*(message("user", text) for text in kept), message("user", SUMMARY)]
    sample.add("compacted", message=SUMMARY, replacement_history=history)
    sample.add("event_msg", type="task_complete", turn_id=task)


@pytest.fixture
def sample(codex: Codex) -> CodexSample:
    return codex.new()


@pytest.fixture
def story(sample: CodexSample) -> CodexSample:
    """Two turns, a compaction, a turn."""
    sample.add(
        "response_item", **message("user", "<environment_context>here</environment_context>")
    )
    sample.turn("one", "answer to one", commands=[("make", 2)])
    tokens(sample, 100, 1000)
    sample.turn("two", "answer to two")
    tokens(sample, 200, 1000)
    compacted(sample, "one", "two")
    sample.turn("three", "answer to three")
    tokens(sample, 50, 2000)
    return sample


@pytest.fixture
def source(codex: Codex, story: CodexSample) -> Iterator[CodexSource]:
    path = codex.write(ID, story.lines)
    session = codex.store.session_at(path)
    assert session
    with closing(codex.store.source(session)) as source:
        yield source


def cut(source: CodexSource, turn: int, *, full: bool = False) -> Cut:
    return Cut(source.conversation.turns[turn - 1].id if turn else None, full)


def said(
    source: CodexSource, turn: int, *, full: bool = False
) -> list[tuple[str, str, int | None]]:
    return [
        (m.role, m.text or (m.tool.output or m.tool.name if m.tool else ""), m.turn)
        for m in source.messages(cut(source, turn, full=full))
    ]


ONE = [
    ("user", "one", 1),
    ("assistant", "exec_command", 1),
    ("tool", "Process exited with code 2\nOutput:\n", 1),
    ("assistant", "answer to one", 1),
]
TWO = [("user", "two", 2), ("assistant", "answer to two", 2)]
THREE = [("user", "three", 3), ("assistant", "answer to three", 3)]
REPLACED = [("user", "one", None), ("user", "two", None), ("summary", SUMMARY, None)]


def test_messages_are_what_the_model_would_get(source: CodexSource) -> None:
    assert said(source, 0) == []
    assert said(source, 1) == ONE
    # A compaction behind a turn belongs to it: the next prompt is the first to come after it.
    assert said(source, 2) == REPLACED
    assert said(source, 3) == [*REPLACED, *THREE]


def test_with_full_they_are_the_words_that_were_said(source: CodexSource) -> None:
    assert said(source, 1, full=True) == ONE
    assert said(source, 2, full=True) == [*ONE, *TWO]
    assert said(source, 3, full=True) == [*ONE, *TWO, *THREE]


def test_a_compaction_without_a_replacement(codex: Codex, sample: CodexSample) -> None:
    """An old form: the model gets what people wrote so far, then the summary."""
    sample.turn("one", "1")
    sample.add("compacted", message=SUMMARY)
    sample.turn("two", "2")
    session = codex.store.session_at(codex.write(ID, sample.lines))
    assert session
    with closing(codex.store.source(session)) as source:
        assert said(source, 2) == [
            ("user", "one", 1),
            ("summary", SUMMARY, None),
            ("user", "two", 2),
            ("assistant", "2", 2),
        ]


def test_the_size(source: CodexSource) -> None:
    sizes = [source.extent(cut(source, turn)) for turn in range(4)]
    assert [size.turns for size in sizes] == [0, 1, 2, 3]
    assert [size.tokens for size in sizes] == [None, 100, None, 50]
    assert {size.window for size in sizes} == {2000}
    assert sizes[0].characters == 0
    first = sum(len(text) for _, text, _ in ONE)
    # The model also gets what Codex told it about the folder, and the arguments of the call.
    assert first < sizes[1].characters < first + 100
    assert sizes[3].characters == sum(len(text) for _, text, _ in [*REPLACED, *THREE])
    assert source.extent(cut(source, 3, full=True)).tokens == 200
    assert source.extent(cut(source, 3, full=True)).characters > sizes[3].characters


def test_the_window_stands_in_task_started_too(codex: Codex, sample: CodexSample) -> None:
    sample.add("event_msg", type="task_started", turn_id="t", model_context_window=272000)
    sample.turn("one", "1")
    session = codex.store.session_at(codex.write(ID, sample.lines))
    assert session
    with closing(codex.store.source(session)) as source:
        assert source.extent(cut(source, 1)).window == 272000


def test_warnings(codex: Codex, sample: CodexSample) -> None:
    sample.turn("fine", "1")
    stopped = sample.turn("stopped", "2")
    sample.lines[-1]["payload"] = {"type": "turn_aborted", "turn_id": stopped}
    broken = sample.turn("broken", "3")
    sample.lines[-1]["payload"] = {
        "type": "task_complete",
        "turn_id": broken,
        "error": {"message": "no"},
    }
    sample.turn("fine", "4")
    path = codex.write(ID, sample.lines)
    session = codex.store.session_at(path)
    assert session
    with closing(codex.store.source(session)) as source:
        found = [source.extent(cut(source, turn)).warnings for turn in range(1, 5)]
    # That a turn was interrupted is said by the plan, for every agent.
    assert [len(warnings) for warnings in found] == [0, 0, 1, 0]
    assert "turn 3 failed" in found[2][0]
    path.write_bytes(path.read_bytes() + b"garbage\nmore\n")
    with closing(codex.store.source(session)) as source:
        (warning,) = source.extent(cut(source, 1)).warnings
    assert "not a JSON object" in warning
    assert "1 more" in warning


def test_a_turn_that_is_not_there(source: CodexSource) -> None:
    with pytest.raises(NotFound):
        source.extent(Cut("nope"))
    with pytest.raises(NotFound):
        list(source.messages(Cut("nope")))


def test_what_a_scan_has_read_is_not_read_again(
    codex: Codex, story: CodexSample, cache: SqliteScanCache, large: None, opened: Opened
) -> None:
    codex.write(ID, story.lines)
    scan = codex.store.scan(cache)
    cache.save("codex", scan)
    (session,) = scan.sessions
    opened.reset()
    with closing(codex.store.source(session, cache)) as source:
        recalled = [turn.prompt for turn in source.conversation.turns]
    assert recalled == ["one", "two", "three"]
    assert (len(opened.paths), opened.parsed) == (1, 0)
