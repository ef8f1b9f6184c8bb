"""docs/guides/find.md shows what the commands really print, and its Python runs."""

import re
import shlex
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from prong.app import App
from tests.cli.shell import Shell

PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "find.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(\$ prong .*?)```$", PAGE, flags=re.MULTILINE | re.DOTALL)
UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def commands() -> list[tuple[str, str]]:
    """What is typed, and what is printed."""
    return [
        (typed, shown)
        for block in BLOCKS
        for typed, _, shown in (part.partition("\n") for part in block.split("$ prong ")[1:])
    ]


def comparable(text: str, home: Path) -> list[str]:
    """Without what differs from run to run: ids, ages, sizes, scores, and where things lie."""
    for found, word in (
        (r"\S*/prong/worktrees/shop-\w{6}/[\w-]+", "<worktree>"),
        (rf"({re.escape(str(home))}|/home/ada|~/{home.name}|~)/", "~/"),
        (r"\b[0-9a-f]{7}\b(?= \()", "<commit>"),
        (r"--resume \S+", "--resume <id>"),
        (rf"\(?claude:{UUID} \(copy\)", "<child>"),
        (r"\b(now|\d+ ?[hs] ago)", "<age>"),
        (r"\b[01]\.\d\d\b", "<score>"),
        (r"\b\d+ kB", "<size>"),
    ):
        text = re.sub(found, word, text)
    return [" ".join(line.split()) for line in text.splitlines()]


def test_the_guide_shows_what_the_commands_print(
    shop: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = shop.home.root / "demo"
    with closing(App()) as app:
        demo = app.setup.demo(home)
    monkeypatch.chdir(demo.repository)
    assert len(commands()) == 6
    for line, shown in commands():
        result = shop.run(*shlex.split(line), COLUMNS="100", **demo.environment)
        printed = comparable(result.stdout + result.stderr, home)
        expected = comparable(shown, Path("/nowhere"))
        assert [row[:60] for row in printed] == [row[:60] for row in expected], line


def test_the_python_in_it_runs(shop: Shell) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nprint(plan.point)"],
        env=shop.env(),
        capture_output=True,
        text=True,
        check=True,
    )
    first, *_, point = done.stdout.splitlines()
    assert re.fullmatch(rf"[01]\.\d\d claude:{UUID} 2 Keep the counters in Redis, .*", first)
    assert re.fullmatch(rf"claude:{UUID}@2", point)
