"""`%N`: the hits of the last search, kept for each terminal."""

import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from prong.errors import NotFound
from prong.model.search import Hit, Passage
from prong.model.sessions import Session, SessionRef, Turn, TurnKind
from prong.search.last_search import HitPlace, LastSearch, place_of, terminal_name


def hit(number: int, turn: str | None = "t", *, index: int | None = 2, gone: bool = False) -> Hit:
    ref = SessionRef("claude", f"s{number}")
    session = None if gone else Session(ref, "/x.jsonl", "title")
    found = Turn(index, turn, TurnKind.HUMAN, "prompt") if turn else None
    return Hit(session, ref, found, 0.5, Passage("text"), "builtin")


@pytest.fixture
def search(tmp_path: Path) -> LastSearch:
    return LastSearch(tmp_path / "searches", "here")


def test_hits_are_named_by_their_numbers(search: LastSearch) -> None:
    assert search.keep([hit(1), hit(2, "u")])
    assert search.hit(1) == HitPlace("claude", "s1", "t")
    assert str(search.hit(2)) == "claude:s2@u"


def test_a_hit_without_a_turn_is_a_session(search: LastSearch) -> None:
    search.keep([hit(1, None)])
    assert str(search.hit(1)) == "claude:s1"


def test_an_id_of_digits_would_be_a_number() -> None:
    assert str(place_of(hit(1, "17"))) == "claude:s1@2"
    assert str(place_of(hit(1, "x17"))) == "claude:s1@x17"
    assert str(place_of(hit(1, "1234567890"))) == "claude:s1@1234567890", "no number is that long"


def test_the_next_search_takes_its_place(search: LastSearch) -> None:
    search.keep([hit(1), hit(2)])
    search.keep([hit(3)])
    assert search.hit(1).session == "s3"
    with pytest.raises(NotFound, match="had one hit"):
        search.hit(2)


@pytest.mark.parametrize("number", [0, 3, 10**8])
def test_a_number_beyond_the_last_says_which_there_are(search: LastSearch, number: int) -> None:
    search.keep([hit(1), hit(2)])
    with pytest.raises(NotFound, match="had 2 hits") as caught:
        search.hit(number)
    assert caught.value.hint == "%1 to %2"


def test_before_any_search_and_after_an_empty_one(search: LastSearch) -> None:
    with pytest.raises(NotFound, match="no search was made in this terminal yet"):
        search.hit(1)
    search.keep([])
    with pytest.raises(NotFound, match="found nothing") as caught:
        search.hit(1)
    assert "prong find" in (caught.value.hint or "")


def test_a_session_that_is_gone(search: LastSearch) -> None:
    search.keep([hit(1, gone=True), hit(2)])
    with pytest.raises(NotFound, match="no longer exists"):
        search.hit(1)
    assert search.hit(2).session == "s2"


def test_terminals_do_not_disturb_each_other(tmp_path: Path) -> None:
    one, other = LastSearch(tmp_path, "one"), LastSearch(tmp_path, "other")
    one.keep([hit(1)])
    other.keep([hit(2)])
    assert (one.hit(1).session, other.hit(1).session) == ("s1", "s2")


def test_the_file_is_private_and_nothing_else_is_left(search: LastSearch, tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        search.keep([hit(1)])
        search.keep([hit(2)])
    finally:
        os.umask(old)
    [file] = (tmp_path / "searches").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_old_searches_are_swept(search: LastSearch, tmp_path: Path) -> None:
    LastSearch(tmp_path / "searches", "closed").keep([hit(1)])
    LastSearch(tmp_path / "searches", "open").keep([hit(1)])
    month = time.time() - 31 * 24 * 3600
    [closed, _] = (tmp_path / "searches").iterdir()
    os.utime(closed, (month, month))
    search.keep([hit(1)])
    assert not closed.exists()
    assert len(list((tmp_path / "searches").iterdir())) == 2


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"hits": [[1, 2, 3]]}', b'{"hits": [["a"]]}', b'{"hits": 7}']
)
def test_a_damaged_file_is_as_none(search: LastSearch, tmp_path: Path, content: bytes) -> None:
    search.keep([hit(1)])
    [file] = (tmp_path / "searches").iterdir()
    file.write_bytes(content)
    with pytest.raises(NotFound, match="no search was made"):
        search.hit(1)
    assert search.keep([hit(1)])
    assert search.hit(1)


def test_where_nothing_can_be_written_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "searches").write_text("a file")
    assert not LastSearch(tmp_path / "searches", "here").keep([hit(1)])


def test_what_a_killed_process_left_behind_is_not_in_the_way(
    search: LastSearch, tmp_path: Path
) -> None:
    search.keep([hit(1)])
    [file] = (tmp_path / "searches").iterdir()
    file.with_suffix(f".{os.getpid()}").touch()
    assert search.keep([hit(2)])
    assert search.hit(1).session == "s2"


@pytest.mark.parametrize("fails", ["replace", "unlink"])
def test_a_search_that_cannot_be_kept_is_not_taken_for_the_one_before(
    search: LastSearch, fails: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    search.keep([hit(1)])

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    for name in {"replace", fails}:
        monkeypatch.setattr(Path, name, full)
    assert not search.keep([hit(2)])
    with pytest.raises(NotFound, match="no search was made in this terminal yet"):
        search.hit(1)


def test_panes_have_names_of_their_own() -> None:
    tmux = {"TMUX": "/run/tmux,1,0", "TMUX_PANE": "%1", "KITTY_WINDOW_ID": "1"}
    names = [
        terminal_name(tmux),
        terminal_name({**tmux, "TMUX_PANE": "%2"}),
        terminal_name({**tmux, "TMUX": "/run/tmux,2,0"}),
        terminal_name({"KITTY_WINDOW_ID": "1"}),
        terminal_name({"WEZTERM_PANE": "1"}),
        terminal_name({"TERM_SESSION_ID": "1"}),
        terminal_name({}),
    ]
    assert len(set(names)) == len(names)
    # What is in a pane inside of a window belongs to the pane.
    assert terminal_name({**tmux, "KITTY_WINDOW_ID": "2"}) == names[0]


def test_elsewhere_it_is_the_session_of_processes() -> None:
    code = "from prong.search.last_search import *; print(terminal_name({}), end='')"

    def name(*, alone: bool) -> str:
        argv = [sys.executable, "-c", code]
        done = subprocess.run(
            argv, capture_output=True, text=True, check=True, start_new_session=alone
        )
        return done.stdout

    assert name(alone=False) == name(alone=False) == terminal_name({})
    assert name(alone=True) != terminal_name({})


def test_a_session_whose_leader_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def outside(_: int) -> int:
        return 0  # in a container the shell may be

    monkeypatch.setattr(os, "getsid", outside)
    assert terminal_name({}) == "session 0 "


def test_what_is_kept_is_no_more_than_names(search: LastSearch, tmp_path: Path) -> None:
    search.keep([hit(1)])
    [file] = (tmp_path / "searches").iterdir()
    assert json.loads(file.read_bytes()) == {"hits": [["claude", "s1", "t"]]}
