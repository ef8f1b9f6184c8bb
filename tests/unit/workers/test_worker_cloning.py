"""Clones of workers: all that the source has, and nothing of the source changes."""

import hashlib
import os
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from prong.app import App
from prong.code.worktrees import workspace_copy
from prong.code.worktrees.journal import leftovers
from prong.errors import Busy, NotFound, ProngError, Taken, UsageError
from prong.forks.request import ForkRequest
from prong.model.record import replace
from prong.model.workers import RunOptions, WorkerInfo, WorkerState
from prong.testing.home import IsolatedHome
from prong.workers.launch.clone import CloneSources, Prompted
from prong.workers.request import WorkerRequest
from tests.cli.worker_lab import WorkerLab
from tests.code.worktrees.test_worktrees_killed import killed_at
from tests.code.worktrees.worktree_story import git
from tests.unit.workers.worker_story import (
    PATIENCE,
    asked,
    held,
    made_by_prong,
    opened_lab,
    prompts,
    started,
    until,
)


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Generator[WorkerLab]:
    yield from opened_lab(isolated_home, monkeypatch)


@pytest.fixture
def app(lab: WorkerLab) -> Generator[App]:
    with App() as app:
        yield app


def everything(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Every file below a folder: mode, time and bytes."""
    return {
        str(path.relative_to(folder)): (
            path.lstat().st_mode,
            path.lstat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def source_of(app: App, worker: WorkerInfo) -> list[Any]:
    """All that must stay as it is."""
    session = app.sessions.get(f"{worker.agent}:{worker.session}")
    index = Path(os.fsdecode(git(worker.workspace, "rev-parse", "--git-path", "index").strip()))
    index = worker.workspace / index
    return [
        session.path.read_bytes(),
        session.path.stat().st_mtime_ns,
        everything(worker.workspace),
        git(worker.workspace, "status", "--porcelain=v2", "--branch"),
        (index.stat().st_ino, index.read_bytes()),
        app.workers.records.get(worker.name),
    ]


def test_everything_is_there_and_the_source_stays(app: App, lab: WorkerLab) -> None:
    source = started(app, lab, run=RunOptions(model="opus"), env={"HTTP_PROXY": "http://p:1"})
    asked(app, "source", "first")
    asked(app, "source", "second")
    (source.workspace / ".gitignore").write_text("node_modules/\n.env\n")
    (source.workspace / "node_modules/m").mkdir(parents=True)
    (source.workspace / "node_modules/m/index.js").write_text("m\n")
    (source.workspace / ".env").write_text("SECRET\n")
    (source.workspace / "README.md").write_text("edited\n")
    (source.workspace / "staged").write_text("1\n")
    git(source.workspace, "add", "staged")
    before = source_of(app, source)
    clone = app.workers.cloner.clone("source", WorkerRequest(name="copy"))
    assert source_of(app, source) == before
    assert clone.warnings == ()
    assert (clone.name, clone.forked_from) == ("copy", "source")
    assert clone.session != source.session
    assert clone.workspace != source.workspace
    assert clone.command == source.command
    assert "opus" in clone.command
    assert clone.env["HTTP_PROXY"] == "http://p:1"
    assert clone.branch not in (None, source.branch)
    assert clone.worktree == clone.workspace
    assert clone.fork in {fork.id for fork in app.recorded_forks()}
    status = ("status", "--porcelain=v2", "--untracked-files=all")
    assert git(clone.workspace, *status) == git(source.workspace, *status)
    assert (clone.workspace / "node_modules/m/index.js").read_text() == "m\n"
    assert (clone.workspace / ".env").read_text() == "SECRET\n"
    app.workers.states.ready("copy", PATIENCE)
    assert prompts(app, clone) == ["first", "second"]
    # Both go on, each for itself.
    asked(app, "copy", "in the copy")
    asked(app, "source", "in the source")
    assert prompts(app, clone) == ["first", "second", "in the copy"]
    assert prompts(app, source) == ["first", "second", "in the source"]


def test_names(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first")
    clones = [app.workers.cloner.clone("source") for _ in range(2)]
    assert [clone.name for clone in clones] == ["source-2", "source-3"]
    assert [clone.branch for clone in clones] == ["prong/source-2", "prong/source-3"]
    before = made_by_prong(app)
    with pytest.raises(Taken):
        app.workers.cloner.clone("source", WorkerRequest(name="source-2"))
    with pytest.raises(UsageError):
        app.workers.cloner.clone("source", WorkerRequest(name="60309e1e"))
    with pytest.raises(UsageError, match="all turns"):
        app.workers.cloner.clone("source@1")
    with pytest.raises(NotFound):
        app.workers.cloner.clone("nobody")
    assert made_by_prong(app) == before


def test_one_at_work_is_waited_for(app: App, lab: WorkerLab) -> None:
    source = started(app, lab)
    asked(app, "source", "first")
    hold = held(app, source, "long work")
    told: list[str] = []

    def waiting(reason: str) -> None:
        told.append(reason)
        assert made_by_prong(app) == [source.workspace]
        (source.workspace / "result").write_text("done\n")
        hold.unlink()

    clone = app.workers.cloner.clone("source", waiting=waiting, timeout=PATIENCE)
    assert told == ["source is busy"]
    assert prompts(app, clone) == ["first", "long work"]
    assert (clone.workspace / "result").read_text() == "done\n"
    assert not (clone.workspace / "hold").exists()


def test_no_more_patience(app: App, lab: WorkerLab) -> None:
    source = started(app, lab)
    hold = held(app, source, "long work")
    workers = app.workers.records.all()
    with pytest.raises(Busy):
        app.workers.cloner.clone("source", timeout=0.3)
    assert [one.name for one in app.workers.records.all()] == [one.name for one in workers]
    assert made_by_prong(app) == [source.workspace]
    assert len(app.sessions.all()) == 1

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        app.workers.cloner.clone("source", waiting=interrupted)
    assert made_by_prong(app) == [source.workspace]
    assert len(app.sessions.all()) == 1
    hold.unlink()


def test_a_prompt_comes_in_between(
    app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workspace was copied without it, so it is copied again."""
    source = started(app, lab)
    asked(app, "source", "first")
    copies: list[Path] = []
    really = workspace_copy.copy

    def copy(*given: Any, **more: Any) -> workspace_copy.WorkspaceCopy:
        done = really(*given, **more)
        copies.append(done.path)
        if len(copies) == 1:
            asked(app, "source", "meanwhile")
            (source.workspace / "result").write_text("of meanwhile\n")
        return done

    monkeypatch.setattr(workspace_copy, "copy", copy)
    clone = app.workers.cloner.clone("source", timeout=PATIENCE)
    assert len(copies) == 2
    there = [one.worktree.path for one in app.code.worktrees.list()]
    assert there == [source.worktree, clone.worktree]
    assert clone.workspace == copies[1]
    assert prompts(app, clone) == ["first", "meanwhile"]
    assert (clone.workspace / "result").read_text() == "of meanwhile\n"
    assert len(app.sessions.all()) == 2
    assert leftovers(app.worktrees_root) == []
    branches = git(lab.project, "branch", "--format=%(refname:short)").splitlines()
    assert len(branches) == 3
    assert len(git(lab.project, "for-each-ref", "refs/prong").splitlines()) == 1


def test_a_prompt_that_is_still_worked_on(
    app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = started(app, lab)
    asked(app, "source", "first")
    really = workspace_copy.copy
    copies: list[Path] = []
    told: list[str] = []

    def copy(*given: Any, **more: Any) -> workspace_copy.WorkspaceCopy:
        done = really(*given, **more)
        copies.append(done.path)
        if len(copies) == 1:
            hold = held(app, source, "meanwhile")
            threading.Timer(0.5, hold.unlink).start()
        return done

    monkeypatch.setattr(workspace_copy, "copy", copy)
    clone = app.workers.cloner.clone("source", timeout=PATIENCE, waiting=told.append)
    assert told == ["source is busy"]
    assert prompts(app, clone) == ["first", "meanwhile"]


def test_prompts_without_end(app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch) -> None:
    started(app, lab)
    asked(app, "source", "first")
    before = made_by_prong(app)

    def prompted(*_: object) -> None:
        raise Prompted

    monkeypatch.setattr(CloneSources, "refuse_prompt", prompted)
    with pytest.raises(Busy, match="during every attempt"):
        app.workers.cloner.clone("source")
    assert made_by_prong(app) == before
    assert len(app.sessions.all()) == 1


def test_a_stopped_one(app: App, lab: WorkerLab) -> None:
    source = started(app, lab)
    asked(app, "source", "first")
    app.workers.stop("source", force=True)

    def waiting(_: str) -> None:
        pytest.fail("nobody is busy")

    clone = app.workers.cloner.clone("source", waiting=waiting)
    assert prompts(app, clone) == ["first"]
    assert app.workers.states.ready(clone.name, PATIENCE).state is not WorkerState.GONE
    assert app.workers.states.status("source").state is WorkerState.GONE
    assert clone.command == source.command


def test_one_without_a_conversation(app: App, lab: WorkerLab) -> None:
    source = started(app, lab, run=RunOptions(model="opus"))
    (source.workspace / "new").write_text("new\n")
    assert app.sessions.all() == []
    clone = app.workers.cloner.clone("source")
    assert clone.session not in (None, source.session)
    assert (clone.workspace / "new").read_text() == "new\n"
    assert (clone.fork, clone.forked_from) == (None, "source")
    assert clone.command == source.command
    app.workers.states.ready(clone.name, PATIENCE)
    asked(app, clone.name, "first")
    assert prompts(app, clone) == ["first"]


def test_one_that_prong_did_not_start(app: App, lab: WorkerLab) -> None:
    """It is open in a pane of somebody's own."""
    session = "0b1f6a2e-1c0d-4f0a-9d5e-2a7c6b3e4f10"
    root = f"CLAUDE_CONFIG_DIR={lab.shell.home.claude}"
    words = ("env", root, "claude", "--session-id", session, "hello")
    lab.tmux("new-session", "-d", "-c", str(lab.project), *words)
    until(lambda: any(one.turn_count for one in app.sessions.all()) and not _is_busy(app, session))
    file = app.sessions.get(session).path
    before = file.read_bytes()
    clone = app.workers.cloner.clone(f"claude:{session}")
    assert file.read_bytes() == before
    assert prompts(app, clone) == ["hello"]
    assert clone.forked_from == f"claude:{session}@1"
    assert (clone.workspace / "README.md").exists()
    fork = app.workers.forks.fork(session, ForkRequest(name="forked"))
    assert prompts(app, fork) == ["hello"]
    assert fork.workspace not in (lab.project, clone.workspace)


def _is_busy(app: App, session: str) -> bool:
    sources = app.workers.cloner.sources
    return sources.is_at_work(sources.find(session))


def test_a_folder_without_git(app: App, lab: WorkerLab) -> None:
    plain = lab.project.parent / "plain"
    (plain / "deep").mkdir(parents=True)
    (plain / "deep/x").write_text("x\n")
    started(app, lab, "plain", project=plain, prompt="hello")
    before = everything(plain)
    clone = app.workers.cloner.clone("plain", ignored=False)
    assert everything(plain) == before
    assert everything(clone.workspace) == before
    assert clone.worktree is None
    assert prompts(app, clone) == ["hello"]
    app.workers.states.ready(clone.name, PATIENCE)


def test_a_headless_one(app: App, lab: WorkerLab) -> None:
    started(app, lab, "quiet", prompt="hello", headless=True)
    clone = app.workers.cloner.clone("quiet")
    assert clone.headless
    assert prompts(app, clone) == ["hello"]
    assert app.workers.states.status(clone.name).state is WorkerState.IDLE
    app.workers.prompts.send(clone.name, "more")
    app.workers.states.wait([clone.name], timeout=PATIENCE)
    assert prompts(app, clone) == ["hello", "more"]
    assert prompts(app, app.workers.records.get("quiet")) == ["hello"]


def test_what_differs_since_the_start(app: App, lab: WorkerLab) -> None:
    source = started(app, lab, prompt="first")
    assert source.version == "2.1.326 (Claude Code)"
    app.workers.records.change("source", version="2.0.1 (Claude Code)", settings_hash="other")
    clone = app.workers.cloner.clone("source")
    assert clone.warnings == (
        "source was started with claude 2.0.1 (Claude Code), the clone with 2.1.326 (Claude Code)",
        "the settings of claude have changed since source was started",
    )
    assert app.workers.records.get("source") == replace(
        source, version="2.0.1 (Claude Code)", settings_hash="other"
    )


def test_it_cannot_be_started(app: App, lab: WorkerLab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is whole; the error says how to run it."""
    started(app, lab, prompt="first")
    tmux = app.terminals.for_worker()

    def fails(*_: object) -> None:
        raise ProngError("no more panes")

    monkeypatch.setattr(type(tmux), "open", fails)
    with pytest.raises(ProngError) as caught:
        app.workers.cloner.clone("source")
    assert caught.value.message.startswith("no more panes; the copy is there: claude:")
    (new,) = [one for one in app.sessions.all() if one.cwd == caught.value.details["workspace"]]
    assert caught.value.hint == f"prong run --resume {new.ref}"
    assert [one.name for one in app.workers.records.all()] == ["source"]


def test_it_is_killed(app: App, lab: WorkerLab) -> None:
    """A clone is there as a whole or not at all, whenever its making is killed."""
    source = started(app, lab, prompt="first")
    (source.workspace / "new").write_text("new\n")
    before = source_of(app, source)
    ids = {one.id for one in app.sessions.all()}
    whole = number = 0
    was_killed = True
    while was_killed:
        # Nobody can look at every one of some hundred steps, each of which starts tmux.
        number += 7

        def make() -> None:
            with App() as inner:
                inner.workers.cloner.clone("source", WorkerRequest(name="copy"))

        was_killed = killed_at(number, make)
        app.setup.fix()
        assert leftovers(app.worktrees_root) == []
        new = [one for one in app.sessions.all() if one.id not in ids]
        folders = [path for path in made_by_prong(app) if path != source.worktree]
        assert [Path(one.cwd or "") for one in new] == folders, number
        if new:
            whole += 1
            assert (folders[0] / "new").read_text() == "new\n"
            assert [turn.prompt for turn in app.sessions.turns(new[0])] == ["first"]
            for pane in lab.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_title}").splitlines():
                if source.pane and pane.split()[0] != source.pane.id:
                    lab.tmux("kill-pane", "-t", pane.split()[0])
            app.workers.records.remove("copy")
            new[0].path.unlink()
            (status,) = [
                one for one in app.code.worktrees.list() if one.worktree.path == folders[0]
            ]
            app.code.worktrees.prune(status, force=True)
        app.workers.records.remove("copy")
        assert source_of(app, source) == before, number
    assert whole > 1
    assert number > 70


def test_a_copy_that_is_trusted(app: App, lab: WorkerLab) -> None:
    started(app, lab, prompt="first")
    store = app.store("claude")
    other = app.workers.cloner.clone("source")
    assert not store.is_trusted(other.workspace)
    clone = app.workers.cloner.clone("source", WorkerRequest(trust=True))
    assert store.is_trusted(clone.workspace)
