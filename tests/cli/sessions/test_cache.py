"""The scan cache is only a cache: whatever happens to it, the answers stay the same."""

import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import Shell, prong


@pytest.fixture
def cache(samples: Shell) -> Path:
    """The cache after a first scan."""
    samples.ok("list")
    return samples.home.root / ".cache/prong/cache.db"


def remembered(cache: Path) -> int:
    with sqlite3.connect(cache) as connection:
        (count,) = connection.execute("SELECT count(*) FROM files").fetchone()
    connection.close()
    return count


def test_it_is_private(cache: Path) -> None:
    assert cache.stat().st_mode & 0o777 == 0o600
    assert cache.parent.stat().st_mode & 0o777 == 0o700
    assert [path.name for path in cache.parent.iterdir()] == ["cache.db"]
    assert remembered(cache) == 5


@pytest.mark.parametrize(
    "content",
    [None, b"", b"not a database at all" * 100, b"SQLite format 3\x00" + b"\xff" * 4096],
    ids=["deleted", "empty", "garbage", "header"],
)
def test_deleted_or_damaged(samples: Shell, cache: Path, content: bytes | None) -> None:
    good = samples.ok("list")
    cache.unlink()
    if content is not None:
        cache.write_bytes(content)
    result = samples.run("list")
    assert (result.stdout, result.stderr) == (good, "")
    assert remembered(cache) == 5


@pytest.mark.parametrize("keep", [512, 4096, 8192])
def test_cut_off(samples: Shell, cache: Path, keep: int) -> None:
    good = samples.ok("list")
    cache.write_bytes(cache.read_bytes()[:keep])
    assert samples.ok("list") == good
    assert samples.ok("list") == good
    assert remembered(cache) == 5


def test_damaged_in_the_middle(samples: Shell, cache: Path) -> None:
    """The header is good, so it opens; what it holds is not. It must not stay so for ever."""
    good = samples.ok("list")
    data = cache.read_bytes()
    cache.write_bytes(data[:4096] + b"\xee" * (len(data) - 4096))
    assert samples.ok("list") == good
    assert samples.ok("list") == good
    assert remembered(cache) == 5


def test_of_another_version(samples: Shell, cache: Path) -> None:
    good = samples.ok("list")
    with sqlite3.connect(cache) as connection:
        connection.execute("DROP TABLE files")
        connection.execute("CREATE TABLE files (other TEXT)")
        connection.execute("PRAGMA user_version = 999")
    connection.close()
    assert samples.ok("list") == good
    assert remembered(cache) == 5


@pytest.mark.parametrize("tables", [["results"], ["results", "files"], ["results", "states"]])
def test_a_table_is_missing(samples: Shell, cache: Path, tables: list[str]) -> None:
    good = samples.ok("list")
    with sqlite3.connect(cache) as connection:
        for table in tables:
            connection.execute(f"DROP TABLE {table}")
    connection.close()
    assert samples.ok("list") == good
    samples.ok("list")
    assert remembered(cache) == 5


def test_locked_by_somebody(samples: Shell, cache: Path) -> None:
    good = samples.ok("list")
    connection = sqlite3.connect(cache)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        result = samples.run("list")
    finally:
        connection.close()
    assert (result.stdout, result.stderr) == (good, "")


@pytest.mark.parametrize("obstacle", ["folder", "file", "link"])
def test_something_else_is_in_its_place(samples: Shell, cache: Path, obstacle: str) -> None:
    good = samples.ok("list")
    cache.unlink()
    if obstacle == "folder":
        cache.mkdir()
    elif obstacle == "link":
        cache.symlink_to("/no/such/folder/cache.db")
    else:
        cache.parent.rmdir()
        cache.parent.write_text("in the way", encoding="utf-8")
    result = samples.run("list")
    assert (result.stdout, result.stderr) == (good, "")


def test_a_changed_session_is_read_again(samples: Shell, cache: Path) -> None:
    sample = samples.session(1)
    sample.prompt("Hello")
    path = sample.write(samples.home.claude)
    assert samples.json("turns", sample.id)["session"]["turns"] == 1
    sample.prompt("Again")
    path.unlink()
    sample.write(samples.home.claude)
    assert samples.json("turns", sample.id)["session"]["turns"] == 2
    path.unlink()
    assert len(samples.json("list")["sessions"]) == 5
    assert remembered(cache) == 5


def test_many_at_once(samples: Shell) -> None:
    """The first scan of several processes at the same time, all of them making the cache."""
    running = [
        subprocess.Popen(
            prong("list"), env=samples.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(8)
    ]
    answers = [process.communicate(timeout=60) for process in running]
    assert [process.returncode for process in running] == [0] * 8
    assert {answer for answer, _ in answers} == {samples.ok("list").encode()}
    assert {said for _, said in answers} == {b""}
    cache = samples.home.root / ".cache/prong/cache.db"
    assert remembered(cache) == 5
    assert [path.name for path in cache.parent.iterdir()] == ["cache.db"]
