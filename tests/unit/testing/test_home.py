"""The throw-away home."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from prong.testing.home import ESCAPES, IsolatedHome


def test_everything_lies_below_the_root(tmp_path: Path) -> None:
    home = IsolatedHome.create(tmp_path / "h")
    for value in home.variables().values():
        assert Path(value).is_relative_to(home.root)
        assert Path(value).is_dir()


def test_the_root_is_a_real_path(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert IsolatedHome.create(tmp_path / "link").root == (tmp_path / "real").resolve()


def test_the_environment_of_a_child_holds_nothing_of_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("PRONG_TEST_LEAK", "1")
    env = IsolatedHome.create(tmp_path).env({"EXTRA": "yes"})
    assert env["EXTRA"] == "yes"
    assert not {"ANTHROPIC_API_KEY", "PRONG_TEST_LEAK", "CLAUDE_CONFIG_DIR"} & set(env)


def test_a_project_is_a_repository_with_a_commit(tmp_path: Path) -> None:
    home = IsolatedHome.create(tmp_path)
    path = home.project("one")
    assert home.project("one") == path
    log = subprocess.run(
        ["git", "log", "--format=%s"],
        cwd=path,
        env=home.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert log.stdout == "start\n"


def test_the_fixture_redirects_this_process(isolated_home: IsolatedHome) -> None:
    assert isolated_home.variables().items() <= os.environ.items()
    assert Path.home() == isolated_home.root
    assert not set(ESCAPES) & set(os.environ)
