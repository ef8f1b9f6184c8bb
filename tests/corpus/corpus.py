"""The shared corpus of real sessions: where it is, and what we find in each of its files.

The sessions themselves are never committed; the table of counts beside this file is. After a
change that moves a count on purpose: `python -m tests.corpus.corpus FOLDER > expected.tsv`
with both archives unpacked in FOLDER, and say in the commit why it moved.
"""

import csv
import os
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.sessions import Conversation

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]
ARCHIVES = ("formats", "retrieval")


def corpus_folder() -> Path:
    """`shared/corpus` beside the project, or where PRONG_CORPUS says."""
    configured = os.environ.get("PRONG_CORPUS")
    return Path(configured) if configured else PROJECT.parent / "shared" / "corpus"


def unpack(target: Path) -> None:
    for name in ARCHIVES:
        with tarfile.open(corpus_folder() / f"{name}.tar.xz") as archive:
            if hasattr(tarfile, "data_filter"):  # Python 3.11.2, which Debian has, does not know it
                archive.extraction_filter = tarfile.data_filter
            archive.extractall(target)  # noqa: S202 -- ours


@dataclass(frozen=True)
class Expected:
    """What one file holds."""

    file: str
    agent: str
    turns: int
    abandoned: int
    compactions: int
    messages: int
    skipped: int


def expected() -> list[Expected]:
    with (HERE / "expected.tsv").open(encoding="utf-8", newline="") as table:
        return [
            Expected(row["file"], row["agent"], *(int(row[name]) for name in _COUNTS))
            for row in csv.DictReader(table, delimiter="\t")
        ]


_COUNTS = ("turns", "abandoned", "compactions", "messages", "skipped")


def stores(folder: Path) -> list[AgentStore]:
    home = folder / "retrieval" / "home"
    return [ClaudeStore([home / ".claude"]), CodexStore([home / ".codex"])]


def read(path: Path, folder: Path) -> tuple[AgentStore, Conversation]:
    for store in stores(folder):
        session = store.session_at(path)
        if session is not None:
            return store, store.conversation(session)
    raise AssertionError(f"no agent knows {path}")


def found(path: Path, folder: Path) -> Expected:
    """What we find in a file now."""
    store, conversation = read(path, folder)
    return Expected(
        str(path.relative_to(folder)),
        store.name,
        len(conversation.turns),
        len(conversation.abandoned),
        len(conversation.compactions),
        sum(1 for _ in store.messages(conversation.session)),
        len(conversation.skipped),
    )


def files(folder: Path) -> Iterator[Path]:
    for name in ARCHIVES:
        yield from sorted((folder / name).rglob("*.jsonl"))


if __name__ == "__main__":
    unpacked = Path(sys.argv[1])
    writer = csv.writer(sys.stdout, delimiter="\t", lineterminator="\n")
    writer.writerow(("file", "agent", *_COUNTS))
    for file in files(unpacked):
        row = found(file, unpacked)
        writer.writerow([row.file, row.agent, *(getattr(row, name) for name in _COUNTS)])
