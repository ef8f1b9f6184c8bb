"""What qmd finds, looked up in our sessions, with the filters that it does not know."""

import json
from datetime import timedelta
from pathlib import Path

import pytest

from prong.model.search import Hit, SearchRequest
from prong.transcripts.markdown import document
from tests.search.lab import START, SearchLab, places
from tests.unit.search.stand_in import StandIn


@pytest.fixture
def qmd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StandIn:
    stand_in = StandIn(tmp_path / "qmd")
    monkeypatch.setenv("PATH", f"{stand_in.bin}:/usr/bin:/bin")
    monkeypatch.setenv("QMD_CONFIG_DIR", str(stand_in.home / ".config/qmd"))
    return stand_in


def finds(qmd: StandIn, *ids: str) -> None:
    rows = [
        {"docid": "#1", "score": 0.5, "file": f"qmd://claude-sessions/x/{id_}.md", "snippet": "x"}
        for id_ in ids
    ]
    qmd.prints("search", json.dumps(rows))


def asked(lab: SearchLab, **options: object) -> tuple[Hit, ...]:
    with lab.app() as app:
        return app.search.find(SearchRequest("hippogriff", fast=True, engine="qmd", **options)).hits  # pyright: ignore[reportArgumentType]


def test_the_filters_hold(lab: SearchLab, qmd: StandIn) -> None:
    # The built-in engine, which is asked next, knows nothing of what is looked for.
    old = lab.claude(("Paint the griffin", "Painted."), cwd=str(lab.project("old")))
    new = lab.claude(("Feed the griffin", "Fed."), cwd=str(lab.project("new")))
    finds(qmd, old.id, new.id)
    assert places(asked(lab)) == ["1@None", "2@None"]
    assert places(asked(lab, project=lab.project("new"))) == ["2@None"]
    assert places(asked(lab, since=START + timedelta(days=2))) == ["2@None"]
    assert places(asked(lab, agent="codex")) == []
    assert places(asked(lab, has_snapshot=True)) == []
    assert places(asked(lab, min_score=0.6)) == []
    assert places(asked(lab, limit=1)) == ["1@None"]


def test_files_that_were_touched(lab: SearchLab, qmd: StandIn) -> None:
    sample = lab.sample()
    path = f"{sample.cwd}/src/limit.py"
    sample.prompt("Limit it")
    sample.tools(("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "ok"))
    sample.answer("Limited.")
    sample.write(lab.home.claude)
    finds(qmd, sample.id)
    assert places(asked(lab, files=("src/limit.py",))) == ["1@None"]
    assert places(asked(lab, files=("other.py",))) == []


def test_a_session_that_is_gone_is_said_to_be(lab: SearchLab, qmd: StandIn) -> None:
    finds(qmd, "0000000f-0000-4000-8000-00000000000f")
    (hit,) = asked(lab)
    assert not hit.can_fork
    assert hit.warning == "the session no longer exists"


def test_the_built_in_engine_is_asked_when_nothing_of_qmd_fits(
    lab: SearchLab, qmd: StandIn
) -> None:
    old = lab.claude(("Paint the griffin", "Painted."), cwd=str(lab.project("old")))
    lab.claude(("Feed the hippogriff", "Fed."), cwd=str(lab.project("new")))
    finds(qmd, old.id)
    with lab.app() as app:
        result = app.search.find(
            SearchRequest("hippogriff", project=lab.project("new"), fast=True, engine="qmd")
        )
    assert (result.engine, places(result.hits)) == ("builtin", ["2@1"])
    assert [(a.engine, a.error) for a in result.attempts if a.mode == "filters"] == [
        ("qmd", "no hit matches the filters")
    ]
    assert result.guidance is None


def test_a_session_that_is_gone_and_of_another_agent(lab: SearchLab, qmd: StandIn) -> None:
    folder = lab.project("exports")
    qmd.add_collection(folder)
    id_ = "0000000f-0000-4000-8000-00000000000f"
    (folder / "x").mkdir()
    (folder / "x" / f"{id_}.md").write_text(f"Session ID: {id_}\nAgent: codex\n")
    finds(qmd, id_)
    assert [hit.warning for hit in asked(lab)] == ["the session no longer exists"]
    assert [hit.warning for hit in asked(lab, agent="codex")] == ["the session no longer exists"]
    assert asked(lab, agent="claude") == ()


def test_a_number_that_another_turn_has_by_now_is_no_turn(lab: SearchLab, qmd: StandIn) -> None:
    sample = lab.sample()
    sample.prompt("Paint the griffin")
    before = sample.answer("Painted.")
    sample.prompt("Feed the hippogriff")
    sample.answer("It ate.")
    path = sample.write(lab.home.claude)
    folder = lab.project("exports")
    qmd.add_collection(folder)
    with lab.app() as app:
        (session,) = app.sessions.all()
        text = "".join(document(session, app.sessions.messages(session)))
    (folder / "a.md").write_text(text)
    line = text.split("\n").index("> It ate.") + 1
    row = {"file": "qmd://claude-sessions/a.md", "score": 0.5, "line": line}
    qmd.prints("search", json.dumps([{**row, "snippet": f"@@ -{line},1 @@\n> It ate."}]))
    assert places(asked(lab)) == ["1@2"]
    sample.leaf = before
    sample.prompt("Saddle the hippogriff")
    sample.answer("It bites.")
    path.unlink()
    sample.write(lab.home.claude)
    assert places(asked(lab)) == ["1@None"]
