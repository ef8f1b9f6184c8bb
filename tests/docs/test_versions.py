"""The tested versions of the agents: `prong.agents.versions` names them, all else follows it."""

import json
import re
from pathlib import Path

import pytest

from prong.agents import versions as tested

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "prong"
NEWEST = f"Claude Code {tested.CLAUDE[-1]} and Codex {tested.CODEX[-1]}"


def words(page: str) -> str:
    """A page with its lines joined."""
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_the_newest_tested_version_is_the_pinned_one() -> None:
    pinned = json.loads((ROOT / "tests/agents/package.json").read_bytes())["dependencies"]
    assert pinned["@anthropic-ai/claude-code"] == tested.CLAUDE[-1]
    assert pinned["@openai/codex"] == tested.CODEX[-1]


@pytest.mark.parametrize("versions", [tested.CLAUDE, tested.CODEX], ids=["claude", "codex"])
def test_the_oldest_comes_first(versions: tuple[str, ...]) -> None:
    assert list(versions) == sorted(versions, key=lambda one: [*map(int, one.split("."))])


def test_the_source_names_them_in_one_place() -> None:
    known = re.compile("|".join(re.escape(one) for one in (*tested.CLAUDE, *tested.CODEX)))
    found = {path for path in SOURCE.rglob("*.py") if known.search(path.read_text())}
    assert found == {SOURCE / "agents" / "versions.py"}


def test_the_readme_lists_them() -> None:
    row = f"| tested with | {', '.join(tested.CLAUDE)} | {', '.join(tested.CODEX)} |"
    assert row in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_reference_shows_what_doctor_says() -> None:
    page = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    assert f"Claude Code {tested.CLAUDE[-1]} (tested: {', '.join(tested.CLAUDE)})" in page
    assert json.dumps([*tested.CLAUDE]) in page


@pytest.mark.parametrize(
    "page", ["docs/internals/session-formats.md", "docs/internals/mcp.md", "docs/guides/mcp.md"]
)
def test_pages_about_the_agents_are_about_the_newest(page: str) -> None:
    assert NEWEST in words(page)
