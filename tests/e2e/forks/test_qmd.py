"""The real qmd, without models: exports in a folder, a collection, our engine."""

from pathlib import Path

import pytest

from prong.model.search import Answer, Attempt, Found, SearchRequest, SearchResult
from prong.search.qmd.engine import QmdEngine, Timeouts
from prong.search.qmd.setup import collection_folder, guidance
from prong.search.service import ask
from prong.testing.home import IsolatedHome
from prong.testing.wait import PATIENCE
from prong.transcripts.markdown import document
from tests.contract.engine_contract import SearchEngineContract
from tests.drivers.programs import MissingProgram
from tests.drivers.qmd_cli import QmdCli
from tests.search.lab import SearchLab

PATIENT = Timeouts(PATIENCE, PATIENCE, PATIENCE)
LIMITS = "60309e1e-c4ea-4d6d-8da1-21732781ce4d"
PARSER = "019a8a3b-0000-7000-8000-0123456789ab"
FILLER = "\n".join(f"Line {number} says nothing of interest." for number in range(200))

EXPORTS = {
    # As prong writes them.
    f"shop/{LIMITS}.md": f"""# Rate limits

- **Session ID:** {LIMITS}
- **Working Directory:** /home/me/shop
- **Date:** 2026-01-07T00:11:47.756Z
- **Agent:** claude

## Turn 1

Add rate limiting to the public API.

{FILLER}

## Turn 2

Time: 2026-01-07T00:20:00.000Z

The token bucket lives in redis and refills every second.
""",
    # As other converters do; the name says nothing.
    "notes on parsing.md": f"""Session ID: {PARSER}
Working Directory: /home/me/tools
Date: 2026-02-01T10:00:00Z

Write the parser of the configuration file.

{FILLER}

The recursive descent handles nested brackets.
""",
    # No header at all.
    "stray.md": "Somebody wrote about zebras here.\n",
}


def make_qmd(folder: Path) -> QmdCli:
    try:
        return QmdCli(IsolatedHome.create(folder))
    except MissingProgram as missing:
        pytest.skip(str(missing))


def add_exports(qmd: QmdCli) -> Path:
    """The exports, in a collection that is made with the very command that the guide gives."""
    folder = qmd.home.root / "exports"
    for name, text in EXPORTS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    qmd.run("collection", "add", str(folder), "--name", "claude-sessions", "--mask", "**/*.md")
    return folder


@pytest.fixture
def qmd(tmp_path: Path) -> QmdCli:
    """For one test, without a collection."""
    return make_qmd(tmp_path / "qmd")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> QmdEngine:
    """For all tests that only search."""
    qmd = make_qmd(tmp_path_factory.mktemp("qmd"))
    add_exports(qmd)
    return QmdEngine(env=qmd.env(), timeouts=PATIENT)


def searches(answer: Answer) -> list[tuple[str, int | None]]:
    return [(one.command[-1], one.hits) for one in answer.attempts if one.mode == "search"]


def test_a_session_is_found_by_its_words(engine: QmdEngine) -> None:
    answer = engine.search(SearchRequest("token bucket"))
    assert answer.ok
    (found,) = answer.found
    assert found.session_id == LIMITS
    assert (found.agent, found.cwd) == ("claude", "/home/me/shop")
    assert found.date == "2026-01-07T00:20:00.000Z"
    assert found.source == f"qmd://claude-sessions/shop/{LIMITS}.md"
    assert found.turn_number == 2
    assert 0 <= found.score <= 1
    assert found.passage is not None
    text, marks = found.passage
    assert [text[start:end] for start, end in marks] == ["token", "bucket"]
    assert not text.startswith("@@")


def test_the_whole_story_is_told(engine: QmdEngine) -> None:
    query, vsearch, search = engine.search(SearchRequest("token bucket")).attempts
    assert (query.mode, query.skipped, query.seconds) == ("query", True, 0)
    assert "no model" in (query.error or "")
    assert (vsearch.mode, vsearch.skipped) == ("vsearch", True)
    assert search == Attempt(
        *("qmd", "search"),
        ("qmd", "search", "--json", "-n", "50", "-c", "claude-sessions", "--", "token bucket"),
        seconds=search.seconds,
        hits=1,
    )
    assert search.seconds > 0


def test_the_header_counts_where_the_name_says_nothing(engine: QmdEngine) -> None:
    (found,) = engine.search(SearchRequest("recursive descent")).found
    assert found.session_id == PARSER
    assert (found.agent, found.cwd) == (None, "/home/me/tools")
    assert found.turn_number is None


def test_a_file_without_a_session_is_still_a_hit(engine: QmdEngine) -> None:
    (found,) = engine.search(SearchRequest("zebras")).found
    assert found.session_id is None
    assert found.source == "qmd://claude-sessions/stray.md"


def test_words_that_never_stand_together_are_tried_alone(engine: QmdEngine) -> None:
    answer = engine.search(SearchRequest("how did we do the recursive kubernetes deployment"))
    assert answer.ok
    assert [found.session_id for found in answer.found] == [PARSER]
    tried = searches(answer)
    assert tried[0] == ("how did we do the recursive kubernetes deployment", 0)
    assert [hits for _, hits in tried[:-1]] == [0] * (len(tried) - 1)
    assert tried[-1][1] == 1


def test_what_is_nowhere_is_left_to_the_next_engine(engine: QmdEngine) -> None:
    answer, name = ask([engine, _Other()], SearchRequest("kubernetes helm"))
    assert name == "other"
    assert [found.session_id for found in answer.found] == ["other"]
    assert [(one.engine, one.mode, one.hits) for one in answer.attempts] == [
        ("qmd", "query", None),
        ("qmd", "vsearch", None),
        *[("qmd", "search", 0)] * 3,
        ("other", "words", 1),
    ]


def test_a_collection_that_does_not_exist(engine: QmdEngine) -> None:
    answer = engine.search(SearchRequest("token bucket", collection="nope"))
    assert not answer.ok
    assert answer.attempts[-1].error == "Collection not found: nope"
    assert len(searches(answer)) == 1
    payload = guidance(answer.attempts, "nope", [])
    assert payload is not None
    assert payload["error"] == "qmd_not_available"


def test_no_collection_at_all(qmd: QmdCli) -> None:
    answer = QmdEngine(env=qmd.env(), timeouts=PATIENT).search(SearchRequest("token bucket"))
    assert not answer.ok
    assert answer.attempts[-1].error == "Collection not found: claude-sessions"


def test_what_was_not_embedded_is_a_failure(qmd: QmdCli) -> None:
    """With a model file that is none, qmd's own errors are met: all of them, and no exception."""
    add_exports(qmd)
    models = qmd.home.root / ".cache/qmd/models"
    models.mkdir(parents=True, exist_ok=True)
    (models / "not-a-model.gguf").write_bytes(b"no")
    answer = QmdEngine(env=qmd.env(), timeouts=PATIENT).search(SearchRequest("token bucket"))
    assert answer.ok
    query, vsearch, search = answer.attempts
    assert query.mode == "query"
    assert query.error
    assert not query.skipped
    assert vsearch.mode == "vsearch"
    assert "need embeddings" in (vsearch.error or "")
    assert search.hits == 1


@pytest.mark.parametrize("text", ["--help bucket", "-c nope bucket", "bucket\nsecond", "buc\0ket"])
def test_a_text_is_never_taken_for_an_option(engine: QmdEngine, text: str) -> None:
    answer = engine.search(SearchRequest(text))
    assert all(one.error is None for one in answer.attempts if not one.skipped)


def test_its_configuration_is_understood(qmd: QmdCli, tmp_path: Path) -> None:
    exports = add_exports(qmd)
    odd = tmp_path / 'it\'s: a #1 "folder" é'
    odd.mkdir()
    (odd / "a.md").write_text("text")
    qmd.run("collection", "add", str(odd), "--name", "odd-one", "--mask", "**/*.md")
    assert collection_folder(qmd.env(), "claude-sessions") == exports
    assert collection_folder(qmd.env(), "odd-one") == odd


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> SearchLab:
    """A session that was exported, and a qmd that has it, both in the home of this process."""
    lab = SearchLab(isolated_home)
    lab.claude(
        ("Add rate limiting to the public API", "I used a token bucket."),
        ("Where does it live?", "In redis. It refills every second."),
    )
    qmd = make_qmd(isolated_home.root)
    folder = isolated_home.root / "claude-sessions-md"
    folder.mkdir()
    with lab.app() as app:
        (session,) = app.sessions.all()
        (folder / "session.md").write_text(
            "".join(document(session, app.sessions.messages(session)))
        )
    qmd.run("collection", "add", str(folder), "--name", "claude-sessions", "--mask", "**/*.md")
    monkeypatch.setenv("PATH", qmd.env()["PATH"])
    monkeypatch.setattr("prong.search.qmd.engine.Timeouts", lambda: PATIENT)
    return lab


def find(lab: SearchLab, text: str) -> SearchResult:
    with lab.app() as app:
        return app.search.find(SearchRequest(text, fast=True, engine="qmd"))


def test_an_exported_session_is_found_and_can_be_forked(lab: SearchLab) -> None:
    result = find(lab, "token bucket")
    assert result.engine == "qmd"
    (hit,) = result.hits
    assert hit.session is not None
    assert hit.can_fork
    assert hit.source == "qmd://claude-sessions/session.md"
    assert result.guidance is None


def test_an_exported_session_that_is_gone_cannot_be_forked(lab: SearchLab) -> None:
    for file in lab.home.claude.rglob("*.jsonl"):
        file.unlink()
    (hit,) = find(lab, "token bucket").hits
    assert hit.session is None
    assert not hit.can_fork
    assert hit.warning
    assert hit.ref is not None
    assert hit.ref.agent == "claude"


def test_the_built_in_engine_answers_where_qmd_does_not(lab: SearchLab) -> None:
    lab.claude(("Deploy to kubernetes", "With helm."))  # qmd does not know that one
    result = find(lab, "kubernetes helm")
    assert result.engine == "builtin"
    assert result.hits[0].session is not None
    assert {one.engine for one in result.attempts} == {"qmd", "builtin"}
    assert result.guidance is None


def test_without_qmd_there_is_an_answer_and_a_guide(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    result = find(lab, "token bucket")
    assert result.engine == "builtin"
    assert result.hits
    assert result.guidance is not None
    assert result.guidance["error"] == "qmd_not_available"
    assert result.guidance["fallback_sessions"]


class _Other:
    name = "other"

    def search(self, request: SearchRequest) -> Answer:
        return Answer((Found(1, "other"),), (Attempt(self.name, "words", hits=1),))


class TestContract(SearchEngineContract):
    @pytest.fixture
    def engine(self, engine: QmdEngine) -> QmdEngine:
        return engine

    @pytest.fixture
    def text(self) -> str:
        return "recursive parser"
