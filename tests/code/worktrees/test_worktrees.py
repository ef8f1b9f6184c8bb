"""A snapshot is given back in a new worktree, exactly."""

import os
import shutil
import stat
from pathlib import Path

import pytest

from prong.code.worktrees import worktree
from prong.errors import NotFound, Taken, UsageError
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import STATUS, UserRepository, assert_same, files, git

BRANCH = "prong/1a2b"


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    return UserRepository(isolated_home.root / "code" / "shop")


def make_dirty(repo: UserRepository) -> None:
    """All kinds of changes at once."""
    for name in ("same", "edited", "staged", "both", "deleted", "removed", "old name", "script"):
        repo.write(name, f"{name}\n" * 20)
    repo.write("folder/inner", "inner\n")
    (repo.top / "link").symlink_to("same")
    repo.commit()
    repo.write("edited", "edited, not staged\n")
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    repo.write("both", "staged\n")
    repo.git("add", "both")
    repo.write("both", "staged, then edited\n")
    (repo.top / "deleted").unlink()
    repo.git("rm", "--quiet", "removed")
    repo.git("mv", "old name", "new name")
    (repo.top / "script").chmod(0o755)
    repo.write("new/untracked", "untracked\n")
    repo.write("new/staged", "a new file\n")
    repo.git("add", "new/staged")
    repo.write("new/empty", "")
    repo.write("intended", "announced\n")
    repo.git("add", "--intent-to-add", "intended")
    (repo.top / "new/link").symlink_to("../nowhere")
    (repo.top / "link").unlink()
    (repo.top / "link").symlink_to("folder")


def test_everything_is_as_it_was(repo: UserRepository, root: Path) -> None:
    make_dirty(repo)
    made = making.create(repo.take(), root / "w", BRANCH)
    assert_same(repo.top, made.path)
    assert git(made.path, "branch", "--show-current").decode().strip() == BRANCH
    assert git(made.path, "rev-parse", "HEAD").decode().strip() == repo.head()
    git(made.path, "fsck", "--strict")
    assert made.warnings == ()
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    assert list((root / ".prong").iterdir()) == []


def test_the_user_has_gone_on(repo: UserRepository, root: Path) -> None:
    make_dirty(repo)
    status, content, head = repo.git(*STATUS), files(repo.top), repo.head()
    taken = repo.take()
    repo.git("reset", "--quiet", "--hard")
    repo.git("clean", "--quiet", "-fdx")
    repo.git("switch", "--quiet", "--orphan", "other")
    repo.git("branch", "-D", "main")
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "--quiet", "--prune=now")
    made = making.create(taken, root / "w", BRANCH)
    assert git(made.path, *STATUS) == status
    assert files(made.path) == content
    assert git(made.path, "rev-parse", "HEAD").decode().strip() == head


def test_nothing_of_the_users_changes(repo: UserRepository, root: Path) -> None:
    hook = repo.write("../hook-ran", "")
    hook.unlink()
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        script = repo.write(f".git/hooks/{name}", f"#!/bin/sh\ntouch '{hook}'\n")
        script.chmod(0o755)
    repo.write("stashed")
    repo.commit()
    repo.write("stashed", "two\n")
    repo.git("stash", "push", "--quiet")
    make_dirty(repo)
    repo.git("config", "branch.autoSetupMerge", "always")
    hook.unlink(missing_ok=True)
    taken = repo.take()
    before, content = repo.state(), files(repo.top)
    made = making.create(taken, root / "w", BRANCH)
    added = repo.state().items() - before.items()
    assert before.items() <= repo.state().items()
    assert {name.split("/")[0] for name, _ in added} == {"worktrees", "refs", "logs"}
    assert {name for name, _ in added if not name.startswith("worktrees/")} == {
        f"refs/heads/{BRANCH}",
        f"logs/refs/heads/{BRANCH}",
    }
    assert files(repo.top) == content
    assert making.remove(made) is None
    assert repo.state() == before
    assert files(repo.top) == content
    assert not hook.exists()


NAMES = [
    b"with space",
    b"-leading-dash",
    b"line\nbreak",
    b'quote"tab\t',
    b"not-utf8-\xff\xfe",
    "umläut-é".encode(),
    "umläut-é".encode(),
    b"case",
    b"CASE",
    b"back\\slash",
    b"glob[*]?",
    b":(top)magic",
    b"deep/-x/\n/f",
]


def test_names(repo: UserRepository, root: Path) -> None:
    for name in NAMES:
        repo.write(b"committed/" + name, name)
        repo.write(b"edited/" + name, name)
    repo.commit()
    for name in NAMES:
        repo.write(b"edited/" + name, b"edited " + name)
        repo.write(b"new/" + name, b"new " + name)
        repo.write(b"intended/" + name, b"new " + name)
    repo.git("add", "--intent-to-add", "intended")
    made = making.create(repo.take(), root / "w", BRANCH)
    assert_same(repo.top, made.path)


@pytest.mark.parametrize("name", ["with space", "-dash", "line\nbreak", "b\udcff", '"quoted"'])
def test_names_of_folders(isolated_home: IsolatedHome, name: str) -> None:
    """Of the repository, the managed root and the worktree."""
    if "\n" in name:
        inner = UserRepository(isolated_home.root / "plain")
        root = isolated_home.root / "with\nbreak"
    else:
        inner = UserRepository(isolated_home.root / name)
        root = isolated_home.root / f"root {name}"
    make_dirty(inner)
    made = making.create(inner.take(), root / name, BRANCH, root=root)
    assert_same(inner.top, made.path)
    assert [found.path for found in worktree.listed(root)] == [made.path]
    making.remove(made, root=root)
    assert not made.path.exists()
    assert inner.branches() == ["main"]


CONVERSIONS = {
    "crlf": "* text=auto eol=crlf\n",
    "text": "* text\n",
    "utf16": "*.txt working-tree-encoding=UTF-16 text\n",
    "ident": "* ident\n",
    "macro": "[attr]all text eol=crlf ident\n* all\n",
}


@pytest.mark.parametrize("kind", CONVERSIONS)
@pytest.mark.parametrize("autocrlf", ["false", "true"])
def test_conversions_are_not_done(
    repo: UserRepository, root: Path, kind: str, autocrlf: str
) -> None:
    repo.git("config", "core.autocrlf", autocrlf)
    repo.write(".gitattributes", CONVERSIONS[kind])
    text = "one\ntwo\n$Id$\n"
    repo.write("lf.txt", text.encode("utf-16") if kind == "utf16" else text)
    repo.write("later.txt", text.encode("utf-16") if kind == "utf16" else text)
    repo.write("lf", text)
    repo.write("crlf", text.replace("\n", "\r\n"))
    repo.commit()
    # What git itself would write.
    shutil.copy(repo.top / "later.txt", repo.top / "same.txt")
    for name in ("lf", "crlf", "lf.txt"):
        (repo.top / name).unlink()
        repo.git("checkout", "--", name)
    repo.write("mixed", "one\r\ntwo\nthree\r\n")
    repo.write("binary", bytes(range(256)))
    made = making.create(repo.take(), root / "w", BRANCH)
    assert files(made.path) == files(repo.top)
    assert git(made.path, *STATUS) == git(repo.top, *STATUS)


def test_a_filter_that_is_not_installed(repo: UserRepository, root: Path) -> None:
    repo.write("big.bin", "version https://git-lfs.github.com/spec/v1\n")
    repo.write("other.bin", "version https://git-lfs.github.com/spec/v1\n")
    repo.commit()
    repo.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
    repo.git("add", ".gitattributes")
    repo.git("commit", "--quiet", "-m", "attributes")
    repo.git("config", "filter.lfs.required", "true")
    for what in ("clean", "smudge"):
        repo.git("config", f"filter.lfs.{what}", "no-such-program %f")
    repo.write("other.bin", "changed\n")
    content = files(repo.top)
    made = making.create(repo.take(), root / "w", BRANCH)
    assert files(made.path) == content
    at_head = making.create_at(repo.top, "HEAD", root / "h", "prong/head")
    assert at_head.warnings
    assert (at_head.path / "big.bin").read_bytes() == (repo.top / "big.bin").read_bytes()


@pytest.mark.parametrize("gone_on", [False, True])
@pytest.mark.parametrize(
    ("clean", "smudge", "stored"),
    [
        pytest.param("tr A-Z a-z", "tr a-z A-Z", "same.up", id="same size"),
        # As that of LFS: what it stores it takes for what it is.
        pytest.param(
            "sed 's/^/ptr /; s/^ptr ptr/ptr/'", "sed 's/^ptr //'", "ptr SAME.UP", id="lfs"
        ),
    ],
)
def test_files_of_a_filter(
    repo: UserRepository, root: Path, clean: str, smudge: str, stored: str, gone_on: bool
) -> None:
    """What git stores is something else than what lies in the working tree."""
    repo.git("config", "filter.up.clean", clean)
    repo.git("config", "filter.up.smudge", smudge)
    repo.git("config", "filter.up.required", "true")
    repo.write(".gitattributes", "*.up filter=up\n")
    for name in ("same.up", "changed.up", "staged.up", "other"):
        written = repo.write(name, name.upper())
        os.utime(written, (1_000_000_000, 1_000_000_000))  # older than the index
    repo.commit()
    repo.write("changed.up", "CHANGED")
    repo.write("staged.up", "STAGED")
    repo.git("add", "staged.up")
    content, status = files(repo.top), repo.git(*STATUS)
    taken = repo.take()
    if gone_on:
        repo.write("same.up", "GONE ON")
    made = making.create(taken, root / "w", BRANCH)
    assert git(made.path, *STATUS) == status
    assert len(made.warnings) == gone_on
    assert (files(made.path) == content) is not gone_on
    assert (made.path / "same.up").read_text() == (stored if gone_on else "SAME.UP")
    assert (made.path / "changed.up").read_text() == "CHANGED"
    assert (made.path / "staged.up").read_text() == "STAGED"


def test_sha256(isolated_home: IsolatedHome, root: Path) -> None:
    repo = UserRepository(isolated_home.root / "long", "--object-format=sha256")
    make_dirty(repo)
    assert_same(repo.top, making.create(repo.take(), root / "w", BRANCH).path)


def test_unborn(repo: UserRepository, root: Path) -> None:
    repo.write("staged", "staged\n")
    repo.git("add", "staged")
    repo.write("new", "new\n")
    before = repo.branches()
    made = making.create(repo.take(), root / "w", BRANCH)
    assert_same(repo.top, made.path)
    assert made.base is None
    assert git(made.path, "symbolic-ref", "HEAD").decode().strip() == f"refs/heads/{BRANCH}"
    assert repo.branches() == before
    git(made.path, "commit", "--quiet", "-m", "the first")
    assert git(made.path, "rev-list", "--count", "HEAD").strip() == b"1"
    assert making.remove(made, force=True) == BRANCH


def test_nothing_at_all(repo: UserRepository, root: Path) -> None:
    made = making.create(repo.take(), root / "w", BRANCH)
    assert files(made.path) == {}
    assert git(made.path, *STATUS) == b""


def test_detached_head(repo: UserRepository, root: Path) -> None:
    make_dirty(repo)
    repo.git("checkout", "--quiet", "--detach")
    assert_same(repo.top, making.create(repo.take(), root / "w", BRANCH).path)


def test_merge_conflict(repo: UserRepository, root: Path) -> None:
    repo.write("file", "base\n")
    repo.write("gone", "base\n")
    repo.write("other", "base\n")
    repo.commit()
    repo.git("switch", "--quiet", "-c", "side")
    repo.write("file", "side\n")
    (repo.top / "gone").unlink()
    repo.write("from side", "new\n")
    repo.commit()
    repo.git("switch", "--quiet", "main")
    repo.write("file", "main\n")
    repo.write("gone", "main\n")
    repo.commit()
    with pytest.raises(AssertionError):
        repo.git("merge", "side")
    repo.write("other", "edited meanwhile\n")
    repo.write("intended", "new\n")
    repo.git("add", "--intent-to-add", "intended")
    made = making.create(repo.take(), root / "w", BRANCH)
    assert git(made.path, *STATUS) == repo.git(*STATUS)
    assert git(made.path, "ls-files", "-s") == repo.git("ls-files", "-s")
    assert files(made.path) == files(repo.top)
    assert len(made.warnings) == 1


def test_hidden_files(repo: UserRepository, root: Path) -> None:
    for name in ("skipped", "assumed", "other"):
        repo.write(name, "committed\n")
    repo.commit()
    repo.git("update-index", "--skip-worktree", "skipped")
    repo.git("update-index", "--assume-unchanged", "assumed")
    for name in ("skipped", "assumed"):
        repo.write(name, "local\n")
    made = making.create(repo.take(), root / "w", BRANCH)
    assert_same(repo.top, made.path)
    assert git(made.path, "ls-files", "-v") == repo.git("ls-files", "-v")


@pytest.mark.parametrize("cone", ["--cone", "--no-cone"])
def test_sparse_checkout(repo: UserRepository, root: Path, cone: str) -> None:
    for name in ("top", "in/file", "out/file", "out/edited", "out/deep/file"):
        repo.write(name, f"{name}\n")
    repo.commit()
    repo.git("sparse-checkout", "set", cone, "in")
    repo.write("in/file", "edited\n")
    repo.write("out/edited", "edited although it should not be here\n")
    repo.write("out/new", "new\n")
    taken = repo.take()
    made = making.create(taken, root / "w", BRANCH)
    assert_same(repo.top, made.path)
    assert not (made.path / "out/file").exists()


def test_another_index(repo: UserRepository, root: Path) -> None:
    """A split index and the fourth version of the format."""
    make_dirty(repo)
    repo.git("update-index", "--split-index", "--index-version=4")
    repo.git("config", "core.splitIndex", "true")
    repo.git("config", "core.untrackedCache", "true")
    assert_same(repo.top, making.create(repo.take(), root / "w", BRANCH).path)


def test_a_worktree_of_a_worktree(repo: UserRepository, root: Path) -> None:
    """A fork of a fork."""
    make_dirty(repo)
    first = making.create(repo.take(), root / "w", BRANCH)
    (first.path / "more").write_text("more\n")
    inner = UserRepository.__new__(UserRepository)
    inner.top = first.path
    second = making.create(inner.take("t2"), root / "w2", "prong/2")
    assert_same(first.path, second.path)
    assert second.common == first.common


def test_in_a_hook_of_git(
    repo: UserRepository, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_dirty(repo)
    taken = repo.take()
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(root / "elsewhere"))
    assert_same(repo.top, making.create(taken, root / "w", BRANCH).path)


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "", "@{"])
def test_no_name_for_a_branch(repo: UserRepository, root: Path, branch: str) -> None:
    repo.write("a")
    repo.commit()
    taken = repo.take()
    before = repo.state()
    with pytest.raises(UsageError):
        making.create(taken, root / "w", branch)
    assert repo.state() == before


def test_what_is_taken_is_refused(repo: UserRepository, root: Path) -> None:
    repo.write("a")
    repo.commit()
    taken = repo.take()
    before = repo.state()
    with pytest.raises(Taken):
        making.create(taken, root / "w", "main")
    (root / "there").mkdir(parents=True)
    (root / "there" / "file").touch()
    with pytest.raises(Taken):
        making.create(taken, root / "there", BRANCH)
    assert (root / "there" / "file").exists()
    assert repo.state() == before


def test_not_among_tracked_files(repo: UserRepository) -> None:
    repo.write(".gitignore", "/.trees/\n")
    repo.commit()
    taken = repo.take()
    with pytest.raises(UsageError):
        making.create(taken, repo.top / "trees" / "w", BRANCH, root=repo.top / "trees")
    ignored = repo.top / ".trees"
    made = making.create(taken, ignored / "w", BRANCH, root=ignored)
    assert repo.git(*STATUS) == b""
    making.remove(made, root=ignored)


def test_no_repository(tmp_path: Path, root: Path) -> None:
    with pytest.raises(NotFound):
        making.create_at(tmp_path, "HEAD", root / "w", BRANCH)


def test_at_a_commit(repo: UserRepository, root: Path) -> None:
    repo.write("a", "first\n")
    first = repo.commit()
    repo.write("a", "second\n")
    repo.commit()
    made = making.create_at(repo.top, "HEAD~1", root / "w", BRANCH)
    assert made.base == first
    assert (made.path / "a").read_text() == "first\n"
    assert git(made.path, *STATUS) == b""
    with pytest.raises(NotFound):
        making.create_at(repo.top, "--upload-pack=x", root / "v", "prong/2")
    assert {path.name for path in root.iterdir()} == {".prong", "w"}


def test_another_branch_is_in_the_way(repo: UserRepository, root: Path) -> None:
    repo.write("a")
    repo.commit()
    with pytest.raises(Taken):
        making.create(repo.take(), root / "w", "main/x")
    assert repo.branches() == ["main"]


@pytest.mark.parametrize("name", ["x" * 255, "\u00e4" * 127])
def test_long_names_of_repositories(root: Path, name: str) -> None:
    place = worktree.place(root, Path("/code") / name, "1a2b")
    assert len(os.fsencode(place.parent.name)) < 255
