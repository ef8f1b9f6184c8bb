"""The table of snapshots."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prong.model.code import LeftOut, NestedSnapshot, Snapshot, TurnKey
from prong.model.sessions import SessionRef
from prong.storage.snapshots import SnapshotRecords

SESSION = SessionRef("claude", "s1")
FORK = SessionRef("claude", "s2")


def snapshot(turn_id: str, session: SessionRef = SESSION, minute: int = 0) -> Snapshot:
    return Snapshot(
        repo=Path("/code/shop"),
        ref=f"refs/prong/{session.agent}/{session.id}/{turn_id}",
        commit=f"c{turn_id}{session.id}",
        tree="t1",
        staged_tree=None,
        head="h1",
        branch="main",
        agent=session.agent,
        session=session.id,
        turn_id=turn_id,
        number=None,
        message_id="m1",
        taken=datetime(2026, 11, 1, tzinfo=UTC) + timedelta(minutes=minute),
        changed=True,
    )


@pytest.fixture
def records(tmp_path: Path) -> SnapshotRecords:
    return SnapshotRecords(tmp_path / "state.db")


def test_what_was_recorded_is_read(records: SnapshotRecords) -> None:
    full = snapshot("a")._replace(
        repo=Path("/code/\udcff"),
        staged_tree="t2",
        branch="feature/\udcff",
        number=3,
        changed=False,
        degraded="out of time",
        left_out=(LeftOut("big\udcff.bin", 60_000_000, "too large"),),
        nested=(NestedSnapshot("lib", "c9"),),
        late=True,
    )
    records.add(full, snapshot("b", minute=1))
    assert records.all() == [full, snapshot("b", minute=1)]


def test_nothing_is_there(records: SnapshotRecords) -> None:
    assert records.all() == []
    assert records.of_turns(SESSION, ["a"]) == {}


def test_which_of_some_turns_have_one(records: SnapshotRecords) -> None:
    assert records.among("claude", ["a"]) == set()
    records.add(snapshot("a"), snapshot("b", FORK))
    many = [str(number) for number in range(2000)]
    assert records.among("claude", [*many, "a", "b", "c"]) == {"a", "b"}
    assert records.among("codex", ["a"]) == set()


def test_the_last_one_of_a_turn_counts(records: SnapshotRecords) -> None:
    records.add(snapshot("a"))
    records.add(snapshot("a")._replace(commit="c2"))
    assert [one.commit for one in records.all()] == ["c2"]


def test_a_fork_has_those_of_the_turns_it_shares(records: SnapshotRecords) -> None:
    records.add(snapshot("0"), snapshot("a"), snapshot("b", minute=1))
    records.add(snapshot("a", FORK, minute=5), snapshot("z", FORK, minute=6))
    found = records.of_turns(FORK, ["0", "a", "b", "z", "none"])
    assert {id_: one.session for id_, one in found.items()} == {"a": "s2", "b": "s1", "z": "s2"}
    assert records.of_turns(SESSION, ["0", "a"])["a"].session == "s1"
    assert set(records.of_turns(SESSION, ["0", "a"])) == {"0", "a"}


def test_of_another_agent_is_none(records: SnapshotRecords) -> None:
    records.add(snapshot("a"))
    assert records.of_turns(SessionRef("codex", "s1"), ["a"]) == {}


def test_many_turns(records: SnapshotRecords) -> None:
    ids = [str(number) for number in range(1, 1500)]
    records.add(*map(snapshot, ids))
    assert set(records.of_turns(SESSION, ids)) == set(ids)


def test_the_newest_of_each_working_tree(records: SnapshotRecords) -> None:
    shop = [snapshot(f"t{minute}", minute=minute) for minute in range(5)]
    other = snapshot("old")._replace(repo=Path("/other"))
    records.add(other, *shop)
    assert [one.turn_id for one in records.newest(2, 10)] == ["t4", "t3", "old"]
    assert [one.turn_id for one in records.newest(9, 3)] == ["t4", "t3", "t2"]


def test_what_is_gone_is_forgotten(records: SnapshotRecords) -> None:
    records.add(snapshot("a"), snapshot("b"))
    records.forget([TurnKey("claude", "s1", "a"), TurnKey("claude", "s1", "never")])
    assert [one.turn_id for one in records.all()] == ["b"]
