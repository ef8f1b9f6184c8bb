"""A scan opens only what changed, continues what only grew, and never takes a file for deleted."""

import os
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from prong.agents import jsonl
from prong.agents.claude.store import ClaudeStore
from prong.storage.scan_cache import SqliteScanCache
from tests.unit.agents.scans import Case, Opened, claude_lines, scan, titles
from tests.unit.agents.stores import Claude, uuid

ID = uuid(1)


def test_unchanged_files_are_not_opened(case: Case, cache: SqliteScanCache, opened: Opened) -> None:
    for number in (1, 2, 3):
        case.write("hello", number=number)
    first = scan(case.store, cache)
    assert len(opened.paths) == 3
    opened.reset()
    second = scan(case.store, cache)
    assert opened.paths == []
    assert (second.sessions, second.changed) == (first.sessions, {})
    assert len(second.sessions) == 3


def test_only_the_changed_file_is_read(case: Case, cache: SqliteScanCache, opened: Opened) -> None:
    case.write("a", number=1)
    case.write("b", number=2)
    scan(case.store, cache)
    opened.reset()
    path = case.write("b", "c", number=2)
    assert titles(scan(case.store, cache)) == {("a", 1), ("b", 2)}
    assert opened.paths == [path]
    assert opened.parsed == path.stat().st_size


def test_a_change_of_the_same_size(case: Case, cache: SqliteScanCache) -> None:
    path = case.write("aaaa")
    scan(case.store, cache)
    old = path.stat()
    path.write_bytes(case.lines("bbbb"))
    assert path.stat().st_size == old.st_size
    os.utime(path, ns=(old.st_atime_ns, old.st_mtime_ns + 1))
    assert titles(scan(case.store, cache)) == {("bbbb", 1)}


def test_a_replaced_file(case: Case, cache: SqliteScanCache, tmp_path: Path) -> None:
    path = case.write("aaaa")
    scan(case.store, cache)
    old = path.stat()
    other = tmp_path / "other"
    other.write_bytes(case.lines("bbbb"))
    os.utime(other, ns=(old.st_atime_ns, old.st_mtime_ns))
    other.replace(path)
    assert titles(scan(case.store, cache)) == {("bbbb", 1)}


@pytest.mark.usefixtures("large")
def test_a_large_file_is_continued(case: Case, cache: SqliteScanCache, opened: Opened) -> None:
    path = case.write("one")
    scan(case.store, cache)
    before = path.stat().st_size
    opened.reset()
    path.write_bytes(case.lines("one", "two", "three"))
    added = path.stat().st_size - before
    found = scan(case.store, cache)
    assert titles(found) == {("one", 3)}
    assert opened.parsed == added
    assert opened.hashed == before + added
    (continued,) = found.sessions
    assert continued == case.sessions.session(ID)


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("step", [1, 7, 500])
def test_a_large_file_that_grows_anywhere_reads_as_if_at_once(
    case: Case, cache: SqliteScanCache, step: int
) -> None:
    """Whatever a scan saw of a file, and however often: a continued one is like a fresh one."""
    data = case.lines("one", "two")
    path = case.write("one")
    start = path.stat().st_size
    ends = range(start, len(data) + 1, step) if step > 1 else range(len(data) - 60, len(data) + 1)
    for end in ends:
        path.write_bytes(data[:end])
        (continued,) = scan(case.store, cache).sessions
        assert continued == case.sessions.session(ID)


@pytest.mark.usefixtures("large")
def test_a_large_file_without_its_last_newline(case: Case, cache: SqliteScanCache) -> None:
    data = case.lines("one", "two", "three")
    path = case.write("x")
    prompt_ends = [at for at, byte in enumerate(data) if byte == ord("\n")]
    for end in prompt_ends:
        path.write_bytes(data[:end])
        scan(case.store, cache)
        path.write_bytes(data[: end + 1] + data[end + 1 :])
        (continued,) = scan(case.store, cache).sessions
        assert continued == case.sessions.session(ID)
        assert continued.turn_count == 3


@pytest.mark.usefixtures("large")
def test_a_file_rewritten_and_grown_again_is_read_anew(
    case: Case, cache: SqliteScanCache, opened: Opened
) -> None:
    path = case.write("one")
    scan(case.store, cache)
    opened.reset()
    path.write_bytes(case.lines("ONE", "two"))
    assert titles(scan(case.store, cache)) == {("ONE", 2)}
    assert opened.parsed == path.stat().st_size


@pytest.mark.usefixtures("large")
@pytest.mark.parametrize("prompts", [("one",), ("other",)])
def test_a_file_that_shrank_is_read_anew(
    case: Case, cache: SqliteScanCache, prompts: tuple[str, ...]
) -> None:
    path = case.write("one", "two")
    scan(case.store, cache)
    path.write_bytes(case.lines(*prompts))
    assert titles(scan(case.store, cache)) == {(prompts[0], 1)}


@pytest.mark.usefixtures("large")
def test_a_large_file_with_another_inode_is_read_anew(
    case: Case, cache: SqliteScanCache, opened: Opened, tmp_path: Path
) -> None:
    path = case.write("one")
    scan(case.store, cache)
    opened.reset()
    other = tmp_path / "other"
    other.write_bytes(case.lines("one", "two"))
    other.replace(path)
    assert titles(scan(case.store, cache)) == {("one", 2)}
    assert opened.parsed == path.stat().st_size


def test_a_file_that_vanishes_between_listing_and_opening(
    case: Case, cache: SqliteScanCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    case.write("stays", number=1)
    lost = case.write("goes", number=2)
    real = jsonl.open_file

    def open_file(path: Path) -> BinaryIO:
        if path == lost:
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(jsonl, "open_file", open_file)
    found = scan(case.store, cache)
    assert titles(found) == {("stays", 1)}
    assert (found.skipped, found.complete) == ((), True)


def test_a_file_that_cannot_be_opened_is_reported(
    case: Case, cache: SqliteScanCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case.write("secret")

    def open_file(path: Path) -> BinaryIO:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(jsonl, "open_file", open_file)
    found = scan(case.store, cache)
    assert found.sessions == ()
    assert [(skip.path, skip.reason) for skip in found.skipped] == [(path, "Permission denied")]


def test_a_deleted_file_is_gone(case: Case, cache: SqliteScanCache) -> None:
    case.write("stays", number=1)
    path = case.write("goes", number=2)
    scan(case.store, cache)
    path.unlink()
    found = scan(case.store, cache)
    assert (titles(found), found.gone) == ({("stays", 1)}, {str(path)})
    assert scan(case.store, cache).gone == frozenset()


def assert_nothing_gone(case: Case, cache: SqliteScanCache) -> None:
    found = scan(case.store, cache)
    assert not found.complete
    assert found.gone == frozenset()
    assert cache.known(case.store.name)


def test_a_folder_that_cannot_be_listed(
    case: Case, cache: SqliteScanCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = case.write("hello")
    scan(case.store, cache)
    real = os.scandir

    def scandir(folder: str) -> Any:
        if str(folder) == str(path.parent):
            raise PermissionError(13, "Permission denied", folder)
        return real(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    assert_nothing_gone(case, cache)


def test_a_file_where_the_folder_should_be(case: Case, cache: SqliteScanCache) -> None:
    case.write("hello")
    scan(case.store, cache)
    case.folder.rename(case.folder.with_name("hidden"))
    case.folder.write_bytes(b"")
    assert_nothing_gone(case, cache)


@pytest.mark.parametrize("what", ["root", "folder"])
def test_a_root_that_vanished(case: Case, cache: SqliteScanCache, what: str) -> None:
    case.write("hello")
    scan(case.store, cache)
    lost = case.sessions.root if what == "root" else case.folder
    lost.rename(lost.with_name("unmounted"))
    assert_nothing_gone(case, cache)


def test_a_root_that_never_was_is_complete(case: Case, cache: SqliteScanCache) -> None:
    found = scan(case.store, cache)
    assert (found.sessions, found.complete, found.gone) == ((), True, frozenset())


def test_a_link_that_leads_to_itself(case: Case, cache: SqliteScanCache) -> None:
    path = case.write("hello")
    (path.parent / path.name.replace(ID, uuid(2))).symlink_to(path.name.replace(ID, uuid(2)))
    (case.folder / "loop").symlink_to("loop")
    assert titles(scan(case.store, cache)) == {("hello", 1)}


def test_a_file_name_that_is_no_text(claude: Claude, cache: SqliteScanCache) -> None:
    path = claude.write(ID, [claude_lines(1, "hello")])
    path.rename(os.fsdecode(bytes(path.parent) + b"/caf\xe9.jsonl"))
    store = ClaudeStore([claude.root])
    first = scan(store, cache)
    assert titles(first) == {("hello", 1)}
    assert scan(store, cache).sessions == first.sessions


def test_files_below_other_roots_are_not_gone(tmp_path: Path, cache: SqliteScanCache) -> None:
    one, two = Claude(tmp_path / "root"), Claude(tmp_path / "root2")
    one.write(ID, [claude_lines(1, "a")])
    two.write(uuid(2), [claude_lines(2, "b")])
    scan(ClaudeStore([one.root, two.root]), cache)
    assert scan(ClaudeStore([one.root]), cache).gone == frozenset()
