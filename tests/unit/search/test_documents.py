"""What is written: also when somebody presses Ctrl-C."""

from pathlib import Path
from typing import Any

import pytest
import tantivy

from prong.search import documents
from prong.search.documents import Documents, DocumentWriter


def schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_text_field("said", index_option="freq")
    return builder.build()


class Interrupted:
    """A writer that is interrupted when it gets one of its documents."""

    def __init__(self, writer: Any, at: int) -> None:
        self._writer = writer
        self._at = at
        self._added = 0

    def add_document(self, document: Any) -> None:
        self._added += 1
        if self._added == self._at:
            raise KeyboardInterrupt
        self._writer.add_document(document)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)


@pytest.mark.parametrize("at", [1, 3, 5])
def test_an_interrupt_loses_nothing_that_was_added(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(documents, "_TOGETHER", 50)
    made = Documents(tmp_path / "words", schema(), {})
    raw: Any = tantivy.Index(schema(), str(tmp_path / "words")).writer(15_000_000, 1)
    writer = DocumentWriter(Interrupted(raw, at), schema())  # pyright: ignore[reportArgumentType]
    kept: list[int] = []

    def add_some() -> None:
        for key in range(20):
            kept.append(key)
            writer.add({"key": key, "said": "words and words"})

    with pytest.raises(KeyboardInterrupt):
        add_some()
    writer.commit()
    writer.close()
    made.reload()
    found = made.found(made.term("said", "words"), 100, ("key",))
    assert sorted(key for _, key in found) == kept
