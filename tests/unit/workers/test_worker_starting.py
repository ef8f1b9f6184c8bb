"""Starting workers: ids, names, worktrees, what is kept, and what is left when it fails."""

import shutil
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from prong.app import App
from prong.config import Config
from prong.errors import NotFound, ProngError, Taken, Unavailable, UsageError
from prong.model.workers import WorkerInfo
from prong.testing.home import IsolatedHome
from prong.workers import names as worker_names
from prong.workers.request import WorkerRequest
from tests.cli.code_lab import git
from tests.cli.worker_lab import WorkerLab
from tests.unit.workers.worker_lab import PATIENCE
from tests.unit.workers.worker_story import asked, made_by_prong, opened_lab, prompts, started


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    yield from opened_lab(isolated_home, monkeypatch)


@pytest.fixture
def app(lab: WorkerLab) -> Iterator[App]:
    with App() as made:
        yield made


def run(app: App, lab: WorkerLab, **more: Any) -> WorkerInfo:
    request = WorkerRequest(project=lab.project, **more)
    return app.workers.starter.start(app.workers.planner.plan(request))


class TestIds:
    def test_an_id_is_made_and_known_before_the_start(self, app: App, lab: WorkerLab) -> None:
        plan = app.workers.planner.plan(WorkerRequest(project=lab.project))
        assert plan.session is not None
        assert plan.launch is not None
        assert plan.session in plan.launch.argv
        assert app.workers.starter.start(plan).session == plan.session

    def test_a_given_id_is_taken(self, app: App, lab: WorkerLab) -> None:
        wanted = str(uuid4())
        worker = started(app, lab, id=wanted)
        asked(app, worker.name, "hello")
        assert [one.id for one in app.sessions.all("claude")] == [wanted]

    def test_an_id_in_the_configured_command_is_adopted(self, lab: WorkerLab) -> None:
        own = str(uuid4())
        command = ("claude", "--session-id", own, "--model", "opus")
        with App(Config(commands={"claude": command})) as app:
            worker = run(app, lab)
        assert worker.session == own
        # Forks must not have it, but everything else.
        assert worker.command == ("claude", "--model", "opus")

    def test_an_id_that_is_in_use(self, app: App, lab: WorkerLab) -> None:
        worker = started(app, lab)
        asked(app, worker.name, "hello")
        with pytest.raises(Taken, match="already"):
            app.workers.planner.plan(WorkerRequest(project=lab.project, id=worker.session))


class TestNames:
    def test_two_starts_that_made_up_one_name(
        self, app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        names = iter(["calm-otter", "calm-otter", "brave-heron"])

        def made_up(taken: Collection[str]) -> str:
            return next(names)

        monkeypatch.setattr(worker_names, "made_up", made_up)
        options = WorkerRequest(project=lab.project)
        first, second = app.workers.planner.plan(options), app.workers.planner.plan(options)
        assert [app.workers.starter.start(one).name for one in (first, second)] == [
            "calm-otter",
            "brave-heron",
        ]

    def test_a_name_is_free_again_when_it_is_forgotten(self, app: App, lab: WorkerLab) -> None:
        first = started(app, lab, "parser")
        app.workers.stop("parser", force=True)
        app.workers.forget("parser")
        second = started(app, lab, "parser")
        assert (first.branch, second.branch) == ("prong/parser", "prong/parser-2")

    def test_many_at_once(self, lab: WorkerLab) -> None:
        def one(_: int) -> WorkerInfo:
            with App() as app:
                return run(app, lab)

        with ThreadPoolExecutor(6) as pool:
            made = list(pool.map(one, range(12)))
        for what in ("name", "session", "pane", "workspace", "branch"):
            assert len({getattr(worker, what) for worker in made}) == len(made), what


class TestWorkspaces:
    def test_a_folder_below_the_top(self, app: App, lab: WorkerLab) -> None:
        (lab.project / "src").mkdir()
        (lab.project / "src" / "a.py").write_text("")
        git(lab.project, "add", "--all")
        git(lab.project, "commit", "--quiet", "--message", "src")
        options = WorkerRequest(project=lab.project / "src")
        worker = app.workers.starter.start(app.workers.planner.plan(options))
        assert worker.worktree is not None
        assert worker.workspace == worker.worktree / "src"

    def test_the_base_is_another_commit(self, app: App, lab: WorkerLab) -> None:
        (lab.project / "later.txt").write_text("")
        git(lab.project, "add", "--all")
        git(lab.project, "commit", "--quiet", "--message", "later")
        worker = run(app, lab, base="HEAD~1")
        assert not (worker.workspace / "later.txt").exists()
        with pytest.raises(NotFound, match="nowhere"):
            run(app, lab, base="nowhere")

    def test_what_is_not_committed_is_named(self, app: App, lab: WorkerLab) -> None:
        (lab.project / "README.md").write_text("changed")
        plan = app.workers.planner.plan(WorkerRequest(project=lab.project))
        assert any("README.md" in one for one in plan.warnings)

    def test_a_folder_without_git_is_worked_in_itself(self, app: App, lab: WorkerLab) -> None:
        folder = lab.shell.home.projects / "plain"
        folder.mkdir()
        options = WorkerRequest(project=folder)
        assert app.workers.planner.plan(options).workspace == folder
        with pytest.raises(UsageError, match="not in a git repository"):
            app.workers.planner.plan(WorkerRequest(project=folder, worktree=True))


def test_a_prompt_that_no_command_line_takes_is_pasted(app: App, lab: WorkerLab) -> None:
    text = "; $(id) 'quoted' " + "long " * 50_000 + "end"
    worker = started(app, lab, prompt=text, trust=True)
    assert prompts(app, worker) == [text]


def test_no_key_is_kept(app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-kept-nowhere")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    worker = run(app, lab, env={"MY_TOKEN": "kept-nowhere-too", "PLAIN": "kept"})
    assert (
        worker.env.items() >= {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "PLAIN": "kept"}.items()
    )
    assert worker.env.keys().isdisjoint({"ANTHROPIC_API_KEY", "MY_TOKEN"})
    # The pane deletes the file that it gets them in before it starts the agent.
    app.workers.states.ready(worker.name, PATIENCE)
    for path in app.state_dir.rglob("*"):
        if path.is_file():
            assert b"kept-nowhere" not in path.read_bytes(), path


def test_a_trusted_repository_makes_its_worktrees_trusted(app: App, lab: WorkerLab) -> None:
    options = WorkerRequest(project=lab.project, trust=True)
    plan = app.workers.planner.plan(options)
    assert plan.trust is not None
    assert plan.trust.folder == lab.project
    app.workers.starter.start(plan)
    again = app.workers.planner.plan(options)
    assert (again.trusted, again.trust) == (True, None)


class TestFailures:
    def test_no_terminal_leaves_nothing(
        self, app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = app.workers.planner.plan(WorkerRequest(project=lab.project, terminal="kitty"))
        with pytest.raises((Unavailable, ProngError)):
            app.workers.starter.start(plan)
        assert app.workers.records.all() == []
        assert made_by_prong(app) == []
        assert git(lab.project, "branch", "--list", "prong/*").strip() == b""

    def test_a_pane_that_does_not_open_leaves_nothing(
        self, app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        plan = app.workers.planner.plan(WorkerRequest(project=lab.project))
        lab.socket.mkdir()  # no server can listen there
        with pytest.raises(ProngError):
            app.workers.starter.start(plan)
        assert app.workers.records.all() == []
        assert made_by_prong(app) == []
        lab.socket.rmdir()

    def test_a_fork_that_is_made_but_does_not_run_is_told_of(
        self, app: App, lab: WorkerLab
    ) -> None:
        source = lab.shell.simple(1, cwd=str(lab.project))
        plan = app.workers.planner.plan(WorkerRequest(fork=source))
        lab.socket.mkdir()
        with pytest.raises(ProngError) as error:
            app.workers.starter.start(plan)
        lab.socket.rmdir()
        (made,) = error.value.details["made"]
        assert error.value.message.endswith(f"the fork is there: {made}")
        assert app.workers.records.all() == []
        assert app.sessions.get(made).id == plan.session

    def test_the_folder_of_a_headless_worker_may_be_gone(self, app: App, lab: WorkerLab) -> None:
        options = WorkerRequest(project=lab.project, headless=True, prompt="hello", name="once")
        worker = app.workers.starter.start(app.workers.planner.plan(options))
        app.workers.states.wait(["once"], timeout=20)
        shutil.rmtree(worker.workspace)
        with pytest.raises(NotFound, match="the folder of once no longer exists"):
            app.workers.prompts.send("once", "more")

    def test_a_session_that_is_gone_is_not_begun_anew(self, app: App, lab: WorkerLab) -> None:
        worker = started(app, lab)
        asked(app, worker.name, "hello")
        app.workers.stop(worker.name, force=True)
        for session in app.sessions.all("claude"):
            Path(session.file).unlink()
        with pytest.raises(NotFound, match="the session of source no longer exists"):
            app.workers.starter.restart(worker.name)
