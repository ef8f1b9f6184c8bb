"""Whatever goes wrong with the index, sessions do not stay lost, and nobody is told a lie."""

import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from prong import App, paths
from prong.agents.base import ScanCache
from prong.agents.claude.store import ClaudeStore
from prong.config import Config
from prong.errors import Unavailable
from prong.model.search import SearchRequest
from prong.model.sessions import Conversation, Scan, Session
from prong.search.catalogue import Catalogue
from prong.search.index import SearchIndex
from prong.search.lexical import LexicalWriter
from tests.plain_store import PlainStore
from tests.search.lab import SearchLab, places

GRIFFIN = ("Tame the griffin", "Tamed.")
UNICORN = ("Feed the unicorn", "Fed.")


def folder() -> Path:
    return paths.cache_dir() / "search"


def test_a_commit_that_fails_is_not_taken_for_one_that_did_not(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.claude(GRIFFIN)

    def commit(_: LexicalWriter) -> None:
        raise OSError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(LexicalWriter, "commit", commit)
        with pytest.raises(Unavailable, match="no room"):
            lab.find("griffin")
    assert lab.places("griffin") == ["1@1"]


def test_an_interrupt_while_the_catalogue_is_written(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.claude(GRIFFIN)
    lab.claude(UNICORN)

    def interrupted(_: Catalogue) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Catalogue, "finished", interrupted)
        with pytest.raises(KeyboardInterrupt):
            lab.find("griffin")
    assert lab.places("griffin") == ["1@1"]
    assert lab.places("unicorn") == ["2@1"]


TAKEN_AGAIN = """
import os
from prong import paths
from prong.agents.claude.store import ClaudeStore
from prong.search.index import SearchIndex
from prong.search.lexical import LexicalWriter
commit = LexicalWriter.commit
def killed(self):
    commit(self)
    os._exit(9)
LexicalWriter.commit = killed
index = SearchIndex(paths.cache_dir() / "search")
(known,) = index.catalogue.files("claude")
with index.writing() as update:
    update.add("claude", ClaudeStore().file_texts(known.path), known)
"""


def test_killed_while_an_unchanged_file_is_taken_again(lab: SearchLab) -> None:
    """As Codex does when a rewind gives other numbers to turns of older files."""
    lab.claude(GRIFFIN)
    assert lab.places("griffin") == ["1@1"]
    assert subprocess.run([sys.executable, "-c", TAKEN_AGAIN], check=False).returncode == 9
    assert lab.places("griffin") == ["1@1"]


def test_a_file_name_that_is_no_text(lab: SearchLab) -> None:
    sample = lab.claude(GRIFFIN)
    path = next(lab.home.claude.rglob(f"{sample.id}.jsonl"))
    path.rename(path.with_name(os.fsdecode(b"caf\xe9.jsonl")))
    with lab.app() as app:
        (hit,) = app.search.find(SearchRequest("griffin", fast=True)).hits
        assert hit.ref is not None
        assert hit.ref.id == os.fsdecode(b"caf\xe9")


def test_a_damaged_page_of_the_catalogue(lab: SearchLab) -> None:
    for number in range(30):
        lab.claude((f"Tame griffin {number}", "Tamed. " * 100))
    assert len(lab.places("griffin")) == 10
    (path,) = folder().glob("v*/catalogue.db")
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x55" * (path.stat().st_size - 8192))
    assert len(lab.places("griffin")) == 10


def test_an_index_that_others_hold_is_not_replaced(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.claude(GRIFFIN)
    lab.places("griffin")

    def locked(*_: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    (path,) = folder().glob("v*/catalogue.db")
    before = path.stat().st_ino
    with monkeypatch.context() as patched:
        patched.setattr(Catalogue, "__init__", locked)
        with pytest.raises(Unavailable, match="locked"):
            lab.find("griffin")
    assert path.stat().st_ino == before


def test_others_go_on_when_an_index_is_rebuilt_or_replaced(lab: SearchLab) -> None:
    lab.claude(GRIFFIN)
    with lab.app() as first, lab.app() as second:
        assert places(first.search.find(SearchRequest("griffin", fast=True)).hits) == ["1@1"]
        second.search.index(rebuild=True, vectors=False)
        assert places(first.search.find(SearchRequest("griffin", fast=True)).hits) == ["1@1"]
        for path in folder().glob("v[0-9]*"):
            path.rename(path.with_name("gone"))
        second.search.find(SearchRequest("griffin", fast=True))
        lab.claude(UNICORN)
        assert places(first.search.find(SearchRequest("unicorn", fast=True)).hits) == ["2@1"]


def test_what_could_not_be_read_is_behind(lab: SearchLab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.claude(GRIFFIN)
    with lab.app() as app:
        app.sessions.all()

    def unreadable(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(ClaudeStore, "file_texts", unreadable)
        assert lab.find("griffin").index.behind == 1
    assert lab.places("griffin") == ["1@1"]


class Unreadable(PlainStore):
    def conversation(self, session: Session) -> Conversation:
        raise RuntimeError("boom")


class Broken(Unreadable):
    def scan(self, cache: ScanCache) -> Scan:
        raise RuntimeError("bang")


@pytest.mark.parametrize("plug_in", [Unreadable, Broken])
def test_a_plug_in_that_fails_hides_nobody(lab: SearchLab, plug_in: type[PlainStore]) -> None:
    lab.claude(GRIFFIN)
    own = ClaudeStore([lab.home.claude])
    stores = {"claude": own, "plain": plug_in(ClaudeStore([lab.home.root / "other"]))}
    with App(Config(), stores=stores) as app:
        result = app.search.find(SearchRequest("griffin", fast=True))
    assert places(result.hits) == ["1@1"]
    if plug_in is Broken:
        assert not result.index.complete
        assert result.notes == ("plain cannot be searched: RuntimeError: bang",)


def test_a_disk_that_is_away_is_not_forgotten(lab: SearchLab) -> None:
    lab.claude(GRIFFIN)
    assert lab.places("griffin") == ["1@1"]
    projects = lab.home.claude / "projects"
    projects.rename(lab.home.root / "away")
    (paths.cache_dir() / "cache.db").unlink()
    assert lab.places("griffin") == []
    with lab.app() as app:
        assert app.search.state().sessions == 1
    (lab.home.root / "away").rename(projects)
    assert lab.places("griffin") == ["1@1"]


def test_a_root_that_is_no_longer_looked_at_is_forgotten(lab: SearchLab) -> None:
    lab.claude(GRIFFIN)
    other = lab.home.root / "other"
    sample = lab.sample()
    sample.prompt("Feed the unicorn")
    sample.answer("Fed.")
    sample.write(other)
    both = {"claude": ClaudeStore([lab.home.claude, other])}
    with App(Config(), stores=both) as app:
        assert app.search.index(vectors=False).sessions == 2
    one = {"claude": ClaudeStore([lab.home.claude])}
    with App(Config(), stores=one) as app:
        assert app.search.index(vectors=False).sessions == 1


def test_all_files_are_private(lab: SearchLab) -> None:
    lab.claude(GRIFFIN)
    lab.find("griffin", fast=False)
    assert all(not path.stat().st_mode & 0o077 for path in folder().rglob("*"))


def test_a_large_file_waits_for_prong_index(
    lab: SearchLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search may take half a second for what changed."""
    monkeypatch.setattr("prong.search.service._REFRESH_SECONDS", 0.5)
    lab.claude(GRIFFIN)
    lab.places("griffin")
    sample = lab.sample()
    sample.prompt("Feed the unicorn")
    sample.tools(("Bash", {"command": "seq"}, "1 2 3 " * 4_000_000))
    sample.answer("Fed.")
    sample.write(lab.home.claude)
    result = lab.find("unicorn")
    assert (places(result.hits), result.index.behind) == ([], 1)
    with lab.app() as app:
        assert app.search.index(vectors=False).complete
    assert lab.places("unicorn") == ["2@1"]


def test_an_index_that_is_made_by_many_at_once(lab: SearchLab) -> None:
    lab.claude(GRIFFIN)
    code = "from prong import App; from prong.model.search import SearchRequest; "
    code += "App().search.find(SearchRequest('griffin', fast=True))"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(6)
    ]
    for process in started:
        _, error = process.communicate()
        assert process.returncode == 0, error
    index = SearchIndex(folder())
    assert index.catalogue.counts() == (1, 1)
    index.close()


FIND = """
import sys
from prong import App
from prong.model.search import SearchRequest
with App() as app:
    print(*[hit.ref for hit in app.search.find(SearchRequest("griffin", fast=True)).hits])
"""


@pytest.mark.parametrize(
    "name", ["catalogue.db", "words/meta.json", "words/.managed.json", "words/sessions/meta.json"]
)
@pytest.mark.parametrize("is_pipe", [True, False], ids=["pipe", "device"])
def test_a_pipe_or_a_device_among_its_files(lab: SearchLab, name: str, *, is_pipe: bool) -> None:
    """A reader of a pipe would wait for ever, and a device has no end."""
    lab.claude(GRIFFIN)
    assert lab.places("griffin") == ["1@1"]
    (path,) = folder().glob(f"v*/{name}")
    path.unlink()
    if is_pipe:
        os.mkfifo(path)
    else:
        path.symlink_to("/dev/zero")
    done = subprocess.run(
        [sys.executable, "-c", FIND], capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, len(done.stdout.split())) == (0, 1), done.stderr
    assert path.is_file()
