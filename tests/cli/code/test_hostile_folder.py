"""Python files in the folder where prong runs are never imported."""

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import prong
from prong.cli.forks import turn_choice
from prong.tui.index_process import ENDED, IndexProcess, Step
from tests.cli.shell import API, Shell

MODULES = ("prong", "json", "click", "sqlite3", "msgspec", "sitecustomize", "encodings")


@pytest.fixture
def mark(shop: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that each of the modules in the working folder makes when it is imported."""
    made = shop.home.root / "imported"
    folder = shop.home.projects / "shop"
    for name in MODULES:
        (folder / name).mkdir()
        for file in ("__init__.py", "__main__.py"):
            (folder / name / file).write_text(f"open({str(made)!r}, 'w').close()\n")
    monkeypatch.chdir(folder)
    return made


def test_the_trap_works(shop: Shell, mark: Path) -> None:
    subprocess.run([sys.executable, "-m", "prong"], env=shop.env(), check=True)
    assert mark.exists()


def test_a_preview_in_fzf(shop: Shell, mark: Path) -> None:
    variables = {"PRONG_PYTHON": sys.executable, "PRONG_SESSION": API}
    command = turn_choice.PREVIEW.replace("{1}", "2")
    result = subprocess.run(
        ["sh", "-c", command], env=shop.env(**variables), capture_output=True, check=True
    )
    assert b"Redis" in result.stdout
    assert not mark.exists()


def test_the_update_of_the_index_by_the_ui(shop: Shell, mark: Path) -> None:
    steps: list[Step] = []

    async def story() -> None:
        over = asyncio.Event()

        def told(step: Step) -> None:
            steps.append(step)
            if step == ENDED:
                over.set()

        IndexProcess(told).start()
        await asyncio.wait_for(over.wait(), 60)

    asyncio.run(story())
    assert {"phase": "done"} in steps
    assert not mark.exists()


def test_whatever_else_python_is_started_for() -> None:
    """`-P` and `-I` keep the working folder out of the places that Python imports from."""
    started = re.compile(r"(?:sys\.executable|PRONG_PYTHON\")[,\"]?\s+(\"?-\w\"?)")
    for path in Path(os.path.dirname(prong.__file__)).rglob("*.py"):
        if path.parent.name != "testing":
            options = set(started.findall(path.read_text(encoding="utf-8")))
            assert options <= {'"-P"', '"-I"', "-P"}, path
