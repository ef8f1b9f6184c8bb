"""The scan cache, by itself. What happens to commands when it is broken is in tests/cli."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.model.sessions import KnownFile, Scan
from prong.storage.scan_cache import NoCache, SqliteScanCache

FILE = KnownFile(size=1, mtime_ns=2, inode=3, facts=b"facts", state=b"state")
SMALL = KnownFile(size=1, mtime_ns=2, inode=3, facts=b"facts")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "cache.db"


@pytest.fixture
def cache(path: Path) -> Iterator[SqliteScanCache]:
    cache = SqliteScanCache(path)
    yield cache
    cache.close()


def changed(**files: KnownFile) -> Scan:
    return Scan((), changed={f"/{name}": file for name, file in files.items()})


def test_what_was_saved_is_known_also_to_the_next(cache: SqliteScanCache, path: Path) -> None:
    cache.save("claude", changed(a=SMALL, b=FILE))
    again = SqliteScanCache(path)
    # The state is large and seldom wanted: it comes only when asked for.
    assert again.known("claude") == {"/a": SMALL, "/b": SMALL}
    assert again.file("claude", "/b") == FILE
    assert again.file("claude", "/a") == SMALL
    assert again.file("claude", "/c") is None
    again.close()


def test_agents_do_not_see_each_other(cache: SqliteScanCache) -> None:
    cache.save("claude", changed(a=FILE))
    assert cache.known("codex") == {}
    assert cache.file("codex", "/a") is None


def test_a_changed_file_replaces_what_was_known(cache: SqliteScanCache) -> None:
    cache.save("claude", changed(a=FILE))
    cache.save("claude", changed(a=SMALL))
    assert cache.known("claude") == {"/a": SMALL}
    assert cache.file("claude", "/a") == SMALL


def test_a_file_that_is_gone_is_forgotten_and_no_other(cache: SqliteScanCache) -> None:
    cache.save("claude", changed(a=FILE, b=SMALL))
    cache.save("claude", Scan((), gone=frozenset({"/a"})))
    assert cache.known("claude").keys() == {"/b"}
    assert cache.file("claude", "/a") is None


def test_a_scan_that_saw_nothing_new_writes_nothing(cache: SqliteScanCache, path: Path) -> None:
    cache.save("claude", changed(a=FILE))
    before = path.stat().st_mtime_ns
    cache.save("claude", Scan(()))
    assert path.stat().st_mtime_ns == before


def test_a_file_name_that_is_no_text(cache: SqliteScanCache) -> None:
    cache.save("claude", Scan((), changed={"/odd-\udcff": FILE}))
    assert cache.known("claude").keys() == {"/odd-\udcff"}
    assert cache.file("claude", "/odd-\udcff") == FILE


def test_private(cache: SqliteScanCache, path: Path) -> None:
    cache.save("claude", changed(a=FILE))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_closed_it_knows_nothing(cache: SqliteScanCache) -> None:
    cache.save("claude", changed(a=FILE))
    cache.close()
    cache.close()
    assert cache.known("claude") == {}
    cache.save("claude", changed(a=FILE))


def test_damage_found_while_reading_makes_a_new_one(cache: SqliteScanCache, path: Path) -> None:
    cache.save("claude", changed(**{f"f{n}": FILE for n in range(500)}))
    cache.close()
    data = path.read_bytes()
    path.write_bytes(data[:4096] + b"\xee" * (len(data) - 4096))
    again = SqliteScanCache(path)
    assert again.known("claude") == {}
    again.save("claude", changed(a=FILE))
    assert again.known("claude") == {"/a": SMALL}
    again.close()


def test_a_lock_is_waited_for_and_never_taken_for_damage(
    cache: SqliteScanCache, path: Path
) -> None:
    cache.save("claude", changed(a=FILE))
    other = sqlite3.connect(path)
    other.execute("BEGIN EXCLUSIVE")
    assert cache.known("claude") == {}
    other.close()
    assert cache.known("claude") == {"/a": SMALL}


def test_a_newer_version_is_replaced(path: Path, cache: SqliteScanCache) -> None:
    cache.save("claude", changed(a=FILE))
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 77")
    connection.close()
    again = SqliteScanCache(path)
    assert again.known("claude") == {}
    again.save("claude", changed(b=FILE))
    assert again.known("claude").keys() == {"/b"}
    again.close()


def test_no_cache_remembers_nothing() -> None:
    cache = NoCache()
    cache.save("claude", changed(a=FILE))
    assert cache.known("claude") == {}
    assert cache.file("claude", "/a") is None
