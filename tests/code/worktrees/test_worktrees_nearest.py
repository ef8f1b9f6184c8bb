"""The commit that a branch was at."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from prong.code.turn_code import nearest_commit
from prong.testing.home import IsolatedHome
from tests.code.worktrees.worktree_story import UserRepository, git

START = datetime(2026, 1, 1, tzinfo=UTC)


def day(number: float) -> datetime:
    return START + timedelta(days=number)


@pytest.fixture
def repo(isolated_home: IsolatedHome) -> UserRepository:
    return UserRepository(isolated_home.root / "code")


def commit(repo: UserRepository, number: int) -> str:
    words = ("commit", "--quiet", "--allow-empty", "-m", f"day {number}")
    git(repo.top, *words, when=day(number))
    return repo.head()


def test_as_the_log_of_the_branch_has_it(repo: UserRepository) -> None:
    first, second = commit(repo, 1), commit(repo, 2)
    git(repo.top, "reset", "--quiet", "--hard", first, when=day(3))
    fourth = commit(repo, 4)
    found = [nearest_commit(repo.top, "main", day(at)) for at in (0, 1, 1.5, 2.5, 3.5, 9)]
    # Day 2.5: the commit is on no branch any more, but it was.
    assert found == [None, first, first, second, first, fourth]


def test_by_its_commits_where_there_is_no_log(repo: UserRepository) -> None:
    first, second = commit(repo, 1), commit(repo, 2)
    repo.git("reflog", "expire", "--expire=now", "--all")
    found = [nearest_commit(repo.top, "main", day(at)) for at in (0, 1.5, 2)]
    assert found == [None, first, second]


def test_a_branch_that_is_gone(repo: UserRepository) -> None:
    first = commit(repo, 1)
    assert nearest_commit(repo.top, "gone", day(2)) == first
    assert nearest_commit(repo.top, None, day(2)) == first
    assert nearest_commit(repo.top, "--all", day(2)) == first


def test_nothing_was_committed(repo: UserRepository, tmp_path: Path) -> None:
    assert nearest_commit(repo.top, "main", day(1)) is None
    assert nearest_commit(repo.top, None, day(1)) is None
