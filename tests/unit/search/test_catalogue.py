"""What the catalogue remembers of itself."""

from pathlib import Path

from prong.search.catalogue import Catalogue, IndexedFile
from prong.texts import Stamp


def file(mark: int) -> IndexedFile:
    return IndexedFile(mark, "claude", f"/{mark}", Stamp(1, 1, 1), f"session {mark}", "", 0)


def test_the_sessions_of_files_are_those_that_are_there_now(tmp_path: Path) -> None:
    reader, writer = Catalogue(tmp_path / "one.db"), Catalogue(tmp_path / "one.db")
    for catalogue in (writer, reader):
        writer.add(file(1), [])
        for _ in range(3):
            assert catalogue.names_of([1, 2]) == {1: ("claude", "session 1")}
        writer.add(file(2), [])
        for _ in range(3):
            assert catalogue.names_of([1, 2, 3]).keys() == {1, 2}
        writer.remove([1, 2])
        for _ in range(3):
            assert catalogue.names_of([1, 2]) == {}
    reader.close()
    writer.close()
