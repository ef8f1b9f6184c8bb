"""Whatever was done to a working tree, and however many worktrees are made at once."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from prong.code.worktrees import worktree as worktrees
from prong.code.worktrees.record import Worktree
from prong.code.worktrees.work import WorktreeWork, work_in
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import UserRepository, assert_same

NAMES = ["a", "b", "dir/c", "dir/d", "dir", "-e f", "g\n"]
ACTS = ["write", "append", "delete", "link", "run", "add", "intend", "unstage", "commit", "rename"]


def put(repo: UserRepository, act: str, name: str, other: str) -> None:
    """A file or a link, whatever was there."""
    path = repo.top / name
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    for above in path.parents:
        if above != repo.top and (above.is_file() or above.is_symlink()):
            above.unlink()
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    if act == "link":
        path.symlink_to(other)
    else:
        path.write_text(f"{other}\n" * 8)


def change(repo: UserRepository, act: str, name: str, other: str) -> None:
    path, target = repo.top / name, repo.top / other
    is_plain = path.is_file() and not path.is_symlink()
    if act == "append" and is_plain:
        with path.open("a") as file:
            file.write("more\n")
    elif act == "run" and is_plain:
        path.chmod(path.stat().st_mode ^ 0o111)
    elif act == "delete" and (is_plain or path.is_symlink()):
        path.unlink()
    elif act == "rename" and is_plain and target.parent.is_dir() and not os.path.lexists(target):
        path.rename(target)


def stage(repo: UserRepository, act: str, name: str) -> None:
    is_there = os.path.lexists(repo.top / name)
    if act == "add":
        repo.git("add", "--all", "--", f"./{name}" if is_there else ".")
    elif act == "intend" and is_there:
        repo.git("add", "--intent-to-add", "--", f"./{name}")
    elif act == "unstage":
        repo.git("read-tree", "HEAD")
    elif act == "commit":
        repo.commit()


def do(repo: UserRepository, act: str, name: str, other: str) -> None:
    if act in {"write", "link"}:
        put(repo, act, name, other)
    elif act in {"append", "run", "delete", "rename"}:
        change(repo, act, name, other)
    else:
        stage(repo, act, name)


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.tuples(*map(st.sampled_from, (ACTS, NAMES, NAMES))), max_size=15))
@example([("write", "b", "a"), ("intend", "b", "a"), ("delete", "b", "a")])
@example([("write", "dir/d", "a"), ("intend", "dir/d", "a"), ("write", "dir", "a")])
@example([("write", "g\n", "a"), ("intend", "g\n", "a"), ("delete", "g\n", "a")])
def test_any_working_tree(isolated_home: IsolatedHome, acts: list[tuple[str, str, str]]) -> None:
    folder = isolated_home.root / "any"
    if folder.exists():
        shutil.rmtree(folder)
    repo = UserRepository(folder / "code")
    repo.write("a")
    repo.write("dir/c")
    repo.commit()
    for act in acts:
        do(repo, *act)
    root = folder / "root"
    made = making.create(repo.take(), root / "w", "prong/x", root=root)
    assert_same(repo.top, made.path)
    assert work_in(worktrees.listed(root)[0]) == WorktreeWork()


def test_many_at_once(isolated_home: IsolatedHome) -> None:
    repo = UserRepository(isolated_home.root / "code")
    for number in range(50):
        repo.write(f"file{number}", f"{number}\n")
    repo.commit()
    repo.write("file1", "edited\n")
    taken = repo.take()
    root = isolated_home.root / "root"

    def make(number: int) -> Worktree:
        # The same last name, so that git must find others for its entries.
        return making.create(taken, root / str(number) / "w", f"prong/{number}", root=root)

    with ThreadPoolExecutor(6) as pool:
        made = list(pool.map(make, range(12)))
    for worktree in made:
        assert_same(repo.top, worktree.path)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(partial(making.remove, root=root), made))
    assert repo.branches() == ["main"]
    assert worktrees.listed(root) == []
    repo.git("fsck", "--strict")
