"""Which terminal a worker gets."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from prong.config import TerminalSettings
from prong.errors import NotFound, Unavailable
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.plugins import BUILT_IN_TERMINALS, Registry
from prong.testing.home import IsolatedHome
from prong.workers.panes import Terminals
from tests.packages import install
from tests.terminals.tmux_lab import TmuxLab


class Drawer:
    """A terminal of somebody else."""

    name = "drawer"
    is_here = False

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ

    def problem(self) -> str | None:
        return "it is stuck"

    def open(self, launch: Launch, place: Placement) -> Pane:
        return Pane(self.name, "1")

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        return {}

    def close(self, pane: Pane) -> None:
        """It is always open."""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[TmuxLab]:
    with TmuxLab(tmp_path) as lab:
        yield lab


@pytest.fixture
def outside(isolated_home: IsolatedHome) -> dict[str, str]:
    return isolated_home.env()


def terminals(environ: Mapping[str, str], **settings: object) -> Terminals:
    return Terminals(Registry(), TerminalSettings(**settings), environ)  # pyright: ignore[reportArgumentType]


def test_outside_of_all_it_is_a_detached_tmux(outside: dict[str, str]) -> None:
    chosen = terminals(outside)
    assert chosen.here() is None
    assert chosen.for_worker().name == "tmux"
    assert not chosen.for_worker().is_here


def test_inside_of_tmux_it_is_that_one(outside: dict[str, str], lab: TmuxLab) -> None:
    chosen = terminals(outside | lab.inside(outside))
    here = chosen.here()
    assert here is not None
    assert here.is_here
    assert chosen.for_worker() is here is chosen.named("tmux")


def test_the_tmux_around_us_is_long_gone(outside: dict[str, str], tmp_path: Path) -> None:
    stale = {"TMUX": f"{tmp_path / 'none'},7,0", "TMUX_PANE": "%0", "TERM": "tmux-256color"}
    assert terminals(outside | stale).here() is None
    assert not terminals(outside | stale).for_worker().is_here


def test_tmux_without_its_program(lab: TmuxLab, outside: dict[str, str], tmp_path: Path) -> None:
    nowhere = outside | lab.inside(outside) | {"PATH": str(tmp_path)}
    assert terminals(nowhere).here() is None
    with pytest.raises(Unavailable) as raised:
        terminals(nowhere).for_worker()
    assert "tmux" in (raised.value.hint or "")
    with pytest.raises(Unavailable, match="tmux is not installed"):
        terminals(nowhere).for_worker("tmux")


def test_a_kitty_that_does_not_listen_is_none(outside: dict[str, str]) -> None:
    inside = outside | {"KITTY_WINDOW_ID": "1", "TERM": "xterm-kitty"}
    assert terminals(inside).here() is None
    assert terminals(inside).for_worker().name == "tmux"
    with pytest.raises(Unavailable, match="listen_on"):
        terminals(inside).for_worker("kitty")


def test_what_is_wanted_comes_first_then_the_config(outside: dict[str, str]) -> None:
    chosen = terminals(outside, default="print", place="split")
    assert chosen.for_worker().name == "print"
    assert chosen.for_worker("exec").name == "exec"
    assert chosen.place() is Placement.SPLIT
    assert chosen.place(Placement.WINDOW) is Placement.WINDOW
    assert terminals(outside).place() is Placement.TAB


def test_one_that_is_not_there(outside: dict[str, str]) -> None:
    with pytest.raises(NotFound) as raised:
        terminals(outside).named("xterm")
    assert all(name in (raised.value.hint or "") for name in BUILT_IN_TERMINALS)


def test_the_terminal_of_a_pane(outside: dict[str, str]) -> None:
    chosen = terminals(outside)
    assert chosen.of(Pane("kitty", "3")).name == "kitty"
    assert chosen.of(Pane("kitty", "3")) is chosen.named("kitty")


def test_every_terminal_has_the_name_it_is_known_by(outside: dict[str, str]) -> None:
    chosen = terminals(outside)
    assert chosen.names() == list(BUILT_IN_TERMINALS)
    assert [chosen.named(name).name for name in chosen.names()] == chosen.names()


def test_a_configured_socket_is_for_who_is_outside(
    outside: dict[str, str], lab: TmuxLab, tmp_path: Path
) -> None:
    lab.inside(outside)
    there = terminals(outside, tmux_socket=Path(lab.socket)).for_worker()
    pane = there.open(Launch(("sleep", "60"), tmp_path), Placement.TAB)
    assert pane.server == lab.socket
    inside = {**outside, **lab.inside_again()}
    assert terminals(inside, tmux_socket=tmp_path / "other").for_worker().is_here


def test_a_plug_in(
    outside: dict[str, str], isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PRONG_PLUGINS", raising=False)
    place = f"{Drawer.__module__}:{Drawer.__name__}"
    points = {"drawer": place, "broken": "no.such:Thing"}
    install(monkeypatch, *points.items(), group="prong.terminals")
    chosen = terminals(outside)
    assert chosen.names() == [*BUILT_IN_TERMINALS, *points]
    assert chosen.named("drawer").name == "drawer"
    with pytest.raises(Unavailable, match="it is stuck"):
        chosen.for_worker("drawer")
    with pytest.raises(Unavailable, match="cannot be loaded"):
        chosen.named("broken")
