"""Where the head of a repository is."""

import pytest

from prong.code.repository import Repository
from tests.code.lab import Lab


@pytest.mark.parametrize("ref", ["refs/tags/HEAD", "refs/heads/HEAD"])
def test_something_else_is_called_head(used: Lab, ref: str) -> None:
    before = Repository.find(used.top)
    used.git("update-ref", ref, "HEAD")
    assert Repository.find(used.top) == before
    taken = used.take()
    assert (taken.branch, taken.head) == ("main", used.word("rev-parse", "main"))
    used.git("checkout", "-q", "--detach", "main")
    assert used.take().branch is None
