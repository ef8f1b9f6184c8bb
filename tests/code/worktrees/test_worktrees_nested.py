"""Repositories inside a repository come along, each from its own snapshot."""

from pathlib import Path

import pytest

from prong.code.worktrees.work import WorktreeWork, work_in
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import STATUS, UserRepository, assert_same, files, git

BRANCH = "prong/1a2b"


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    """With two submodules, one of which has one itself, and a repository that it does not know."""
    home = isolated_home.root
    deepest, library = UserRepository(home / "deepest"), UserRepository(home / "library")
    deepest.write("deep", "deep\n")
    deepest.commit()
    library.write("lib", "lib\n")
    library.git("submodule", "--quiet", "add", str(deepest.top), "deeper")
    library.commit()
    repo = UserRepository(home / "code" / "shop")
    repo.write("a", "a\n")
    for name in ("sub", "vendor/clean"):
        repo.git("submodule", "--quiet", "add", str(library.top), name)
    repo.git("submodule", "--quiet", "update", "--init", "--recursive")
    repo.commit()
    return repo


def test_submodules(repo: UserRepository, root: Path) -> None:
    repo.write("sub/lib", "edited\n")
    repo.write("sub/new", "new\n")
    git(repo.top / "sub", "add", "new")
    repo.write("sub/deeper/deep", "edited\n")
    status = git(repo.top / "sub", *STATUS)
    made = making.create(repo.take(), root / "w", BRANCH)
    assert made.warnings == ()
    assert_same(repo.top, made.path)
    for name in ("sub", "sub/deeper", "vendor/clean", "vendor/clean/deeper"):
        assert_same(repo.top / name, made.path / name)
    assert git(made.path / "sub", *STATUS) == status
    assert git(made.path / "sub", "branch", "--show-current").decode().strip() == BRANCH
    assert set(made.nested) == {"sub", "sub/deeper", "vendor/clean", "vendor/clean/deeper"}


def test_a_submodule_at_another_commit(repo: UserRepository, root: Path) -> None:
    sub = repo.top / "sub"
    (sub / "lib").write_text("committed\n")
    git(sub, "commit", "--quiet", "-am", "more")
    made = making.create(repo.take(), root / "w", BRANCH)
    assert_same(repo.top, made.path)
    assert git(made.path / "sub", "rev-parse", "HEAD") == git(sub, "rev-parse", "HEAD")


def test_a_user_who_always_recurses(repo: UserRepository, root: Path) -> None:
    """What git does for itself does so with submodules that are not there yet."""
    git(repo.top, "config", "--global", "submodule.recurse", "true")
    for made in (
        making.create(repo.take(), root / "turn", BRANCH),
        making.create_at(repo.top, "HEAD", root / "head", f"{BRANCH}c"),
    ):
        assert made.warnings == ()
        assert_same(repo.top, made.path)
        assert_same(repo.top / "sub", made.path / "sub")


def test_a_submodule_that_is_not_there(repo: UserRepository, root: Path) -> None:
    repo.git("submodule", "--quiet", "deinit", "--force", "vendor/clean")
    made = making.create(repo.take(), root / "w", BRANCH)
    assert made.warnings == ()
    assert_same(repo.top, made.path)
    assert list((made.path / "vendor/clean").iterdir()) == []


@pytest.mark.parametrize("born", [True, False])
def test_a_repository_nobody_knows(repo: UserRepository, root: Path, born: bool) -> None:
    inner = UserRepository(repo.top / "inner")
    if born:
        inner.write("committed")
        inner.commit()
    inner.write("new", "new\n")
    made = making.create(repo.take(), root / "w", BRANCH)
    assert made.warnings == ()
    assert_same(repo.top, made.path)
    assert_same(inner.top, made.path / "inner")


def test_it_is_gone_by_now(repo: UserRepository, root: Path) -> None:
    inner = UserRepository(repo.top / "inner")
    inner.write("new", "new\n")
    taken = repo.take()
    inner.top.rename(root.parents[3] / "elsewhere")
    made = making.create(taken, root / "w", BRANCH)
    assert len(made.warnings) == 1
    assert "inner" in made.warnings[0]


def test_all_is_removed(repo: UserRepository, root: Path) -> None:
    repo.write("sub/lib", "edited\n")
    taken = repo.take()
    before = files(repo.top / ".git" / "modules")
    made = making.create(taken, root / "w", BRANCH)
    assert work_in(made) == WorktreeWork()
    assert making.remove(made) is None
    after = files(repo.top / ".git" / "modules")
    assert {name for name in after if b"/objects/" not in name} == {
        name for name in before if b"/objects/" not in name
    }


def test_work_inside_counts(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    assert work_in(made) == WorktreeWork()
    (made.path / "vendor/clean/deeper/deep").write_text("work\n")
    assert work_in(made).files == ("vendor/clean/deeper/deep",)
