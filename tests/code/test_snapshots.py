"""Snapshots as their callers see them: what is kept, what is found again, and what it costs."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from prong.code.changes import diffstats
from prong.code.git import Git
from prong.code.snapshots import contents, snapshot
from prong.code.snapshots.private_folder import Private
from prong.errors import NotFound, UsageError
from prong.model.code import DiffStat, TurnKey
from tests.code.lab import Lab, git


def test_a_turn_is_kept_with_everything_that_is_known_of_it(used: Lab) -> None:
    used.write("a.txt", "two\n")
    used.git("add", "a.txt")
    used.write("new.txt", "new\n")
    staged = used.word("write-tree")
    taken = used.take("turn-a", number=7, message_id="message-7")
    assert taken.ref == "refs/prong/claude/5e55/turn-a"
    assert taken.commit == used.word("rev-parse", taken.ref)
    assert taken.tree == used.word("rev-parse", f"{taken.ref}^{{tree}}")
    assert taken.staged_tree == staged
    assert taken.head == used.word("rev-parse", "HEAD")
    assert taken.branch == "main"
    assert taken.key == TurnKey("claude", "5e55", "turn-a")
    assert (taken.number, taken.message_id) == (7, "message-7")
    assert taken.repo == used.top
    assert (taken.degraded, taken.left_out, taken.nested) == (None, (), ())
    assert used.is_exact(taken)
    assert snapshot.find(used.top) == [taken]
    assert snapshot.find(used.top / "src") == [taken]


def test_the_tree_is_that_of_git_add(used: Lab) -> None:
    used.write("a.txt", "two\n")
    used.write("sub/dir/new.txt", "new\n")
    used.write("gone.log", "ignored\n")
    (used.top / "src/b.py").unlink()
    (used.top / "src/deep/c.py").chmod(0o644)
    taken = used.take()
    used.git("add", "-A")
    assert taken.tree == used.word("write-tree")


def test_each_has_the_one_before_it_and_the_head_in_its_history(used: Lab) -> None:
    first = used.take()
    used.write("a.txt", "two\n")
    second = used.take()
    used.commit()
    third = used.take()
    assert used.word("rev-parse", f"{second.ref}^1", f"{second.ref}^2").split() == [
        first.commit,
        second.head,
    ]
    assert used.word("rev-parse", f"{third.ref}^1") == second.commit
    assert [first.changed, second.changed, third.changed] == [True, True, False]
    assert third.head != second.head
    assert third.tree == second.tree


def test_another_session_has_its_own_history(used: Lab) -> None:
    used.take("one")
    other = snapshot.take(used.top, TurnKey("codex", "other", "0"))
    assert other is not None
    assert used.word("log", "--format=%H", f"{other.ref}^1", "-1") == other.head
    assert {found.agent for found in snapshot.find(used.top)} == {"claude", "codex"}


def test_a_turn_that_has_a_snapshot_keeps_it_unless_the_turn_went_on(used: Lab) -> None:
    before = used.take("0")
    used.write("a.txt", "two\n")
    first = used.take("turn")
    used.write("a.txt", "three\n")
    assert used.take("turn") == first
    second = used.take("turn", again=True)
    assert second.ref == first.ref
    assert used.files(second.tree)[b"a.txt"][1] == b"three\n"
    # The turn is still compared with the one before it, and nothing was lost.
    assert used.word("rev-parse", f"{second.ref}^1") == before.commit
    assert used.git("merge-base", "--is-ancestor", first.commit, second.commit) == b""
    assert snapshot.find(used.top) == [before, second]


def test_names_that_no_ref_may_have(used: Lab) -> None:
    for name in ("a..b", "x.lock", "a/b", "@{1}", "ü", "-dash", "a b~^:?*[\\"):
        taken = snapshot.take(used.top, TurnKey("claude", name, name))
        assert taken is not None
        assert taken.key == TurnKey("claude", name, name)
        assert taken in snapshot.find(used.top)
    for name in ("", "a\nb", "x" * 300):
        with pytest.raises(UsageError):
            snapshot.take(used.top, TurnKey("claude", "session", name))
    with pytest.raises(UsageError):
        snapshot.take(used.top, used.key("turn"), message_id="x\nProng-Head: y")


def test_what_others_keep_under_our_refs_is_passed_over(used: Lab) -> None:
    used.git("update-ref", "refs/prong/claude/5e55/strange", "HEAD")
    used.git("update-ref", "refs/prong/blob", used.word("rev-parse", "HEAD:a.txt"))
    taken = used.take()
    assert snapshot.find(used.top) == [taken]


def test_a_damaged_snapshot_is_passed_over(used: Lab) -> None:
    first = used.take()
    used.write("a.txt", "two\n")
    second = used.take()
    damaged = used.top / ".git/objects" / second.commit[:2] / second.commit[2:]
    damaged.unlink()
    assert snapshot.find(used.top) == [first]
    used.write("a.txt", "three\n")
    third = snapshot.take(used.top, used.key("third"))
    assert third is not None
    assert snapshot.find(used.top) == [first, third]
    assert used.word("rev-parse", f"{third.ref}^1") == first.commit


def test_a_folder_that_git_cannot_read_is_told(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    program = used.top.parent / "bin/git"
    program.parent.mkdir()
    words = "warning: could not open directory 'closed/': Permission denied"
    program.write_text(
        f"#!/bin/sh\nPATH={os.environ['PATH']}\n"
        f'case "$*" in *ls-files*) echo "{words}" >&2;; esac\nexec git "$@"\n'
    )
    program.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setenv("PATH", str(program.parent), prepend=os.pathsep)
        taken = snapshot.take(used.top, used.key("closed"))
    assert taken is not None
    assert taken.degraded == "git could not look into closed/"


def test_how_much_a_turn_changed(used: Lab) -> None:
    used.write("moved.txt", "".join(f"line {number}\n" for number in range(40)))
    used.write("bytes.bin", bytes(range(256)))
    before = used.take()
    used.write("a.txt", "two\nthree\n")
    used.write("new name\twith\ttabs", "1\n2\n3\n")
    (used.top / "moved.txt").rename(used.top / "there.txt")
    used.write("bytes.bin", b"\0\1\2")
    (used.top / "src/b.py").unlink()
    used.commit()
    after = used.take()
    pairs = [(before.tree, after.tree), (after.tree, after.tree), (None, before.tree)]
    changed, same, all_ = diffstats(used.top, pairs)
    assert changed == DiffStat(files=5, added=5, removed=2)
    assert same == DiffStat(0, 0, 0)
    assert all_.files == len(used.files(before.tree))


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        snapshot.take(tmp_path / "missing", TurnKey("claude", "a", "b"))


def test_three_hundred_files_are_one_pack(used: Lab) -> None:
    for number in range(300):
        used.write(f"d{number % 30}/f{number}", f"first {number}\n")
    used.commit()
    for number in range(300):
        used.write(f"d{number % 30}/f{number}", f"second {number}\n")
    packs, loose = used.objects()
    taken = used.take()
    assert used.is_exact(taken)
    now_packs, now_loose = used.objects()
    assert now_packs == packs + 1
    assert now_loose - loose <= 5
    used.git("fsck", "--strict")


def while_the_index_is_copied(patch: pytest.MonkeyPatch, *acts: Callable[[], object]) -> None:
    """Right before the index is copied, one of these happens each time."""
    left = list(acts)
    inner = Private._copy_index

    def copy(self: Private) -> bool:
        if left:
            left.pop(0)()
        return inner(self)

    patch.setattr(Private, "_copy_index", copy)


@pytest.mark.parametrize("where", ["branch", "packed", "detached", "linked", "unborn"])
def test_the_head_and_the_index_are_of_one_moment(
    used: Lab, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    lab = used
    match where:
        case "packed":
            used.git("pack-refs", "--all")
        case "detached":
            used.git("checkout", "-q", "--detach")
        case "linked":
            used.git("worktree", "add", "-q", "../linked")
            lab = Lab(used.top.parent / "linked")
        case "unborn":
            used.git("checkout", "-q", "--orphan", "new")
        case _:
            pass
    lab.write("new.txt")

    def switch() -> None:
        lab.git("checkout", "-q", "-b", "elsewhere")
        lab.commit("yet another one")

    with monkeypatch.context() as patched:
        while_the_index_is_copied(patched, lab.commit, switch)
        taken = snapshot.take(lab.top, lab.key("moved"))
    assert taken is not None
    assert (taken.head, taken.branch) == (lab.word("rev-parse", "HEAD"), "elsewhere")
    assert taken.staged_tree == lab.word("rev-parse", "HEAD^{tree}")
    assert taken.degraded is None
    assert lab.is_exact(taken)


def test_a_head_that_never_stands_still_is_told(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prong.code.snapshots.private_folder._TRIES", 3)
    while_the_index_is_copied(monkeypatch, *[used.commit] * 9)
    taken = snapshot.take(used.top, used.key("moving"))
    assert taken is not None
    assert taken.degraded is not None
    assert "the head moved all the time" in taken.degraded


def test_where_the_files_of_git_do_not_tell_the_head_git_is_asked(used: Lab) -> None:
    """A branch may be another name for a branch."""
    used.git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
    used.git("symbolic-ref", "HEAD", "refs/heads/alias")
    taken = used.take()
    assert (taken.head, taken.branch) == (used.word("rev-parse", "HEAD"), "main")
    assert taken.degraded is None


def test_a_small_turn_makes_no_pack(used: Lab) -> None:
    packs, loose = used.objects()
    used.write("src/b.py", "print(3)\n")
    used.take()
    now_packs, now_loose = used.objects()
    assert now_packs == packs
    assert now_loose - loose <= 4  # a blob, two trees, the commit


def test_how_often_git_is_started(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    start = Git.start

    def counted(self: Git, *words: str, **options: object) -> object:
        started.append(next(word for word in words if word[:1] != "-" and "=" not in word))
        return start(self, *words, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Git, "start", counted)
    used.write("a.txt", "two\n")
    used.write("new.txt", "new\n")
    assert snapshot.take(used.top, used.key("counted")) is not None
    assert sorted(started) == [
        "config",
        "diff-files",
        "diff-index",
        "fast-import",
        "for-each-ref",
        "ls-files",
        "rev-parse",
        "update-ref",
    ]


def test_an_unchanged_file_is_read_once(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    old = used.write("data.bin", os.urandom(1000))
    os.utime(old, (1_000_000_000, 1_000_000_000))
    fresh = used.write("fresh.txt", "written just now\n")
    # As if it was there for a while: the time of the change itself cannot be set.
    with monkeypatch.context() as patched:
        patched.setattr("prong.code.snapshots.contents._SETTLED", -(10**12))
        first = used.take()
    read = list[bytes]()
    inner = contents.read

    def counted(path: bytes, limit: int) -> object:
        read.append(path)
        return inner(path, limit)

    monkeypatch.setattr(contents, "read", counted)
    second = used.take()
    assert read == []
    assert second.tree == first.tree
    fresh.write_text("written once more\n")
    third = used.take()
    assert read == [os.fsencode(fresh)]
    assert used.is_exact(third)


def test_a_file_that_was_written_just_now_is_read_again(used: Lab) -> None:
    """Same size, same inode, and perhaps the same times: they prove nothing yet."""
    path = used.write("same.txt", "aaaa\n")
    used.take()
    with path.open("r+b") as file:
        file.write(b"bbbb\n")
    assert used.is_exact(used.take())


def test_a_known_blob_that_was_collected_is_stored_anew(
    used: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.code.snapshots.contents._SETTLED", -(10**12))
    used.write("data.bin", os.urandom(1000))
    first = used.take()
    used.git("update-ref", "-d", first.ref)
    used.git("gc", "-q", "--prune=now")
    assert used.is_exact(used.take())


def test_a_write_in_the_same_second_as_the_index_is_seen(used: Lab) -> None:
    """The copy of the index must not look younger than the index."""
    for round_ in range(10):
        path = used.write("race.txt", f"{round_:04}\n")
        used.git("add", "race.txt")
        path.write_text(f"{round_:04}\n"[::-1].strip() + "\n")
        assert used.is_exact(used.take())


def test_only_the_standard_library_is_imported() -> None:
    code = (
        "import sys; before = set(sys.modules); import prong.code.snapshots.snapshot;"
        "print(*sorted({name.split('.')[0] for name in set(sys.modules) - before}"
        " - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.decode().split() == ["prong"]


def test_git_that_is_steered_by_others(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    other = Lab.make(used.top.parent / "other")
    steering = {
        "GIT_DIR": str(other.top / ".git"),
        "GIT_WORK_TREE": str(other.top),
        "GIT_INDEX_FILE": str(other.top / ".git/index"),
        "GIT_OBJECT_DIRECTORY": str(other.top / ".git/objects"),
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.bare",
        "GIT_CONFIG_VALUE_0": "true",
    }
    with monkeypatch.context() as patched:
        for name, value in steering.items():
            patched.setenv(name, value)
        taken = snapshot.take(used.top, used.key("steered"))
    assert taken is not None
    assert taken.repo == used.top
    assert git(other.top, "for-each-ref") == b""
    assert used.is_exact(taken)
