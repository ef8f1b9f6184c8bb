"""Worktrees are listed and removed, and nothing else is."""

import os
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prong.code.worktrees import make, worktree
from prong.code.worktrees.journal import Undo
from prong.code.worktrees.work import WorktreeWork, work_in
from prong.errors import Busy, Dirty, NotFound, UsageError
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import UserRepository, git

BRANCH = "prong/1a2b"


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write("a", "a\n")
    repo.commit()
    repo.write("b", "b\n")
    repo.git("add", "b")
    repo.write("c", "c\n")
    return repo


def test_listed(repo: UserRepository, root: Path) -> None:
    assert worktree.listed(root) == []
    taken = repo.take()
    first = making.create(taken, worktree.place(root, repo.top, "one"), "prong/one")
    second = making.create_at(repo.top, "HEAD", root / "two", "prong/two")
    # Not ours.
    repo.git("worktree", "add", "--quiet", "-b", "theirs", str(root / "theirs"))
    UserRepository(root / "their own")
    found = worktree.listed(root)
    assert [each.path for each in found] == [first.path, second.path]
    one = found[0]
    assert one.repo == repo.top
    assert one.branch == "prong/one"
    assert one.snapshot == taken.ref
    assert datetime.now(UTC) - one.created < timedelta(minutes=1)


def test_the_repository_is_gone(repo: UserRepository, root: Path) -> None:
    """Then git knows nothing of the worktree any more, and neither do we."""
    making.create(repo.take(), root / "w", BRANCH)
    repo.top.rename(repo.top.with_name("moved"))
    assert worktree.listed(root) == []


def work(path: Path, kind: str) -> None:
    if kind == "edit":
        (path / "a").write_text("work\n")
    elif kind == "edit again":
        (path / "c").write_text("work\n")
    elif kind == "same size":
        (path / "c").write_text("x\n")
    elif kind == "new":
        (path / "new").touch()
    elif kind == "stage":
        git(path, "add", "c")
    elif kind == "unstage":
        git(path, "reset", "--quiet")
    elif kind == "loose commit":
        git(path, "checkout", "--quiet", "--detach")
        git(path, "commit", "--quiet", "-am", "work")


KINDS = ["edit", "edit again", "same size", "new", "stage", "unstage", "loose commit"]


@pytest.mark.parametrize("kind", KINDS)
def test_work_is_not_lost(repo: UserRepository, root: Path, kind: str) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    work(made.path, kind)
    assert work_in(worktree.listed(root)[0]).would_be_lost
    with pytest.raises(Dirty):
        making.remove(made)
    assert made.path.exists()
    making.remove(made, force=True)
    assert not made.path.exists()
    assert worktree.listed(root) == []


def test_commits_stay_on_their_branch(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    git(made.path, "add", "--all")
    git(made.path, "commit", "--quiet", "-m", "work")
    tip = git(made.path, "rev-parse", "HEAD")
    assert not work_in(worktree.listed(root)[0]).would_be_lost
    assert making.remove(made) == BRANCH
    assert repo.git("rev-parse", BRANCH) == tip
    assert repo.git("worktree", "list").count(b"\n") == 1


def test_an_unused_branch_goes(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    assert making.remove(made) is None
    assert repo.branches() == ["main"]
    assert not (repo.top / ".git" / "worktrees").exists()
    with pytest.raises(NotFound):
        making.remove(made)


def test_folders_without_permissions(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    locked = made.path / "cache" / "module"
    locked.mkdir(parents=True)
    (locked / "file").touch()
    locked.chmod(0o500)
    locked.parent.chmod(0o000)
    making.remove(made, force=True)
    assert not made.path.exists()
    assert list((root / ".prong").iterdir()) == []


def test_what_links_point_to_stays(repo: UserRepository, root: Path, tmp_path: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "file").touch()
    (made.path / "link").symlink_to(tmp_path / "precious")
    making.remove(made, force=True)
    assert (tmp_path / "precious" / "file").exists()


def test_never_outside_of_the_root(repo: UserRepository, root: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    made = making.create(repo.take(), elsewhere / "w", BRANCH, root=elsewhere)
    root.mkdir(parents=True)
    (root / "link").symlink_to(elsewhere)
    (root / "direct").symlink_to(made.path)
    wrong = [
        made.path,
        root / "link" / "w",
        root / ".." / ".." / "w",
        Path(os.path.relpath(made.path, root)),
        root / "direct",
        root,
        root / ".prong",
        root.parent,
    ]
    for path in wrong:
        with pytest.raises((UsageError, NotFound)):
            making.remove(replace(made, path=path), root=root, force=True)
        with pytest.raises((UsageError, NotFound)):
            making.create(repo.take(), path / ".." / "new", "prong/2", root=root)
    with pytest.raises(UsageError):
        making.create(repo.take(), root / "link" / "new", "prong/2", root=root)
    assert made.path.exists()
    assert not (elsewhere / "new").exists()
    assert worktree.listed(root) == []


def test_a_root_that_is_a_link(repo: UserRepository, root: Path, tmp_path: Path) -> None:
    real = tmp_path / "big disk"
    real.mkdir()
    root.parent.mkdir(parents=True)
    root.symlink_to(real)
    made = making.create(repo.take(), root / "w", BRANCH)
    assert made.path == real / "w"
    assert [each.path for each in worktree.listed(root)] == [root / "w"]
    making.remove(worktree.listed(root)[0])
    assert not (real / "w").exists()
    assert repo.branches() == ["main"]
    assert not (repo.top / ".git" / "worktrees").exists()


def test_somebody_elses_worktree_is_not_ours(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    repo.git("worktree", "add", "--quiet", "-b", "theirs", str(root / "theirs"))
    with pytest.raises(NotFound):
        making.remove(replace(made, path=root / "theirs"), force=True)
    UserRepository(root / "their own")
    with pytest.raises(NotFound):
        making.remove(replace(made, path=root / "their own"), force=True)
    assert (root / "theirs").exists()


class TestBranch:
    def test_one_that_is_merged_goes(self, repo: UserRepository, root: Path) -> None:
        made = making.create(repo.take(), root / "w", BRANCH)
        git(made.path, "commit", "--quiet", "-m", "work")
        repo.git("stash", "--quiet", "--include-untracked")
        repo.git("merge", "--quiet", BRANCH)
        git(made.path, "stash", "--quiet", "--include-untracked")
        assert making.remove(made) is None
        assert repo.branches() == ["main"]

    def test_one_that_follows_another_stays(self, repo: UserRepository, root: Path) -> None:
        made = making.create(repo.take(), root / "w", BRANCH)
        repo.git("branch", "--quiet", "--set-upstream-to=main", BRANCH)
        assert making.remove(made) == BRANCH

    def test_what_is_checked_out_instead_stays(self, repo: UserRepository, root: Path) -> None:
        made = making.create(repo.take(), root / "w", BRANCH)
        git(made.path, "switch", "--quiet", "--create", "feature")
        git(made.path, "commit", "--quiet", "-m", "work")
        assert work_in(made).commits == 1
        git(made.path, "stash", "--quiet", "--include-untracked")
        assert making.remove(made) is None
        assert repo.branches() == ["feature", "main"]

    def test_names_with_patterns_in_them(self, repo: UserRepository, root: Path) -> None:
        made = making.create(repo.take(), root / "w", "a/{b}/c")
        git(made.path, "commit", "--quiet", "-m", "work")
        assert work_in(made).commits == 1


def test_in_the_middle_of_something(repo: UserRepository, root: Path) -> None:
    """A rebase that was stopped has changed nothing, and yet it is work."""
    repo.git("stash", "--quiet", "--include-untracked")
    repo.write("a", "two\n")
    repo.commit("two")
    made = making.create_at(repo.top, "HEAD", root / "w", BRANCH)
    git(made.path, "-c", "sequence.editor=sed -i 1s/pick/edit/", "rebase", "-q", "-i", "HEAD~1")
    assert work_in(made).under_way == "a rebase"
    with pytest.raises(Dirty):
        making.remove(made)


def test_a_locked_one_stays(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    repo.git("worktree", "lock", str(made.path))
    with pytest.raises(Dirty):
        making.remove(made)
    making.remove(made, force=True)
    assert repo.git("worktree", "list").count(b"\n") == 1


def test_one_that_is_being_made_stays(repo: UserRepository, root: Path) -> None:
    with Undo(root) as undo:
        made = make.create(undo, repo.take(), root / "w", BRANCH)
        with pytest.raises(Busy):
            making.remove(made, force=True)
        undo.keep()
    making.remove(made)


def test_what_is_part_of_something_larger_is_taken_back(repo: UserRepository, root: Path) -> None:
    def failing() -> None:
        with Undo(root) as undo:
            make.create(undo, repo.take(), root / "w", BRANCH)
            raise NotFound("the larger thing failed")

    with pytest.raises(NotFound):
        failing()
    assert worktree.listed(root) == []
    assert repo.branches() == ["main"]


def test_which_files(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    assert work_in(made) == WorktreeWork()
    (made.path / "c").write_text("work\n")
    git(made.path, "mv", "a", "new")
    assert sorted(work_in(made).files) == ["a", "c", "new"]


class TestMissing:
    def test_found_and_forgotten(self, repo: UserRepository, root: Path) -> None:
        inner = UserRepository(repo.top / "inner")
        inner.write("x")
        inner.commit()
        inner.write("y")
        made = making.create(repo.take(), worktree.place(root, repo.top, "w"), BRANCH)
        other = making.create_at(repo.top, "HEAD", root / "other", "prong/other")
        shutil.rmtree(made.path.parent)
        (found,) = worktree.missing(root, [repo.top / "src", repo.top])
        assert (found.path, found.branch, found.nested) == (made.path, BRANCH, ("inner",))
        assert making.forget_missing(found) is None
        assert worktree.missing(root, [repo.top]) == []
        assert repo.branches() == ["main", "prong/other"]
        assert inner.branches() == ["main"]
        assert not (inner.top / ".git/worktrees").exists()
        assert other.path.exists()

    def test_only_ours(self, repo: UserRepository, root: Path, tmp_path: Path) -> None:
        root.mkdir(parents=True)
        (root / ".prong").mkdir()
        elsewhere = tmp_path / "elsewhere"
        made = making.create(repo.take(), elsewhere / "w", BRANCH, root=elsewhere)
        repo.git("worktree", "add", "--quiet", "-b", "theirs", str(root / "theirs"))
        shutil.rmtree(made.path)
        shutil.rmtree(root / "theirs")
        assert worktree.missing(root, [repo.top]) == []
        assert len(worktree.missing(elsewhere, [repo.top])) == 1

    def test_one_that_was_moved_by_hand(self, repo: UserRepository, root: Path) -> None:
        made = making.create(repo.take(), root / "w", BRANCH)
        made.path.rename(root / "moved")
        assert worktree.missing(root, [repo.top]) == []
        assert [each.path for each in worktree.listed(root)] == [root / "moved"]

    def test_not_what_is_there(self, repo: UserRepository, root: Path) -> None:
        made = making.create(repo.take(), root / "w", BRANCH)
        with pytest.raises(UsageError):
            making.forget_missing(made)


def test_a_repository_that_was_moved(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    assert worktree.strays(root) == []
    repo.top.rename(repo.top.with_name("moved"))
    assert worktree.strays(root) == [made.path]


def test_an_entry_that_is_relative(repo: UserRepository, root: Path) -> None:
    """As newer versions of git write it when they are told to."""
    made = making.create(repo.take(), root / "w", BRANCH)
    (entry,) = (repo.top / ".git/worktrees").iterdir()
    (entry / "gitdir").write_text(os.path.relpath(made.path / ".git", entry) + "\n")
    (made.path / ".git").write_text(f"gitdir: {os.path.relpath(entry, made.path)}\n")
    assert [each.path for each in worktree.listed(root)] == [made.path]
    making.remove(made, force=True)
    assert not (repo.top / ".git/worktrees").exists()
