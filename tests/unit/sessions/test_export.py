"""Exports: which files are written, which are left, and what is read for it."""

import errno
import json
import os
import re
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong.app import App
from prong.errors import Busy, External, UsageError
from prong.model.search import IndexProgress
from prong.model.sessions import Message, Session
from prong.session.export import ExportState, repository_name
from prong.session.export_folder import MANIFEST, ExportFolder
from prong.session.listing import SessionFilter
from prong.session.service import SessionService
from prong.testing.home import IsolatedHome
from tests.samples.claude import ClaudeSample

START = datetime(2026, 11, 1, 9, 0, tzinfo=UTC)
SECRET = "ghp_" + "aB3dE5gH7j" * 4


class Lab:
    """A home with a few sessions, and a folder for exports."""

    def __init__(self, home: IsolatedHome) -> None:
        self.home = home
        self.out = home.root / "exports"
        self.ids = [f"{n:08x}-0000-4000-8000-{n:012x}" for n in range(1, 4)]
        for id_ in self.ids:
            self.write(id_, "Hello")

    def write(self, id_: str, *prompts: str, cwd: str = "/private/tmp") -> None:
        for old in self.home.claude.rglob(f"{id_}.jsonl"):
            old.unlink()
        sample = ClaudeSample(id_, cwd, START)
        for prompt in prompts:
            sample.prompt(prompt)
            sample.answer("Done.")
        sample.write(self.home.claude)

    def source(self, id_: str) -> Path:
        (found,) = self.home.claude.rglob(f"{id_}.jsonl")
        return found

    def file(self, id_: str) -> Path:
        return self.out / "private-tmp" / f"{id_}.md"

    def export(self, **options: bool) -> dict[str, ExportState]:
        """Everything; what became of each session."""
        with App() as app:
            plan = app.sessions.export(
                app.sessions.plan_export(self.out, SessionFilter(everything=True), **options)
            )
        return {one.session.id: one.state for one in plan.exports}

    def states(self, **options: bool) -> list[str]:
        found = self.export(**options)
        return [found[id_].value for id_ in self.ids]


@pytest.fixture
def lab(isolated_home: IsolatedHome) -> Lab:
    repository_name.cache_clear()
    return Lab(isolated_home)


def test_one_file_for_each_session(lab: Lab) -> None:
    assert lab.states() == ["new"] * 3
    text = lab.file(lab.ids[0]).read_text()
    assert text.startswith("# Hello\n\nSession ID: 00000001-")
    assert "\nWorking Directory: /private/tmp\n" in text
    assert re.search(r"\nDate: 2026-11-01T09:\d\d:\d\d.000Z\nAgent: claude\nRepo: tmp\n", text)


def test_they_are_private(lab: Lab) -> None:
    lab.export()
    for path in (lab.out, lab.out / "private-tmp"):
        assert path.stat().st_mode & 0o777 == 0o700
    for path in (lab.file(lab.ids[0]), lab.out / MANIFEST):
        assert path.stat().st_mode & 0o777 == 0o600


def test_only_what_changed_is_read_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.export()
    lab.write(lab.ids[1], "Hello", "More")
    read: list[str] = []
    messages = SessionService.messages

    def counted(self: SessionService, session: Session) -> Iterator[Message]:
        read.append(session.id)
        return messages(self, session)

    monkeypatch.setattr(SessionService, "messages", counted)
    assert lab.states() == ["unchanged", "changed", "unchanged"]
    assert read == [lab.ids[1]]
    assert "## Turn 2: More" in lab.file(lab.ids[1]).read_text()
    assert lab.states() == ["unchanged"] * 3
    assert read == [lab.ids[1]]


def test_a_file_that_is_gone_is_written_again(lab: Lab) -> None:
    lab.export()
    lab.file(lab.ids[0]).unlink()
    assert lab.states() == ["new", "unchanged", "unchanged"]
    assert lab.file(lab.ids[0]).exists()


def test_an_export_stays_where_it_is_when_the_session_moves(lab: Lab) -> None:
    lab.export()
    lab.write(lab.ids[0], "Hello", "More", cwd="/elsewhere")
    assert lab.states() == ["changed", "unchanged", "unchanged"]
    assert "/elsewhere" in lab.file(lab.ids[0]).read_text()


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b'{"version": 1}',
        b'{"version": 1, "sessions": {"claude:1": {"file": "../../x.md"}, "x": 3}}',
        b'{"version": 99, "sessions": {}}',
        None,
    ],
)
def test_a_damaged_manifest_costs_time_only(lab: Lab, damage: bytes | None) -> None:
    lab.export()
    before = lab.file(lab.ids[0]).read_bytes()
    if damage is None:
        (lab.out / MANIFEST).unlink()
    else:
        (lab.out / MANIFEST).write_bytes(damage)
    assert lab.states() == ["unchanged"] * 3
    assert lab.file(lab.ids[0]).read_bytes() == before
    assert list(json.loads((lab.out / MANIFEST).read_bytes())["sessions"]) == [
        f"claude:{id_}" for id_ in lab.ids
    ]


@pytest.mark.parametrize("known", [False, True])
def test_what_prong_did_not_write_stays(lab: Lab, known: bool) -> None:
    if known:
        lab.export()
        lab.write(lab.ids[0], "Hello", "More")
    lab.file(lab.ids[0]).parent.mkdir(parents=True, exist_ok=True)
    lab.file(lab.ids[0]).write_text("mine")
    assert lab.export()[lab.ids[0]] is ExportState.REFUSED
    assert lab.file(lab.ids[0]).read_text() == "mine"


def test_what_somebody_added_to_an_export_stays(lab: Lab) -> None:
    lab.export()
    with lab.file(lab.ids[0]).open("a") as file:
        file.write("my note\n")
    lab.write(lab.ids[0], "Hello", "More")
    assert lab.states() == ["refused", "unchanged", "unchanged"]
    assert lab.file(lab.ids[0]).read_text().endswith("my note\n")


def test_no_link_is_followed(lab: Lab, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    lab.out.mkdir()
    (lab.out / "private-tmp").symlink_to(elsewhere)
    assert lab.states() == ["refused"] * 3
    assert not list(elsewhere.iterdir())
    (lab.out / "private-tmp").unlink()
    (lab.out / "private-tmp").mkdir()
    lab.file(lab.ids[0]).symlink_to(tmp_path / "target")
    assert lab.states() == ["refused", "new", "new"]
    assert not (tmp_path / "target").exists()


def test_exports_of_sessions_that_are_gone_stay_until_asked_for(lab: Lab) -> None:
    lab.export()
    lab.source(lab.ids[0]).unlink()
    with App() as app:
        plan = app.sessions.plan_export(lab.out)
    assert [one.path for one in plan.stale] == [lab.file(lab.ids[0])]
    lab.export()
    assert lab.file(lab.ids[0]).exists()
    lab.export(prune=True)
    assert not lab.file(lab.ids[0]).exists()
    assert lab.file(lab.ids[1]).exists()
    with App() as app:
        assert not app.sessions.plan_export(lab.out).stale


def test_a_changed_export_of_a_session_that_is_gone_stays(lab: Lab) -> None:
    lab.export()
    lab.source(lab.ids[0]).unlink()
    lab.file(lab.ids[0]).write_text("mine")
    lab.export(prune=True)
    assert lab.file(lab.ids[0]).read_text() == "mine"


def test_a_root_that_is_out_of_reach_is_not_an_empty_one(lab: Lab) -> None:
    lab.export()
    shutil.move(lab.home.claude, lab.home.root / "unmounted")
    lab.home.claude.mkdir()
    assert lab.export(prune=True) == {}
    assert all(lab.file(id_).exists() for id_ in lab.ids)


def test_other_sessions_are_not_gone_because_they_were_not_asked_for(lab: Lab) -> None:
    lab.export()
    with App() as app:
        plan = app.sessions.plan_export(
            lab.out, SessionFilter(project=Path("/nowhere")), prune=True
        )
        assert not plan.exports
        assert not plan.stale


def test_secrets_are_masked_and_shown_when_asked_for(lab: Lab) -> None:
    lab.write(lab.ids[0], f"use {SECRET}")
    lab.export()
    assert SECRET not in lab.file(lab.ids[0]).read_text()
    assert "[masked: github token]" in lab.file(lab.ids[0]).read_text()
    assert lab.states(masked=False) == ["changed", "unchanged", "unchanged"]
    assert SECRET in lab.file(lab.ids[0]).read_text()
    lab.export()
    assert SECRET not in lab.file(lab.ids[0]).read_text()


def test_a_plan_writes_nothing(lab: Lab) -> None:
    with App() as app:
        plan = app.sessions.plan_export(lab.out)
    assert len(plan.changed) == 3
    assert not lab.out.exists()


def test_a_stopped_export_leaves_whole_files_and_goes_on(lab: Lab) -> None:
    def stop(now: IndexProgress) -> None:
        if now.done == 2:
            raise KeyboardInterrupt

    with App() as app, pytest.raises(KeyboardInterrupt):
        app.sessions.export(app.sessions.plan_export(lab.out), stop)
    done = [
        path
        for path in lab.out.rglob("*.md")
        if ExportFolder(lab.out).obstacle(str(path.relative_to(lab.out))) is None
    ]
    assert len(done) == 2
    assert not list(lab.out.glob("*.tmp"))
    assert sorted(lab.states()) == ["new", "unchanged", "unchanged"]


def test_what_a_killed_run_left_is_taken_away(lab: Lab) -> None:
    lab.out.mkdir()
    (lab.out / ".prong-export-0123.tmp").write_text("half")
    lab.export()
    assert not list(lab.out.glob(".*.tmp"))


def test_two_at_once_do_not_meet(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prong.session.export_folder._PATIENCE", 0)
    with ExportFolder(lab.out).writing(), pytest.raises(Busy):
        lab.export()


def test_a_session_that_cannot_be_read_stops_no_other(lab: Lab) -> None:
    with App() as app:
        plan = app.sessions.plan_export(lab.out)
        lab.source(lab.ids[1]).unlink()
        plan = app.sessions.export(plan)
    states = {one.session.id: one.state for one in plan.exports}
    assert states[lab.ids[1]] is ExportState.FAILED
    assert states[lab.ids[0]] is states[lab.ids[2]] is ExportState.NEW


def test_a_folder_of_an_agent_is_refused(lab: Lab) -> None:
    with App() as app, pytest.raises(UsageError, match="belongs to an agent"):
        app.sessions.plan_export(lab.home.claude / "exports")


def test_a_file_is_no_folder(lab: Lab) -> None:
    lab.out.write_text("x")
    with App() as app, pytest.raises(UsageError, match="not a folder"):
        app.sessions.plan_export(lab.out)


def test_a_file_where_a_folder_would_be_stays(lab: Lab) -> None:
    lab.out.mkdir()
    (lab.out / "private-tmp").write_text("mine")
    assert lab.states() == ["refused"] * 3
    assert (lab.out / "private-tmp").read_text() == "mine"


def test_a_full_disk_leaves_whole_files(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.export()
    lab.write(lab.ids[0], "Hello", "More")
    before = lab.file(lab.ids[0]).read_bytes()

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(External, match="No space left"):
            lab.export()
    assert lab.file(lab.ids[0]).read_bytes() == before
    assert not list(lab.out.glob("*.tmp"))
    assert lab.states() == ["changed", "unchanged", "unchanged"]


@pytest.mark.parametrize(
    ("cwd", "folder"),
    [
        ("/private/tmp", "private-tmp"),
        ("/home/ada/my project (2)", "home-ada-my-project-2"),
        ("/", "unknown"),
    ],
)
def test_the_names_of_folders(lab: Lab, cwd: str, folder: str) -> None:
    lab.write(lab.ids[0], "Hello", cwd=cwd)
    with App() as app:
        paths = {one.session.id: one.path for one in app.sessions.plan_export(lab.out).exports}
    assert paths[lab.ids[0]].parent.name == folder


def test_long_names_are_cut_and_stay_different(lab: Lab) -> None:
    lab.write(lab.ids[0], "Hello", cwd="/x" * 300 + "a")
    lab.write(lab.ids[1], "Hello", cwd="/x" * 300 + "b")
    with App() as app:
        names = {one.path.parent.name for one in app.sessions.plan_export(lab.out).exports}
    assert len(names) == 3
    assert max(map(len, names)) <= 120


# -- the repository --------------------------------------------------------------------------------


def test_the_repository_of_a_folder(lab: Lab, tmp_path: Path) -> None:
    main = lab.home.project("shop")
    (main / "src").mkdir()
    assert repository_name(str(main / "src")) == "shop"
    worktree = tmp_path / "fix"
    (worktree / "src").mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {main}/.git/worktrees/fix\n")
    assert repository_name(str(worktree / "src")) == "shop"
    assert repository_name(str(tmp_path / "gone" / "api")) == "api"
    assert repository_name(None) is None


def test_a_folder_without_a_repository_has_none(isolated_home: IsolatedHome) -> None:
    repository_name.cache_clear()
    assert repository_name(str(isolated_home.tmp)) is None
