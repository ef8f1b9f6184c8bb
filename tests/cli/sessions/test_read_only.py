"""Rule 1: reading never writes. The sessions lie on a mount that nobody can write to.

CI runs as root, for whom a folder without write permission is no obstacle; a read-only mount is.
"""

import hashlib
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import API, SNIFFER, Shell, prong

COMMANDS = [
    ["list", "--all"],
    ["list", "--json"],
    ["show", API],
    ["show", SNIFFER, "--full"],
    ["show", API, "--raw"],
    ["turns", API, "--all"],
    ["tree", "--all"],
    ["doctor"],
]
SEARCH = ["find", "redis", "counters"]

FREEZE = """
set -e
for root in "$1" "$2"; do
    mount --bind "$root" "$root"
    mount -o remount,bind,ro "$root"
    if touch "$root/written" 2>/dev/null; then exit 99; fi
done
shift 2
exec "$@"
"""


def state_of(*roots: Path) -> dict[str, tuple[str, int, int]]:
    """Every file and folder: its bytes, when it was written, its mode."""
    state: dict[str, tuple[str, int, int]] = {}
    for root in roots:
        for path in [root, *sorted(root.rglob("*"))]:
            stat = path.stat()
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
            state[str(path)] = (digest, stat.st_mtime_ns, stat.st_mode)
    return state


def frozen(shell: Shell, *words: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command in a mount namespace in which both roots are read-only."""
    roots = [str(shell.home.claude), str(shell.home.codex)]
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", FREEZE, "sh", *roots, *prong(*words)],
        env=shell.env(),
        capture_output=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("words", [*COMMANDS, SEARCH], ids=shlex.join)
def test_every_command_works_on_a_read_only_mount(samples: Shell, words: list[str]) -> None:
    before = state_of(samples.home.claude, samples.home.codex)
    result = frozen(samples, *words)
    assert result.returncode == 0, result.stderr
    assert result.stdout
    assert state_of(samples.home.claude, samples.home.codex) == before


def test_it_says_the_same_as_on_one_that_can_be_written(samples: Shell) -> None:
    for words in COMMANDS[:-1]:
        assert frozen(samples, *words).stdout == samples.process(*words).stdout


def test_nothing_changes_where_it_could(samples: Shell) -> None:
    before = state_of(samples.home.claude, samples.home.codex)
    for words in [*COMMANDS, SEARCH]:
        assert samples.process(*words).returncode == 0
    assert state_of(samples.home.claude, samples.home.codex) == before


def test_a_home_that_cannot_be_written_at_all(samples: Shell) -> None:
    """Then there is no cache, and everything works without."""
    roots = [str(samples.home.root)] * 2
    for words in COMMANDS:
        result = subprocess.run(
            ["unshare", "-rm", "sh", "-c", FREEZE, "sh", *roots, *prong(*words)],
            env=samples.env(),
            capture_output=True,
            check=False,
            timeout=60,
        )
        assert (result.returncode, result.stderr) == (0, b"")
    assert not (samples.home.root / ".cache/prong").exists()
