"""Workers that run a seed, with the real agents: the seed and `Ready.` are no last words."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from prong.testing.home import IsolatedHome
from prong.testing.script import say
from prong.testing.server import RequestKind
from tests.e2e.workers.typed_workers import WorkerLab, ended, opened


@pytest.fixture(params=["claude", "codex"])
def lab(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Iterator[WorkerLab]:
    with ended(opened(request, isolated_home)) as made:
        yield made


def test_a_seed_is_not_shown_until_something_was_asked(lab: WorkerLab) -> None:
    lab.run("first prompt", "--name", "tess", "--no-worktree", "--skip-permissions")
    lab.ok("wait", "tess")
    # To the server of Claude Code a request without tools is one for a title.
    kind = RequestKind.TITLE if lab.agent == "claude" else RequestKind.MAIN
    lab.server.enqueue(say("Ready."), kind=kind)
    words = ("--method", "seed", "--no-worktree", "--name", "seedling", "--terminal", "tmux")
    lab.ok("fork", "tess", *words, "--yes")
    lab.ok("wait", "seedling")
    status = lab.status("seedling")
    assert (status["state"], status["last_line"], status["last_input"]) == ("idle", "", None)
    [shown] = [one for one in lab.json("ps")["workers"] if one["name"] == "seedling"]
    assert shown["last_line"] == ""
    assert lab.json("log", "seedling")["messages"] == []
    assert "Ready." not in lab.ok("log", "seedling")
    assert "Ready." in lab.ok("show", "seedling")
    lab.ok("send", "seedling", "second prompt", "--wait")
    assert lab.status("seedling")["last_line"] == "ECHO: second prompt"
    assert "Ready." in lab.ok("log", "seedling")
