"""Shell completion: the scripts, and what they ask for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import API, PARSER, SNIFFER, WINDOW, Shell


def asked(shell: Shell, line: str, *, kind: str = "bash", **env: str) -> list[str]:
    """What the shell is told when Tab is pressed at the end of the line."""
    words = line.split(" ")
    result = shell.process(
        env=shell.env(
            _PRONG_COMPLETE=f"{kind}_complete",
            COMP_WORDS=line,
            COMP_CWORD=str(len(words) - 1),
            **env,
        )
    )
    assert result.stderr == b""
    return [line for line in result.stdout.decode().splitlines() if line]


@pytest.fixture
def bin_(shell: Shell) -> Path:
    """A folder with a `prong` in it."""
    folder = shell.home.root / "bin"
    folder.mkdir()
    program = folder / "prong"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m prong "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return folder


def bash(shell: Shell, bin_: Path, line: str, *, breaks: str | None = None) -> list[str]:
    """What bash would offer, with its own way of breaking words."""
    script = (
        'eval "$(prong completion bash)"; [ -n "$2" ] && COMP_WORDBREAKS="$2"; '
        'COMP_LINE="$1" COMP_POINT=${#1}; _prong_completion prong "" ""; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    result = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", line, breaks or ""],
        env=shell.env(PATH=f"{bin_}:/usr/bin:/bin"),
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    )
    return result.stdout.splitlines()


@pytest.mark.parametrize("kind", ["bash", "zsh", "fish"])
def test_a_script_for_each_shell(shell: Shell, kind: str) -> None:
    text = shell.ok("completion", kind)
    assert f"_PRONG_COMPLETE={kind}_complete" in text
    if shutil.which(kind):
        subprocess.run([kind, "-n"], input=text, text=True, check=True, timeout=60)


def test_commands_and_options(shell: Shell) -> None:
    assert asked(shell, "prong t") == ["plain,turns", "plain,tree"]
    assert "plain,--since" in asked(shell, "prong list --")
    assert asked(shell, "prong list --agent c") == ["plain,claude", "plain,codex"]
    assert asked(shell, "prong completion z") == ["plain,zsh"]
    assert asked(shell, "prong list --project s")[0].startswith("dir,")


def test_sessions_newest_first(samples: Shell) -> None:
    assert asked(samples, "prong show claude:")[:2] == [
        f"plain,claude:{WINDOW}",
        f"plain,claude:{API}",
    ]
    assert asked(samples, "prong turns 603") == [f"plain,claude:{API}"]
    assert len(asked(samples, "prong tree ")) == 5


def test_a_path_is_left_to_the_shell(samples: Shell) -> None:
    assert asked(samples, "prong show ./x") == ["file,./x"]


def test_titles_are_shown_where_the_shell_can(samples: Shell) -> None:
    found = asked(samples, "prong show 603", kind="zsh")
    assert found == ["plain", f"claude\\:{API}", "Rate limiting for the public API"]


def test_a_wrong_configuration_stays_silent(samples: Shell) -> None:
    path = samples.home.root / ".config/prong/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("colour = 1", encoding="utf-8")
    assert asked(samples, "prong show 603") == []
    assert asked(samples, "prong list --agent c") == []


def test_there_is_an_end_to_it(shell: Shell) -> None:
    for number in range(60):
        shell.simple(number)
    assert len(asked(shell, "prong show ")) == 50


def test_bash_completes_across_the_colon(samples: Shell, bin_: Path) -> None:
    # bash breaks words at colons and replaces only what comes after the last one.
    assert bash(samples, bin_, "prong show claude:603") == [API]
    assert bash(samples, bin_, "prong show codex:") == [SNIFFER, PARSER]
    assert bash(samples, bin_, "prong show 603") == [f"claude:{API}"]
    assert bash(samples, bin_, "prong sho") == ["show"]


def test_bash_that_does_not_break_at_colons(samples: Shell, bin_: Path) -> None:
    offered = bash(samples, bin_, "prong show claude:603", breaks=" \t\n")
    assert offered == [f"claude:{API}"]


def test_bash_really_does_it(samples: Shell, bin_: Path) -> None:
    from tests.drivers.tmux import Tmux

    rc = samples.home.root / "rc"
    rc.write_text('PS1="$ "\neval "$(prong completion bash)"\n', encoding="utf-8")
    env = samples.env(PATH=f"{bin_}:/usr/bin:/bin")
    with Tmux(samples.home.root) as terminal:
        argv = ["bash", "--noprofile", "--rcfile", str(rc)]
        terminal.start(argv, samples.home.root, env)
        terminal.wait_for("$")
        terminal.send_text("prong show claude:603")
        terminal.key("Tab")
        terminal.wait_for(f"$ prong show claude:{API}")


def test_hits_of_the_last_search(samples: Shell) -> None:
    pane = {"TMUX": "/s,1,0", "TMUX_PANE": "%7"}
    assert asked(samples, "prong fork %", **pane) == []
    samples.ok("find", "share the request counters", "--fast", "-n", "2", **pane)
    offered = asked(samples, "prong fork %", **pane)
    assert [one.partition(",")[2] for one in offered] == ["%1", "%2"]
    assert len(asked(samples, "prong fork %2", **pane)) == 1
