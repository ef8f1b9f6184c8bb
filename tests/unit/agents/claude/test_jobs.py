"""`/fork` writes parent and place of the fork into `jobs/*/state.json`."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from prong.agents.claude import jobs
from prong.storage.scan_cache import SqliteScanCache
from tests.samples.claude import ClaudeSample
from tests.unit.agents.claude.test_lineage import conversation, fork_session, parents
from tests.unit.agents.scans import scan
from tests.unit.agents.stores import Claude, uuid

PARENT, CHILD, OTHER = uuid(1), uuid(2), uuid(3)


def state(claude: Claude, child: str, parent: str, boundary: str, **more: Any) -> Path:
    """The state of a job, with the fields of a real one that matter and some that do not."""
    path = claude.root / "jobs" / child[-8:] / "state.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    fields: dict[str, Any] = {
        "state": "working",
        "inFlight": {"tasks": 0, "kinds": []},
        "output": None,
        "sessionId": child,
        "forkSessionId": child,
        "forkParentSessionId": parent,
        "forkBoundaryAt": boundary,
        **more,
    }
    path.write_text(json.dumps(fields))
    return path


def end_of(sample: ClaudeSample, turn: int) -> str:
    """The time of the last line of a turn."""
    times: list[str] = []
    for line in sample.lines:
        if "turnPosition" in line:
            turn -= 1
        if turn < 0:
            break
        if "uuid" in line:
            times.append(line["timestamp"])
    return times[-1]


def test_the_parent_is_known_after_its_file_was_deleted(claude: Claude) -> None:
    parent = conversation(claude, "one", "two", "three")
    child = fork_session(parent, CHILD, "a task", turns=2)
    assert parents(claude, child) == {CHILD: None}
    state(claude, CHILD, PARENT, end_of(parent, 2))
    assert parents(claude, child) == {CHILD: (PARENT, 2)}


def test_it_counts_more_than_shared_turns(claude: Claude) -> None:
    """Of two sessions with the same turns, the files cannot tell which one was forked."""
    parent = conversation(claude, "one", "two")
    twin = fork_session(parent, OTHER, "in the twin", hours=1)
    child = fork_session(parent, CHILD, "a task", hours=2)
    assert parents(claude, parent, twin, child)[CHILD] == (PARENT, 2)
    state(claude, CHILD, OTHER, end_of(parent, 2))
    assert parents(claude, parent, twin, child)[CHILD] == (OTHER, 2)


def test_the_boundary_tells_the_turn(claude: Claude) -> None:
    parent = conversation(claude, "one", "two", "three")
    child = fork_session(parent, CHILD, "a task")
    state(claude, CHILD, PARENT, end_of(parent, 1))
    assert parents(claude, parent, child)[CHILD] == (PARENT, 1)


def test_the_session_of_the_job_counts_where_the_fork_is_not_named(claude: Claude) -> None:
    parent = conversation(claude, "one")
    child = fork_session(parent, CHILD, "a task")
    state(claude, CHILD, PARENT, end_of(parent, 1), forkSessionId=None)
    assert parents(claude, child) == {CHILD: (PARENT, 1)}


@pytest.mark.parametrize(
    "fields",
    [
        {"forkParentSessionId": None},
        {"forkParentSessionId": CHILD},
        {"forkParentSessionId": 7},
        {"forkBoundaryAt": None},
        {"forkBoundaryAt": "yesterday"},
        {"forkSessionId": None, "sessionId": None},
        {"forkSessionId": OTHER},
        {"output": "x" * (1 << 20)},
    ],
)
def test_what_tells_nothing_is_passed_over(claude: Claude, fields: dict[str, Any]) -> None:
    parent = conversation(claude, "one")
    child = fork_session(parent, CHILD, "a task")
    state(claude, CHILD, PARENT, end_of(parent, 1), **fields)
    assert parents(claude, child) == {CHILD: None}


@pytest.mark.parametrize(
    "data",
    [b"", b"{", b"[1]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"forkParentSessionId":"\\ud800"}'],
    ids=["empty", "half", "list", "null", "bytes", "deep", "surrogate"],
)
def test_a_broken_state_harms_nobody(claude: Claude, data: bytes) -> None:
    parent = conversation(claude, "one")
    child = fork_session(parent, CHILD, "a task")
    state(claude, OTHER, PARENT, "").write_bytes(data)
    state(claude, CHILD, PARENT, end_of(parent, 1))
    assert parents(claude, child) == {CHILD: (PARENT, 1)}


def test_other_things_in_the_folder(claude: Claude) -> None:
    folder = claude.root / "jobs"
    (folder / "empty").mkdir(parents=True)
    (folder / "pins.json").write_text("{}")
    (folder / "folder" / "state.json").mkdir(parents=True)
    (folder / "pipe").mkdir()
    os.mkfifo(folder / "pipe" / "state.json")
    (folder / "gone").symlink_to("nowhere")
    sample = conversation(claude, "one")
    assert parents(claude, sample) == {PARENT: None}


def test_two_that_name_each_other_end_nowhere(claude: Claude) -> None:
    one = conversation(claude, "one")
    two = fork_session(one, CHILD, "a task")
    state(claude, CHILD, PARENT, end_of(one, 1))
    state(claude, PARENT, CHILD, end_of(one, 1))
    assert parents(claude, one, two) == {PARENT: (CHILD, 1), CHILD: (PARENT, 1)}


def test_a_new_job_is_seen_by_the_next_scan_and_no_state_is_read_twice(
    claude: Claude, monkeypatch: pytest.MonkeyPatch, cache: SqliteScanCache
) -> None:
    parent = conversation(claude, "one")
    child = fork_session(parent, CHILD, "a task")
    claude.write(child.id, child.lines)
    read: list[str] = []
    reads = jobs.read_regular

    def counted(path: str, limit: int) -> bytes:
        read.append(path)
        return reads(path, limit)

    monkeypatch.setattr(jobs, "read_regular", counted)
    assert [one.parent for one in scan(claude.store, cache).sessions] == [None]
    path = state(claude, CHILD, PARENT, end_of(parent, 1))
    for _ in range(3):
        found = scan(claude.store, cache).sessions
        assert [str(one.parent) for one in found] == [f"claude:{PARENT}"]
    assert read == [str(path)]
