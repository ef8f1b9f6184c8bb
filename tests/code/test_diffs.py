"""How much changed, for many pairs of trees at once."""

import os
from pathlib import Path

import pytest

from prong.code.changes import diffstats
from prong.model.code import DiffStat
from tests.code.lab import git


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    return tmp_path


def tree(repository: Path) -> str:
    git(repository, "add", "--all")
    return git(repository, "write-tree").decode().strip()


def test_many_pairs(repository: Path) -> None:
    (repository / "text").write_text("a\nb\n")
    (repository / "binary").write_bytes(b"\0" * 1000)
    first = tree(repository)
    (repository / "text").write_text("a\nc\nd\n")
    (repository / "binary").rename(repository / "moved")
    second = tree(repository)
    found = diffstats(repository, [(first, second), (None, first), (second, second)])
    assert found == [DiffStat(2, 2, 1), DiffStat(2, 2, 0), DiffStat(0, 0, 0)]
    assert diffstats(repository, []) == []


def test_names_may_be_anything(repository: Path) -> None:
    empty = tree(repository)
    strange = [f"{'0' * 40} {'0' * 40}", "a\tb", "a\nb", "-\t-\t", os.fsdecode(b"\xff")]
    for name in strange:
        (repository / name).write_text("one\n")
    before = tree(repository)
    for name in strange:
        (repository / name).rename(repository / f"{name}.moved")
    after = tree(repository)
    found = diffstats(repository, [(empty, before), (before, after)])
    assert found == [DiffStat(5, 5, 0), DiffStat(5, 0, 0)]
