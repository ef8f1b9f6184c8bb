"""Habits of the source that a linter does not hold."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = sorted((ROOT / "src").rglob("*.py"))
MOST_LINES = 600
AGENTS_MD_LINES = 60


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_two_nouns_long(path: Path) -> None:
    count = len(path.read_text(encoding="utf-8").splitlines())
    assert count <= MOST_LINES, f"{count} lines: it wants to be two files"


def test_the_routing_table_fits_a_screen_and_names_real_files() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= AGENTS_MD_LINES
    rows = [line.split("|")[2] for line in text.splitlines() if line.startswith("| ")]
    named = {word.strip("`, ") for row in rows for word in row.split() if "/" in word}
    missing = {name for name in named if not (ROOT / name).exists()}
    assert not missing


def test_the_changelog_has_a_place_for_what_comes_next() -> None:
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_no_package_registry_is_named_in_the_lock_file() -> None:
    lock = (ROOT / "tests" / "agents" / "package-lock.json").read_text(encoding="utf-8")
    assert "://" not in lock
