"""What the catalogue remembers of itself."""

from pathlib import Path

from prong.model.turn_text import Stamp
from prong.search.catalogue import (
    ORDINAL_BITS,
    Catalogue,
    IndexedFile,
    IndexedTurn,
)


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


def test_what_a_list_shows_is_what_is_there(tmp_path: Path) -> None:
    catalogue = Catalogue(tmp_path / "one.db")
    keys = [mark << ORDINAL_BITS | number for mark in (1, 2) for number in (0, 1)]
    for mark in (1, 2):
        turns = [
            IndexedTurn(key, f"id {key}", 1, "human", None, 7, "asked", "said") for key in keys
        ]
        own = [turn for turn in turns if turn.mark == mark]
        catalogue.add(file(mark), own)
    assert catalogue.shown(keys).keys() == set(keys)
    turn, path = catalogue.shown(keys[2:3])[keys[2]]
    assert (turn.id, turn.prompt, turn.answer, path) == (f"id {keys[2]}", "asked", "said", "/2")
    catalogue.remove([2])
    assert catalogue.shown(keys).keys() == set(keys[:2])
    catalogue.close()
