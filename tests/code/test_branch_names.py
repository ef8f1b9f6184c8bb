"""A branch named after words that anybody wrote."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prong.code.branch_names import LONGEST, BranchNames, slug
from prong.testing.home import IsolatedHome
from tests.code.worktrees.worktree_story import UserRepository


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add rate limiting to the public API", "add-rate-limiting-to-the-public-api"),
        ("Don't cache: it\u2019s wrong", "dont-cache-its-wrong"),
        ("Größe—Ümlaut", "gro-e-umlaut"),
        ("Make the parser read tables that have more than one header line", None),
        ("x" * 200, "x" * LONGEST),
        ("-- @{-1} ..", "1"),
        ("限流", ""),
    ],
)
def test_slugs(text: str, expected: str | None) -> None:
    assert slug(text) == (
        expected if expected is not None else "make-the-parser-read-tables-that-have"
    )


@given(st.text())
def test_any_text(text: str) -> None:
    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?", slug(text))
    assert len(slug(text)) <= LONGEST


@settings(max_examples=40)
@given(st.text(st.characters(max_codepoint=0x2FF), min_size=1))
def test_git_takes_them(text: str) -> None:
    name = f"prong/{slug(text) or 'fork'}"
    subprocess.run(["git", "check-ref-format", "--branch", name], check=True, capture_output=True)


def test_what_is_free(isolated_home: IsolatedHome) -> None:
    repo = UserRepository(isolated_home.root / "code" / "shop")
    repo.write("a", "a\n")
    repo.commit()
    repo.git("branch", "prong/Parser")
    repo.git("branch", "prong/deep/er")
    repo.git("update-ref", "refs/remotes/their/fork/prong/pushed", "HEAD")
    names = BranchNames(repo.top)
    taken = ["parser", "parser/x", "deep", "pushed"]
    assert [name for name in (*taken, "free") if names.is_free(f"prong/{name}")] == ["free"]
    assert names.ours("x") == "prong/x"
    repo.git("branch", "-D", "prong/Parser", "prong/deep/er")
    repo.git("branch", "prong")
    assert BranchNames(repo.top).ours("x") == "prong-x"
    assert BranchNames(Path("/")).is_free("prong/x")
