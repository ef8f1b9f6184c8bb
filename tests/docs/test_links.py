"""Every relative link in a markdown file leads somewhere, anchors included."""

import re
import unicodedata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", flags=re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", flags=re.MULTILINE)
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").glob("*.md")]
)


def anchor(heading: str) -> str:
    """The anchor that code forges make of a heading."""
    kept = [c for c in heading.lower() if c in " -_" or unicodedata.category(c)[0] in "LN"]
    return "".join(kept).replace(" ", "-")


def has_anchor(page: Path, fragment: str) -> bool:
    return not fragment or fragment in map(anchor, HEADING.findall(prose(page)))


def prose(page: Path) -> str:
    return FENCE.sub("", page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_relative_links_exist(page: Path) -> None:
    broken: list[str] = []
    for link in LINK.findall(prose(page)):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or not has_anchor(target, fragment):
            broken.append(link)
    assert not broken


def test_every_page_is_reachable_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    seen: set[Path] = set()
    todo = [index]
    while todo:
        page = todo.pop()
        if page in seen or page.suffix != ".md" or not page.exists():
            continue
        seen.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(prose(page)))
        todo += [(page.parent / link).resolve() for link in links if link and "://" not in link]
    lost = {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - seen
    assert not lost
