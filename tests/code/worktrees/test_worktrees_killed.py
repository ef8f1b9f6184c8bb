"""A worktree is there as a whole or not at all, whenever its making or its removal is killed."""

import os
import signal
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from prong.code.ignored import IgnoredFiles
from prong.code.snapshots import snapshot
from prong.code.worktrees import worktree
from prong.code.worktrees.journal import leftovers, sweep
from prong.code.worktrees.refs import snapshot_for
from prong.code.worktrees.work import WorktreeWork, work_in
from prong.errors import External
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import STATUS, UserRepository, assert_same, files, git

BRANCH = "prong/1a2b"
_WRITES = ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.symlink", "subprocess.Popen")


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write(".gitignore", ".env\nnode_modules/\n")
    repo.write("a", "a\n")
    repo.commit()
    inner = UserRepository(repo.top / "inner")
    inner.write("x", "x\n")
    inner.commit()
    inner.write("y", "y\n")
    repo.write("a", "edited\n")
    repo.write("b", "b\n")
    repo.git("add", "b")
    repo.write(".env", "SECRET\n")
    repo.write("node_modules/m/index.js", "m\n")
    return repo


def killed_at(number: int, act: Callable[[], object]) -> bool:
    """Run it in a child that kills itself at its write of this number; False when it has fewer."""
    pid = os.fork()
    if pid == 0:
        seen = 0

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            nonlocal seen
            if event in _WRITES:
                seen += 1
                if seen == number:
                    os.kill(os.getpid(), signal.SIGKILL)

        status = 1
        try:
            sys.addaudithook(hook)
            act()
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
    return os.WIFSIGNALED(status)


def state(repo: UserRepository) -> list[dict[str, str]]:
    inner = UserRepository.__new__(UserRepository)
    inner.top = repo.top / "inner"
    return [repo.state(), inner.state()]


def assert_whole(repo: UserRepository, path: Path) -> None:
    assert git(path, *STATUS) == repo.git(*STATUS)
    assert (path / "a").read_text() == "edited\n"
    assert_same(repo.top / "inner", path / "inner")


def tree(root: Path) -> list[str]:
    return [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if root.exists()]


def test_the_making_is_killed(repo: UserRepository, root: Path) -> None:
    taken = repo.take()
    wanted = IgnoredFiles(copy=(".env",), link=("node_modules",))
    before = state(repo)
    root.mkdir(mode=0o700, parents=True)
    (root / ".prong").mkdir()
    place = worktree.place(root, repo.top, "w")

    def make() -> None:
        making.create(taken, place, BRANCH, ignored=wanted)

    unfinished = finished = 0
    for number in count(1):
        if not killed_at(number, make):
            break
        done = bool(worktree.listed(root))
        left = leftovers(root)
        sweep(root)
        assert leftovers(root) == []
        if worktree.listed(root):
            finished += 1
            assert_whole(repo, place)
            making.remove(worktree.listed(root)[0])
        else:
            unfinished += 1
            assert not done or left
        assert tree(root) == [".prong"], number
        assert state(repo) == before, number
    assert unfinished > 40
    assert finished > 0
    assert_whole(repo, place)
    assert (place / ".env").read_text() == "SECRET\n"
    assert (place / "node_modules/m/index.js").exists()


def test_the_removal_is_killed(repo: UserRepository, root: Path) -> None:
    before = None
    gone = there = 0
    for number in count(1):
        taken = snapshot.take(repo.top, snapshot_for("w"))
        assert taken is not None
        if before is None:
            before = state(repo)
        made = making.create(taken, root / "w", BRANCH)
        was_killed = killed_at(number, lambda made=made: making.remove(made, force=True))
        sweep(root)
        assert list((root / ".prong").iterdir()) == []
        if made.path.exists():
            there += 1
            assert_whole(repo, made.path)
            assert work_in(made) == WorktreeWork()
            making.remove(made, force=True)
        else:
            gone += 1
        # The snapshot that was taken for it goes with it.
        for folder in (repo.top, repo.top / "inner"):
            assert git(folder, "for-each-ref", "refs/prong/") == b""
        assert state(repo) == before, number
        if not was_killed:
            break
    assert there > 2
    assert gone > 5


def test_the_sweeping_is_killed(repo: UserRepository, root: Path) -> None:
    taken = repo.take()
    before = state(repo)
    number = 0
    was_killed = True
    while was_killed:
        number += 1
        # Far enough that there is much to take back.
        assert killed_at(30, lambda: making.create(taken, root / "w", BRANCH))
        was_killed = killed_at(number, lambda: sweep(root))
        sweep(root)
        assert tree(root) == [".prong"]
        assert state(repo) == before
    assert number > 10


def test_the_repository_is_gone_as_well(repo: UserRepository, root: Path) -> None:
    taken = repo.take()
    assert killed_at(30, lambda: making.create(taken, root / "w", BRANCH))
    repo.top.rename(repo.top.with_name("moved"))
    assert sweep(root).removed == [root / "w"]
    assert tree(root) == [".prong"]


def test_a_living_process_is_left_alone(repo: UserRepository, root: Path) -> None:
    from prong.code.worktrees.journal import Undo

    with Undo(root) as undo:
        undo.make_folders(root / "shop-123")
        assert leftovers(root) == []
        assert sweep(root) == ([], [])
        assert (root / "shop-123").exists()
        undo.will(done=True)


def test_a_step_fails(repo: UserRepository, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A git that cannot check out, as on a full disk."""
    taken = repo.take()
    before = state(repo)
    real = repo.git("--exec-path").decode().strip() + "/git"
    script = repo.write(
        "../bin/git", f'#!/bin/sh\ncase "$*" in *"$FAILS"*) exit 3;; esac\nexec {real} "$@"\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    for step in ("update-ref", "worktree add", "read-tree -u", "read-tree -i", "diff-tree"):
        monkeypatch.setenv("FAILS", step)
        with pytest.raises(External):
            making.create(taken, root / "w", BRANCH)
        monkeypatch.setenv("FAILS", "no step at all")
        assert tree(root) == [".prong"], step
        assert state(repo) == before, step


def test_a_branch_that_somebody_made_meanwhile(
    repo: UserRepository, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is theirs, although it is where ours would be."""
    taken = repo.take()
    real = repo.git("--exec-path").decode().strip() + "/git"
    script = repo.write(
        "../bin/git",
        '#!/bin/sh\ncase "$*" in *"update-ref -z"*) '
        f'{real} branch {BRANCH} ;; esac\nexec {real} "$@"\n',
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(script.parent), prepend=os.pathsep)
    with pytest.raises(worktree.UsageError):
        making.create(taken, root / "w", BRANCH)
    assert repo.branches() == ["main", BRANCH]
    assert tree(root) == [".prong"]
    assert files(root) == {}
    git(repo.top, "fsck")
