"""The code of turns, as far as the application knows it."""

import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from prong import spool
from prong.agents.claude.sample import write_samples
from prong.app import App
from prong.app.capture import Capture
from prong.errors import NotFound
from prong.model import Conversation, TurnKey
from prong.testing.home import IsolatedHome
from prong.vcs import snapshots


@pytest.fixture
def folder(isolated_home: IsolatedHome) -> Path:
    folder = isolated_home.project("shop")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.fixture
def conversation(isolated_home: IsolatedHome, folder: Path) -> Iterator[Conversation]:
    write_samples(isolated_home.claude, str(folder), datetime.now(UTC))
    with closing(App(needs_programs=False)) as app:
        yield app.conversation(app.sessions()[0])


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
    with pytest.raises(NotFound, match="is gone"):
        capture.keep(conversation)


def test_what_a_hook_kept_is_taken_in_once(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    turn = conversation.turns[0]
    session = conversation.session
    taken = snapshots.take(folder, TurnKey(session.agent, session.id, turn.id))
    assert taken
    where = tmp_path / "state" / "spool"
    spool.append({"snapshot": {"repo": str(taken.repo), "ref": taken.ref}}, where)
    spool.append({"snapshot": {"repo": "/nowhere", "ref": "refs/prong/x/y/z"}}, where)
    spool.append({"snapshot": None}, where)
    assert {id_: one.commit for id_, one in capture.of(conversation).items()} == {
        turn.id: taken.commit
    }
    assert spool.waiting(where) == []


def test_a_lost_table_is_rebuilt_from_the_repositories(
    capture: Capture, conversation: Conversation, folder: Path, tmp_path: Path
) -> None:
    taken = capture.keep(conversation)
    (tmp_path / "state" / "state.db").unlink()
    assert capture.of(conversation) == {}
    assert capture.rebuild([folder]) == 1
    assert capture.of(conversation)[taken.turn_id].commit == taken.commit
