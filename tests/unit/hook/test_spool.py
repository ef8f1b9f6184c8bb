"""The spool: nothing is lost between many writers and one reader."""

import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from prong.hook import spool
from prong.testing.home import IsolatedHome


def test_one_line_for_each_event(isolated_home: IsolatedHome) -> None:
    spool.append({"event": "Stop", "text": "two\nlines \u2028 é"})
    spool.append({"event": "SessionEnd"})
    path = spool.folder() / "events.jsonl"
    assert path.is_relative_to(isolated_home.root)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["Stop", "SessionEnd"]
    assert [one["version"] for one in spool.waiting()] == [1, 1]


def test_lines_are_gone_when_they_were_taken_in(tmp_path: Path) -> None:
    with spool.taken(tmp_path) as nothing:
        assert nothing == []
    spool.append({"event": "one"}, tmp_path)
    with spool.taken(tmp_path) as events:
        spool.append({"event": "two"}, tmp_path)
        assert [one["event"] for one in events] == ["one"]
    assert [one["event"] for one in spool.waiting(tmp_path)] == ["two"]


def test_lines_stay_when_taking_them_in_fails(tmp_path: Path) -> None:
    spool.append({"event": "one"}, tmp_path)
    with pytest.raises(RuntimeError), spool.taken(tmp_path):
        raise RuntimeError
    spool.append({"event": "two"}, tmp_path)
    assert [one["event"] for one in spool.waiting(tmp_path)] == ["one", "two"]
    with spool.taken(tmp_path) as events:
        assert [one["event"] for one in events] == ["one", "two"]
    assert list(tmp_path.iterdir()) == []


def test_half_a_line_costs_no_other(tmp_path: Path) -> None:
    spool.append({"event": "one"}, tmp_path)
    path = tmp_path / "events.jsonl"
    path.write_bytes(path.read_bytes() + b'{"event": "ha')
    spool.append({"event": "two"}, tmp_path)
    assert [one["event"] for one in spool.waiting(tmp_path)] == ["one", "two"]


def _write(folder: Path, name: int) -> None:
    for number in range(50):
        spool.append({"writer": name, "number": number, "text": "x" * 2000}, folder)


def test_many_writers_and_a_reader(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(tmp_path, name)) for name in range(2)]
    for writer in writers:
        writer.start()
    seen: list[dict[str, Any]] = []
    while any(writer.is_alive() for writer in writers):
        with spool.taken(tmp_path) as events:
            seen.extend(events)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    with spool.taken(tmp_path) as events:
        seen.extend(events)
    assert sorted((one["writer"], one["number"]) for one in seen) == [
        (name, number) for name in range(2) for number in range(50)
    ]
