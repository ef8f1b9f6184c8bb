"""kitty, WezTerm and iTerm2 when they are not there, or not as they should be."""

import socket
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.errors import External, ProngError, Unavailable
from prong.model.forks import Launch
from prong.model.workers import Pane, Placement
from prong.terminals.iterm2 import ITerm2
from prong.terminals.kitty import Kitty
from prong.terminals.wezterm import WezTerm
from prong.testing.home import IsolatedHome
from tests.terminals import iterm2_double, wezterm_double
from tests.terminals.tmux_lab import TmuxLab

TRUE = ("true",)


@pytest.fixture
def listener(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "k"))
        listener.listen()
        yield listener


def answering(listener: socket.socket, answer: bytes) -> None:
    """Give one answer to whoever comes first."""

    def answering() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(answer)

    threading.Thread(target=answering, daemon=True).start()


def test_a_kitty_that_does_not_listen(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    terminal = Kitty(isolated_home.env())
    assert "listen_on" in (terminal.problem() or "")
    with pytest.raises(Unavailable) as raised:
        terminal.open(Launch(TRUE, tmp_path), Placement.TAB)
    assert "allow_remote_control" in (raised.value.hint or "")


def test_a_kitty_that_is_gone(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    place = f"unix:{tmp_path / 'k'}"
    terminal = Kitty(isolated_home.env({"KITTY_LISTEN_ON": place}))
    assert "no kitty answers" in (terminal.problem() or "")
    pane = Pane("kitty", "1", place)
    assert terminal.alive([pane]) == {}
    terminal.close(pane)
    with pytest.raises(Unavailable):
        terminal.send(pane, "x")
    with pytest.raises(Unavailable):
        terminal.open(Launch(TRUE, tmp_path), Placement.TAB)
    assert not list(isolated_home.root.rglob("launches/*"))


def test_a_socket_that_a_dead_kitty_left_is_not_taken(tmp_path: Path) -> None:
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(tmp_path / "k-4194999"))  # above the largest pid
    left.close()
    terminal = Kitty({"PRONG_KITTY_SOCKET": f"unix:{tmp_path / 'k'}"})
    assert "no kitty answers" in (terminal.problem() or "")


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"", "no answer"),
        (b"\x1bP@kitty-cmd{nothing\x1b\\", "no answer"),
        (b'\x1bP@kitty-cmd{"ok": false, "error": "Remote control is disabled"}\x1b\\', "disabled"),
    ],
)
def test_a_kitty_with_a_strange_answer(
    answer: bytes, message: str, listener: socket.socket, tmp_path: Path
) -> None:
    answering(listener, answer)
    pane = Pane("kitty", "1", f"unix:{tmp_path / 'k'}")
    with pytest.raises(External, match=message):
        Kitty({}).capture(pane)


def test_a_kitty_that_does_not_answer(
    listener: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.terminals.kitty.PATIENCE", 0.2)
    pane = Pane("kitty", "1", f"unix:{tmp_path / 'k'}")
    with pytest.raises(External, match="did not answer"):
        Kitty({}).alive([pane])


def test_a_kitty_on_the_network(tmp_path: Path) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        host, port = listener.getsockname()
        answering(listener, b'\x1bP@kitty-cmd{"ok": true, "data": "screen  \\n"}\x1b\\')
        assert Kitty({}).capture(Pane("kitty", "1", f"tcp:{host}:{port}")) == "screen"


def test_no_wezterm(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    terminal = WezTerm({**isolated_home.env(), "PATH": str(tmp_path)})
    assert terminal.problem() == "wezterm is not installed"
    with pytest.raises(Unavailable) as raised:
        terminal.open(Launch(TRUE, tmp_path), Placement.WINDOW)
    assert raised.value.hint


def test_a_wezterm_double_that_does_not_run(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    env = isolated_home.env({"WEZTERM_UNIX_SOCKET": str(tmp_path / "none")})
    env["PATH"] = f"{wezterm_double.install(tmp_path / 'bin')}:{env['PATH']}"
    terminal = WezTerm(env)
    assert "no WezTerm answers" in (terminal.problem() or "")
    pane = Pane("wezterm", "0", env["WEZTERM_UNIX_SOCKET"])
    assert terminal.alive([pane]) == {}
    terminal.close(pane)
    with pytest.raises(Unavailable):
        terminal.capture(pane)
    with pytest.raises(Unavailable):
        terminal.open(Launch(TRUE, tmp_path), Placement.WINDOW)
    assert not list(isolated_home.root.rglob("launches/*"))


def test_a_wezterm_double_from_outside_opens_windows(
    isolated_home: IsolatedHome, tmp_path: Path
) -> None:
    with TmuxLab(tmp_path) as lab:
        lab.inside(isolated_home.env())
        env = isolated_home.env({"WEZTERM_UNIX_SOCKET": lab.socket})
        env["PATH"] = f"{wezterm_double.install(tmp_path / 'bin')}:{env['PATH']}"
        terminal = WezTerm(env)
        assert not terminal.is_here
        pane = terminal.open(Launch(("sleep", "60"), tmp_path), Placement.SPLIT)
        assert pane in terminal.alive([pane])


def test_iterm2_without_its_package(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    terminal = ITerm2(isolated_home.env())
    assert "pip install iterm2" in (terminal.problem() or "")
    assert terminal.alive([Pane("iterm2", "x")]) == {}
    terminal.close(Pane("iterm2", "x"))
    with pytest.raises(Unavailable) as raised:
        terminal.open(Launch(TRUE, tmp_path), Placement.TAB)
    assert "Python API" in (raised.value.hint or "")


def test_an_iterm2_double_that_does_not_run(
    isolated_home: IsolatedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "iterm2", iterm2_double)
    monkeypatch.setattr(iterm2_double, "socket", None)
    terminal = ITerm2(isolated_home.env())
    assert "no iTerm2 answers" in (terminal.problem() or "")
    with pytest.raises(ProngError):
        terminal.open(Launch(TRUE, tmp_path), Placement.TAB)
    assert not list(isolated_home.root.rglob("launches/*"))
