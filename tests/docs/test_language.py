"""Phrases that do not come back: help, messages and docs say it in plain English."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BANNED = {
    r"before your eyes": "Attach to a worker's pane.",
    r"where they lie\b": "in place",
    r"that were about something": "Search past turns.",
    r"\bwords only": "keyword search only",
    r"until the first of them": "Return as soon as one worker is idle.",
    r"nothing that is known of": "up to date",
    r"what was it about\?": "Search sessions",
    r"how it is with": "health of",
    r"where \w+ lie now": "Locate ...",
    r"go(?:es)? on with": "resume, continue",
    r"gives? back\b": "restore, return",
    r"become the agent": "run the fork in this terminal",
    r"tell \w+ of\b": "register, report",
    r"wants a person": "needs input",
    r"\banew\b": "again",
    r"of several, all of them": "Repeat to require several.",
    r"there (?:is|are) no (?:agent|worker|engine|terminal|tool|folder|file)s?\b": "unknown ...",
    r"is no (?:time|number|folder|file|worktree|session)\b": "is not a ...",
    r"what is wrong with": "name the problem",
    r"(?:is|was) at work on": "is working on",
}
"""What not to write, and what to write instead."""
PATTERN = re.compile("|".join(f"(?:{one})" for one in BANNED), re.IGNORECASE)
PAGES = sorted(
    [
        ROOT / "README.md",
        *(ROOT / "docs").glob("*.md"),
        *(path for name in ("guides", "concepts") for path in (ROOT / "docs" / name).glob("*.md")),
        *(ROOT / "docs" / "reference").glob("*.md"),
        *(ROOT / "plugin").rglob("*.md"),
    ]
)
SOURCE = sorted((ROOT / "src" / "prong").rglob("*.py"))
SAMPLES = ("sample.py", "sample_code.py")
"""What people and agents said in made-up sessions is not ours to correct."""


def printed(path: Path) -> Iterator[str]:
    """The texts of a module that somebody may read: not its docstrings, but those of commands."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_cli = path.parent.name == "cli"
    silent = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) not in silent:
                yield node.value
        elif is_cli and isinstance(node, ast.FunctionDef) and node.decorator_list:
            yield ast.get_docstring(node) or ""


def banned(text: str) -> list[str]:
    return [found[0] for found in PATTERN.finditer(" ".join(text.split()))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page: Path) -> None:
    assert banned(page.read_text(encoding="utf-8")) == []


def test_messages_and_help() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {phrase}"
        for path in SOURCE
        if path.name not in SAMPLES
        for text in printed(path)
        for phrase in banned(text)
    }
    assert not found


def test_each_phrase_is_found() -> None:
    """A pattern that matches nothing would guard nothing."""
    assert banned("Bring the pane before your eyes") == ["before your eyes"]
    assert banned("prong: there is no\nworker parser") == ["there is no worker"]
