"""A copy of a workspace is what the source is, to git and on the disk, and the source stays."""

import os
import shutil
import socket
import stat
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prong.code.ignored import IgnoredFiles
from prong.code.worktrees import workspace_copy, worktree
from prong.code.worktrees.journal import Undo, leftovers, sweep
from prong.code.worktrees.work import WorktreeWork, work_in
from prong.code.worktrees.workspace_copy import WorkspaceCopy
from prong.errors import ProngError, UsageError
from prong.testing.home import IsolatedHome
from tests.code.lab import Lab
from tests.code.worktrees import making
from tests.code.worktrees.test_worktrees_any import ACTS, NAMES, do
from tests.code.worktrees.test_worktrees_killed import killed_at, tree
from tests.code.worktrees.worktree_story import UserRepository, assert_same, files, git

BRANCH = "prong/copy"


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write(".gitignore", ".env\nnode_modules/\nbuild/\n*.log\n")
    repo.write("a", "a\n")
    repo.write("src/b", "b\n")
    repo.commit()
    return repo


def copied(folder: Path, root: Path, name: str = "1a2b", **options: Any) -> WorkspaceCopy:
    with Undo(root) as undo:
        done = workspace_copy.copy(folder, name, undo, branch=f"{BRANCH}-{name}", **options)
        undo.keep()
    return done


def everything(top: Path) -> dict[str, str]:
    """The whole tree, empty folders and permissions as well; nothing of `.git`."""
    found: dict[str, str] = {}
    for folder, folders, names in os.walk(top):
        for name in (*names, *folders):
            path = Path(folder) / name
            status = path.lstat()
            content = str(path.readlink()) if path.is_symlink() else f"{status.st_mode:o}"
            found[str(path.relative_to(top))] = content
        folders[:] = [name for name in folders if name != ".git"]
    return {name: content for name, content in found.items() if Path(name).name != ".git"}


def staged(top: Path) -> bytes:
    return git(top, "ls-files", "-s", "-v", "-z")


def assert_copied(source: Path, copy: Path) -> None:
    assert_same(source, copy)
    assert staged(copy) == staged(source)
    assert everything(copy) == everything(source)
    assert git(copy, "stash", "list") == git(source, "stash", "list")


def test_all_that_is_there(repo: UserRepository, root: Path) -> None:
    repo.write("a", "edited\n")
    repo.write("staged", "1\n")
    repo.git("add", "staged")
    repo.write("staged", "2\n")
    repo.write("new", "new\n").chmod(0o600)
    (repo.top / "src/b").unlink()
    repo.write(".env", "SECRET\n").chmod(0o600)
    repo.write("node_modules/m/index.js", "m\n")
    repo.write("node_modules/.bin/m", "#!/bin/sh\n").chmod(0o755)
    repo.write("src/trace.log", "log\n")
    (repo.top / "node_modules/.bin/link").symlink_to("../m/index.js")
    (repo.top / "empty/inside").mkdir(parents=True)
    (repo.top / "build").mkdir(mode=0o750)
    before = Lab(repo.top).touched()
    index = (repo.top / ".git/index").stat().st_ino
    made = copied(repo.top, root)
    assert made.warnings == ()
    assert made.worktree is not None
    assert made.worktree.branch == f"{BRANCH}-1a2b"
    assert made.folder == made.path == worktree.listed(root)[0].path
    assert_copied(repo.top, made.path)
    assert git(made.path, "rev-parse", "HEAD").decode().strip() == repo.head()
    touched = {name: was for name, was in Lab(repo.top).touched().items() if name in before}
    assert touched == before
    assert (repo.top / ".git/index").stat().st_ino == index
    # What was given is nobody's work: the copy can be pruned.
    assert work_in(worktree.listed(root)[0]) == WorktreeWork()
    making.remove(worktree.listed(root)[0], root=root)
    assert tree(root) == [".prong"]
    assert repo.branches() == ["main"]


def test_times_of_what_is_built_stay(repo: UserRepository, root: Path) -> None:
    built = repo.write("build/out.o", b"\0")
    os.utime(built, ns=(10**18, 10**18))
    made = copied(repo.top, root)
    assert (made.path / "build/out.o").stat().st_mtime_ns == 10**18
    (made.path / "build/out.o").write_bytes(b"of the copy")
    assert built.read_bytes() == b"\0"


def test_the_place_in_the_repository(repo: UserRepository, root: Path) -> None:
    (repo.top / "src/deep/build").mkdir(parents=True)
    made = copied(repo.top / "src/deep", root)
    assert made.folder == made.path / "src/deep"
    assert made.folder.is_dir()


def test_without_what_is_ignored(repo: UserRepository, root: Path) -> None:
    repo.write(".env", "SECRET\n")
    repo.write("node_modules/m/index.js")
    repo.write("src/trace.log")
    repo.write("new")
    (repo.top / "empty").mkdir()
    made = copied(repo.top, root, ignored=False, brought=IgnoredFiles(copy=(".env",)))
    wanted = {".gitignore", "a", "src", "src/b", "new", "empty", ".env"}
    assert everything(made.path).keys() == wanted
    assert git(made.path, "status", "--porcelain=v2") == repo.git("status", "--porcelain=v2")


def test_a_file_that_is_too_large_for_git(repo: UserRepository, root: Path) -> None:
    repo.write("tracked.bin", b"1" * 3000)
    repo.write("same.bin", b"0" * 3000)
    repo.commit()
    repo.write("tracked.bin", b"2" * 3000)
    repo.write("model.bin", b"3" * 3000)
    made = copied(repo.top, root, limit=2000)
    assert made.warnings == ()
    assert_copied(repo.top, made.path)


def test_links(repo: UserRepository, root: Path) -> None:
    """What is done in the copy through a link is not done to the source."""
    outside = repo.top.parent / "shared"
    outside.mkdir()
    links = {
        "build/up": "../src",
        "build/out": "../../shared",
        "build/absolute": str(outside),
        "build/home": str(repo.top / "src"),
        "build/top": str(repo.top),
        "build/dead": "nowhere",
        "build/loop": "loop",
    }
    (repo.top / "build").mkdir()
    for name, target in links.items():
        (repo.top / name).symlink_to(target)
    made = copied(repo.top, root)
    found = {name: str((made.path / name).readlink()) for name in links}
    assert found == {
        **links,
        "build/out": str(outside),
        "build/home": str(made.path / "src"),
        "build/top": str(made.path),
    }


def test_what_is_no_file(repo: UserRepository, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo.top / "build").mkdir()
    os.mkfifo(repo.top / "build/pipe")
    os.mkfifo(repo.top / "pipe")
    monkeypatch.chdir(repo.top / "build")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
        made = copied(repo.top, root)
    assert sorted(made.warnings) == [
        f"{name} was not copied: a pipe, a socket or a device"
        for name in ("build/pipe", "build/socket", "pipe")
    ]
    assert not (made.path / "build/pipe").exists()
    assert (made.path / "build").is_dir()


def test_folders_that_cannot_be_written(repo: UserRepository, root: Path) -> None:
    """Go's modules are such."""
    repo.write("build/mod/deep/x.go").chmod(0o444)
    for name in ("build/mod/deep", "build/mod"):
        (repo.top / name).chmod(0o555)
    made = copied(repo.top, root)
    assert_copied(repo.top, made.path)
    making.remove(worktree.listed(root)[0], root=root)
    assert tree(root) == [".prong"]


def test_names_that_are_no_text(repo: UserRepository, root: Path) -> None:
    for name in (b"build/\xff\xfe", b"build/a\nb", b"\xff", b"build/-x"):
        repo.write(name)
    assert_copied(repo.top, copied(repo.top, root).path)


def test_repositories_inside(repo: UserRepository, root: Path) -> None:
    """Those that git sees become worktrees; those that it ignores are copied whole."""
    library = UserRepository(repo.top.parent / "library")
    library.write(".gitignore", "out/\n")
    library.write("x")
    library.commit()
    repo.git("submodule", "--quiet", "add", str(library.top), "lib")
    repo.commit()
    (repo.top / "lib/x").write_text("edited\n")
    (repo.top / "lib/out").mkdir()
    (repo.top / "lib/out/built").write_text("1\n")
    inner = UserRepository(repo.top / "inner")
    inner.write("y")
    inner.commit()
    inner.write("z")
    hidden = UserRepository(repo.top / "build/hidden")
    hidden.write("h")
    hidden.commit()
    hidden.write("h", "edited\n")
    hidden.git("stash")
    hidden.git("worktree", "add", "--quiet", "../elsewhere")
    made = copied(repo.top, root)
    assert made.warnings == ("build/elsewhere was not copied: a worktree of another repository",)
    assert git(made.path, "status", "--porcelain=v2") == repo.git("status", "--porcelain=v2")
    for name in ("lib", "inner", "build/hidden"):
        assert_same(repo.top / name, made.path / name)
    # The copy of a repository is one of its own.
    assert git(made.path / "build/hidden", "stash", "list") == hidden.git("stash", "list")
    git(made.path / "build/hidden", "commit", "--allow-empty", "--quiet", "-m", "in the copy")
    assert git(made.path / "build/hidden", "worktree", "list").count(b"\n") == 1
    assert b"in the copy" not in hidden.git("log", "--all")


def test_a_nested_repository_without_a_commit(repo: UserRepository, root: Path) -> None:
    inner = UserRepository(repo.top / "young")
    inner.write("y")
    inner.git("add", "y")
    made = copied(repo.top, root)
    assert made.warnings == ()
    assert_same(inner.top, made.path / "young")


def test_the_managed_root_is_in_it(repo: UserRepository) -> None:
    repo.write("build/x")
    root = repo.top / "build/worktrees"
    first = copied(repo.top, root, "1111")
    second = copied(repo.top, root, "2222")
    for made in (first, second):
        assert (made.path / "build/x").exists()
        assert not (made.path / "build/worktrees").exists()


def test_a_merge_goes_on(repo: UserRepository, root: Path) -> None:
    repo.git("checkout", "--quiet", "-b", "other")
    repo.write("a", "theirs\n")
    repo.commit()
    repo.git("checkout", "--quiet", "main")
    repo.write("a", "ours\n")
    repo.commit()
    with pytest.raises(AssertionError):
        repo.git("merge", "other")
    made = copied(repo.top, root)
    assert made.warnings == ()
    assert_copied(repo.top, made.path)
    (made.path / "a").write_text("both\n")
    git(made.path, "add", "a")
    git(made.path, "commit", "--quiet", "--no-edit")
    assert len(git(made.path, "rev-list", "--parents", "-1", "HEAD").split()) == 3
    assert repo.git("status", "--porcelain=v2").startswith(b"u UU")


def test_a_rebase_does_not(repo: UserRepository, root: Path) -> None:
    """It would move the branch of the source."""
    repo.git("checkout", "--quiet", "-b", "other")
    repo.write("a", "theirs\n")
    repo.commit()
    repo.git("checkout", "--quiet", "main")
    repo.write("a", "ours\n")
    repo.commit()
    with pytest.raises(AssertionError):
        repo.git("rebase", "other")
    made = copied(repo.top, root)
    assert any(warning.startswith("a rebase is under way") for warning in made.warnings)
    assert_same(repo.top, made.path)


def test_heads(repo: UserRepository, root: Path) -> None:
    """Detached, in a worktree of somebody's own, and before the first commit."""
    repo.git("checkout", "--quiet", "--detach")
    repo.write("a", "edited\n")
    assert_copied(repo.top, copied(repo.top, root, "1111").path)
    linked = repo.top.parent / "linked"
    repo.git("worktree", "add", "--quiet", str(linked))
    (linked / "new").write_text("new\n")
    (linked / "x.log").write_text("log\n")
    assert_copied(linked, copied(linked, root, "2222").path)
    young = UserRepository(repo.top.parent / "young")
    young.write("a")
    young.git("add", "a")
    young.write("b")
    assert_copied(young.top, copied(young.top, root, "3333").path)


def test_a_copy_of_a_copy(repo: UserRepository, root: Path) -> None:
    repo.write("a", "edited\n")
    repo.write(".env", "SECRET\n")
    first = copied(repo.top, root, "1111")
    (first.path / "new").write_text("of the copy\n")
    second = copied(first.path, root, "2222")
    assert second.path.parent == first.path.parent
    assert_copied(first.path, second.path)
    assert not (repo.top / "new").exists()


def test_a_folder_without_git(isolated_home: IsolatedHome, root: Path) -> None:
    source = isolated_home.root / "notes"
    for name in ("api", "web"):
        inner = UserRepository(source / name)
        inner.write("x")
        inner.commit()
        inner.write("x", "edited\n")
    (source / "todo.txt").write_text("todo\n")
    (source / "todo.txt").chmod(0o600)
    (source / "empty").mkdir(mode=0o500)
    (source / "link").symlink_to("todo.txt")
    before = files(source), everything(source)
    made = copied(source, root, ignored=False)
    assert made.worktree is None
    assert made.warnings == ()
    assert (files(made.path), everything(made.path)) == before
    assert stat.S_IMODE(made.path.stat().st_mode) == 0o700
    assert (files(source), everything(source)) == before
    for name in ("api", "web"):
        assert_same(source / name, made.path / name)
    assert worktree.listed(root) == []


def test_not_a_whole_home(isolated_home: IsolatedHome, root: Path) -> None:
    home = isolated_home.root
    for folder in (home, home.parent, Path("/")):
        with pytest.raises(UsageError, match="home folder"):
            copied(folder, root)
    assert tree(root) == [".prong"]


def test_it_is_taken_back(repo: UserRepository, root: Path, isolated_home: IsolatedHome) -> None:
    repo.write("a", "edited\n")
    repo.write("build/x")
    before = repo.state()
    plain = isolated_home.root / "plain"
    (plain / "deep").mkdir(parents=True)
    for folder in (repo.top, plain):
        with suppress(KeyboardInterrupt), Undo(root) as undo:
            made = workspace_copy.copy(folder, "1a2b", undo, branch=BRANCH)
            assert made.path.is_dir()
            raise KeyboardInterrupt
        assert tree(root) == [".prong"]
    assert repo.state() == before
    assert repo.git("for-each-ref", "refs/prong") == b""


def test_the_copying_is_killed(repo: UserRepository, root: Path) -> None:
    repo.write("a", "edited\n")
    repo.write("build/deep/x")
    repo.write("large", b"1" * 3000)
    before = repo.state()
    (root / ".prong").mkdir(parents=True)
    unfinished = finished = 0
    for number in count(1):
        if not killed_at(number, lambda: copied(repo.top, root, limit=2000)):
            break
        sweep(root)
        assert leftovers(root) == []
        if found := worktree.listed(root):
            finished += 1
            assert_copied(repo.top, found[0].path)
            making.remove(found[0], root=root, force=True)
        else:
            unfinished += 1
        assert tree(root) == [".prong"], number
        assert repo.state() == before, number
        assert repo.git("for-each-ref", "refs/prong") == b"", number
    assert unfinished > 30
    assert finished > 0
    assert_copied(repo.top, worktree.listed(root)[0].path)


def test_the_copying_of_a_folder_is_killed(isolated_home: IsolatedHome, root: Path) -> None:
    source = isolated_home.root / "plain"
    (source / "a/b/c").mkdir(parents=True)
    (source / "a/x").write_text("x\n")
    (source / "a/link").symlink_to("x")
    before = everything(source)
    (root / ".prong").mkdir(parents=True)
    unfinished = finished = 0
    for number in count(1):
        if not killed_at(number, lambda: copied(source, root)):
            break
        sweep(root)
        assert leftovers(root) == []
        found = [path for path in root.glob("*/*") if path.parent.name != ".prong"]
        if found:
            finished += 1
            assert everything(found[0]) == before
            shutil.rmtree(found[0].parent)
        else:
            unfinished += 1
        assert tree(root) == [".prong"], number
    assert unfinished > 5
    assert finished > 0
    assert everything(source) == before


def test_a_folder_that_somebody_went_on_in(isolated_home: IsolatedHome, root: Path) -> None:
    """It was whole when prong was killed, and no session is known to be in it."""
    source = isolated_home.root / "plain"
    source.mkdir()
    (source / "x").write_text("x\n")

    def killed() -> None:
        with Undo(root) as undo:
            workspace_copy.copy(source, "1a2b", undo, branch=BRANCH)
            os.kill(os.getpid(), 9)

    for is_used in (True, False):
        assert killed_at(10**6, killed)
        (copy,) = [path for path in root.glob("*/*") if path.parent.name != ".prong"]
        if is_used:
            (copy / "y").write_text("y\n")
        swept = sweep(root)
        assert (swept.kept, swept.removed) == (([copy], []) if is_used else ([], [copy]))
        assert copy.exists() == is_used
        shutil.rmtree(copy.parent, ignore_errors=True)


def test_the_source_is_not_there(root: Path, tmp_path: Path) -> None:
    with pytest.raises(ProngError, match="does not exist"):
        copied(tmp_path / "gone", root)


IGNORED_NAMES = ["x.log", "dir/y.log", "build/z", "build/deep/w"]


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(
    st.lists(st.tuples(*map(st.sampled_from, (ACTS, NAMES, NAMES))), max_size=12),
    st.lists(st.sampled_from(IGNORED_NAMES), max_size=4),
)
def test_any_workspace(
    isolated_home: IsolatedHome, acts: list[tuple[str, str, str]], ignored: list[str]
) -> None:
    folder = isolated_home.root / "any"
    if folder.exists():
        shutil.rmtree(folder)
    repo = UserRepository(folder / "code")
    repo.write(".gitignore", "*.log\nbuild/\n")
    repo.write("a")
    repo.write("dir/c")
    repo.commit()
    for act in acts:
        do(repo, *act)
    for name in ignored:
        if (repo.top / name).parent.is_dir() or not name.startswith("dir"):
            repo.write(name)
    root = folder / "root"
    made = copied(repo.top, root)
    assert_copied(repo.top, made.path)
    assert work_in(worktree.listed(root)[0]) == WorktreeWork()
