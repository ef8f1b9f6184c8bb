"""Forks of workers: with the source's command and settings, in panes beside it."""

from collections.abc import Generator
from pathlib import Path

import pytest

import prong
from prong.app import App
from prong.errors import Busy, NotFound, ProngError, Taken, UsageError
from prong.forks.request import ForkRequest
from prong.model.forks import Code
from prong.model.workers import RunOptions
from prong.testing.home import IsolatedHome
from prong.workers.request import WorkerRequest
from tests.cli.worker_lab import WorkerLab
from tests.code.worktrees.worktree_story import git
from tests.unit.workers.worker_story import asked, at_rest, held, opened_lab, prompts, started


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Generator[WorkerLab]:
    yield from opened_lab(isolated_home, monkeypatch)


@pytest.fixture
def app(lab: WorkerLab) -> Generator[App]:
    with App() as app:
        yield app


def test_a_fork_keeps_what_the_source_was_started_with(app: App, lab: WorkerLab) -> None:
    source = started(
        app,
        lab,
        prompt="first",
        run=RunOptions(model="opus", skip_permissions=True),
        env={"ANTHROPIC_BASE_URL": "http://127.0.0.1:1"},
    )
    (source.workspace / "new").write_text("new\n")
    file = app.sessions.get("source").path
    before = file.read_bytes()
    fork = app.workers.forks.fork("source", ForkRequest(name="other", prompt="Do it another way."))
    assert file.read_bytes() == before
    assert (fork.name, fork.forked_from) == ("other", "source")
    assert fork.command == source.command
    assert "--dangerously-skip-permissions" in fork.command
    assert fork.env["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
    assert fork.session != source.session
    assert fork.pane != source.pane
    assert fork.workspace != source.workspace
    assert (fork.workspace / "new").read_text() == "new\n"
    assert fork.fork in {one.id for one in app.recorded_forks()}
    at_rest(app, "other")
    assert prompts(app, fork) == ["first", "Do it another way."]
    assert prompts(app, source) == ["first"]
    # A fork of the fork keeps it, too, and is named after it.
    again = app.workers.forks.fork("other", ForkRequest())
    assert (again.name, again.forked_from) == ("other-2", "other")
    assert again.command == source.command


def test_the_plan_shows_it(app: App, lab: WorkerLab) -> None:
    source = started(app, lab, prompt="first", run=RunOptions(model="opus"), env={"A": "b"})
    for text in ("source", f"claude:{source.session}", "source@1", source.session or ""):
        plan = app.forks.plan(text)
        assert plan.worker == "source"
        assert "opus" in plan.launch.argv
        assert plan.launch.env["A"] == "b"
    plan = app.forks.plan("source", ForkRequest(run=RunOptions(model="haiku"), env={"A": "c"}))
    assert "haiku" in plan.launch.argv
    assert "opus" not in plan.launch.argv
    assert plan.launch.env["A"] == "c"
    plan = app.forks.plan("source", ForkRequest(command=("claude", "--verbose")))
    assert "--verbose" in plan.launch.argv
    assert "opus" not in plan.launch.argv


def test_what_should_differ(app: App, lab: WorkerLab) -> None:
    source = started(app, lab, prompt="first", run=RunOptions(model="opus"))
    (source.workspace / "new").write_text("new\n")
    worker = prong.Worker.open("source", workers=app.workers)
    other = worker.fork("other", turn=1, code="head", branch="try-it", model="haiku").info()
    assert (other.name, other.branch) == ("other", "try-it")
    assert "haiku" in other.command
    assert "opus" not in other.command
    assert not (other.workspace / "new").exists()
    with pytest.raises(UsageError, match="worktree"):
        worker.fork(code="head", no_worktree=True)


def test_another_agent_has_a_command_of_its_own(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first", run=RunOptions(model="opus"), env={"A": "b"})
    plan = app.forks.plan("source", ForkRequest(agent="codex"))
    assert plan.launch.argv[0] == "codex"
    assert "A" not in plan.launch.env


def test_turns_and_work_under_way(app: App, lab: WorkerLab) -> None:
    source = started(app, lab, prompt="first")
    asked(app, "source", "second")
    hold = held(app, source, "third")
    with pytest.raises(Busy):
        app.workers.forks.fork("source", ForkRequest())
    fork = app.workers.forks.fork("source@1", ForkRequest(name="early"))
    assert prompts(app, fork) == ["first"]
    hold.unlink()
    with pytest.raises(NotFound):
        app.workers.forks.fork("source@9", ForkRequest())


def test_several_prompts(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first")
    texts = ("by hand", "with a table", "x" * 200_000)
    plan, count = app.workers.forks.plan("source", ForkRequest(), texts), 3
    made = list(app.workers.forks.start(plan, WorkerRequest(), count, texts))
    workers = [one.worker for one in made if one.worker]
    assert [one.error for one in made] == [None] * 3
    assert [one.name for one in workers] == ["source-2", "source-3", "source-4"]
    for field in ("session", "workspace", "branch", "pane", "fork"):
        assert len({getattr(one, field) for one in workers}) == 3
    for worker, text in zip(workers, texts, strict=True):
        at_rest(app, worker.name)
        assert prompts(app, worker) == ["first", text]


def test_several_with_one_prompt(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first")
    plan, count = app.workers.forks.plan("source", ForkRequest(), ("again",), 2), 2
    request = WorkerRequest(prompt="again", name="one")
    made = list(app.workers.forks.start(plan, request, count))
    assert [one.worker.name for one in made if one.worker] == ["one", "source-2"]
    for one in made:
        assert one.worker is not None
        at_rest(app, one.worker.name)
        assert prompts(app, one.worker) == ["first", "again"]


def test_one_of_several_fails(app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The others are not lost, and its fork is there."""
    started(app, lab, prompt="first")
    tmux = app.terminals.for_worker()
    really = type(tmux).open
    opened: list[object] = []

    def open_(*given: object) -> object:
        opened.append(given)
        if len(opened) == 2:
            raise ProngError("no more panes")
        return really(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(type(tmux), "open", open_)
    plan = app.workers.forks.plan("source", ForkRequest(), count=3)
    made = list(app.workers.forks.start(plan, WorkerRequest(), 3))
    assert [one.worker.name if one.worker else None for one in made] == [
        "source-2",
        None,
        "source-3",
    ]
    failed = made[1]
    assert failed.error is not None
    assert failed.fork is not None
    assert failed.error.message == f"no more panes; the fork is there: {failed.fork.child}"
    assert failed.error.hint == f"prong run --resume {failed.fork.child}"
    assert app.sessions.get(str(failed.fork.child)).turn_count == 1


def test_nothing_is_made_for_wrong_words(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first")
    plan = app.workers.forks.plan("source", ForkRequest(), count=2)
    for name, error in (("source", Taken), ("One", UsageError)):
        with pytest.raises(error):
            list(app.workers.forks.start(plan, WorkerRequest(name=name), 2))
    with pytest.raises(UsageError):
        app.workers.forks.plan("source", ForkRequest(), ("a", "b"), 3)
    assert len(app.sessions.all()) == 1
    assert git(lab.project, "worktree", "list").count(b"\n") == 2


def test_a_fork_commits_its_turns_as_the_source_does(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first", commit_turns=True)
    fork = app.workers.forks.fork("source", ForkRequest())
    assert fork.commit_turns
    plan = app.workers.forks.plan("source", ForkRequest(code=Code.NONE))
    (one,) = app.workers.forks.start(plan, WorkerRequest())
    assert one.worker is not None
    assert not one.worker.commit_turns


def test_a_session_of_an_unknown_id(app: App, lab: WorkerLab, tmp_path: Path) -> None:
    started(app, lab)
    with pytest.raises(NotFound, match="no conversation yet") as caught:
        app.workers.forks.fork("source", ForkRequest())
    assert caught.value.hint is not None
    assert caught.value.hint.startswith('prong send source "..." first')
