"""Reading what somebody else is writing."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prong.code.snapshots import contents
from prong.code.snapshots.contents import FileContent, Refusal, read


def test_a_file_a_program_a_link_and_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\r\n")
    found = read(os.fsencode(path), 100)
    assert isinstance(found, FileContent)
    assert (found.mode, found.data, found.steady) == (b"100644", b"one\r\n", True)
    path.chmod(0o700)
    found = read(os.fsencode(path), 100)
    assert isinstance(found, FileContent)
    assert found.mode == b"100755"
    link = tmp_path / "link"
    link.symlink_to(".//file")
    found = read(os.fsencode(link), 100)
    assert isinstance(found, FileContent)
    assert (found.mode, found.data) == (b"120000", b".//file")
    assert read(os.fsencode(tmp_path), 100) is None
    assert read(os.fsencode(tmp_path / "missing"), 100) is None
    assert read(os.fsencode(path / "below a file"), 100) is None


def while_reading(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object], times: int) -> None:
    """Do something after each of the first reads."""
    left = times
    plain = os.read

    def reading(descriptor: int, size: int) -> bytes:
        nonlocal left
        data = plain(descriptor, size)
        if left:
            left -= 1
            act()
        return data

    monkeypatch.setattr(contents.os, "read", reading)


def test_a_file_that_grows_once_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"half")
    while_reading(monkeypatch, lambda: path.write_bytes(b"whole\n"), 1)
    found = read(os.fsencode(path), 100)
    assert isinstance(found, FileContent)
    assert (found.data, found.steady) == (b"whole\n", True)


def test_a_file_that_never_rests_is_marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"line\n")

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"line\n")

    while_reading(monkeypatch, append, 1000)
    found = read(os.fsencode(path), 100_000)
    assert isinstance(found, FileContent)
    assert not found.steady
    assert set(found.data.split(b"\n")) == {b"line", b""}


def test_a_file_that_grows_over_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 90)
    while_reading(monkeypatch, lambda: path.write_bytes(b"x" * 500), 1)
    assert read(os.fsencode(path), 100) == Refusal(500, "larger than 0.0001 MB")


def test_a_file_that_becomes_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is behind the link is never read."""
    path, secret = tmp_path / "file", tmp_path / "secret"
    path.write_bytes(b"file")
    secret.write_bytes(b"secret")
    plain = os.open

    def opening(name: bytes, flags: int) -> int:
        path.unlink()
        path.symlink_to(secret)
        return plain(name, flags)

    monkeypatch.setattr(contents.os, "open", opening)
    found = read(os.fsencode(path), 100)
    assert isinstance(found, FileContent)
    assert (found.mode, found.data) == (b"120000", os.fsencode(secret))


def test_a_file_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"file")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(contents.os, "open", refuse)
    assert read(os.fsencode(path), 100) == Refusal(0, "not readable: Permission denied")
