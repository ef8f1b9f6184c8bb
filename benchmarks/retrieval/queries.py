"""Queries, and the sessions that answer them.

A file of queries is a table with tabs: `qid`, `kind`, `query`, `file` (a session file, relative to
the home), one row for each session that answers. A file of paraphrases has `pid` and `base_qid`,
the query that it says in other words.
"""

import csv
import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

PARAPHRASE = "paraphrase"
TITLE = "title"


@dataclass(frozen=True)
class Asked:
    """A query with its answers."""

    id: str
    kind: str
    text: str
    files: frozenset[str]
    """The session files that answer it, relative to the home."""
    family: str
    """Queries that say the same, or ask for the same session, are of one family."""
    verbatim: bool = False
    """The query stands word for word in a session that answers it."""


def read(queries: Path, paraphrases: Path | None = None) -> list[Asked]:
    """The queries of both files."""
    rows = list(_rows(queries, "qid", "qid"))
    if paraphrases is not None:
        rows += [row | {"kind": PARAPHRASE} for row in _rows(paraphrases, "pid", "base_qid")]
    families = _families(rows)
    asked: dict[str, Asked] = {}
    for row in rows:
        one = Asked(row["id"], row["kind"], row["query"], frozenset(), families[row["base"]])
        one = asked.get(row["id"], one)
        asked[row["id"]] = replace(
            one,
            files=one.files | {row["file"]},
            verbatim=one.verbatim or row.get("exact_in_doc") == "1",
        )
    return list(asked.values())


def _rows(path: Path, name: str, base: str) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            yield {**row, "id": row[name], "base": row[base]}


def _families(rows: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """For each query the name of its family: the smallest id in it."""
    above: dict[str, str] = {}

    def root(of: str) -> str:
        while above.setdefault(of, of) != of:
            of = above[of]
        return of

    members: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        above[root(f"file {row['file']}")] = root(f"query {row['base']}")
        members[row["base"]].add(row["id"])
    together: dict[str, set[str]] = defaultdict(set)
    for base, ids in members.items():
        together[root(f"query {base}")] |= ids
    return {base: min(together[root(f"query {base}")]) for base in members}


def halves(asked: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    """Two halves of about the same size: one to choose weights on, one to report.

    A family is never parted. Which half it goes to depends on its name alone, and on those before.
    """
    sizes: dict[str, int] = defaultdict(int)
    for one in asked:
        sizes[one.family] += 1
    first: set[str] = set()
    counts = [0, 0]
    for family in sorted(sizes, key=lambda name: hashlib.sha256(name.encode()).digest()):
        side = 0 if counts[0] <= counts[1] else 1
        counts[side] += sizes[family]
        if side == 0:
            first.add(family)
    return (
        [one for one in asked if one.family in first],
        [one for one in asked if one.family not in first],
    )
