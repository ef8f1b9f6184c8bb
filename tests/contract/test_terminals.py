"""One suite over all terminals.

tmux and kitty are the real ones. WezTerm and iTerm2 are doubles: what their documentation says,
done by a private tmux. They show that prong uses the documented verbs, not that the programs do.
"""

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.model.forks import Launch
from prong.model.workers import Pane, Placement
from prong.terminals.base import (
    CanAttach,
    CanCapture,
    CanFocus,
    CanPress,
    CanSend,
    HasExitCodes,
    Terminal,
)
from prong.terminals.iterm2 import ITerm2
from prong.terminals.kitty import Kitty
from prong.terminals.paneless import Exec, Print
from prong.terminals.tmux import Tmux
from prong.terminals.wezterm import WezTerm
from prong.testing.home import IsolatedHome
from prong.testing.terminal_contract import LaunchContract, TerminalContract
from tests.terminals import iterm2_double, wezterm_double
from tests.terminals.kitty_lab import KittyLab
from tests.terminals.tmux_lab import TmuxLab

AGENT = {"CLAUDECODE": "1", "CLAUDE_CODE_ENTRYPOINT": "cli", "CLAUDE_CODE_SESSION_ID": "x"}
"""What a terminal has that was started by an agent."""

OPEN = "import sys, pickle; one, *given = pickle.load(sys.stdin.buffer); one.open(*given)"


class TestTmux(TerminalContract):
    """From outside: panes go into a detached session."""

    capabilities = frozenset({CanSend, CanPress, CanCapture, HasExitCodes, CanFocus, CanAttach})

    @pytest.fixture
    def terminal(self, isolated_home: IsolatedHome, tmp_path: Path) -> Iterator[Terminal]:
        with TmuxLab(tmp_path) as lab:
            yield Tmux({**isolated_home.env(AGENT), "PRONG_TMUX_SOCKET": lab.socket})


class TestTmuxInside(TestTmux):
    """In a pane of a server that an agent started."""

    @pytest.fixture
    def terminal(self, isolated_home: IsolatedHome, tmp_path: Path) -> Iterator[Terminal]:
        with TmuxLab(tmp_path) as lab:
            yield Tmux({**isolated_home.env(), **lab.inside(isolated_home.env(AGENT))})


@pytest.mark.xdist_group("kitty")
class TestKitty(TerminalContract):
    capabilities = frozenset({CanSend, CanPress, CanCapture, CanFocus})
    brackets = False  # the version of Debian 12 cannot

    @pytest.fixture(scope="module")
    def kitty(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KittyLab]:
        with KittyLab(tmp_path_factory.mktemp("kitty"), AGENT) as lab:
            yield lab

    @pytest.fixture
    def terminal(self, isolated_home: IsolatedHome, kitty: KittyLab) -> Terminal:
        return Kitty({**isolated_home.env(), **kitty.inside()})

    def test_a_socket_is_found_without_the_pid_at_its_end(
        self, kitty: KittyLab, isolated_home: IsolatedHome, tmp_path: Path
    ) -> None:
        outside = Kitty(isolated_home.env({"PRONG_KITTY_SOCKET": kitty.listens}))
        assert not outside.is_here
        pane = outside.open(Launch(("sleep", "60"), tmp_path), Placement.TAB)
        assert pane.server == kitty.socket
        assert pane in outside.alive([pane])
        outside.close(pane)


class TestWezTermDouble(TerminalContract):
    capabilities = frozenset({CanSend, CanPress, CanCapture, CanFocus})
    tells_pids = False

    @pytest.fixture
    def terminal(self, isolated_home: IsolatedHome, tmp_path: Path) -> Iterator[Terminal]:
        programs = wezterm_double.install(tmp_path / "bin")
        with TmuxLab(tmp_path) as lab:
            around = lab.inside(isolated_home.env(AGENT))
            env = isolated_home.env({"TERM_PROGRAM": "WezTerm", "WEZTERM_PANE": "0"})
            env["PATH"] = f"{programs}:{env['PATH']}"
            yield WezTerm({**env, "WEZTERM_UNIX_SOCKET": around["TMUX"].split(",")[0]})


class TestITerm2Double(TerminalContract):
    capabilities = frozenset({CanSend, CanPress, CanCapture, CanFocus})
    brackets = False  # text comes as though it was typed

    @pytest.fixture
    def terminal(
        self, isolated_home: IsolatedHome, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Terminal]:
        monkeypatch.setitem(sys.modules, "iterm2", iterm2_double)
        with TmuxLab(tmp_path) as lab:
            lab.inside(isolated_home.env(AGENT))
            monkeypatch.setattr(iterm2_double, "socket", lab.socket)
            here = "w0t0p0:00000000-0000-0000-0000-000000000000"
            env = {"TERM_PROGRAM": "iTerm.app", "ITERM_SESSION_ID": here}
            yield ITerm2(isolated_home.env(env))


class TestPrint(LaunchContract):
    @pytest.fixture
    def terminal(self, isolated_home: IsolatedHome) -> Terminal:
        return Print(isolated_home.env(AGENT))

    def start(self, terminal: Terminal, launch: Launch) -> Pane:
        pane = terminal.open(launch, Placement.TAB)
        env = os.environ | AGENT
        # By standard input: a line is no word, and may be as long as it likes.
        given = pane.id.encode("utf-8", "surrogateescape")
        subprocess.run(["sh"], input=given, env=env, check=True)
        return pane


class TestExec(LaunchContract):
    @pytest.fixture
    def terminal(self, isolated_home: IsolatedHome) -> Terminal:
        return Exec(isolated_home.env(AGENT))

    def start(self, terminal: Terminal, launch: Launch) -> Pane:
        given = pickle.dumps((terminal, launch, Placement.TAB))
        subprocess.run([sys.executable, "-c", OPEN], input=given, env=os.environ, check=True)
        return Pane(terminal.name, "this")
