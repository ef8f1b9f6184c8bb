"""The terminal for tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome
from prong.testing.wait import wait_until
from tests.drivers.programs import MissingProgram
from tests.drivers.tmux import Tmux


def test_text_keys_and_screen(tmux: Tmux, isolated_home: IsolatedHome) -> None:
    env = isolated_home.env({"GREETING": "hello there"})
    tmux.start(["sh", "-c", 'echo "$GREETING"; pwd; exec cat'], isolated_home.project(), env)
    screen = tmux.wait_for(isolated_home.project().name)
    assert screen.startswith(f"hello there\n{isolated_home.project()}")
    tmux.send_text("-n $HOME; Enter")
    tmux.key("Enter")
    tmux.wait_for(lambda now: now.count("-n $HOME; Enter") == 2)
    tmux.paste("pasted\u2028text")
    tmux.wait_for("pasted")
    assert tmux.alive()
    assert tmux.pid() > 0
    assert "hello there" in tmux.capture(history=True)
    tmux.key("C-c")
    tmux.wait_gone()
    assert tmux.capture() == ""


def test_only_the_given_environment_arrives(tmux: Tmux, isolated_home: IsolatedHome) -> None:
    env = {"PATH": "/usr/bin:/bin", "ONLY": "this"}
    tmux.start(["sh", "-c", "env; exec cat"], isolated_home.root, env)
    screen = tmux.wait_for("ONLY=this")
    assert "TMUX" not in screen


def test_a_screen_that_does_not_come_is_told(tmux: Tmux, isolated_home: IsolatedHome) -> None:
    tmux.start(["sh", "-c", "echo here; exec cat"], isolated_home.root, isolated_home.env())
    tmux.wait_for("here")
    with pytest.raises(TimeoutError, match="here"):
        tmux.wait_for("never", timeout=0.1)


def test_an_error_of_tmux_is_told(tmux: Tmux) -> None:
    with pytest.raises(RuntimeError, match="send-keys"):
        tmux.key("Enter")


def test_wait_until_gives_up() -> None:
    with pytest.raises(TimeoutError, match="the moon did not come about"):
        wait_until(lambda: False, 0.05, "the moon")


def test_no_tmux(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgram):
        Tmux(tmp_path)
