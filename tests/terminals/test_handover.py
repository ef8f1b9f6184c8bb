"""What is handed over to a pane, and names of keys."""

import os
import stat
import subprocess
import time
from pathlib import Path

import pytest

from prong import paths
from prong.agents import argv
from prong.errors import External, Unavailable, UsageError
from prong.model.forks import Launch
from prong.model.workers import Placement
from prong.terminals import handover, keys
from prong.terminals.handover import handed_over
from prong.terminals.paneless import Exec, Print
from prong.testing.home import IsolatedHome


@pytest.fixture(autouse=True)
def _home(isolated_home: IsolatedHome) -> None: ...


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    with handed_over(Launch(("true",), tmp_path)) as words:
        status = Path(words[-1]).stat()
        assert stat.S_IMODE(status.st_mode) == 0o600
        assert stat.S_IMODE(Path(words[-1]).parent.stat().st_mode) == 0o700
        assert subprocess.run(words, check=True)
        assert not Path(words[-1]).exists()


def test_what_nobody_came_for_is_removed(tmp_path: Path) -> None:
    with handed_over(Launch(("true",), tmp_path)) as old, handed_over(Launch(("x",), tmp_path)):
        day = time.time() - 86_400
        os.utime(old[-1], (day, day))
    with handed_over(Launch(("true",), tmp_path)):
        assert not Path(old[-1]).exists()
        assert len(list((paths.state_dir() / "launches").iterdir())) == 2


def test_the_launcher_tells_what_it_cannot_start(tmp_path: Path) -> None:
    for launch, message in (
        (Launch(("no-such-program",), tmp_path), "'no-such-program'"),
        (Launch(("true",), tmp_path / "none"), str(tmp_path / "none")),
    ):
        with handed_over(launch) as words:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 127
        assert message in done.stderr
        assert "No such file or directory" in done.stderr


def test_the_program_is_looked_for_where_the_launch_says(tmp_path: Path) -> None:
    program = tmp_path / "mine"
    program.write_text("#!/bin/sh\nexit 5\n")
    program.chmod(0o755)
    with handed_over(Launch(("mine",), tmp_path, {"PATH": str(tmp_path)})) as words:
        assert subprocess.run(words, check=False).returncode == 5


def test_what_no_program_can_be_given(tmp_path: Path) -> None:
    for env in ({"A=B": "c"}, {"": "c"}, {"A": "\0"}):
        with pytest.raises(UsageError), handed_over(Launch(("true",), tmp_path, env)):
            pass


def test_the_same_variables_are_taken_away_without_a_terminal() -> None:
    assert handover.FOREIGN == argv._FOREIGN


def test_exec_of_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Unavailable, match="no-such-program"):
        Exec({"PATH": ""}).open(Launch(("no-such-program",), tmp_path), Placement.TAB)
    with pytest.raises(External, match="cannot go to"):
        Exec({}).open(Launch(("true",), tmp_path / "none"), Placement.TAB)
    with pytest.raises(External, match="cannot start"):
        Exec({}).open(Launch((str(tmp_path),), tmp_path), Placement.TAB)


def test_print_leaves_out_what_is_set_anyway(tmp_path: Path) -> None:
    environ = {"ANTHROPIC_API_KEY": "secret", "CLAUDECODE": "1", "PATH": "/bin"}
    launch = Launch(("claude", "a b"), tmp_path, {**environ, "PRONG_WORKER": "calm-otter"})
    command = Print(environ).open(launch, Placement.TAB).id
    assert command == f"cd -- {tmp_path} && env -u CLAUDECODE PRONG_WORKER=calm-otter claude 'a b'"
    plain = Print({}).open(Launch(("claude",), tmp_path), Placement.TAB)
    assert plain.id == f"cd -- {tmp_path} && claude"


@pytest.mark.parametrize(
    ("name", "typed"),
    [
        *[
            ("Enter", "\r"),
            ("Return", "\r"),
            ("Escape", "\x1b"),
            ("Esc", "\x1b"),
            ("BTab", "\x1b[Z"),
        ],
        *[
            ("C-c", "\x03"),
            ("C-C", "\x03"),
            ("C-[", "\x1b"),
            ("M-x", "\x1bx"),
            ("M-Enter", "\x1b\r"),
        ],
        *[("y", "y"), (";", ";"), ("é", "é"), ("1", "1"), ("-", "-"), ("F5", "\x1b[15~")],
    ],
)
def test_keys(name: str, typed: str) -> None:
    assert keys.typed(name) == typed


@pytest.mark.parametrize("name", ["", "enter", "Foo", "C-", "C-cc", "M-", "C-é", "\n", "\x03"])
def test_no_key(name: str) -> None:
    with pytest.raises(UsageError) as raised:
        keys.named(name)
    assert "Enter" in (raised.value.hint or "")
