"""Where the agent programs are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.drivers.codex_cli import native_program
from tests.drivers.programs import MissingProgram, find_program


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_the_variable_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = program(tmp_path / "given")
    program(tmp_path / "tests/agents/node_modules/.bin/agent")
    monkeypatch.setenv("AGENT", str(given))
    assert find_program("agent", "AGENT", tmp_path) == given


def test_a_variable_that_names_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT", str(tmp_path / "nothing"))
    with pytest.raises(MissingProgram, match="AGENT names"):
        find_program("agent", "AGENT", tmp_path)


def test_then_the_project_upwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT", raising=False)
    found = program(tmp_path / "tests/agents/node_modules/.bin/agent")
    inner = tmp_path / "a/b"
    inner.mkdir(parents=True)
    assert find_program("agent", "AGENT", inner) == found


def test_then_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AGENT", raising=False)
    found = program(tmp_path / "bin/agent")
    monkeypatch.setenv("PATH", str(found.parent))
    assert find_program("agent", "AGENT", tmp_path) == found
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(MissingProgram, match="not installed"):
        find_program("agent", "AGENT", tmp_path)


def test_the_native_program_behind_a_wrapper(tmp_path: Path) -> None:
    wrapper = program(tmp_path / "@openai/codex/bin/codex.js")
    assert native_program(wrapper) == wrapper
    native = program(tmp_path / "@openai/codex-linux-x64/vendor/triple/bin/codex")
    assert native_program(wrapper) == native
    assert native_program(native) == native
