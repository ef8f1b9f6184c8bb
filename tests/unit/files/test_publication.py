"""Files that appear together or not at all. What a kill leaves behind is in tests/faults."""

import fcntl
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from prong.errors import External, Taken, UsageError
from prong.files.journal import leftovers
from prong.files.publication import STAGING, Publication, copy_file, undo, writer

ID = "0123"


class Place:
    """A folder for sessions, and one for journals."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.journal = root / "state" / "journal"
        self.project = root / "store" / "projects" / "shop"
        self.session = self.project / f"{ID}.jsonl"
        self.folder = self.project / ID
        self.memory = self.project / "memory"

    def write(self, publication: Publication) -> None:
        """Stage a session, its folder and a memory."""
        with writer(publication.stage(self.session)) as file:
            file.write(b"{}\n")
        folder = publication.stage(self.folder)
        folder.mkdir()
        (folder / "result.txt").write_text("all of it")
        memory = publication.stage(self.memory, optional=True)
        memory.mkdir()
        (memory / "MEMORY.md").write_text("ours")

    def make(self, check: Callable[[], None] = lambda: None) -> None:
        with Publication(self.journal, check) as publication:
            self.write(publication)
            publication.publish(self.session)

    def files(self) -> dict[str, str]:
        """All files but journals, from the project on."""
        return {
            str(path.relative_to(self.project)): path.read_text()
            for path in sorted(self.project.rglob("*"))
            if path.is_file()
        }

    def abandon(self, publication: Publication) -> None:
        """As when the process is gone: it holds nothing any more."""
        assert publication._journal
        publication._journal.close()

    def fix(self) -> list[Path]:
        return [path for left in leftovers(self.journal) for path in undo(left)]

    def is_empty(self) -> bool:
        """True when there is nothing but the folder of the journals."""
        return [*self.root.rglob("*")] == [self.journal.parent, self.journal]


WHOLE = {f"{ID}.jsonl": "{}\n", f"{ID}/result.txt": "all of it", "memory/MEMORY.md": "ours"}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


class TestPublish:
    def test_all_of_it_appears_and_nothing_else(self, place: Place) -> None:
        place.make()
        assert place.files() == WHOLE
        assert list(place.journal.iterdir()) == []
        assert {path.name for path in place.project.iterdir()} == {ID, f"{ID}.jsonl", "memory"}

    def test_it_is_private(self, place: Place) -> None:
        place.make()
        assert place.session.stat().st_mode & 0o777 == 0o600
        assert place.session.stat().st_nlink == 1
        assert place.project.stat().st_mode & 0o777 == 0o700
        assert place.project.parent.stat().st_mode & 0o777 == 0o700
        assert place.journal.stat().st_mode & 0o777 == 0o700

    def test_nothing_is_there_before(self, place: Place) -> None:
        with Publication(place.journal) as publication:
            place.write(publication)
            assert [path.name[: len(STAGING)] for path in place.project.iterdir()] == [STAGING]
            assert leftovers(place.journal) == []  # somebody is at it

    def test_it_can_be_refused_at_the_end(self, place: Place) -> None:
        def refuse() -> None:
            assert place.project.exists()
            raise Taken("no")

        with pytest.raises(Taken, match="no"):
            place.make(refuse)
        assert place.is_empty()

    @pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
    def test_an_error_takes_all_of_it_back(self, place: Place, error: type[BaseException]) -> None:
        def fail() -> None:
            raise error

        with pytest.raises(error):
            place.make(fail)
        assert place.is_empty()

    def test_nothing_was_staged(self, place: Place) -> None:
        with Publication(place.journal):
            pass
        assert not place.journal.exists()

    def test_a_disk_without_links(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(source: Path, target: Path) -> None:
            raise PermissionError(1, "no links here")

        monkeypatch.setattr(os, "link", refuse)
        place.make()
        assert place.files() == WHOLE
        with pytest.raises(Taken):
            place.make()
        assert place.files() == WHOLE
        assert list(place.journal.iterdir()) == []


class TestTaken:
    def test_the_session(self, place: Place) -> None:
        place.project.mkdir(parents=True)
        place.session.write_text("theirs")
        with pytest.raises(Taken) as caught:
            place.make()
        assert caught.value.details == {"path": str(place.session)}
        assert place.session.read_text() == "theirs"
        assert not place.folder.exists()

    @pytest.mark.parametrize("kind", ["a folder", "a file"])
    def test_the_folder(self, place: Place, kind: str) -> None:
        theirs = place.folder / "x" if kind == "a folder" else place.folder
        theirs.parent.mkdir(parents=True)
        theirs.write_text("theirs")
        with pytest.raises(Taken):
            place.make()
        assert list(place.files().values()) == ["theirs"]

    def test_what_is_optional_stays_theirs(self, place: Place) -> None:
        place.memory.mkdir(parents=True)
        (place.memory / "MEMORY.md").write_text("theirs")
        place.make()
        assert place.files() == {**WHOLE, "memory/MEMORY.md": "theirs"}

    def test_an_empty_folder_is_as_good_as_none(self, place: Place) -> None:
        place.memory.mkdir(parents=True)
        place.make()
        assert place.files() == WHOLE

    @pytest.mark.parametrize("depth", [0, 1, 2])
    def test_a_file_where_a_folder_should_be(self, place: Place, depth: int) -> None:
        wrong = [place.project, *place.project.parents][depth]
        wrong.parent.mkdir(parents=True, exist_ok=True)
        wrong.write_text("theirs")
        with pytest.raises(UsageError, match=f"{wrong} is not a folder"):
            place.make()
        assert wrong.read_text() == "theirs"
        assert list(place.journal.iterdir()) == []


class TestErrors:
    def test_the_file_is_named(self, place: Place) -> None:
        missing = place.root / "gone"
        with pytest.raises(External) as caught, Publication(place.journal) as publication:
            copy_file(missing, publication.stage(place.session))
        message = f"cannot create the fork: No such file or directory: {missing}"
        assert caught.value.message == message
        assert caught.value.details == {"path": str(missing)}
        assert place.is_empty()

    def test_a_journal_that_cannot_be_written(self, place: Place) -> None:
        place.root.mkdir(exist_ok=True)
        (place.root / "state").write_text("a file")
        with pytest.raises(External, match="cannot create the fork: Not a directory"):
            place.make()
        assert not (place.root / "store").exists()


class TestUndo:
    def test_before_it_is_published(self, place: Place) -> None:
        publication = Publication(place.journal)
        place.write(publication)
        place.abandon(publication)
        assert len(leftovers(place.journal)) == 1
        assert [path.name[:7] for path in place.project.iterdir()] == [STAGING]
        assert place.fix()[-1] == place.project.parent.parent
        assert place.is_empty()
        assert place.fix() == []

    def test_after_it_was_published(self, place: Place) -> None:
        publication = Publication(place.journal)
        place.write(publication)
        publication.publish(place.session)
        place.abandon(publication)
        (removed,) = place.fix()
        assert removed.name.startswith(STAGING)
        assert place.files() == WHOLE
        assert place.session.stat().st_nlink == 1

    def test_a_journal_without_a_word(self, place: Place) -> None:
        place.journal.mkdir(parents=True)
        (place.journal / "empty.jsonl").touch()
        assert len(leftovers(place.journal)) == 1
        assert place.fix() == []
        assert place.is_empty()

    @pytest.mark.parametrize(
        "text", ["garbage\n", "[1]\nnull\n", '{"staging": "/x/.prong-1"', "{}"]
    )
    def test_a_journal_that_is_damaged(self, place: Place, text: str) -> None:
        place.journal.mkdir(parents=True)
        (place.journal / "odd.jsonl").write_text(text)
        assert place.fix() == []
        assert place.is_empty()

    def test_only_folders_of_ours_are_removed(self, place: Place) -> None:
        place.journal.mkdir(parents=True)
        precious = place.root / "precious"
        precious.mkdir()
        entry = {"staging": str(precious)}
        (place.journal / "odd.jsonl").write_text(json.dumps(entry) + "\n")
        assert place.fix() == []
        assert precious.is_dir()

    def test_a_journal_that_somebody_holds(self, place: Place) -> None:
        publication = Publication(place.journal)
        place.write(publication)
        place.abandon(publication)
        (found,) = leftovers(place.journal)
        with found.open() as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            assert undo(found) == []
        assert undo(found) != []
        assert undo(found) == []

    def test_the_hidden_folder_was_removed_by_hand(self, place: Place) -> None:
        """Then what was moved before is still taken back."""
        place.project.mkdir(parents=True)
        place.session.write_text("theirs")
        publication = Publication(place.journal)
        place.write(publication)
        with pytest.raises(Taken):
            publication.publish(place.session)
        place.abandon(publication)
        (hidden,) = place.project.glob(f"{STAGING}*")
        (hidden / f"0-{ID}.jsonl").unlink()
        hidden.rmdir()
        place.session.unlink()
        assert set(place.fix()) == {place.folder, place.memory, hidden}
        assert place.files() == {}
