"""`prong index`: everything is read, and it is told what is there."""

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from prong.model.search import IndexState
from prong.search.service import SearchService
from tests.cli.shell import Shell
from tests.cli.terminal import on_terminal
from tests.interrupts import ending, unmeasured


def folder(shell: Shell) -> Path:
    return shell.home.root / ".cache" / "prong" / "search"


def known(monkeypatch: pytest.MonkeyPatch, state: IndexState) -> None:
    """Let the index be like this."""

    def index_state(_: SearchService) -> IndexState:
        return state

    monkeypatch.setattr(SearchService, "state", index_state)


def test_it_says_what_it_covers(samples: Shell) -> None:
    text = samples.ok("index")
    assert re.fullmatch(r"5 sessions, \d+ turns, \d+ texts embedded, \d+ kB\n", text)
    found = samples.json("index")["index"]
    assert (found["sessions"], found["complete"], found["behind"]) == (5, True, 0)
    assert found["vectors"] > 10
    assert found["size"] > 1000


def test_without_the_model(samples: Shell) -> None:
    assert "meaning" not in samples.ok("index", "--no-vectors")
    assert samples.json("index", "--no-vectors")["index"]["vectors"] == 0


def test_the_model_is_in_nobodys_way(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered: list[int] = []
    monkeypatch.setattr("os.nice", lowered.append)
    samples.ok("index", "--no-vectors")
    assert lowered == []
    samples.ok("index")
    assert lowered == [10]


def test_what_is_new_comes_in(samples: Shell) -> None:
    before = samples.json("index", "--no-vectors")["index"]
    samples.simple(7, "Zyzzyva")
    after = samples.json("index", "--no-vectors")["index"]
    assert (after["sessions"], after["turns"]) == (before["sessions"] + 1, before["turns"] + 1)


def test_rebuild(samples: Shell) -> None:
    samples.ok("index", "--no-vectors")
    assert samples.json("index", "--no-vectors", "--rebuild")["index"]["sessions"] == 5
    assert samples.json("find", "redis", "--fast")["hits"]


def test_it_may_be_deleted(samples: Shell) -> None:
    samples.ok("index", "--no-vectors")
    shutil.rmtree(folder(samples))
    assert samples.json("find", "redis", "--fast")["hits"]


def test_status_does_nothing(samples: Shell) -> None:
    assert samples.ok("index", "--status").startswith("no index yet; run prong index")
    assert samples.json("index", "--status")["index"]["age_s"] is None
    samples.ok("index", "--no-vectors")
    samples.simple(7)
    text = samples.ok("index", "--status")
    assert re.search(r"^covers +5 sessions, \d+ turns$", text, re.MULTILINE)
    assert re.search(r"^size +\d+ kB$", text, re.MULTILINE)
    assert re.search(r"^as of +\d+ s ago$", text, re.MULTILINE)


def test_status_goes_with_nothing_else(samples: Shell) -> None:
    assert "--status" in samples.fails(2, "index", "--status", "--rebuild")


def test_what_is_missing_is_told(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, IndexState(1, 2, 3, behind=4, busy=True))
    text = samples.ok("index", "--status")
    assert re.search("^status  4 files changed since: prong index$", text, re.MULTILINE)
    assert re.search("^busy    another prong is updating it$", text, re.MULTILINE)


def test_an_index_that_was_never_finished(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    known(monkeypatch, IndexState(1, 2, None))
    assert "status  it is not complete: run prong index" in samples.ok("index", "--status")


def test_texts_that_the_model_has_not_read_are_told(samples: Shell) -> None:
    samples.ok("index", "--no-vectors")
    text = samples.ok("index", "--status")
    assert re.search(r"^pending \d+ texts to embed: prong index$", text, re.MULTILINE)
    assert samples.json("index", "--status")["index"]["unread"] > 10
    samples.ok("index")
    assert "pending" not in samples.ok("index", "--status")


def test_a_cache_that_cannot_be_written(samples: Shell) -> None:
    """It says so, and why; a search works all the same, and says what it costs."""
    (samples.home.root / ".cache").mkdir(exist_ok=True)
    (samples.home.root / ".cache" / "prong").write_text("in the way")
    text = samples.fails(5, "index")
    assert f"the index cannot be written to {folder(samples)}: " in text
    assert "XDG_CACHE_HOME" in text
    assert samples.problem(5, "index")["code"] == "unavailable"
    assert samples.ok("index", "--status").startswith("no index: ")
    result = samples.run("find", "redis")
    assert (result.exit_code, result.stdout[:2]) == (0, "%1")
    assert result.stderr.count("every search reads all sessions") == 1
    assert samples.json("find", "redis")["index"]["kept"] is False


def test_no_sessions(shell: Shell) -> None:
    assert shell.ok("index").startswith("0 sessions, 0 turns")


def test_on_a_terminal_nothing_of_the_bar_stays(samples: Shell) -> None:
    shown = on_terminal(samples, "index", "--no-vectors")
    assert shown.status == 0
    assert [line for line in shown.lines if line.strip()][-1].startswith("5 sessions")
    assert not any("[" in line for line in shown.lines)


def test_ctrl_c_says_that_what_is_done_is_usable(
    samples: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: Any, **__: Any) -> IndexState:
        raise KeyboardInterrupt

    monkeypatch.setattr(SearchService, "index", stopped)
    result = samples.run("index")
    assert (result.exit_code, result.stdout) == (130, "")
    assert "what was read can be searched" in result.stderr


WAITS_IN_THE_MIDDLE = """
import signal
from itertools import count
from prong.__main__ import run
from prong.search.index import Update

add, calls = Update.add, count(1)

def add_or_wait(*given):
    if next(calls) == 200:
        signal.pause()
    return add(*given)

Update.add = add_or_wait
run()
"""


def test_a_real_ctrl_c(shell: Shell) -> None:
    for number in range(1, 400):
        shell.simple(number, f"Prompt number {number} " + "about limits " * 200)
    screen, terminal = pty.openpty()
    argv = [sys.executable, "-c", WAITS_IN_THE_MIDDLE, "index"]
    process = subprocess.Popen(
        argv, env=unmeasured(shell.env()), stdout=subprocess.PIPE, stderr=terminal
    )
    os.close(terminal)
    with ending(process), os.fdopen(screen, "rb", buffering=0) as shows:
        shown = b""
        while b"reading" not in shown:
            shown += shows.read(1 << 16)
        process.send_signal(signal.SIGINT)
        with suppress(OSError):  # how the other end of a terminal is closed
            while piece := shows.read(1 << 16):
                shown += piece
        assert process.communicate(timeout=60) == (b"", None)
    assert process.returncode == 130
    assert b"prong index continues from there" in shown
    # The next search has everything.
    found = shell.json("find", "number", "399", "limits", "--fast")
    assert found["index"]["sessions"] == 399
    assert found["hits"]
