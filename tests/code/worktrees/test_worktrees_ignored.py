"""Ignored files that a worktree gets all the same."""

import os
import stat
from pathlib import Path

import pytest

from prong.code.ignored import IgnoredFiles
from prong.code.worktrees import worktree
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import STATUS, UserRepository, git

BRANCH = "prong/1a2b"


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write(".gitignore", "node_modules/\n.env*\n/build/\n*.log\n:odd\n")
    repo.write("tracked.log", "tracked\n")
    repo.git("add", "--force", "tracked.log")
    repo.commit()
    repo.write(".env", "SECRET=1\n").chmod(0o600)
    repo.write("packages/core/.env.local", "SECRET=2\n")
    repo.write("packages/core/index.js", "core\n")
    repo.write("node_modules/left/index.js", "left\n")
    repo.write("node_modules/@scope/right/index.js", "right\n")
    (repo.top / "node_modules/@scope/core").symlink_to("../../packages/core")
    repo.write("packages/core/node_modules/inner/index.js", "inner\n")
    repo.write("build/out/a.o", "object\n")
    repo.write("debug.log", "log\n")
    repo.write(":odd", "odd\n")
    return repo


def create(repo: UserRepository, root: Path, wanted: IgnoredFiles | None = None) -> Path:
    made = making.create(repo.take(), root / "w", BRANCH, ignored=wanted)
    assert made.warnings == ()
    assert git(made.path, *STATUS) == repo.git(*STATUS)
    return made.path


def test_none_by_default(repo: UserRepository, root: Path) -> None:
    made = create(repo, root)
    assert sorted(path.name for path in made.iterdir()) == [
        ".git",
        ".gitignore",
        "packages",
        "tracked.log",
    ]


def test_worktreeinclude(repo: UserRepository, root: Path) -> None:
    text = "# secrets\n.env*\n!.env.local\nbuild/\n*.log\npackages/\n:odd\n"
    repo.write(".worktreeinclude", text)
    made = create(repo, root)
    assert (made / ".env").read_text() == "SECRET=1\n"
    assert stat.S_IMODE((made / ".env").stat().st_mode) == 0o600
    assert (made / "build/out/a.o").read_text() == "object\n"
    assert (made / "debug.log").exists()
    assert (made / ":odd").exists()
    # All of `packages` is included, but only what git ignores there.
    assert (made / "packages/core/node_modules/inner/index.js").exists()
    assert not (made / "node_modules").exists()
    # A copy of its own.
    assert (made / ".env").stat().st_nlink == 1
    (made / ".env").write_text("SECRET=changed\n")
    assert (repo.top / ".env").read_text() == "SECRET=1\n"


def test_copies(repo: UserRepository, root: Path) -> None:
    made = create(repo, root, IgnoredFiles(copy=(".env*", "/node_modules/")))
    assert (made / "packages/core/.env.local").read_text() == "SECRET=2\n"
    assert (made / "node_modules/@scope/core").readlink() == Path("../../packages/core")
    assert not (made / "node_modules/left/index.js").is_symlink()
    assert not (made / "packages/core/node_modules").exists()


def test_links(repo: UserRepository, root: Path) -> None:
    made = create(repo, root, IgnoredFiles(link=("node_modules", ".env", "/build")))
    assert (made / ".env").readlink() == repo.top / ".env"
    # `node_modules/` ignores folders only: a link of that name would be seen by git.
    assert not (made / "node_modules").is_symlink()
    assert (made / "node_modules/left").readlink() == repo.top / "node_modules/left"
    assert (made / "packages/core/node_modules/inner/index.js").read_text() == "inner\n"
    # What points into the working tree points into this one.
    assert (made / "node_modules/@scope/core").resolve() == made / "packages/core"
    assert (made / "node_modules/@scope/right/index.js").read_text() == "right\n"
    making.remove(worktree.listed(root)[0])
    assert (repo.top / "node_modules/left/index.js").exists()


def test_a_link_that_git_ignores(repo: UserRepository, root: Path) -> None:
    repo.write(".gitignore", "node_modules\n.env*\n")
    made = create(repo, root, IgnoredFiles(link=("node_modules",)))
    assert (made / "node_modules").readlink() == repo.top / "node_modules"


def test_nothing_is_replaced_or_written_elsewhere(
    repo: UserRepository, root: Path, tmp_path: Path
) -> None:
    """The snapshot is of another time: what was there then stays."""
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.write("first.txt", "in the snapshot\n")
    (repo.top / "folder").symlink_to(outside)
    taken = repo.take()
    (repo.top / "first.txt").unlink()
    (repo.top / "folder").unlink()
    repo.write("first.txt", "now\n")
    repo.write("folder/deep/.env", "now\n")
    repo.write(".git/info/exclude", "first.txt\nfolder\n")
    wanted = IgnoredFiles(copy=("first.txt", ".env"), link=("deep",))
    made = making.create(taken, root / "w", BRANCH, ignored=wanted)
    assert (made.path / "first.txt").read_text() == "in the snapshot\n"
    assert (made.path / "folder").is_symlink()
    assert list(outside.iterdir()) == []


def test_what_has_no_place_is_told(repo: UserRepository, root: Path) -> None:
    """A file in the snapshot is a folder by now."""
    repo.write("thing", "a file\n")
    taken = repo.take()
    (repo.top / "thing").unlink()
    repo.write("thing/.env", "now\n")
    wanted = IgnoredFiles(copy=(".env*",))
    made = making.create(taken, root / "w", BRANCH, ignored=wanted)
    assert made.warnings == ("thing/.env was not brought along: File exists",)
    assert (made.path / ".env").exists()
    assert (made.path / "thing").read_text() == "a file\n"


def test_links_that_lead_out_of_the_repository(repo: UserRepository, root: Path) -> None:
    """`.env -> ../secrets/.env` means the same file, wherever the worktree is."""
    secret = repo.write("../secrets/env", "SECRET\n")
    (repo.top / ".env").unlink(missing_ok=True)
    (repo.top / ".env").symlink_to("../secrets/env")
    made = making.create(repo.take(), root / "w", BRANCH, ignored=IgnoredFiles(copy=(".env",)))
    assert (made.path / ".env").read_text() == "SECRET\n"
    assert os.path.realpath(made.path / ".env") == os.path.realpath(secret)
