"""The code of turns, as far as the application knows it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.app import App
from prong.code.capture import Capture
from prong.code.recorded import RecordedCode
from prong.code.snapshots import snapshot
from prong.errors import NotFound, UsageError
from prong.hook import spool
from prong.model.code import DiffStat, TurnKey
from prong.model.record import replace
from prong.model.sessions import Conversation, SessionRef, Turn, TurnState
from prong.testing.home import IsolatedHome


@pytest.fixture
def folder(isolated_home: IsolatedHome) -> Path:
    folder = isolated_home.project("shop")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.fixture
def conversation(isolated_home: IsolatedHome, folder: Path) -> Iterator[Conversation]:
    ClaudeStore([isolated_home.claude]).write_samples(str(folder), datetime.now(UTC))
    with closing(App(needs_programs=False)) as app:
        yield app.sessions.conversation("claude:60309e1e")


@pytest.fixture
def capture(tmp_path: Path) -> Capture:
    return Capture(tmp_path / "state")


def test_by_hand(capture: Capture, conversation: Conversation) -> None:
    assert capture.of(conversation) == {}
    taken = capture.keep(conversation)
    last = conversation.turns[-1]
    assert (taken.turn_id, taken.number) == (last.id, last.index)
    assert capture.of(conversation) == {last.id: taken}


def test_a_turn_keeps_its_snapshot(
    capture: Capture, conversation: Conversation, folder: Path
) -> None:
    first = capture.keep(conversation)
    (folder / "a.txt").write_text("two\n")
    assert capture.keep(conversation).tree == first.tree
    assert capture.keep(conversation, again=True).tree != first.tree


def test_no_git_is_said(capture: Capture, conversation: Conversation, folder: Path) -> None:
    (folder / ".git").rename(folder / "git")
    with pytest.raises(NotFound, match="no code captured"):
        capture.keep(conversation)


def test_the_folder_is_gone(capture: Capture, conversation: Conversation, folder: Path) -> None:
    folder.rename(folder.with_name("moved"))
    with pytest.raises(NotFound, match="no longer exists"):
        capture.keep(conversation)


def test_what_a_hook_kept_is_taken_in_once(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    turn = conversation.turns[0]
    session = conversation.session
    taken = snapshot.take(folder, TurnKey(session.agent, session.id, turn.id))
    assert taken
    where = tmp_path / "state" / "spool"
    about = {"agent": session.agent, "session": session.id}
    spool.append({**about, "snapshot": {"repo": str(taken.repo), "ref": taken.ref}}, where)
    spool.append({**about, "snapshot": {"repo": "/nowhere", "ref": "refs/prong/x/y/z"}}, where)
    spool.append({**about, "snapshot": None}, where)
    assert {id_: one.commit for id_, one in capture.of(conversation).items()} == {
        turn.id: taken.commit
    }
    assert spool.waiting(where) == []


def test_a_repository_that_git_does_not_open(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    """It hides no snapshot of another one, and its own only until it is mended."""
    broken = tmp_path / "broken"
    subprocess.run(["git", "init", "--quiet", str(broken)], check=True)
    session = conversation.session
    where = tmp_path / "state" / "spool"
    first, second = conversation.turns[:2]
    for repository, turn in ((broken, first), (folder, second)):
        taken = snapshot.take(repository, TurnKey(session.agent, session.id, turn.id))
        assert taken
        told = {"repo": str(taken.repo), "ref": taken.ref}
        about = {"agent": session.agent, "session": session.id}
        spool.append({**about, "snapshot": told}, where)
    config = (broken / ".git/config").read_text()
    (broken / ".git/config").write_text("[core")
    assert set(capture.of(conversation)) == {second.id}
    (broken / ".git/config").write_text(config)
    assert set(capture.of(conversation)) == {first.id, second.id}
    assert spool.waiting(where) == []


def test_a_worktree_that_is_gone_leaves_its_snapshots_to_the_repository(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    capture.keep(conversation)
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a")
    subprocess.run([*git, "add", "."], check=True)
    subprocess.run([*git, "commit", "--quiet", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tmp_path / "w")], check=True)
    earlier = replace(conversation, turns=conversation.turns[:1])
    moved = replace(earlier, session=replace(conversation.session, cwd=str(tmp_path / "w")))
    taken = capture.keep(moved)
    assert taken.repo == tmp_path / "w"
    shutil.rmtree(tmp_path / "w")
    assert capture.of(conversation)[taken.turn_id].repo == folder


def test_a_lost_table_is_rebuilt_from_the_repositories(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    taken = capture.keep(conversation)
    (tmp_path / "state" / "state.db").unlink()
    recorded = RecordedCode(tmp_path / "state")
    assert recorded.turn_ids() == set()
    assert capture.rebuild(folder) == 1
    assert recorded.turn_ids() == {taken.turn_id}
    assert capture.of(conversation)[taken.turn_id].commit == taken.commit


def test_a_session_finds_its_own_without_the_table(
    capture: Capture, conversation: Conversation, tmp_path: Path
) -> None:
    taken = capture.keep(conversation)
    (tmp_path / "state" / "state.db").unlink()
    assert capture.of(conversation) == {taken.turn_id: taken}
    assert RecordedCode(tmp_path / "state").turn_ids() == {taken.turn_id}


def test_what_is_recorded_rightly_stays(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    """A repository does not say in which of its worktrees a snapshot was taken."""
    taken = capture.keep(conversation)
    git = ("git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a")
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "one"], check=True)
    subprocess.run([*git, "worktree", "add", "--quiet", str(tmp_path / "w")], check=True)
    assert capture.rebuild(tmp_path / "w") == 1
    assert capture.of(conversation)[taken.turn_id].repo == folder


def test_a_snapshot_that_was_deleted(
    capture: Capture, conversation: Conversation, folder: Path
) -> None:
    taken = capture.keep(conversation)
    assert capture.of(conversation)
    git = ("git", "-C", str(folder))
    subprocess.run([*git, "update-ref", "-d", taken.ref], check=True)
    subprocess.run([*git, "gc", "--quiet", "--prune=now"], check=True)
    assert capture.of(conversation) == {}
    assert capture.with_code(conversation).turns[-1].snapshot is None
    assert capture.forget_deleted() == 1
    assert capture.forget_deleted() == 0


class TestCatchingUp:
    """The end of a turn that was interrupted or failed is told by no hook."""

    @pytest.fixture
    def interrupted(self, capture: Capture, conversation: Conversation) -> Conversation:
        """A session whose code is kept, but not that of its last turn, which is just over."""
        self.taken(capture, conversation, conversation.turns[-2])
        return ended(conversation, timedelta(minutes=1))

    def taken(self, capture: Capture, conversation: Conversation, turn: Turn) -> None:
        earlier = replace(conversation, turns=conversation.turns[: turn.index])
        capture.keep(earlier)

    def test_soon_after(self, capture: Capture, interrupted: Conversation, folder: Path) -> None:
        (folder / "a.txt").write_text("one\ntwo\n")
        last = capture.with_code(interrupted).turns[-1]
        assert last.snapshot
        assert last.changes == DiffStat(files=1, added=1, removed=0)
        assert capture.of(interrupted)[last.id].commit == last.snapshot

    def test_not_long_after(self, capture: Capture, interrupted: Conversation) -> None:
        late = ended(interrupted, timedelta(hours=2))
        assert capture.with_code(late).turns[-1].snapshot is None

    def test_not_while_the_agent_works(self, capture: Capture, interrupted: Conversation) -> None:
        running = with_last(interrupted, state=TurnState.RUNNING)
        assert capture.with_code(running).turns[-1].snapshot is None

    def test_not_where_no_code_is_kept(self, capture: Capture, conversation: Conversation) -> None:
        fresh = ended(conversation, timedelta(minutes=1))
        assert capture.with_code(fresh).turns[-1].snapshot is None

    def test_not_for_a_turn_of_the_parent(
        self, capture: Capture, interrupted: Conversation
    ) -> None:
        inherited = len(interrupted.turns)
        fork = replace(interrupted, session=replace(interrupted.session, inherited=inherited))
        assert capture.with_code(fork).turns[-1].snapshot is None


def test_a_fork_began_where_its_source_did(
    capture: Capture, conversation: Conversation, folder: Path
) -> None:
    capture.keep(replace(conversation, turns=()))
    (folder / "a.txt").write_text("one\ntwo\n")
    first = replace(conversation, turns=conversation.turns[:1])
    capture.keep(first)
    fork = replace(
        first, session=replace(conversation.session, ref=SessionRef("claude", "another"))
    )
    assert capture.with_code(fork).turns[0].changes == DiffStat(files=1, added=1, removed=0)


def test_a_fork_that_began_with_other_code(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    """Its first turn changed what lay there when it was first asked, whatever its source had."""
    fork = replace(
        conversation,
        turns=conversation.turns[:2],
        session=replace(
            conversation.session,
            ref=SessionRef("claude", "another"),
            parent=conversation.session.ref,
            inherited=1,
        ),
    )
    capture.keep(replace(conversation, turns=conversation.turns[:1]))
    (folder / "a.txt").write_text("quite\nanother\n")
    asked = conversation.turns[1].started
    start = snapshot.take(folder, TurnKey("claude", "another", TurnKey.START), when=asked)
    assert start
    told = {"repo": str(start.repo), "ref": start.ref}
    where = tmp_path / "state" / "spool"
    spool.append({"agent": "claude", "session": "another", "snapshot": told}, where)
    (folder / "b.txt").write_text("new\n")
    capture.keep(fork)
    assert capture.with_code(fork).turns[1].changes == DiffStat(files=1, added=1, removed=0)
    assert TurnKey.START not in capture.of(conversation)


def test_a_fork_without_a_turn_of_its_own(capture: Capture, conversation: Conversation) -> None:
    """What lies in its folder is not the code of a turn of its source."""
    inherited = len(conversation.turns)
    fork = replace(conversation, session=replace(conversation.session, inherited=inherited))
    with pytest.raises(UsageError, match="no turn of its own"):
        capture.keep(fork)


def test_an_agent_that_went_to_another_repository(
    capture: Capture, conversation: Conversation, folder: Path
) -> None:
    """There is nothing to compare, not even where the objects of one are in the other."""
    capture.keep(replace(conversation, turns=conversation.turns[:1]))
    inner = folder / "inner"
    subprocess.run(["git", "clone", "--quiet", str(folder), str(inner)], check=True)
    (inner / "x").write_text("x\n")
    moved = replace(conversation, turns=conversation.turns[:2])
    capture.keep(replace(moved, session=replace(moved.session, cwd=str(inner))))
    second = capture.with_code(moved).turns[1]
    assert second.snapshot
    assert second.changes is None


def test_a_repository_that_was_moved(
    capture: Capture,
    conversation: Conversation,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    taken = capture.keep(conversation)
    folder.rename(tmp_path / "moved")
    assert capture.of(conversation)[taken.turn_id].repo == folder
    monkeypatch.chdir(tmp_path / "moved")
    assert capture.of(conversation)[taken.turn_id].repo == tmp_path / "moved"


def ended(conversation: Conversation, ago: timedelta) -> Conversation:
    return with_last(conversation, ended=datetime.now(UTC) - ago)


def with_last(conversation: Conversation, **changes: Any) -> Conversation:
    *others, last = conversation.turns
    return replace(conversation, turns=(*others, replace(last, **changes)))
