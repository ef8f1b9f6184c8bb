"""Recorded forks, in one process."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prong.model.forks import Fork, ForkPoint, Launch, Method
from prong.model.sessions import SessionRef
from prong.storage import connection
from prong.storage.forks import ForkRecords
from tests.unit.storage.fork_facts import fork


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prong" / "state.db"


@pytest.fixture
def records(path: Path) -> ForkRecords:
    return ForkRecords(path)


def test_what_was_added_comes_back(records: ForkRecords, path: Path) -> None:
    seed = fork(
        2,
        method=Method.SEED,
        window=200_000,
        seed_hash="ab" * 32,
        seed_path="/state/seed.txt",
        seed_ack_filtered=True,
    )
    records.add(fork(1))
    records.add(seed)
    assert ForkRecords(path).all() == [fork(1), seed]


def test_a_point_before_the_first_turn_and_one_on_an_abandoned_branch(records: ForkRecords) -> None:
    start = fork(1, parent=ForkPoint(SessionRef("claude", "a"), 0), parent_workspace=None)
    abandoned = fork(2, parent=ForkPoint(SessionRef("claude", "a"), None, "some-turn"))
    records.add(start, abandoned)
    assert records.all() == [start, abandoned]


def test_how_to_run_it_is_not_kept(records: ForkRecords) -> None:
    made = fork(path=Path("/a.jsonl"), workspace=Path("/a"), branch="b", warnings=("careful",))
    records.add(made)
    assert records.all() == [fork()]


def test_no_text_of_a_session_is_in_the_file(records: ForkRecords, path: Path) -> None:
    prompt = "do-not-keep-this-prompt"
    launch = Launch(("claude", "--resume", "x", prompt), Path("/"), {"A": prompt}, prompt)
    made = fork(launch=launch, warnings=(prompt,), method=Method.SEED, seed_hash="ab" * 32)
    records.add(made, fork(2, launch=launch))
    for file in path.parent.iterdir():
        assert prompt.encode() not in file.read_bytes()


def test_reading_makes_nothing(records: ForkRecords, path: Path) -> None:
    assert records.all() == []
    records.add()
    records.restore([])
    assert not path.parent.exists()


def test_private(records: ForkRecords, path: Path) -> None:
    records.add(fork())
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in path.parent.iterdir()} == {0o600}


def test_the_newer_fact_about_a_child_replaces_the_older(records: ForkRecords) -> None:
    records.add(fork(1), fork(2))
    better = fork(1, id="another", tokens=99)
    records.add(better)
    records.add(better)
    assert records.all() == [fork(2), better]


def test_what_is_restored_replaces_nothing(records: ForkRecords) -> None:
    records.add(fork(1))
    records.restore([fork(1, id="rebuilt", tokens=0), fork(2)])
    assert records.all() == [fork(1), fork(2)]


def test_a_batch_is_recorded_whole_or_not_at_all(records: ForkRecords) -> None:
    records.add(fork(1))
    with pytest.raises(AttributeError):
        records.add(fork(2), fork(3, method=None))
    assert records.all() == [fork(1)]


def test_the_acknowledgement_was_filtered(records: ForkRecords) -> None:
    records.add(fork(1), fork(2, seed_ack_filtered=True))
    assert [one.seed_ack_filtered for one in records.all()] == [False, True]


def test_the_order_is_that_of_recording_whatever_the_clock_says(records: ForkRecords) -> None:
    late, early = fork(1), fork(2, created=datetime(1999, 1, 1, tzinfo=UTC))
    records.add(late)
    records.add(early)
    assert records.all() == [late, early]


def test_times_are_kept_in_utc(records: ForkRecords, path: Path) -> None:
    there = datetime(2026, 3, 1, 14, 30, tzinfo=timezone(timedelta(hours=2)))
    records.add(fork(created=there))
    [found] = records.all()
    assert (found.created, found.created.tzinfo) == (there, UTC)
    connection.close(path)
    assert b"2026-03-01T12:30:00+00:00" in path.read_bytes()


def test_a_folder_whose_name_is_no_text(records: ForkRecords) -> None:
    odd = fork(parent_workspace="/odd-\udcff", seed_path="/odd-\udcfe")
    records.add(odd)
    assert records.all() == [odd]


def test_health(records: ForkRecords, path: Path) -> None:
    assert (records.health().forks, records.health().problem) == (0, None)
    assert not path.parent.exists()
    records.add(fork(1), fork(2))
    assert (records.health().forks, records.health().problem) == (2, None)
    assert records.health().damaged == ()


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
REFS = st.builds(SessionRef, TEXTS, TEXTS)
COUNTS = st.integers(0, 2**40)
FORKS = st.builds(
    Fork,
    id=TEXTS,
    parent=st.builds(ForkPoint, REFS, st.none() | COUNTS, st.none() | TEXTS),
    parent_workspace=st.none() | TEXTS,
    child=REFS,
    method=st.sampled_from(Method),
    created=st.datetimes(timezones=st.just(UTC)),
    tokens=COUNTS,
    window=st.none() | COUNTS,
    seed_hash=st.none() | TEXTS,
    seed_path=st.none() | TEXTS,
    seed_ack_filtered=st.booleans(),
)


@settings(deadline=None)
@given(st.lists(FORKS, max_size=4, unique_by=(lambda one: one.id, lambda one: one.child)))
def test_every_fork_survives(tmp_path_factory: pytest.TempPathFactory, forks: list[Fork]) -> None:
    records = ForkRecords(tmp_path_factory.mktemp("any") / "state.db")
    records.add(*forks)
    assert records.all() == forks
