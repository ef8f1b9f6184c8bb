"""LFS files in a worktree: their content comes from where git-lfs keeps it, without a download."""

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from prong.code import gaps, lfs
from prong.code.git import Git
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.code.worktrees.worktree_story import STATUS, UserRepository, git

BRANCH = "prong/1a2b"
CONTENT = b"a picture" * 1000


@pytest.fixture
def root(isolated_home: IsolatedHome) -> Path:
    return isolated_home.root / ".local/share/prong/worktrees"


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write(".gitattributes", "*.png filter=lfs diff=lfs merge=lfs -text\n")
    return repo


def pointer_of(content: bytes) -> bytes:
    digest = hashlib.sha256(content).hexdigest()
    lines = ("version https://git-lfs.github.com/spec/v1", f"oid sha256:{digest}")
    return "\n".join((*lines, f"size {len(content)}", "")).encode()


def without_program(repo: UserRepository) -> None:
    """The repository uses git-lfs, which is not installed."""
    for what in ("clean", "smudge"):
        repo.git("config", f"filter.lfs.{what}", "no-such-program %f")
    repo.git("config", "filter.lfs.required", "true")


def keep_content(repo: UserRepository, content: bytes, *, damaged: bool = False) -> Path:
    digest = hashlib.sha256(content).hexdigest()
    stored = content[::-1] if damaged else content
    return repo.write(f".git/lfs/objects/{digest[:2]}/{digest[2:4]}/{digest}", stored)


def test_content_from_the_store(repo: UserRepository, root: Path) -> None:
    repo.write("a.png", pointer_of(CONTENT)).chmod(0o755)
    repo.commit()
    without_program(repo)
    keep_content(repo, CONTENT)
    taken = repo.take()
    repo.write("a.png", b"the next one")
    assert gaps.of_lfs([taken]) == {}
    made = making.create(taken, root / "w", BRANCH)
    assert (made.path / "a.png").read_bytes() == CONTENT
    assert os.access(made.path / "a.png", os.X_OK)
    assert made.warnings == ()


def test_content_that_was_not_downloaded(repo: UserRepository, root: Path) -> None:
    repo.write("a.png", pointer_of(CONTENT))
    repo.commit()
    without_program(repo)
    taken = repo.take()
    (gap,) = gaps.of_lfs([taken])[taken.commit]
    assert (gap.path, gap.size) == ("a.png", len(CONTENT))
    repo.write("a.png", b"the next one")
    made = making.create(taken, root / "w", BRANCH)
    assert (made.path / "a.png").read_bytes() == pointer_of(CONTENT)
    (warning,) = made.warnings
    assert warning.endswith("(try git lfs pull): a.png")


def test_damaged_content_is_not_used(repo: UserRepository, root: Path) -> None:
    repo.write("a.png", pointer_of(CONTENT))
    repo.commit()
    without_program(repo)
    keep_content(repo, CONTENT, damaged=True)
    taken = repo.take()
    (repo.top / "a.png").write_bytes(b"something else")
    made = making.create(taken, root / "w", BRANCH)
    assert (made.path / "a.png").read_bytes() == pointer_of(CONTENT)
    assert [path.name for path in made.path.glob(".*.prong")] == []
    assert made.warnings


def test_another_folder_for_contents(repo: UserRepository) -> None:
    repo.git("config", "lfs.storage", "elsewhere")
    assert lfs.store_of(Git(repo.top), repo.top / ".git") == repo.top / ".git/elsewhere/objects"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        pointer_of(CONTENT).replace(b"spec/v1", b"spec/v2"),
        pointer_of(CONTENT).replace(b"oid", b"ext-0-foo sha256:00\noid"),
        pointer_of(CONTENT) + b"more\n",
        pointer_of(CONTENT).replace(b"size ", b"size -"),
    ],
)
def test_no_pointer(content: bytes) -> None:
    assert lfs.read_pointer("a.png", content) is None


def test_with_git_lfs(repo: UserRepository, root: Path) -> None:
    """The real program stored the content; git finds nothing changed in the worktree."""
    if shutil.which("git-lfs") is None:
        pytest.skip("git-lfs is not installed")
    repo.git("lfs", "install", "--local")
    repo.write("a.png", CONTENT)
    repo.commit()
    assert repo.git("show", "HEAD:a.png") == pointer_of(CONTENT)
    taken = repo.take()
    repo.write("a.png", b"the next one")
    assert gaps.of_lfs([taken]) == {}
    made = making.create(taken, root / "w", BRANCH)
    assert (made.path / "a.png").read_bytes() == CONTENT
    assert made.warnings == ()
    assert git(made.path, *STATUS) == b""
