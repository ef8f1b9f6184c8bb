"""Hard scenarios, by number: the states that a repository can be in (3 to 9, 15 to 18, 20, 22)."""

import shutil
import threading
import time
from pathlib import Path

import pytest

from prong.code.changes import diffstats
from prong.code.repository import Repository
from prong.code.snapshots import refs, snapshot
from prong.model.code import TurnKey
from tests.code.lab import Lab, git

HOOKS = ("pre-commit", "post-commit", "reference-transaction", "post-index-change", "update")


def test_03_staged_unstaged_renamed_deleted_mode_untracked_announced(used: Lab) -> None:
    used.write("both.txt", "one\n")
    used.write("deleted.txt", "one\n")
    used.write("unstaged-delete.txt", "one\n")
    used.write("renamed.txt", "a long line that is the same\n")
    used.commit()
    used.write("both.txt", "staged\n")
    used.git("add", "both.txt")
    used.write("both.txt", "and more\n")
    used.git("mv", "renamed.txt", "new-name.txt")
    used.git("rm", "-q", "deleted.txt")
    (used.top / "unstaged-delete.txt").unlink()
    (used.top / "src/b.py").chmod(0o755)
    used.write("untracked.txt")
    used.write("announced.txt", "announced\n")
    used.git("add", "--intent-to-add", "announced.txt")
    staged = used.word("write-tree")
    taken = used.take()
    assert used.is_exact(taken)
    assert taken.staged_tree == staged
    assert used.files(staged)[b"both.txt"][1] == b"staged\n"
    assert refs.intended(used.git("cat-file", "commit", taken.commit)) == ["announced.txt"]
    assert b"unstaged-delete.txt" not in used.files(taken.tree)
    # What was only ever staged stays, too.
    used.git("reset", "-q", "--hard")
    used.git("reflog", "expire", "--expire=now", "--all")
    used.git("gc", "-q", "--prune=now")
    assert used.files(staged)[b"both.txt"][1] == b"staged\n"


def in_conflict(lab: Lab) -> None:
    lab.write("fight.txt", "base\n")
    lab.write("removed.txt", "base\n")
    lab.commit()
    lab.git("checkout", "-q", "-b", "theirs")
    lab.write("fight.txt", "theirs\n")
    lab.write("theirs.txt", "theirs\n")
    lab.write("removed.txt", "theirs\n")
    lab.commit()
    lab.git("checkout", "-q", "main")
    lab.write("fight.txt", "ours\n")
    (lab.top / "removed.txt").unlink()
    lab.commit()


def test_04_merge_conflict(used: Lab) -> None:
    in_conflict(used)
    used.git("merge", "theirs", check=False)
    sides = used.git("ls-files", "-u", "-z")
    assert sides
    used.write("untracked.txt")
    (used.top / "a.txt").unlink()
    taken = used.take()
    assert used.git("ls-files", "-u", "-z") == sides
    assert used.is_exact(taken)
    assert b"<<<<<<<" in used.files(taken.tree)[b"fight.txt"][1]
    assert taken.staged_tree is None
    # The index can be made again from the last parent: a folder for each side of the conflict.
    kept = used.word("rev-parse", f"{taken.commit}^@").split()[-1]
    staged = set[tuple[bytes, ...]]()
    for line in used.git("ls-tree", "-r", "-z", kept).split(b"\0")[:-1]:
        about, path = line.split(b"\t", 1)
        mode, _, blob = about.split()
        side, name = path.split(b"/", 1)
        staged.add((mode, blob, side, name))
    index = used.git("ls-files", "-s", "-z").split(b"\0")[:-1]
    assert staged == {tuple(line.replace(b"\t", b" ").split(b" ", 3)) for line in index}
    used.git("fsck", "--strict")


def test_04_a_conflict_of_files_and_folders(used: Lab) -> None:
    """What is staged of it is another kind of thing than in the head."""
    used.write("file/now.txt", "a folder\n")
    used.write("folder", "a file\n")
    in_conflict(used)
    used.git("merge", "theirs", check=False)
    used.git("rm", "-q", "--cached", "-r", "file")
    shutil.rmtree(used.top / "file")
    (used.top / "folder").unlink()
    used.write("file", "a file now\n")
    used.write("folder/now.txt", "a folder now\n")
    used.git("add", "file", "folder")
    (used.top / "src/b.py").unlink()
    used.git("rm", "-q", "--cached", "a.txt")
    index = used.git("ls-files", "-s", "-z").split(b"\0")[:-1]
    taken = used.take()
    assert used.is_exact(taken)
    kept = used.word("rev-parse", f"{taken.commit}^@").split()[-1]
    sides = used.git("ls-tree", "-r", "-z", "--name-only", kept).split(b"\0")[:-1]
    stages = [line.split(b" ", 2)[2].replace(b"\t", b"/") for line in index]
    assert sorted(sides) == sorted(stages)


@pytest.mark.parametrize("what", ["rebase", "cherry-pick", "bisect", "revert"])
def test_05_in_the_middle_of_something(used: Lab, what: str) -> None:
    in_conflict(used)
    if what == "bisect":
        used.git("bisect", "start", "HEAD", "HEAD~2")
    elif what == "revert":
        used.git("revert", "--no-edit", "HEAD~1", check=False)
    else:
        used.git(what, "theirs", check=False)
    used.write("untracked.txt")
    status = used.git("status", "--porcelain=v2", "-z", "--branch")
    taken = used.take()
    assert used.is_exact(taken)
    assert used.git("status", "--porcelain=v2", "-z", "--branch") == status


def test_05_a_branch_with_a_name_in_another_encoding(used: Lab) -> None:
    """Git prints messages in the encoding that the user wants; ours are for us."""
    for name in ("zw\u00f6lf", "zw\udcf6lf"):
        used.git("checkout", "-q", "-b", name)
        for encoding in ("ISO-8859-1", "UTF-8"):
            used.git("config", "i18n.logOutputEncoding", encoding)
            used.git("config", "i18n.commitEncoding", encoding)
            assert used.take().branch == name


def test_05_detached_head(used: Lab) -> None:
    used.git("checkout", "-q", "--detach")
    used.write("a.txt", "two\n")
    taken = used.take()
    assert (taken.branch, taken.head) == (None, used.word("rev-parse", "HEAD"))
    assert used.is_exact(taken)


def test_05_unborn_and_empty(lab: Lab) -> None:
    empty = lab.take("0")
    assert (empty.head, empty.branch) == (None, "main")
    assert lab.files(empty.tree) == {}
    lab.write("first.txt")
    lab.write("staged.txt")
    lab.git("add", "staged.txt")
    unborn = lab.take()
    assert lab.is_exact(unborn)
    assert unborn.staged_tree is not None
    assert set(lab.files(unborn.staged_tree)) == {b"staged.txt"}
    lab.commit()
    born = lab.take()
    assert (born.head, born.changed) == (lab.word("rev-parse", "HEAD"), False)
    assert snapshot.find(lab.top) == [empty, unborn, born]


def test_05_no_git_then_git(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "file").write_text("one\n")
    key = TurnKey("claude", "5e55", "turn")
    assert snapshot.take(folder, key) is None
    assert snapshot.find(folder) == []
    git(folder, "init", "-q")
    taken = snapshot.take(folder, key)
    assert taken is not None
    assert Lab(folder).is_exact(taken)


def test_05_bare_repository_and_git_folder(used: Lab, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(used.top), "bare.git")
    assert snapshot.take(tmp_path / "bare.git", used.key("bare")) is None
    assert snapshot.take(used.top / ".git", used.key("inside")) is None


def test_06_no_name(used: Lab) -> None:
    used.git("config", "user.useConfigOnly", "true")
    used.write("a.txt", "two\n")
    taken = used.take()
    assert used.word("log", "-1", "--format=%an %ae %cn", taken.ref) == (
        "prong prong@localhost prong"
    )


def test_07_failing_hooks_and_signing(used: Lab) -> None:
    for name in HOOKS:
        hook = used.write(f".git/hooks/{name}", "#!/bin/sh\ntouch hook-was-here\nexit 1\n")
        hook.chmod(0o755)
    used.git("config", "commit.gpgSign", "true")
    used.git("config", "gpg.program", "false")
    used.git("config", "core.logAllRefUpdates", "always")
    used.write("a.txt", "two\n")
    assert used.is_exact(used.take())
    assert not list(used.top.rglob("hook-was-here"))


def test_08_inside_a_hook_of_a_linked_worktree(
    used: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git exports its folder and its index to hooks: they are of the wrong repository."""
    other = Lab.make(tmp_path / "other")
    other.write("other.txt")
    other.commit()
    other.git("worktree", "add", "-q", str(tmp_path / "linked"))
    hook = other.write(".git/hooks/post-checkout", f"#!/bin/sh\nenv >{tmp_path}/seen\n")
    hook.chmod(0o755)
    git(tmp_path / "linked", "checkout", "-q", "-b", "more")
    seen = (tmp_path / "seen").read_text()
    assert "GIT_DIR=" in seen
    with monkeypatch.context() as patched:
        for line in seen.splitlines():
            if line.startswith("GIT_"):
                patched.setenv(*line.split("=", 1))
        patched.setenv("GIT_INDEX_FILE", str(tmp_path / "linked-index"))
        used.write("a.txt", "two\n")
        taken = snapshot.take(used.top, used.key("hooked"))
    assert taken is not None
    assert taken.repo == used.top
    assert used.is_exact(taken)
    assert other.git("for-each-ref", "refs/prong") == b""


def test_09_nested_repositories(used: Lab) -> None:
    born = Lab.make(used.top / "vendor/born")
    born.write("in.txt")
    born.commit()
    born.write("dirty.txt", "dirty\n")
    unborn = Lab.make(used.top / "vendor/unborn")
    unborn.write("only.txt", "only\n")
    deep = Lab.make(used.top / "vendor/born/deep")
    deep.write("deep.txt")
    taken = used.take()
    kept = {inner.path: inner.commit for inner in taken.nested}
    assert set(kept) == {"vendor/born", "vendor/unborn"}
    assert born.files(kept["vendor/born"]) == born.lying()
    assert unborn.files(kept["vendor/unborn"]) == unborn.lying()
    inner = deep.word("for-each-ref", "--format=%(objectname)", "refs/prong")
    assert deep.files(inner) == deep.lying()
    assert not any(path.startswith(b"vendor") for path in used.files(taken.tree))
    # Not the snapshots of a session that works in there.
    assert snapshot.find(born.top) == []
    assert used.take().changed is False
    born.write("dirty.txt", "dirtier\n")
    assert used.take().changed is True


def test_09_dirty_submodule_of_a_submodule(used: Lab, tmp_path: Path) -> None:
    inner = Lab.make(tmp_path / "inner")
    inner.write("inner.txt")
    inner.commit()
    middle = Lab.make(tmp_path / "middle")
    middle.write("middle.txt")
    middle.git("submodule", "add", "-q", str(inner.top), "inner")
    middle.commit()
    used.git("submodule", "add", "-q", str(middle.top), "middle")
    used.git("submodule", "add", "-q", str(inner.top), "clean")
    used.git("submodule", "update", "-q", "--init", "--recursive")
    used.commit()
    clean = used.take()
    assert clean.nested == ()
    deep = Lab(used.top / "middle/inner")
    deep.write("inner.txt", "dirty\n")
    deep.write("untracked.txt")
    taken = used.take()
    assert [one.path for one in taken.nested] == ["middle"]
    assert taken.changed
    middle_repository = Repository.find(used.top / "middle")
    assert middle_repository is not None
    kept = refs.find(middle_repository.top, "refs/prong")
    assert [one.path for one in kept[-1].nested] == ["inner"]
    assert deep.files(kept[-1].nested[0].commit) == deep.lying()
    # A commit in it shows in the tree, as `git add` would record it.
    deep.commit()
    used.write("middle/middle.txt", "two\n")
    moved = Lab(used.top / "middle").commit()
    taken = used.take()
    assert used.files(taken.tree)[b"middle"] == ("160000", moved.encode())


def test_09_a_submodule_became_a_file_and_a_file_a_repository(used: Lab, tmp_path: Path) -> None:
    inner = Lab.make(tmp_path / "inner")
    inner.write("inner.txt")
    inner.commit()
    used.git("submodule", "add", "-q", str(inner.top), "module")
    used.commit()
    shutil.rmtree(used.top / "module")
    used.write("module", "a file now\n")
    (used.top / "a.txt").unlink()
    born = Lab.make(used.top / "a.txt")
    born.write("in.txt")
    unborn = born.top
    taken = used.take()
    files = used.files(taken.tree)
    assert files[b"module"] == ("100644", b"a file now\n")
    assert b"a.txt" not in files
    assert [one.path for one in taken.nested] == ["a.txt"]
    head = born.commit()
    taken = used.take()
    assert used.files(taken.tree)[b"a.txt"] == ("160000", head.encode())
    assert unborn.is_dir()


def test_09_a_conflict_and_no_time(used: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    in_conflict(used)
    used.git("merge", "theirs", check=False)
    monkeypatch.setattr("prong.code.snapshots.snapshot._READING", 0)
    taken = used.take()
    assert taken.degraded
    kept = used.word("rev-parse", f"{taken.commit}^@").split()[-1]
    sides = used.git("ls-tree", "-r", "-z", "--name-only", kept).split(b"\0")
    assert {b"0/a.txt", b"1/fight.txt", b"2/fight.txt", b"3/fight.txt"} <= set(sides)
    assert b"a.txt" in used.files(taken.tree)


def test_09_another_worktree_inside_is_not_part_of_it(used: Lab) -> None:
    used.git("worktree", "add", "-q", "trees/other")
    taken = used.take()
    assert taken.nested == ()
    assert [(one.path, one.size) for one in taken.left_out] == [("trees/other", 0)]
    linked = Lab(used.top / "trees/other", session="linked")
    linked.write("a.txt", "two\n")
    other = linked.take()
    assert linked.is_exact(other)
    assert other.branch == "other"


@pytest.mark.parametrize("bit", ["--skip-worktree", "--assume-unchanged"])
def test_15_files_that_git_is_told_not_to_look_at(used: Lab, bit: str) -> None:
    used.git("update-index", bit, "a.txt", "src/b.py")
    used.write("a.txt", "LOCAL EDIT\n")
    taken = used.take()
    assert used.files(taken.tree)[b"a.txt"][1] == b"LOCAL EDIT\n"
    assert used.is_exact(taken)


def test_15_deleted_though_assumed_unchanged(used: Lab) -> None:
    used.git("update-index", "--assume-unchanged", "a.txt")
    (used.top / "a.txt").unlink()
    assert used.is_exact(used.take())


@pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
def test_15_sparse_checkout_is_no_deletion(used: Lab, cone: str) -> None:
    used.write("other/d.txt")
    used.commit()
    used.git("sparse-checkout", "set", cone, "src")
    assert not (used.top / "other/d.txt").exists()
    used.write("src/b.py", "print(3)\n")
    taken = used.take()
    assert b"other/d.txt" in used.files(taken.tree)
    assert used.files(taken.tree)[b"src/b.py"][1] == b"print(3)\n"


@pytest.mark.parametrize(
    "settings",
    [
        ("core.splitIndex=true",),
        ("core.untrackedCache=true",),
        ("core.fsmonitor=/bin/false",),
        ("index.version=4",),
        ("feature.manyFiles=true",),
        ("core.fileMode=false",),
        ("core.ignoreStat=true",),
        ("index.sparse=true", "core.sparseCheckout=true", "core.sparseCheckoutCone=true"),
    ],
    ids=lambda settings: settings[0],
)
def test_15_kinds_of_index(used: Lab, settings: tuple[str, ...]) -> None:
    for setting in settings:
        used.git("config", *setting.split("="))
    used.git("update-index", "--force-write-index")
    used.write("more.txt")
    used.git("add", "more.txt")
    used.git("status")
    used.write("a.txt", "two\n")
    used.write("untracked.txt")
    (used.top / "src/b.py").unlink()
    taken = used.take()
    assert used.is_exact(taken)


def test_15_sha256(tmp_path: Path) -> None:
    lab = Lab.make(tmp_path / "long", "--object-format=sha256")
    lab.write("a.txt")
    empty = lab.take()
    lab.commit()
    lab.write("a.txt", "two\n")
    lab.git("add", "a.txt")
    taken = lab.take()
    assert len(taken.commit) == 64
    assert lab.is_exact(taken)
    pairs = [(empty.tree, taken.tree), (None, taken.tree)]
    assert [one.files for one in diffstats(lab.top, pairs)] == [1, 1]
    lab.git("fsck", "--strict")


@pytest.mark.parametrize(
    "options", [("--depth=1",), ("--filter=blob:none",), ("--shared",), ("--reference", "{}")]
)
def test_15_clones(used: Lab, tmp_path: Path, options: tuple[str, ...]) -> None:
    used.write("a.txt", "two\n")
    used.commit()
    used.git("config", "uploadpack.allowFilter", "true")
    words = [option.format(used.top) for option in options]
    git(tmp_path, "clone", "-q", *words, f"file://{used.top}", "clone")
    clone = Lab(tmp_path / "clone")
    clone.write("a.txt", "three\n")
    clone.write("new/file.txt")
    taken = clone.take()
    assert clone.is_exact(taken)
    assert taken.head == used.word("rev-parse", "HEAD")


def test_15_staged_files_that_a_partial_clone_does_not_have(used: Lab, tmp_path: Path) -> None:
    used.write("far/away.txt", "two\n")
    used.commit()
    used.write("far/away.txt", "three\n")
    used.commit()
    used.git("config", "uploadpack.allowFilter", "true")
    words = ("clone", "-q", "--filter=blob:none", "--sparse", f"file://{used.top}", "clone")
    git(tmp_path, *words)
    clone = Lab(tmp_path / "clone")
    clone.git("reset", "-q", "--soft", "HEAD~1")
    clone.write("a.txt", "three\n")
    taken = clone.take()
    staged = used.word("rev-parse", "HEAD^{tree}")
    assert taken.staged_tree == staged
    assert taken.degraded is None
    trees = [clone.git("ls-tree", "-r", tree, "far/away.txt") for tree in (taken.tree, staged)]
    assert trees[0] == trees[1] != b""


def test_16_stale_lock(used: Lab) -> None:
    lock = used.write(".git/index.lock", "")
    used.write("a.txt", "two\n")
    assert used.is_exact(used.take())
    assert lock.exists()


def test_16_index_missing_for_a_moment(used: Lab) -> None:
    used.write("forced.log", "ignored, but tracked\n")
    used.git("add", "-f", "forced.log")
    index = used.top / ".git/index"
    index.rename(used.top / ".git/away")

    def give_back() -> None:
        time.sleep(0.03)
        (used.top / ".git/away").rename(index)

    giver = threading.Thread(target=give_back)
    giver.start()
    taken = snapshot.take(used.top, used.key("moment"))
    giver.join()
    assert taken is not None
    assert b"forced.log" in used.files(taken.tree)


def test_16_index_missing_for_good(used: Lab) -> None:
    used.write("forced.log", "ignored, but tracked\n")
    used.git("add", "-f", "forced.log")
    used.commit()
    (used.top / ".git/index").unlink()
    used.write("a.txt", "two\n")
    taken = used.take()
    files = used.files(taken.tree)
    assert b"forced.log" in files
    assert files[b"a.txt"][1] == b"two\n"


def test_17_whatever_happens_to_history(used: Lab) -> None:
    first = used.take()
    assert used.take().changed is False
    used.write("a.txt", "two\n")
    used.commit()
    committed = used.take()
    used.git("commit", "-q", "--amend", "-m", "amended")
    amended = used.take()
    used.git("checkout", "-q", "-b", "side", "HEAD~1")
    used.write("side.txt")
    side = used.commit()
    sided = used.take()
    used.git("rebase", "-q", "main")
    rebased = used.take()
    used.git("checkout", "-q", "main")
    used.git("merge", "-q", "--squash", "side")
    squashed = used.take()
    used.git("commit", "-q", "-m", "squashed")
    used.git("branch", "-q", "-D", "side")
    used.git("reset", "-q", "--hard", "HEAD~2")
    reset = used.take()
    assert reset.tree == first.tree
    used.git("reflog", "expire", "--expire=now", "--all")
    used.git("gc", "-q", "--prune=now")
    assert sided.head == side
    for taken in (first, committed, amended, sided, rebased, squashed, reset):
        assert used.files(taken.tree)
        assert used.word("cat-file", "-t", taken.head or "") == "commit"
        assert used.files(taken.staged_tree or "")
    used.git("fsck", "--strict")


def test_18_clean_ups_and_moves(used: Lab, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    used.git("worktree", "add", "-q", str(linked))
    away = Lab(linked, session="linked")
    away.write("a.txt", "two\n")
    away.write("new.txt")
    lying = away.lying()
    taken = away.take()
    shutil.rmtree(linked)
    used.git("worktree", "prune")
    used.git("pack-refs", "--all")
    used.git("gc", "-q", "--prune=now")
    moved = used.top.rename(tmp_path / "moved")
    lab = Lab(moved)
    assert lab.files(taken.tree) == lying
    (found,) = snapshot.find(moved)
    assert found.commit == taken.commit
    assert found.repo == moved
    assert lab.take().head is not None


def test_20_push_all_takes_none_of_our_refs(used: Lab, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--bare", "remote.git")
    used.git("remote", "add", "origin", str(tmp_path / "remote.git"))
    used.take()
    used.git("push", "-q", "--all", "origin")
    used.git("push", "-q", "--tags", "origin")
    refs = git(tmp_path / "remote.git", "for-each-ref", "--format=%(refname)")
    assert refs == b"refs/heads/main\n"
    assert (
        used.git("branch", "-a", "--format=%(refname)")
        == b"refs/heads/main\nrefs/remotes/origin/main\n"
    )
    assert used.git("tag") == b""


def test_22_in_a_folder_of_the_repository(used: Lab, tmp_path: Path) -> None:
    used.write("src/deep/new.txt")
    used.write("a.txt", "two\n")
    taken = snapshot.take(used.top / "src/deep", used.key("deep"))
    assert taken is not None
    assert taken.repo == used.top
    assert used.is_exact(taken)
    (tmp_path / "link").symlink_to(used.top / "src")
    linked = snapshot.take(tmp_path / "link", used.key("linked"))
    assert linked is not None
    assert linked.tree == taken.tree
