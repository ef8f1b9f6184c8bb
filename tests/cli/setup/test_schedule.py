"""`prong schedule`. What the schedulers are given is in tests/unit/setup/test_schedule.py."""

import json
import os
import pty
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import Shell, prong

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"
CRONTAB = """#!/bin/sh
case "$1" in
-l) [ -e "$HOME/table" ] || { echo "no crontab for ada" >&2; exit 1; }; cat "$HOME/table" ;;
-r) rm "$HOME/table" ;;
-) cat > "$HOME/table" ;;
esac
"""


@pytest.fixture
def cron(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """Nothing but a stand-in for cron is there."""
    folder = shell.home.root / "bin"
    folder.mkdir()
    for name in ("sh", "cat", "rm"):
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    (folder / "crontab").write_text(CRONTAB)
    (folder / "crontab").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return shell


def table(shell: Shell) -> Path:
    return shell.home.root / "table"


def example(title: str) -> list[dict[str, Any]]:
    section = PAGE.read_text().partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    return [json.loads(part.partition("```")[0]) for part in section.split("```json\n")[1:]]


def test_the_whole_way(cron: Shell) -> None:
    table(cron).write_bytes(b"0 5 * * * mine\n")
    assert cron.ok("schedule", "status") == "nothing is scheduled\n"
    shown = cron.ok("schedule", "install", "--dry-run", "--export", "out")
    assert "+17 */6 * * * " in shown
    assert f"export --json -- {cron.home.root}/out >/dev/null" in shown
    assert table(cron).read_bytes() == b"0 5 * * * mine\n"
    text = cron.ok("schedule", "install", "--yes", "--every", "12h")
    assert text.endswith("cron: installed\n")
    assert "17 */12 * * *" in table(cron).read_text()
    assert cron.ok("schedule", "install", "--yes", "--every", "12h") == "cron: already installed\n"
    status = cron.ok("schedule", "status")
    assert status.startswith("cron: installed, every 12h, next 2")
    assert " index --json >/dev/null\n" in status
    assert cron.ok("schedule", "remove", "--yes").endswith("cron: removed\n")
    assert table(cron).read_bytes() == b"0 5 * * * mine\n"
    assert cron.ok("schedule", "remove", "--yes") == "nothing is scheduled\n"


def test_what_cron_runs_works(cron: Shell) -> None:
    cron.simple(1)
    folder = cron.home.root / "out 50%"
    cron.ok("schedule", "install", "--yes", "--export", str(folder))
    (line,) = (line for line in table(cron).read_text().splitlines() if not line.startswith("#"))
    command = line.split(None, 5)[5].replace("\\%", "%")
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        env=cron.home.env({"PATH": "/usr/bin:/bin"}),
        cwd=cron.home.root,
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(folder.glob("*/*.md"))


def test_what_cron_runs_refreshes_a_collection_of_qmd(cron: Shell) -> None:
    cron.simple(1)
    folder, collection = cron.home.root / "out", "claude-sessions"
    words = ("schedule", "install", "--yes", "--export", str(folder), "--collection", collection)
    assert "not on PATH" in cron.problem(5, *words)["message"]
    qmd = cron.home.root / "npm" / "qmd"
    qmd.parent.mkdir()
    # Found by the job, whose PATH has no such folder; beside it is what runs it.
    script = f'echo "$*" >> {cron.home.root}/calls; echo "claude-sessions (qmd://claude-sessions/)"'
    qmd.write_text(f"#!/usr/bin/env node\n{script}\n")
    (qmd.parent / "node").write_text('#!/bin/sh\nexec /bin/sh "$@"\n')
    for program in (qmd, qmd.parent / "node"):
        program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(qmd.parent), prepend=os.pathsep)
        cron.ok(*words)
    (line,) = (line for line in table(cron).read_text().splitlines() if not line.startswith("#"))
    done = subprocess.run(
        ["/bin/sh", "-c", line.split(None, 5)[5].replace("\\%", "%")],
        env=cron.home.env({"PATH": "/usr/bin:/bin"}),
        cwd=cron.home.root,
        capture_output=True,
        check=False,
        timeout=60,
    )
    calls = (cron.home.root / "calls").read_text()
    assert "update" in calls, (done, calls)
    assert list(folder.glob("*/*.md"))
    assert cron.problem(2, *words[:3], "--collection", "x")["hint"] == "--export DIR"


def test_nothing_is_written_without_a_yes(cron: Shell) -> None:
    result = cron.run("schedule", "install")
    assert result.exit_code == 2
    assert "--yes" in result.stderr
    assert not table(cron).exists()
    assert cron.problem(2, "schedule", "install")["code"] == "usage"


def test_json_has_the_fields_that_are_documented(cron: Shell) -> None:
    planned, status = example("schedule")
    for words in (["install", "--dry-run"], ["install", "--yes"], ["remove", "--yes"]):
        found = cron.json("schedule", *words)["schedules"]
        assert list(found[0]) == list(planned["schedules"][0])
        assert list(found[0]["files"][0]) == list(planned["schedules"][0]["files"][0])
        assert found[0]["changed"] is (words[1] == "--yes")
    found = cron.json("schedule", "status")["schedules"]
    assert [one["with"] for one in found] == ["launchd", "systemd", "cron"]
    assert list(found[0]) == list(status["schedules"][0])
    assert cron.json("schedule", "remove", "--yes") == {"schedules": []}


@pytest.mark.parametrize("every", ["", "6", "5m", "0h", "99999h", "6x", "40d"])
def test_a_span_that_is_none(cron: Shell, every: str) -> None:
    assert "try 6h" in cron.fails(2, "schedule", "install", "--every", every)


def test_no_scheduler_at_all(shell: Shell) -> None:
    text = shell.fails(5, "schedule", "install", "--yes", PATH="/nowhere")
    assert "no scheduler found" in text
    assert "index" in text


def test_the_named_one_is_missing(cron: Shell) -> None:
    assert "systemctl is not on PATH" in (
        cron.fails(5, "schedule", "install", "--with", "systemd", "--yes")
    )


def answer(shell: Shell, word: bytes, *words: str) -> tuple[int, bytes]:
    """Type a command in a terminal, and a word when it asks; the status, and what was shown."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        prong("schedule", *words), stdin=slave, stdout=slave, stderr=slave, env=shell.env()
    )
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    os.write(master, word + b"\n")
    status = process.wait(30)
    os.close(master)
    return status, shown


def test_a_person_is_asked(cron: Shell) -> None:
    status, shown = answer(cron, b"n", "install")
    assert status == 130
    assert b"17 */6 * * *" in shown
    assert not table(cron).exists()
    assert answer(cron, b"y", "install")[0] == 0
    assert table(cron).exists()
    assert answer(cron, b"", "remove")[0] == 130
    assert answer(cron, b"y", "remove")[0] == 0
    assert not table(cron).exists()
