"""Whether Codex is at work on a thread: its lock, and the last mark in its file."""

import fcntl
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from prong.agents import last_turn
from prong.model.sessions import Activity
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import Codex, uuid

ID = uuid(1)


@pytest.fixture
def lock(codex: Codex) -> Iterator[Path]:
    """The lock of the thread, held by somebody."""
    path = codex.root / "thread-writer-locks" / f"{ID}.lock"
    path.parent.mkdir(parents=True)
    with path.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield path


def activity(codex: Codex, sample: CodexSample) -> Activity:
    session = codex.store.session_at(codex.write(ID, sample.lines))
    assert session
    return codex.store.activity(session)


def finished(sample: CodexSample) -> None:
    sample.turn("one", "1")


def running(sample: CodexSample) -> None:
    sample.turn("one", "1")
    sample.add("event_msg", type="task_started", turn_id="two")


def aborted(sample: CodexSample) -> None:
    running(sample)
    sample.add("event_msg", type="turn_aborted", turn_id="two", reason="interrupted")


def compacting(sample: CodexSample) -> None:
    running(sample)
    sample.add("compacted", message="", replacement_history=[])


def quoting(sample: CodexSample) -> None:
    """The words of a mark in a text are no mark."""
    running(sample)
    text = '{"type":"event_msg","payload":{"type":"task_complete"}}'
    sample.add("response_item", type="message", role="user", content=[{"text": text}])
    sample.add("response_item", type="task_complete")


def new(sample: CodexSample) -> None:
    sample.add("event_msg", type="thread_name_updated", thread_name="mine")


CASES = [
    (finished, Activity.IDLE),
    (running, Activity.BUSY),
    (aborted, Activity.IDLE),
    (compacting, Activity.BUSY),
    (quoting, Activity.BUSY),
    (new, Activity.IDLE),
]


@pytest.mark.parametrize(("story", "expected"), CASES)
def test_an_open_thread(
    codex: Codex, lock: Path, story: Callable[[CodexSample], None], expected: Activity
) -> None:
    sample = codex.new()
    story(sample)
    assert activity(codex, sample) is expected


@pytest.mark.parametrize(("story", "_expected"), CASES)
def test_a_thread_that_nobody_has_open(
    codex: Codex, story: Callable[[CodexSample], None], _expected: Activity
) -> None:
    sample = codex.new()
    story(sample)
    assert activity(codex, sample) is Activity.CLOSED
    # What a killed process leaves.
    (codex.root / "thread-writer-locks").mkdir()
    (codex.root / "thread-writer-locks" / f"{ID}.lock").touch()
    assert activity(codex, sample) is Activity.CLOSED


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 16])
def test_a_mark_is_found_whatever_stands_behind_it(
    codex: Codex, lock: Path, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(last_turn, "_BLOCK", block)
    sample = codex.new()
    running(sample)
    for _ in range(3):
        sample.add("world_state", state="x" * 500)
    assert activity(codex, sample) is Activity.BUSY
    path = codex.path(ID)
    path.write_bytes(path.read_bytes() + b'garbage\n\n{"half": "line')
    assert codex.store.activity(codex.session(ID)) is Activity.BUSY


def test_only_the_end_of_a_large_file_is_read(codex: Codex, lock: Path) -> None:
    sample = codex.new()
    running(sample)
    path = codex.write(ID, sample.lines)
    session = codex.store.session_at(path)
    assert session
    data = path.read_bytes()
    # A hole: whoever reads through it takes long, and whoever parses it fails.
    with path.open("wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 30)
        file.write(b"\n" + data)
    assert codex.store.activity(session) is Activity.BUSY


def test_a_rewind_goes_on_in_another_file(codex: Codex, lock: Path) -> None:
    sample = codex.new()
    finished(sample)
    assert activity(codex, sample) is Activity.IDLE
    session = codex.session(ID)
    segment = codex.new()
    running(segment)
    path = codex.write(ID, segment.lines, time=segment.now, segment=uuid(8))
    for file, second in ((session.path, 1), (path, 2)):
        os.utime(file, (second, second))
    assert codex.store.activity(session) is Activity.BUSY


def test_a_file_that_is_gone(codex: Codex, lock: Path) -> None:
    sample = codex.new()
    running(sample)
    path = codex.write(ID, sample.lines)
    session = codex.store.session_at(path)
    assert session
    path.unlink()
    assert codex.store.activity(session) is Activity.IDLE
