"""Hard scenarios, by number: the files that a working tree can have (10 to 14, 21)."""

import contextlib
import os
import socket
import time
from pathlib import Path

import pytest

from prong.code.snapshots import contents, snapshot
from prong.errors import Unsupported
from prong.files.size_limit import SNAPSHOT_LIMIT
from tests.code.lab import Lab

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:{:064x}\nsize 12345\n"


def without_lfs(lab: Lab) -> None:
    """A repository whose filter must be there, and is not."""
    lab.git("config", "filter.lfs.clean", "no-such-program clean %f")
    lab.git("config", "filter.lfs.smudge", "no-such-program smudge %f")
    lab.git("config", "filter.lfs.required", "true")


def test_10_missing_filter(used: Lab) -> None:
    used.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    for number in range(500):
        used.write(f"big/{number}.bin", POINTER.format(number))
    used.commit()
    without_lfs(used)
    used.write("big/7.bin", os.urandom(5000))
    used.write("big/new.bin", os.urandom(5000))
    started = time.monotonic()
    taken = used.take()
    assert used.is_exact(taken)
    assert taken.degraded is None
    # Generous, for a busy machine; what counts is that no filter ran 500 times.
    assert time.monotonic() - started < 5


def test_10_missing_filter_in_the_second_of_the_index(used: Lab) -> None:
    """Git wants to look into files as new as the index, and cannot."""
    used.write(".gitattributes", "*.bin filter=lfs -text\n")
    used.write("a.bin", POINTER.format(1))
    used.write("b.bin", POINTER.format(2))
    used.commit()
    without_lfs(used)
    index = used.top / ".git/index"
    changed = (used.top / "a.bin").stat()
    used.write("a.bin", POINTER.format(3))
    for path in (used.top / "a.bin", used.top / "b.bin"):
        os.utime(path, ns=(changed.st_mtime_ns, changed.st_mtime_ns))
    os.utime(index, (changed.st_mtime - 5, changed.st_mtime - 5))
    taken = used.take()
    assert used.is_exact(taken)
    assert taken.degraded is None


def test_10_no_filter_runs(used: Lab, tmp_path: Path) -> None:
    """Not even for files as new as the index, into which git has to look."""
    ran = tmp_path / "ran"
    used.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n*.x filter=a=b.c\n")
    used.write("a.bin", POINTER.format(1))
    used.write("b.x", "one\n")
    used.commit()
    for name in ("lfs", "a=b.c"):
        for kind in ("clean", "smudge", "process"):
            used.git("config", f"filter.{name}.{kind}", f"touch {ran}; cat")
        used.git("config", f"filter.{name}.required", "true")
    index = (used.top / ".git/index").stat()
    used.write("a.bin", POINTER.format(2))
    used.write("b.x", "two\n")
    for path in ("a.bin", "b.x"):
        os.utime(used.top / path, ns=(index.st_mtime_ns, index.st_mtime_ns))
    taken = used.take()
    assert used.files(taken.tree)[b"a.bin"][1] == POINTER.format(2).encode()
    assert used.files(taken.tree)[b"b.x"][1] == b"two\n"
    assert taken.degraded is None
    assert not ran.exists()


def test_10_unchanged_files_of_a_filter_stay_what_git_has(used: Lab) -> None:
    used.git("config", "filter.shout.clean", "tr a-z A-Z | head -c 20")
    used.git("config", "filter.shout.smudge", "cat")
    used.write(".gitattributes", "*.shout filter=shout\n")
    quiet = used.write("quiet.shout", "a long text that the filter makes short\n")
    os.utime(quiet, (1_000_000_000, 1_000_000_000))  # older than the index
    used.commit()
    taken = used.take()
    assert used.files(taken.tree)[b"quiet.shout"][1] == b"A LONG TEXT THAT THE"
    used.write("quiet.shout", "another long text that the filter makes short\n")
    assert used.is_exact(used.take())


@pytest.mark.parametrize("attributes", ["* text=auto eol=crlf\n", "* text=auto\n", ""])
def test_11_ends_of_lines(used: Lab, attributes: str) -> None:
    if attributes:
        used.write(".gitattributes", attributes)
    else:
        used.git("config", "core.autocrlf", "true")
    used.write("crlf.txt", b"one\r\ntwo\r\n")
    used.write("lf.txt", b"one\ntwo\n")
    used.write("mixed.txt", b"one\r\ntwo\nthree\r\n")
    used.write("utf16.txt", "one\r\ntwo\r\n".encode("utf-16"))
    used.commit()
    used.write("untracked.txt", b"x\r\ny\n")
    assert used.is_exact(used.take())
    used.write("mixed.txt", b"one\ntwo\r\nthree\n")
    os.utime(used.top / "crlf.txt")
    assert used.is_exact(used.take())


def test_11_encodings_and_identities(used: Lab) -> None:
    used.write(".gitattributes", "*.ps1 working-tree-encoding=UTF-16LE\n*.c ident\n")
    used.write("script.ps1", "echo one\n".encode("utf-16-le"))
    used.write("main.c", "/* $Id$ */\n")
    used.commit()
    (used.top / "main.c").unlink()
    used.git("checkout", "-q", "main.c")
    assert b"$Id: " in (used.top / "main.c").read_bytes()
    assert used.is_exact(used.take())


def settle(lab: Lab) -> None:
    """Make the index newer than its files: now git believes it."""
    for path in lab.top.rglob("*"):
        if ".git" not in path.parts and path.is_file():
            os.utime(path, (10**9, 10**9))
    lab.git("status")


@pytest.mark.parametrize("where", ["top", "folder", "info", "setting", "deleted", "macro"])
def test_11_an_encoding_that_keeps_the_size(used: Lab, where: str) -> None:
    line = "*.u working-tree-encoding=UTF-16LE\n"
    match where:
        case "folder":
            used.write("deep/er/.gitattributes", line)
        case "info":
            used.write(".git/info/attributes", line)
        case "setting":
            used.write("../attributes", line)
            used.git("config", "core.attributesFile", str(used.top.parent / "attributes"))
        case "macro":
            used.write(
                ".git/info/attributes", "[attr]wide working-tree-encoding=UTF-16LE\n*.u wide\n"
            )
        case _:
            used.write(".gitattributes", line)
    text = "ab\u4e2d\u6587" * 3
    assert len(text.encode()) == len(text.encode("utf-16-le"))
    file = used.write("deep/er/f.u", text.encode("utf-16-le"))
    used.write("plain.txt", text)
    used.commit()
    assert used.git("show", "HEAD:deep/er/f.u") == text.encode()
    settle(used)
    if where == "deleted":  # git then takes it from the index
        (used.top / ".gitattributes").unlink()
    taken = used.take()
    assert used.is_exact(taken)
    assert taken.degraded is None
    file.unlink()
    assert used.is_exact(used.take())


def test_11_an_identity_that_keeps_the_size(used: Lab) -> None:
    """It was committed as it had been expanded for another blob."""
    used.write("main.c", f"/* $Id: {'0' * 40} $ */\n")
    used.write("other.c", "/* */\n").chmod(0o755)
    used.commit()
    used.write(".git/info/attributes", "*.c ident\n")
    (used.top / "main.c").unlink()
    used.git("checkout", "-q", "main.c")
    expanded = (used.top / "main.c").read_bytes()
    stored = used.git("show", "HEAD:main.c")
    assert expanded != stored
    assert len(expanded) == len(stored)
    later = time.time() + 5
    os.utime(used.top / ".git/index", (later, later))
    assert used.git("status", "--porcelain") == b""
    assert used.is_exact(used.take())


def test_11_files_out_of_sight_have_no_other_bytes(used: Lab) -> None:
    used.write(".gitattributes", "* ident\n")
    used.write("other/d.txt")
    (used.top / "link").symlink_to("a.txt")
    used.commit()
    used.git("sparse-checkout", "set", "--no-cone", "src")
    taken = used.take()
    assert {b"other/d.txt", b"link"} <= set(used.files(taken.tree))
    assert taken.tree == used.word("rev-parse", "HEAD^{tree}")


def test_11_what_was_converted_stays_so_when_the_setting_goes(used: Lab) -> None:
    used.git("config", "core.autocrlf", "true")
    used.write("crlf.txt", b"one\r\ntwo\r\n")
    used.commit()
    settle(used)
    assert used.is_exact(used.take())
    used.git("config", "--unset", "core.autocrlf")
    assert used.git("status", "--porcelain") == b""
    assert used.is_exact(used.take())


def test_12_sizes(used: Lab) -> None:
    used.write("binary.bin", os.urandom(100_000))
    used.write("empty")
    used.write("empty", b"")
    used.write("exact", b"x" * 200_000)
    used.write("over", b"x" * 200_001)
    used.write("a.txt", b"y" * 300_000)
    with (used.top / "sparse").open("wb") as file:
        file.truncate(2 << 30)
    taken = used.take(limit=200_000)
    assert {(one.path, one.size) for one in taken.left_out} == {
        ("over", 200_001),
        ("a.txt", 300_000),
        ("sparse", 2 << 30),
    }
    assert all(one.reason == "larger than 0.2 MB" for one in taken.left_out)
    files = used.files(taken.tree)
    assert {b"over", b"sparse"}.isdisjoint(files)
    # A tracked file has the content that was staged.
    assert files[b"a.txt"][1] == b"one\n"
    assert files[b"empty"][1] == b""
    assert files[b"exact"] == ("100644", b"x" * 200_000)
    assert SNAPSHOT_LIMIT == 50_000_000


NAMES = [
    b"new\nline",
    b"tab\there",
    b'quo"te',
    b"back\\slash",
    b"-leading-dash",
    b"--help",
    b" leading space",
    b"trailing space ",
    b"non\xff\xfeutf8",
    "café".encode(),
    "cafe\u0301".encode(),
    b"Case",
    b"case",
    b":(glob)**",
    b"*",
    b"?",
    b"\x01control\x7f",
    b"dir with space/\xffinner\n/file",
    b"200" + b"x" * 200,
]


@pytest.mark.parametrize("tracked", [False, True])
def test_13_names(used: Lab, tracked: bool) -> None:
    for name in NAMES:
        used.write(name, b"first: " + name)
    if tracked:
        used.commit()
        for name in NAMES:
            used.write(name, b"second: " + name)
    taken = used.take()
    assert used.is_exact(taken)
    assert set(NAMES) <= set(used.files(taken.tree))
    if tracked:
        for name in NAMES:
            (used.top / os.fsdecode(name)).unlink()
        assert used.is_exact(used.take())


def test_13_names_of_what_is_left_out(used: Lab) -> None:
    used.write(b"non\xff\nutf8", b"x" * 100)
    (one,) = used.take(limit=10, number=1).left_out
    assert os.fsencode(one.path) == b"non\xff\nutf8"


def test_13_names_that_git_does_not_take(used: Lab) -> None:
    """With them in it, no worktree could be made of the snapshot."""
    for name in (".GIT/config", "src/.Git", "git~1", ".git .txt", ".gitmodules.txt"):
        used.write(name)
    (used.top / ".gitmodules").symlink_to("a.txt")
    taken = used.take()
    assert {(one.path, one.size) for one in taken.left_out} == {
        (".GIT/config", 4),
        ("src/.Git", 4),
        (".gitmodules", 0),
    }
    files = used.files(taken.tree)
    assert {b"git~1", b".git .txt", b".gitmodules.txt"} <= set(files)
    used.git("-c", "core.protectNTFS=false", "read-tree", "--index-output=i", taken.tree)


@pytest.mark.parametrize("born", [True, False])
def test_13_a_repository_with_a_line_break_in_its_name(tmp_path: Path, born: bool) -> None:
    top = tmp_path / "one\ntwo"
    lab = Lab.make(top)
    lab.write("a.txt")
    if born:
        lab.commit()
    with pytest.raises(Unsupported, match="line break"):
        snapshot.take(top, lab.key("turn"))


def test_14_links(used: Lab, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret").write_text("secret\n")
    for name, target in {
        "to-dir": "src",
        "dangling": "nowhere/at/all",
        "loop": "loop",
        "outside": str(tmp_path / "outside"),
        "odd": ".//src/../a.txt",
    }.items():
        (used.top / name).symlink_to(target)
    # What was a folder is a link now; and a file, and the other way round.
    (used.top / "src/b.py").unlink()
    (used.top / "src/b.py").symlink_to("deep/c.py")
    used.commit()
    (used.top / "odd").unlink()
    used.write("odd", "a file now\n")
    (used.top / "a.txt").unlink()
    used.write("a.txt/is/a/folder", "now\n")
    taken = used.take()
    assert used.is_exact(taken)
    assert used.files(taken.tree)[b"outside"][0] == "120000"


@pytest.mark.parametrize("marked", [None, "assume-unchanged", "skip-worktree"])
def test_14_a_folder_became_a_link(used: Lab, tmp_path: Path, marked: str | None) -> None:
    """What is behind the link is not ours."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/b.py").write_text("elsewhere\n")
    if marked:
        used.git("update-index", f"--{marked}", "src/b.py")
    (used.top / "src").rename(tmp_path / "moved")
    (used.top / "src").symlink_to(tmp_path / "elsewhere")
    files = used.files(used.take().tree)
    assert files[b"src"][0] == "120000"
    assert not any(path.startswith(b"src/") for path in files)


def test_14_a_folder_of_files_as_new_as_the_index_became_a_link(used: Lab, tmp_path: Path) -> None:
    """Where git cannot look into new files and we do it: not behind the link."""
    used.write(".gitattributes", "*.bin filter=lfs -text\n")
    used.write("new.bin", POINTER.format(1))
    used.write("folder/a.txt", "one\n")
    used.commit()
    without_lfs(used)
    (used.top / "folder").rename(tmp_path / "moved")
    (used.top / "folder").symlink_to(tmp_path / "moved")
    changed = (used.top / "new.bin").stat()
    used.write("new.bin", POINTER.format(2))
    os.utime(used.top / "new.bin", ns=(changed.st_mtime_ns, changed.st_mtime_ns))
    os.utime(used.top / ".git/index", (changed.st_mtime - 5, changed.st_mtime - 5))
    files = used.files(used.take().tree)
    assert files[b"new.bin"][1] == POINTER.format(2).encode()
    assert files[b"folder"][0] == "120000"


def test_14_what_is_no_file(used: Lab) -> None:
    os.mkfifo(used.top / "fifo")
    (used.top / "empty/dir").mkdir(parents=True)
    used.write("secret", "0600\n").chmod(0o600)
    (used.top / "a.txt").unlink()
    os.mkfifo(used.top / "a.txt")
    with contextlib.chdir(used.top), socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")  # a longer name would be too long
        taken = used.take()
    files = used.files(taken.tree)
    assert {b"fifo", b"socket"}.isdisjoint(files)
    assert files[b"secret"] == ("100644", b"0600\n")
    assert [one.path for one in taken.left_out] == ["a.txt"]


def test_21_a_folder_that_is_too_large(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.write("tracked.txt")
    lab.commit()
    for number in range(3000):
        lab.write(f"home/{number % 50}/{number}", f"{number}\n")
    lab.write("tracked.txt", "two\n")
    # No time to look at anything: the ref is there all the same, and says what it lacks.
    with monkeypatch.context() as patched:
        patched.setattr("prong.code.snapshots.snapshot._READING", 0)
        nothing = lab.take("nothing")
    assert nothing.degraded
    assert lab.files(nothing.tree)[b"tracked.txt"][1] == b"one\n"
    whole = lab.take("whole", budget_seconds=60)
    assert whole.degraded is None
    assert lab.is_exact(whole)


def test_21_out_of_time_while_reading(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(50):
        used.write(f"f{number:02}", f"{number}\n")
    inner = contents.read

    def slow(path: bytes, limit: int) -> object:
        time.sleep(0.1)
        return inner(path, limit)

    monkeypatch.setattr(contents, "read", slow)
    taken = used.take(budget_seconds=1)
    assert taken.degraded is not None
    assert "out of time" in taken.degraded
    assert taken.left_out
    files = used.files(taken.tree)
    lost = {os.fsencode(one.path) for one in taken.left_out}
    assert {one.reason for one in taken.left_out} == {"out of time"}
    assert lost.isdisjoint(files)
    assert lost | set(files) == set(used.lying())
