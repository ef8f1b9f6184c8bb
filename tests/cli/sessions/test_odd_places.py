"""Disks that are full, and homes whose name is not UTF-8: prong answers all the same."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.shell import API, Shell, prong

LIST = ("list", "--all", "--json")

FULL = """
set -e
mount -t tmpfs -o size=64k none "$1"
dd if=/dev/zero of="$1/filled" bs=4096 2>/dev/null || true
shift
exec "$@"
"""


@pytest.mark.parametrize("words", [LIST, ("find", "redis counters", "--json")])
def test_a_full_disk_still_answers(samples: Shell, words: tuple[str, ...]) -> None:
    expected = json.loads(samples.process(*words).stdout)
    for name in (".cache", ".local"):
        subprocess.run(["rm", "-rf", str(samples.home.root / name)], check=True)
        (samples.home.root / name).mkdir()
    argv = prong(*words)
    for name in (".cache", ".local"):
        argv = ["sh", "-c", FULL, "sh", str(samples.home.root / name), *argv]
    done = subprocess.run(
        ["unshare", "-rm", *argv], env=samples.env(), capture_output=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    key = "sessions" if words is LIST else "hits"
    found = json.loads(done.stdout)
    assert len(found[key]) == len(expected[key])
    if words is not LIST:
        assert b"the index cannot be written to" in done.stdout


def test_a_home_that_is_not_utf8(samples: Shell) -> None:
    old = samples.home.root
    new = Path(os.fsdecode(os.fsencode(old) + b"-\xff"))
    old.rename(new)
    env = {
        name: value.replace(str(old), str(new), 1) if value.startswith(str(old)) else value
        for name, value in samples.env().items()
    }
    for words in (
        LIST,
        ("find", "redis", "--json"),
        ("turns", API, "--json"),
        ("doctor", "--json"),
        ("fork", f"{API}@1", "--code", "none", "--into", str(new), "--json"),
    ):
        done = samples.process(*words, env=env, cwd=new)
        assert b"Traceback" not in done.stderr, done.stderr.decode(errors="replace")
        assert done.returncode in ({0, 1} if words[0] == "doctor" else {0}), done.stderr
        json.loads(done.stdout.decode("utf-8"))
    assert samples.process("list", "--all", env=env, cwd=new).returncode == 0
