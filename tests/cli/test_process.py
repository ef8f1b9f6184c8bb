"""How the program behaves among others: signals, pipes, terminals, encodings."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.shell import API, Shell, prong
from tests.cli.terminal import on_terminal, run_on_terminal
from tests.interrupts import ending, unmeasured

SLOW = """
import sys, time
from prong.agents.claude.store import ClaudeStore
def scan(self, cache):
    print("scanning", file=sys.stderr, flush=True)
    time.sleep(60)
ClaudeStore.scan = scan
from prong.cli import main
main(sys.argv[1:])
"""


def interrupted(shell: Shell, argv: list[str], signal_when: bytes) -> subprocess.Popen[bytes]:
    """A process that got a Ctrl-C after it had said something on stderr or stdout."""
    process = subprocess.Popen(
        argv, env=unmeasured(shell.env()), stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout
    said = b""
    while signal_when not in said:
        piece = os.read(process.stdout.fileno(), 1 << 16)
        assert piece, said
        said += piece
    process.send_signal(signal.SIGINT)
    return process


@pytest.mark.parametrize(
    "words", [["list"], ["show", "x"], ["tree"], ["doctor"], ["list", "--json"]]
)
def test_ctrl_c_exits_with_130_and_no_traceback(shell: Shell, words: list[str]) -> None:
    process = interrupted(shell, [sys.executable, "-c", SLOW, *words], b"scanning")
    with ending(process):
        rest, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert rest.strip() == b""


@pytest.mark.parametrize("words", [["list"], ["show", API], ["turns", API], ["demo"], ["--help"]])
def test_a_reader_that_goes_away_is_no_error(samples: Shell, words: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as pipe:
        result = subprocess.run(
            prong(*words),
            env=samples.env(),
            stdout=pipe,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert (result.returncode, result.stderr) == (0, b"")


def test_head_of_a_long_list(shell: Shell) -> None:
    for number in range(200):
        shell.simple(number, "word " * 40, age=number)
    script = '"$@" | head -1; exit "${PIPESTATUS[0]}"'
    result = subprocess.run(
        ["bash", "-c", script, "bash", *prong("list")],
        env=shell.env(),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, b"")
    assert result.stdout.startswith(b"claude:00000000")


def test_a_full_disk_is_reported_once(samples: Shell) -> None:
    with Path("/dev/full").open("wb") as full:
        result = subprocess.run(
            prong("list"),
            env=samples.env(),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert result.returncode == 1
    assert result.stderr.splitlines() == [b"prong: [Errno 28] No space left on device"]


def test_colours_on_a_terminal_only(samples: Shell) -> None:
    shown = on_terminal(samples, "list")
    assert shown.status == 0
    assert "\x1b[36mclaude:60309e1e" in shown.output
    assert b"\x1b" not in samples.process("list").stdout
    assert b"\x1b" not in samples.process("show", "none").stderr


def test_no_color(samples: Shell) -> None:
    for words in (["list"], ["turns", API], ["show", API], ["tree"], ["doctor"], ["show", "none"]):
        assert "\x1b" not in on_terminal(samples, *words, NO_COLOR="1").output
    # The convention: an empty value is none.
    assert "\x1b" in on_terminal(samples, "list", NO_COLOR="").output


@pytest.mark.parametrize(("columns", "lines"), [(40, 10), (80, 5), (140, 5)])
def test_the_size_of_the_terminal_counts(samples: Shell, columns: int, lines: int) -> None:
    shown = on_terminal(samples, "list", size=(24, columns), NO_COLOR="1").lines
    assert len(shown) == lines
    assert max(map(len, shown)) <= columns


def test_a_terminal_that_does_not_know_its_size(samples: Shell) -> None:
    shown = on_terminal(samples, "list", size=(0, 0), NO_COLOR="1").lines
    assert len(shown) == 5
    assert max(map(len, shown)) <= 80


def test_on_a_terminal_a_list_has_an_end(shell: Shell) -> None:
    for number in range(60):
        shell.simple(number, age=number)
    shown = on_terminal(shell, "list", NO_COLOR="1").lines
    assert len(shown) == 51
    assert shown[-1] == "10 more: prong list --limit 60"
    assert len(shell.process("list").stdout.splitlines()) == 60


def test_json_on_a_terminal_is_for_eyes_too(samples: Shell) -> None:
    text = "\n".join(on_terminal(samples, "list", "--json").lines)
    assert len(json.loads(text)["sessions"]) == 5
    assert '\n  "sessions": [' in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_an_encoding_that_lacks_signs(shell: Shell, encoding: str) -> None:
    shell.simple(1, "日本語 ─ 🎉 é")
    env = shell.env(PYTHONIOENCODING=encoding, PYTHONUTF8="0")
    assert shell.process("list", env=env).returncode == 0
    assert shell.process("show", "claude:00000001", env=env).returncode == 0
    assert shell.process("show", "日本", env=env).returncode == 3
    result = shell.process("list", "--json", env=env)
    assert json.loads(result.stdout)["sessions"][0]["title"] == "日本語 ─ 🎉 é"


def test_python_m_prong_is_prong(samples: Shell) -> None:
    assert samples.process("list").stdout.decode() == samples.ok("list")
    result = samples.process("show")
    assert result.returncode == 2
    assert b"try: prong show --help" in result.stderr


def test_what_takes_long_says_so_on_a_terminal_and_goes_away(samples: Shell) -> None:
    code = (
        "import sys, prong.cli.output as output; output._PATIENCE_SECONDS = 0.0\n"
        "from prong.session.service import SessionService; import time\n"
        "real = SessionService.list\n"
        "def slow(*words):\n    time.sleep(0.3)\n    return real(*words)\n"
        "SessionService.list = slow\n"
        "from prong.cli import main; main(sys.argv[1:])"
    )
    argv = [sys.executable, "-c", code, "list"]
    text = run_on_terminal(samples, argv, NO_COLOR="1").output
    said, _, rest = text.partition("\r")
    assert said == "reading sessions ..."
    assert rest.lstrip(" \r").startswith("claude:7d1c44a2")
    piped = subprocess.run(argv, env=samples.env(), capture_output=True, check=True, timeout=60)
    assert piped.stderr == b""
