"""The index keeps in step with the sessions, whatever happens to it or to them."""

import json
import shutil
import threading
from collections.abc import Generator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from prong import paths
from prong.model.search import IndexProgress, SearchRequest
from prong.model.sessions import Scan
from prong.model.turn_text import FileTexts, Stamp, TurnText
from prong.search.index import VERSION, SearchIndex, Update
from prong.search.vectors import VectorCache
from tests.plain_store import PlainStore
from tests.search.lab import START, SearchLab, places


def add(path: Path, sample_lines: list[dict[str, object]]) -> None:
    with path.open("a") as file:
        file.writelines(json.dumps(line) + "\n" for line in sample_lines)


@contextmanager
def opened(monkeypatch: pytest.MonkeyPatch) -> Generator[list[str]]:
    """The files whose words are read meanwhile."""
    taken: list[str] = []
    real = Update.add

    def add(self: Update, agent: str, texts: FileTexts, old: object) -> object:
        taken.append(Path(texts.path).stem)
        return real(self, agent, texts, old)  # pyright: ignore[reportArgumentType]

    with monkeypatch.context() as patched:
        patched.setattr(Update, "add", add)
        yield taken


def folder() -> Path:
    return paths.cache_dir() / "search"


def test_only_what_changed_is_read_again(lab: SearchLab, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lab.claude(("Paint the hippogriff", "Painted."))
    lab.codex(("Feed the hippogriff", "Fed."))
    with opened(monkeypatch) as taken:
        lab.places("hippogriff")
        assert len(taken) == 2
        lab.places("hippogriff")
        assert len(taken) == 2
        written = len(first.lines)
        first.prompt("Sell the hippogriff")
        first.answer("Sold.")
        path = next(lab.home.claude.rglob(f"{first.id}.jsonl"))
        add(path, first.lines[written:])
        assert "1@2" in lab.places("sell hippogriff")
        assert taken[2:] == [first.id]


def test_an_index_begun_after_the_sessions_were_listed(lab: SearchLab) -> None:
    """The scan cache knows all files, so the scan reads none."""
    lab.claude(("Paint the hippogriff", "Painted."))
    lab.codex(("Feed the hippogriff", "Fed."))
    with lab.app() as app:
        assert len(app.sessions.all()) == 2
    assert sorted(lab.places("hippogriff")) == ["1@1", "2@1"]


def test_a_session_that_is_gone_is_no_longer_found(lab: SearchLab) -> None:
    first = lab.claude(("Paint the hippogriff", "Painted."))
    lab.claude(("Feed the hippogriff", "Fed."))
    assert len(lab.places("hippogriff")) == 2
    next(lab.home.claude.rglob(f"{first.id}.jsonl")).unlink()
    assert lab.places("hippogriff") == ["2@1"]
    assert lab.find("hippogriff").index.sessions == 1


def test_an_incomplete_scan_deletes_nothing(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prong.agents.claude.store import ClaudeStore

    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("hippogriff") == ["1@1"]

    def incomplete(*_: object) -> Scan:
        return Scan((), complete=False)

    with monkeypatch.context() as patched:
        patched.setattr(ClaudeStore, "scan_texts", incomplete)
        lab.find("hippogriff")
    with lab.app() as app:
        assert app.search.state().turns == 1


def test_a_new_title_replaces_the_old_one(lab: SearchLab) -> None:
    sample = lab.claude(("do it", "done"))
    path = next(lab.home.claude.rglob(f"{sample.id}.jsonl"))
    for title, other in (("griffin", "unicorn"), ("unicorn", "griffin")):
        sample.side("custom-title", customTitle=f"The {title}", sessionId=sample.id)
        add(path, sample.lines[-1:])
        assert lab.places(title) == ["1@1"]
        assert lab.places(other) == []


def test_the_index_may_be_deleted(lab: SearchLab) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("hippogriff") == ["1@1"]
    shutil.rmtree(folder())
    assert lab.places("hippogriff") == ["1@1"]


@pytest.mark.parametrize("name", ["catalogue.db", "words/meta.json"])
def test_a_damaged_index_is_built_anew(lab: SearchLab, name: str) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("hippogriff") == ["1@1"]
    (path,) = folder().glob(f"v[0-9]*/{name}")
    path.write_bytes(b"{ nonsense" * 1000)
    assert lab.places("hippogriff") == ["1@1"]


def test_an_index_of_another_version_is_replaced(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    with monkeypatch.context() as patched:
        patched.setattr("prong.search.index.VERSION", 0)
        assert lab.places("hippogriff") == ["1@1"]
    assert [one.name for one in folder().glob("v[0-9]*")] == ["v0"]
    assert lab.places("hippogriff") == ["1@1"]
    assert [one.name for one in folder().glob("v[0-9]*")] == [f"v{VERSION}"]


def test_while_another_process_writes_a_search_answers_from_what_there_is(lab: SearchLab) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("hippogriff") == ["1@1"]
    lab.claude(("Feed the hippogriff", "Fed."))
    other = SearchIndex(folder())
    with other.writing() as update:
        assert update is not None
        result = lab.find("hippogriff")
        assert places(result.hits) == ["1@1"]
        assert result.index.busy
    other.close()
    assert sorted(lab.places("hippogriff")) == ["1@1", "2@1"]


def test_who_waited_for_another_process_sees_what_it_wrote(lab: SearchLab) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("hippogriff") == ["1@1"]
    ours = SearchIndex(folder())
    before = ours.words.documents
    begun, go_on = threading.Event(), threading.Event()

    def write() -> None:
        other = SearchIndex(folder())
        with closing(other), other.writing() as update:
            assert update is not None
            begun.set()
            assert go_on.wait(60)
            turn = TurnText("t", 1, "human", None, "a griffin", "", "")
            update.add("claude", FileTexts("/x.jsonl", Stamp(1, 2, 3), "x", [turn]), None)

    writer = threading.Thread(target=write)
    writer.start()
    assert begun.wait(60)
    threading.Timer(0.1, go_on.set).start()
    with ours.writing(patience=60) as update:
        assert update is not None
    writer.join()
    assert ours.words.documents == before + 1
    ours.close()


def test_an_interrupt_right_after_a_commit(lab: SearchLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    real: Any = Update._commit

    def interrupted(update: Update, writer: Any) -> None:
        real(update, writer)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Update, "_commit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lab.places("hippogriff")
    assert lab.places("hippogriff") == ["1@1"]


def test_a_search_brings_the_index_up_to_date_for_a_moment_only(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    assert lab.places("hippogriff") == ["1@1"]
    for number in range(3):
        lab.claude((f"Feed hippogriff {number}", "Fed."))
    with monkeypatch.context() as patched:
        patched.setattr("prong.search.service._REFRESH_SECONDS", 0)
        result = lab.find("hippogriff")
        assert places(result.hits) == ["1@1"]
        assert result.index.behind == 3
        assert not result.index.complete
    with lab.app() as app:
        assert app.search.index(vectors=False).complete
    assert len(lab.places("hippogriff")) == 4


def test_an_interrupt_leaves_what_was_read(lab: SearchLab) -> None:
    for number in range(4):
        lab.claude((f"Feed hippogriff {number}", "Fed."))
    seen: list[IndexProgress] = []

    def interrupt(progress: IndexProgress) -> None:
        seen.append(progress)
        if progress.done == 2:
            raise KeyboardInterrupt

    with lab.app() as app:
        with pytest.raises(KeyboardInterrupt):
            app.search.index(vectors=False, on_progress=interrupt)
        state = app.search.state()
        assert (state.turns, state.complete) == (2, False)
    assert (seen[0].phase, seen[0].total) == ("sessions", 4)
    assert len(lab.places("hippogriff")) == 4


def test_rebuilding(lab: SearchLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    lab.places("hippogriff")
    with opened(monkeypatch) as taken, lab.app() as app:
        state = app.search.index(rebuild=True, vectors=False)
        assert (state.sessions, state.turns, state.behind) == (1, 1, 0)
        assert len(taken) == 1
    assert lab.places("hippogriff") == ["1@1"]


def test_the_model_reads_every_turn_once(lab: SearchLab) -> None:
    lab.claude(("Paint the hippogriff", "Painted."), ("Feed it", "Fed."))
    seen: list[IndexProgress] = []
    with lab.app() as app:
        assert app.search.index(on_progress=seen.append).vectors == 4
    assert seen[-1][:3] == ("meaning", 4, 4)
    seen.clear()
    with lab.app() as app:
        assert app.search.index(on_progress=seen.append).vectors == 4
    assert not [one for one in seen if one.phase == "meaning" and one.done]


def test_without_a_folder_to_keep_it_in_an_index_is_made_for_the_moment(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    blocked = lab.home.root / "file"
    blocked.write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    assert lab.places("hippogriff", fast=False) == ["1@1"]
    assert not list((tmp_path / "scratch").iterdir())


def test_sessions_without_any_words(lab: SearchLab) -> None:
    assert lab.places("anything") == []
    state = lab.find("anything").index
    assert (state.sessions, state.turns) == (0, 0)


def test_text_that_is_no_text(lab: SearchLab) -> None:
    sample = lab.sample()
    sample.prompt("HERE hippogriff\0 \x1b[31m")
    sample.answer("fine")
    path = sample.write(lab.home.claude)
    path.write_bytes(path.read_bytes().replace(b"HERE", b"\\ud800"))
    assert lab.places("hippogriff") == ["1@1"]


def test_an_agent_that_tells_no_words_is_searched_through_its_messages(lab: SearchLab) -> None:
    from prong import App
    from prong.agents.claude.store import ClaudeStore
    from prong.config import Config

    lab.claude(("Paint the hippogriff", "Painted."))
    stores = {"claude": PlainStore(ClaudeStore([lab.home.claude]))}
    with App(Config(), stores=stores) as app:
        assert places(app.search.find(SearchRequest("hippogriff", fast=True)).hits) == ["1@1"]


def test_a_turn_is_as_old_as_it_says(lab: SearchLab) -> None:
    lab.claude(("Paint the hippogriff", "Painted."))
    (hit,) = lab.find("hippogriff").hits
    assert hit.date is not None
    assert timedelta(0) < hit.date - (START + timedelta(days=1)) < timedelta(minutes=1)
    assert Path(hit.source or "").is_absolute()


def test_what_the_model_has_not_read_is_counted_by_text(lab: SearchLab) -> None:
    lab.claude(("Paint a griffin", "Painted."), ("Paint a griffin", "Done."))
    with lab.app() as app:
        assert app.search.index(vectors=False).unread == 3
        cache = VectorCache(paths.cache_dir() / "search" / "vectors.db")
        cache.put({VectorCache.key_of("Done."): np.zeros(384, np.float32)})
        cache.close()
        assert app.search.state().unread == 2
