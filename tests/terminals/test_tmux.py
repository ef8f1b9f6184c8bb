"""tmux: what is only true of it. What is true of all is in tests/contract/test_terminals.py."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prong.errors import External, NotFound, ProngError, Unavailable, Unsupported
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals.tmux import Tmux
from prong.testing.home import IsolatedHome
from prong.testing.terminal_contract import Probe
from prong.testing.wait import wait_until
from tests.terminals.tmux_lab import TmuxLab


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[TmuxLab]:
    with TmuxLab(tmp_path) as lab:
        yield lab


@pytest.fixture
def outside(isolated_home: IsolatedHome, lab: TmuxLab) -> Tmux:
    return Tmux(isolated_home.env({"PRONG_TMUX_SOCKET": lab.socket}))


@pytest.fixture
def inside(isolated_home: IsolatedHome, lab: TmuxLab) -> Tmux:
    return Tmux(isolated_home.env(lab.inside(isolated_home.env())))


def opened(terminal: Tmux, folder: Path, place: Placement = Placement.TAB, **more: str) -> Pane:
    return terminal.open(Launch(("sleep", "600"), folder, env=more, title="a worker"), place)


class Counted:
    """A `tmux` on PATH that notes each of its runs."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "runs"
        self.path = folder / "counted"
        self.path.mkdir()
        program = self.path / "tmux"
        real = shlex.quote(str(shutil.which("tmux")))
        log = shlex.quote(str(self.log))
        program.write_text(f'#!/bin/sh\necho run >>{log}\nexec {real} "$@"\n')
        program.chmod(0o755)

    def runs(self) -> int:
        """How many there were since the last time."""
        count = len(self.log.read_text().splitlines()) if self.log.exists() else 0
        self.log.unlink(missing_ok=True)
        return count


@pytest.mark.perf
def test_how_often_tmux_is_started(
    isolated_home: IsolatedHome, lab: TmuxLab, tmp_path: Path
) -> None:
    counted = Counted(tmp_path)
    env = isolated_home.env({"PRONG_TMUX_SOCKET": lab.socket})
    env["PATH"] = f"{counted.path}:{env['PATH']}"
    terminal = Tmux(env)
    panes = [opened(terminal, tmp_path)]
    assert counted.runs() == 2  # there was no server
    panes.append(opened(terminal, tmp_path))
    assert counted.runs() == 1
    panes += [opened(terminal, tmp_path) for _ in range(48)]
    counted.runs()
    assert len(terminal.alive(panes)) == 50
    assert counted.runs() == 1
    terminal.send(panes[0], "x" * 100_000)
    assert counted.runs() == 1
    here = Tmux({**env, **lab.inside_again(), "PRONG_TMUX_SOCKET": ""})
    assert here.is_here
    for place in Placement:
        opened(here, tmp_path, place)
        assert counted.runs() == 1


def test_many_at_once_are_all_there(outside: Tmux, tmp_path: Path) -> None:
    with ThreadPoolExecutor(15) as threads:
        started = [threads.submit(opened, outside, tmp_path) for _ in range(30)]
        panes = [one.result() for one in started]
    assert len({pane.id for pane in panes}) == 30
    living = outside.alive(panes)
    assert len({live.pid for live in living.values()}) == 30


def test_no_secret_is_seen_by_who_lists_processes(outside: Tmux, tmp_path: Path) -> None:
    probe = Probe(tmp_path)
    launch = probe.launch("stay", (), env={"ANTHROPIC_API_KEY": "sk-very-secret"})
    pane = outside.open(launch, Placement.TAB)
    assert probe.told()["env"]["ANTHROPIC_API_KEY"] == "sk-very-secret"
    listing = ["ps", "-eww", "-o", "args"]
    lines = subprocess.run(listing, capture_output=True, text=True, check=True).stdout
    assert pane.server
    assert pane.server in lines  # the server has the command line of its first pane
    assert "sk-very-secret" not in lines


def test_a_new_server_hands_nothing_of_one_worker_to_the_next(
    isolated_home: IsolatedHome, lab: TmuxLab, tmp_path: Path
) -> None:
    env = {"PRONG_TMUX_SOCKET": lab.socket, "ANTHROPIC_API_KEY": "key", "PRONG_PUSH": "origin"}
    terminal = Tmux(isolated_home.env(env))
    opened(terminal, tmp_path, ANTHROPIC_BASE_URL="http://first", PRONG_WORKER="one")
    probe = Probe(tmp_path)
    terminal.open(probe.launch("stay"), Placement.TAB)
    env = probe.told()["env"]
    strange = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "PRONG_WORKER", "PRONG_PUSH")
    assert not [name for name in strange if name in env]


def test_the_settings_of_others_stay(inside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    panes = {opened(inside, tmp_path, place).id for place in Placement}
    told = lab.tmux("list-panes", "-a", "-F", "#{pane_id} #{remain-on-exit}")
    kept = dict(line.split(" ") for line in told.splitlines())
    assert {name for name, on in kept.items() if on == "on"} == panes
    assert len(kept) == 4


def test_the_person_stays_where_she_is(inside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    which = ("display-message", "-p", "-t", "main", "#{window_id} #{pane_id}")
    before = lab.tmux(*which)
    for place in Placement:
        opened(inside, tmp_path, place)
        assert lab.tmux(*which) == before


def test_where_panes_go(inside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    split = opened(inside, tmp_path, Placement.SPLIT)
    window = opened(inside, tmp_path, Placement.TAB)
    told = lab.tmux("list-panes", "-a", "-F", "#{pane_id} #{window_index} #{window_name}")
    rows = {name: rest for name, _, rest in (row.partition(" ") for row in told.splitlines())}
    assert rows[split.id] == rows["%0"]
    assert rows[window.id] == "1 a worker"


def test_a_split_that_has_no_room_is_a_window(inside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    panes = [opened(inside, tmp_path, Placement.SPLIT) for _ in range(8)]
    windows = lab.tmux("list-windows", "-a", "-F", "#{window_panes}").split()
    assert len(windows) > 1
    assert len(inside.alive(panes)) == 8


def test_a_title_is_only_a_title(inside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    title = "a.b:c #(touch pwned) #{pane_id} 'x';"
    pane = inside.open(Launch(("sleep", "60"), tmp_path, title=title), Placement.TAB)
    told = lab.tmux("display-message", "-p", "-t", pane.id, "#{window_name}")
    assert told.rstrip("\n") == title


def test_a_server_that_is_killed(outside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    pane = opened(outside, tmp_path)
    lab.tmux("kill-server")
    assert outside.alive([pane]) == {}
    assert outside.exit_code(pane) is None
    outside.close(pane)
    for action in (lambda: outside.send(pane, "x"), lambda: outside.capture(pane)):
        with pytest.raises(NotFound):
            action()
    assert outside.alive([opened(outside, tmp_path)])


def test_the_server_around_us_is_killed(inside: Tmux, lab: TmuxLab, tmp_path: Path) -> None:
    lab.tmux("kill-server")
    with pytest.raises(External) as raised:
        opened(inside, tmp_path)
    assert raised.value.hint
    assert not list(tmp_path.rglob("launches/*"))


def test_an_id_that_a_new_server_gives_again_has_another_pid(
    outside: Tmux, lab: TmuxLab, tmp_path: Path
) -> None:
    pane = opened(outside, tmp_path)
    before = outside.alive([pane])[pane]
    lab.tmux("kill-server")
    assert opened(outside, tmp_path) == pane
    assert outside.alive([pane])[pane] not in (before, LivePane())


def test_a_server_that_does_not_answer_is_no_proof_of_death(
    outside: Tmux, lab: TmuxLab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pane = opened(outside, tmp_path)
    server = int(lab.tmux("display-message", "-p", "#{pid}"))
    monkeypatch.setattr("prong.terminals.programs.PATIENCE", 0.3)
    os.kill(server, signal.SIGSTOP)
    try:
        with pytest.raises(External, match="did not answer"):
            outside.alive([pane])
    finally:
        os.kill(server, signal.SIGCONT)


def test_a_socket_where_none_can_be(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    terminal = Tmux(isolated_home.env({"PRONG_TMUX_SOCKET": str(tmp_path / "no/such/folder")}))
    with pytest.raises(ProngError) as raised:
        opened(terminal, tmp_path)
    assert raised.value.hint
    assert not list(isolated_home.root.rglob("launches/*"))


def test_no_tmux(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    terminal = Tmux({**isolated_home.env(), "PATH": str(tmp_path)})
    assert terminal.problem() == "tmux is not installed"
    with pytest.raises(Unavailable) as raised:
        opened(terminal, tmp_path)
    assert raised.value.hint


def test_how_a_killed_program_ended(outside: Tmux, tmp_path: Path) -> None:
    other, pane = opened(outside, tmp_path), opened(outside, tmp_path)
    pid = outside.alive([pane])[pane].pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: outside.exit_code(pane) == 128 + signal.SIGKILL, what="its end")
    assert outside.exit_code(other) is None


def test_a_pane_of_another_server_is_attached_to(
    inside: Tmux, isolated_home: IsolatedHome, tmp_path: Path
) -> None:
    with TmuxLab(tmp_path / "two") as two:
        Path(two.socket).parent.mkdir()
        pane = opened(Tmux(isolated_home.env({"PRONG_TMUX_SOCKET": two.socket})), tmp_path)
        with pytest.raises(Unsupported) as raised:
            inside.focus(pane)
        assert two.socket in (raised.value.hint or "")


def test_attaching_shows_the_pane(
    outside: Tmux, inside: Tmux, lab: TmuxLab, isolated_home: IsolatedHome, tmp_path: Path
) -> None:
    lines = ("print", "hello from the pane")
    probe = Probe(tmp_path)
    opened(outside, tmp_path)
    pane = outside.open(probe.launch(*lines[:1], words=lines[1:]), Placement.TAB)
    probe.told()
    with TmuxLab(tmp_path / "viewer") as viewer:
        Path(viewer.socket).parent.mkdir()
        other = Tmux(isolated_home.env({"PRONG_TMUX_SOCKET": viewer.socket}))
        seen = other.open(outside.attaching(pane), Placement.TAB)
        wait_until(lambda: lines[1] in other.capture(seen), what="the pane in another terminal")
