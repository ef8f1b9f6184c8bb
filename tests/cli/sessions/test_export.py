"""`prong export`."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import API, Shell

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "json.md"
SECRET = "ghp_" + "aB3dE5gH7j" * 4


@pytest.fixture
def out(shell: Shell) -> Path:
    return shell.home.root / "exports"


def qmd(shell: Shell, monkeypatch: pytest.MonkeyPatch, script: str = "") -> Path:
    """A stand-in for qmd that notes how it was called; it has the collection claude-sessions."""
    folder = shell.home.root / "bin"
    folder.mkdir()
    calls = shell.home.root / "qmd.calls"
    calls.touch()
    program = folder / "qmd"
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {shlex.quote(str(calls))}\n'
        f'[ "$1 $2" = "collection list" ] && echo "claude-sessions (qmd://claude-sessions/)"\n'
        f"{script}\nexit 0\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return calls


def model(shell: Shell) -> None:
    folder = shell.home.root / ".cache" / "qmd" / "models"
    folder.mkdir(parents=True)
    (folder / "embedding.gguf").touch()


def test_the_second_time_nothing_changed(samples: Shell, out: Path) -> None:
    assert re.fullmatch(r"\d+ sessions in ~/exports: \d+ changed\n", samples.ok("export", str(out)))
    files = {path: path.stat().st_mtime_ns for path in out.rglob("*.md")}
    assert len(files) == len(samples.json("list")["sessions"])
    assert samples.ok("export", str(out)).endswith(": 0 changed\n")
    assert files == {path: path.stat().st_mtime_ns for path in out.rglob("*.md")}


def test_only_some_sessions(samples: Shell, out: Path) -> None:
    samples.ok("export", str(out), "--agent", "codex")
    assert {json.loads(line) for line in _agents(out)} == {"codex"}
    samples.ok("export", str(out), "--project", "/nowhere", "--since", "3d")
    assert {json.loads(line) for line in _agents(out)} == {"codex"}
    everything = samples.json("export", str(out), "--all")
    assert everything["hidden"] == 0
    assert everything["sessions"] == len(samples.json("list", "--all")["sessions"])


def _agents(out: Path) -> list[str]:
    found = [re.search(r"^Agent: (.*)$", p.read_text(), re.MULTILINE) for p in out.rglob("*.md")]
    return [json.dumps(match[1]) for match in found if match]


def test_a_dry_run_names_the_files_and_writes_none(samples: Shell, out: Path) -> None:
    text = samples.ok("export", str(out), "--dry-run")
    assert re.search(rf"^new +~/exports/\S+/{API}\.md$", text, re.MULTILINE)
    assert "would change" in text
    assert not out.exists()


def test_json_has_the_fields_that_are_documented(samples: Shell, out: Path) -> None:
    found = samples.json("export", str(out))
    section = PAGE.read_text().partition("\n## export\n")[2].partition("\n## ")[0]
    shown: dict[str, Any] = json.loads(section.partition("```json\n")[2].partition("```")[0])
    assert list(found) == list(shown)
    assert list(found["changed"][0]) == list(shown["changed"][0])
    assert all(f"`{name}`" in section for name in found)
    assert samples.json("export", str(out))["changed"] == []


def test_what_is_left_alone_is_told(samples: Shell, out: Path) -> None:
    samples.ok("export", str(out))
    (path,) = out.rglob(f"{API}.md")
    path.write_text("mine")
    (out / ".prong-export.json").unlink()
    result = samples.run("export", str(out))
    assert result.exit_code == 0
    assert "1 were left alone:" in result.stderr
    assert f"{API}.md: prong did not write it, or it was changed since" in result.stderr


def test_what_is_gone_is_told_and_removed_when_asked_for(shell: Shell, out: Path) -> None:
    first, _ = shell.simple(1), shell.simple(2)
    shell.ok("export", str(out))
    (source,) = shell.home.claude.rglob(f"{first}.jsonl")
    source.unlink()
    assert "1 export of deleted sessions: kept" in shell.run("export", str(out)).stderr
    assert "remove " in shell.ok("export", str(out), "--prune", "--dry-run")
    assert "1 export of deleted sessions: removed" in (
        shell.run("export", str(out), "--prune").stderr
    )
    assert not list(out.rglob(f"{first}.md"))


def test_secrets(shell: Shell, out: Path) -> None:
    shell.simple(1, f"use {SECRET}")
    shell.ok("export", str(out))
    (path,) = out.rglob("*.md")
    assert SECRET not in path.read_text()
    shell.ok("export", str(out), "--no-mask")
    assert SECRET in path.read_text()


def test_no_sessions(shell: Shell, out: Path) -> None:
    assert shell.ok("export", str(out)) == "0 sessions in ~/exports: 0 changed\n"


def test_qmd_is_told(samples: Shell, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = qmd(samples, monkeypatch)
    model(samples)
    found = samples.json("export", str(out), "--index")
    assert [(one["mode"], one["skipped"]) for one in found["qmd"]] == [
        ("update", False),
        ("embed", False),
    ]
    assert calls.read_text().splitlines()[-2:] == ["update", "embed -c claude-sessions"]


def test_without_a_model_qmd_embed_is_skipped(
    samples: Shell, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = qmd(samples, monkeypatch)
    result = samples.run("export", str(out), "--index")
    assert result.exit_code == 0
    assert "qmd embed was skipped: no model (*.gguf) in" in result.stderr
    assert "embed" not in calls.read_text()


def test_without_qmd_the_export_is_done_all_the_same(
    samples: Shell, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = samples.run("export", str(out), "--index")
    assert result.exit_code == 5
    assert re.search(r": \d+ changed\n$", result.stdout)
    assert "the sessions are exported, but qmd is not on PATH" in result.stderr
    assert list(out.rglob("*.md"))


def test_a_collection_that_is_not_there(
    samples: Shell, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = qmd(samples, monkeypatch)
    result = samples.run("export", str(out), "--index", "--collection", "other")
    assert result.exit_code == 5
    assert f'qmd collection add {out} --name other --mask "**/*.md"' in result.stderr
    assert "update" not in calls.read_text()


def test_a_qmd_that_fails_is_told(
    samples: Shell, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    qmd(samples, monkeypatch, '[ "$1" = update ] && { echo "Error: locked" >&2; exit 3; }')
    result = samples.run("export", str(out), "--index")
    assert result.exit_code == 8
    assert "the sessions are exported, but qmd update ended with status 3" in result.stderr
    assert "locked" in result.stderr


def test_odd_names_reach_no_terminal(shell: Shell) -> None:
    shell.simple(1)
    text = shell.ok("export", str(shell.home.root / "a\x1b[31mb"))
    assert "\x1b" not in text
