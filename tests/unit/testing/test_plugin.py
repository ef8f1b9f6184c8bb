"""The pytest plug-ins themselves: missing programs are skipped, and in CI a skip is a failure."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome

ROOT = Path(__file__).parents[3]

STORY = """
import pytest

def test_skip():
    pytest.skip("because")

@pytest.mark.skipif(True, reason="conditionally")
def test_skipif():
    pass

@pytest.mark.xfail(reason="known")
def test_xfail():
    assert False

def test_good():
    pass
"""

MISSING = """
def test_claude(claude_cli):
    pass

def test_codex(codex_cli):
    pass

def test_tmux(tmux):
    pass
"""

MODULE = """
import pytest

pytest.skip("the whole module", allow_module_level=True)
"""


def run(home: IsolatedHome, folder: Path, story: str, **env: str) -> str:
    """Run a test file in another pytest, with nothing but our plug-ins; what it printed."""
    (folder / "test_story.py").write_text(story)
    # The plug-in is named here, so that the test does not depend on how prong is installed.
    argv = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    argv += ["-p", "no:prong", "-p", "prong.testing.plugin"]
    argv += ["-p", "tests.drivers.fixtures", str(folder)]
    path = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": str(folder)}
    done = subprocess.run(
        argv, cwd=folder, env=home.env(path | env), capture_output=True, text=True, check=False
    )
    return done.stdout + done.stderr


def test_skips_stay_skips(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    assert "1 passed, 2 skipped, 1 xfailed" in run(isolated_home, tmp_path, STORY)


@pytest.mark.parametrize("value", ["", "0"])
def test_an_empty_switch_is_off(isolated_home: IsolatedHome, tmp_path: Path, value: str) -> None:
    assert "2 skipped" in run(isolated_home, tmp_path, STORY, PRONG_NO_SKIP=value)


def test_in_ci_a_skip_fails(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    output = run(isolated_home, tmp_path, STORY, PRONG_NO_SKIP="1")
    assert "PRONG_NO_SKIP is set, and this was skipped: Skipped: because" in output
    assert "this was skipped: Skipped: conditionally" in output
    assert "1 passed, 1 xfailed" in output
    assert "skipped," not in output


def test_in_ci_a_module_that_skips_itself_fails(
    isolated_home: IsolatedHome, tmp_path: Path
) -> None:
    assert "the whole module" in run(isolated_home, tmp_path, MODULE)
    output = run(isolated_home, tmp_path, MODULE, PRONG_NO_SKIP="1")
    assert "this was skipped: Skipped: the whole module" in output
    assert "1 error" in output


def test_missing_programs_are_skipped(isolated_home: IsolatedHome, tmp_path: Path) -> None:
    output = run(isolated_home, tmp_path, MISSING)
    assert "3 skipped" in output
    for name in ("claude", "codex", "tmux"):
        assert f"{name} is not installed" in output


def test_nothing_heavy_is_imported_by_the_plugin() -> None:
    code = "import sys, prong.testing.plugin; print(sorted(n for n in sys.modules if 'prong' in n))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['prong', 'prong.testing', 'prong.testing.plugin']"
