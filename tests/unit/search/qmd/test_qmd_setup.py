"""What qmd needs, and what is said when it is not there."""

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest

from prong.model.search import Answer, Attempt, SearchRequest
from prong.model.sessions import Session, SessionRef
from prong.search.qmd.engine import QmdEngine
from prong.search.qmd.setup import FILTERS, collection_folder, guidance, has_models
from tests.unit.search.stand_in import ROWS, StandIn

SESSIONS = [
    Session(
        SessionRef("claude", "60309e1e"),
        "/store/a.jsonl",
        "Limits",
        cwd="/home/me/shop",
        updated=datetime(2026, 1, 7, 0, 11, 47, 756000, tzinfo=UTC),
    ),
    Session(SessionRef("codex", "70309e1e"), "/store/b.jsonl", "Parser"),
]


@pytest.fixture
def qmd(tmp_path: Path) -> StandIn:
    return StandIn(tmp_path)


def guide(answer: Answer, collection: str = "claude-sessions") -> dict[str, Any] | None:
    return cast("dict[str, Any] | None", guidance(answer.attempts, collection, SESSIONS))


def test_without_qmd(tmp_path: Path) -> None:
    answer = QmdEngine(env={"PATH": str(tmp_path), "HOME": str(tmp_path)}).search(
        SearchRequest("a")
    )
    payload = guide(answer)
    assert payload is not None
    assert payload["error"] == "qmd_not_available"
    assert "qmd is not on PATH" in payload["message"]
    assert payload["next_steps"] == [
        "npm install --global @tobilu/qmd@2.8.3    # needs Node 22 or newer",
        "prong export ~/claude-sessions-md",
        'qmd collection add ~/claude-sessions-md --name claude-sessions --mask "**/*.md"',
        "qmd embed -c claude-sessions",
    ]
    assert payload["fallback_sessions"] == [
        {
            "session_id": "60309e1e",
            "agent": "claude",
            "project_path": "/home/me/shop",
            "last_modified": "2026-01-07T00:11:47.756Z",
        },
        {
            "session_id": "70309e1e",
            "agent": "codex",
            "project_path": None,
            "last_modified": None,
        },
    ]


def test_without_the_collection(qmd: StandIn) -> None:
    qmd.prints("search", "", "Collection not found: mine\n", status=1)
    payload = guide(qmd.engine(collection="mine").search(SearchRequest("a")), "mine")
    assert payload is not None
    assert payload["message"].startswith("qmd has no collection mine;")
    assert [step.split()[0] for step in payload["next_steps"]] == ["prong", "qmd", "qmd"]


def test_with_a_qmd_that_crashes(qmd: StandIn) -> None:
    qmd.add_model()
    qmd.does("*", "kill -SEGV $$")
    payload = guide(qmd.engine().search(SearchRequest("a")))
    assert payload is not None
    assert payload["message"].startswith("qmd failed: killed by SIGSEGV;")
    assert "Node 22" in payload["next_steps"][0]


def test_a_qmd_that_works_needs_no_guide(qmd: StandIn) -> None:
    qmd.prints("search", ROWS)
    assert guide(qmd.engine().search(SearchRequest("a"))) is None
    qmd.prints("search", "[]")
    assert guide(qmd.engine().search(SearchRequest("a"))) is None
    assert guide(qmd.engine().search(SearchRequest(""))) is None


def test_a_qmd_of_which_nothing_is_wanted_needs_no_guide_either() -> None:
    filtered = Attempt("qmd", FILTERS, error="no hit matches the filters", hits=0)
    assert guidance([Attempt("qmd", "search", hits=3), filtered], "c", []) is None


def test_what_others_tried_is_none_of_its_business() -> None:
    assert guidance([Attempt("builtin", "words", error="broken")], "c", []) is None
    assert guidance([], "c", []) is None


def test_steps_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    """Odd names stay one word, and the home folder is still found."""
    attempts = [Attempt("qmd", "start", error="qmd is not on PATH")]
    payload = guidance(attempts, "it's; mine", [], folder="~/my exports")
    assert payload is not None
    add = cast("list[str]", payload["next_steps"])[2]
    shown = subprocess.run(
        ["sh", "-c", f"qmd() {{ printf '%s|' \"$@\"; }}; {add}"],
        env={**os.environ, "HOME": "/home/me"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert shown == "collection|add|/home/me/my exports|--name|it's; mine|--mask|**/*.md|"


# -- where qmd keeps its things ----------------------------------------------------------------


def test_models(tmp_path: Path) -> None:
    home = {"HOME": str(tmp_path)}
    assert not has_models(home)
    models = tmp_path / ".cache/qmd/models"
    models.mkdir(parents=True)
    (models / "hf_embed.gguf.ipull").touch()
    assert not has_models(home)
    (models / "hf_embed.gguf").touch()
    assert has_models(home)
    assert not has_models({**home, "XDG_CACHE_HOME": str(tmp_path / "other")})
    elsewhere = {"XDG_CACHE_HOME": "/nowhere", "QMD_EMBED_MODEL": str(models / "hf_embed.gguf")}
    assert has_models(elsewhere)
    assert not has_models({**elsewhere, "QMD_EMBED_MODEL": "/nowhere/a.gguf"})


@pytest.mark.parametrize(
    ("config", "folder"),
    [
        ("collections:\n  mine:\n    path: /a/b c\n    pattern: x\n", "/a/b c"),
        ("collections:\n  o:\n    path: /o\n  mine:\n    pattern: x\n    path: /a\n", "/a"),
        ('collections:\n  "mine":\n    path: "/a/\\u00e9: #"\n', "/a/é: #"),
        ("collections:\n  mine:\n    path: '/it''s'\n", "/it's"),
        ("# c\nmodels:\n  mine:\n    path: /no\ncollections:\n  mine:\n    path: /a\n", "/a"),
        ("collections:\n  mine:\n    context:\n      path: /no\n    path: /a\n", "/a"),
        ("collections:\n  mine:\n    context:\n      path: /no\n", None),
        ("collections:\n  other:\n    path: /o\n", None),
        ("collections:\n  mine:\n    path: relative\n", None),
        ("collections:\n  mine:\n    path: >-\n      /folded\n", None),
        ('collections:\n  mine:\n    path: "/open\n', None),
        ("collections: {mine: {path: /a}}\n", None),
        ("\x00\xff:::\n - - -\n", None),
        ("", None),
    ],
)
def test_the_folder_of_a_collection(tmp_path: Path, config: str, folder: str | None) -> None:
    (tmp_path / "qmd").mkdir()
    (tmp_path / "qmd/index.yml").write_text(config, encoding="utf-8")
    expected = Path(folder) if folder else None
    assert collection_folder({"XDG_CONFIG_HOME": str(tmp_path)}, "mine") == expected
    assert collection_folder({"QMD_CONFIG_DIR": str(tmp_path / "qmd")}, "mine") == expected
    assert collection_folder({"HOME": str(tmp_path)}, "mine") is None
