"""Every real session of the shared corpus is read, whole, and as before."""

import csv
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from prong.agents import jsonl
from prong.agents.claude.records import SessionLine as ClaudeLine
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.records import RolloutLine as CodexLine
from prong.app import App
from prong.model.forks import Cut
from prong.model.sessions import TurnKind, View
from prong.session.listing import SessionFilter
from tests.corpus import corpus
from tests.corpus.corpus import Expected

pytestmark = pytest.mark.corpus

EXPECTED = corpus.expected()


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not corpus.corpus_folder().is_dir():
        pytest.skip("the shared corpus is not beside the project; PRONG_CORPUS names its folder")
    target = tmp_path_factory.mktemp("corpus")
    corpus.unpack(target)
    return target


def test_the_table_names_every_file(folder: Path) -> None:
    assert Counter(row.file.split("/")[0] for row in EXPECTED) == {"formats": 72, "retrieval": 255}
    assert {row.file for row in EXPECTED} == {
        str(path.relative_to(folder)) for path in corpus.files(folder)
    }


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row.file)
def test_a_file_reads_as_before(row: Expected, folder: Path) -> None:
    assert corpus.found(folder / row.file, folder) == row


@pytest.mark.parametrize("row", EXPECTED, ids=lambda row: row.file)
def test_every_line_is_a_record_or_accounted_for(row: Expected, folder: Path) -> None:
    reader = jsonl.Reader(ClaudeLine if row.agent == "claude" else CodexLine)
    with (folder / row.file).open("rb") as file:
        read = [offset for offset, _, _ in reader.records(file)]
        file.seek(0)
        content = file.read()
    starts: list[int] = []
    at = 0
    for line in content.split(b"\n"):
        if line.strip():
            starts.append(at)
        at += len(line) + 1
    accounted = {*read, *(bad.offset for bad in reader.bad)}
    assert set(starts) <= accounted
    assert len(reader.bad) == row.skipped


@pytest.mark.parametrize(
    "row", [row for row in EXPECTED if row.agent == "claude"], ids=lambda row: row.file
)
def test_the_context_is_made_of_lines_of_the_history(row: Expected, folder: Path) -> None:
    store, conversation = corpus.read(folder / row.file, folder)
    history = Counter(m.tool.id for m in store.messages(conversation.session) if m.tool)
    context = store.messages(conversation.session, view=View.CONTEXT)
    assert not Counter(m.tool.id for m in context if m.tool) - history


@pytest.mark.parametrize(
    "row", [row for row in EXPECTED if row.agent == "claude"], ids=lambda row: row.file
)
def test_every_turn_can_be_forked_and_every_prompt_asked_again(row: Expected, folder: Path) -> None:
    store, conversation = corpus.read(folder / row.file, folder)
    assert isinstance(store, ClaudeStore)
    turns = (*conversation.turns, *conversation.abandoned)
    with closing(store.source(conversation.session)) as source:
        for turn in (None, *(turn.id for turn in turns)):
            for full in (False, True):
                source.extent(Cut(turn, full))


def test_the_prompts_are_those_that_somebody_else_counted(folder: Path) -> None:
    """The corpus comes with a count of prompts for each file, made by another program."""
    with (folder / "formats" / "LICENSES.tsv").open(encoding="utf-8", newline="") as table:
        rows = [
            row
            for row in csv.DictReader(table, delimiter="\t")
            if (folder / "formats" / row["file"]).is_file() and row["prompts"].isdecimal()
        ]
    assert len(rows) == 72
    different: list[str] = []
    for row in rows:
        store, conversation = corpus.read(folder / "formats" / row["file"], folder)
        prompts = [t for t in conversation.turns if t.kind in (TurnKind.HUMAN, TurnKind.SDK)]
        count = len(prompts)
        if store.name == "codex":
            count += sum(len(turn.queued) for turn in prompts)
        else:
            count += sum(turn.kind is not TurnKind.COMMAND for turn in conversation.abandoned)
        if count != int(row["prompts"]):
            different.append(row["file"])
    # In this one a prompt was sent twice, word for word; they count it once.
    assert [file.split("/")[2] for file in different] == ["d8"]


def test_the_list_shows_conversations_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    home = folder / "retrieval" / "home"
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(home / ".claude"))
    monkeypatch.setenv("CODEX_HOME", str(home / ".codex"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    listing = App().sessions.list(SessionFilter(everything=True))
    assert Counter(session.agent for session in listing.sessions) == {"claude": 154, "codex": 35}
    # The other 66 rollouts are sub-agents: guardians, reviewers, spawned threads.
    assert all(session.turn_count for session in listing.sessions)
    assert all(session.title for session in listing.sessions)
    assert not listing.skipped
