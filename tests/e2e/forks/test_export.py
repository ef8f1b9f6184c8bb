"""Exports read by the real qmd, which has no models here."""

import json
import subprocess
from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome
from prong.testing.wait import PATIENCE
from tests.cli.shell import Shell, prong
from tests.drivers.programs import MissingProgram
from tests.drivers.qmd_cli import QmdCli


def export(qmd: QmdCli, out: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        prong("export", str(out), "--index", "--json"),
        env=qmd.env(),
        cwd=qmd.home.root,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def test_qmd_finds_what_was_exported(tmp_path: Path) -> None:
    home = IsolatedHome.create(tmp_path / "home")
    try:
        qmd = QmdCli(home)
    except MissingProgram as missing:
        pytest.skip(str(missing))
    out = tmp_path / "exports"
    id_ = Shell(home).simple(1, "Teach the zebra to count")
    first = export(qmd, out)
    assert first.returncode == 5
    hint = json.loads(first.stderr)["hint"]
    assert hint == f'qmd collection add {out} --name claude-sessions --mask "**/*.md"'
    qmd.run("collection", "add", str(out), "--name", "claude-sessions", "--mask", "**/*.md")
    Shell(home).simple(2, "Paint the giraffe")
    second = export(qmd, out)
    assert second.returncode == 0, second.stderr
    done = [(one["mode"], one["skipped"]) for one in json.loads(second.stdout)["qmd"]]
    assert done == [("update", False), ("embed", True)]
    for word, name in (("zebra", id_), ("giraffe", "00000002")):
        rows = json.loads(qmd.run("search", word, "-c", "claude-sessions", "--json"))
        assert [name in row["file"] for row in rows] == [True]
