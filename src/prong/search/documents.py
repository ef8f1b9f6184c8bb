"""tantivy wrapper: an index in a folder whose documents hold words and numeric fields."""

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import tantivy
from tantivy import Document, TextAnalyzer

_TOGETHER = 8 << 20
"""Batch size in characters. tantivy's thread sleeps while idle, and waking it for each document
costs both threads more than the document itself."""


_MOST_KNOWN = 10_000
"""Maximum number of cached word counts."""


@contextmanager
def _as_os_error() -> Generator[None]:
    """Convert tantivy's only error type to `OSError`, which it mostly is."""
    try:
        yield
    except ValueError as error:
        raise OSError(str(error)) from error


class Documents:
    """A tantivy index, open for queries."""

    def __init__(
        self, folder: Path, schema: tantivy.Schema, analyzers: Mapping[str, TextAnalyzer]
    ) -> None:
        """Open or create it. Raises `ValueError` when it is damaged or has another schema."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.schema = schema
        self._index = tantivy.Index(schema, path=str(folder))
        for name, analyzer in analyzers.items():
            self._index.register_tokenizer(name, analyzer)
        self._index.config_reader("Manual")
        self._having: dict[tuple[str, str], int] = {}

    def reload(self) -> None:
        """Make later commits visible."""
        with _as_os_error():
            self._index.reload()
        self.__dict__.pop("searcher", None)
        self._having.clear()

    @cached_property
    def searcher(self) -> tantivy.Searcher:
        return self._index.searcher()

    def term(self, name: str, word: str) -> tantivy.Query:
        return tantivy.Query.term_query(self.schema, name, word)

    def having(self, name: str, word: str) -> int:
        """Count the documents that have a word in a field."""
        count = self._having.get((name, word))
        if count is None:
            if len(self._having) > _MOST_KNOWN:
                self._having.clear()
            count = self._having[name, word] = self.searcher.doc_freq(name, word)
        return count

    def beginning(self, name: str, start: str, most: int) -> list[tuple[str, int]]:
        """List the most frequent words of a field with a prefix, and their document counts."""
        with _as_os_error():
            return self.searcher.terms_with_prefix(name, start, limit=most)

    def found(
        self, query: tantivy.Query, limit: int, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """Return the best documents: the score, and the value of each numeric field."""
        if not limit or not self.searcher.num_docs:
            return []
        with _as_os_error():
            hits = self.searcher.search(query, limit, count=False).hits
            addresses = [address for _, address in hits]
            numbers = [self.searcher.fast_field_values(field, addresses) for field in fields]
        return list(zip([score for score, _ in hits], *numbers, strict=True))

    def writer(self, heap: int) -> "DocumentWriter":
        """Open the writer. Raises `ValueError` while another process writes."""
        return DocumentWriter(self._index.writer(heap, 1), self.schema)


class DocumentWriter:
    """Adds and removes documents, visible after `commit`. Raises `OSError` on failure."""

    def __init__(self, writer: tantivy.IndexWriter, schema: tantivy.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self._waiting: deque[Document] = deque()
        self._length = 0
        """Total characters of the waiting documents."""

    def add(self, fields: Mapping[str, object]) -> None:
        # The stub leaves the types of keys and values open.
        make = cast(Callable[[Mapping[str, object], tantivy.Schema], Document], Document.from_dict)  # pyright: ignore[reportUnknownMemberType]
        values = {name: value for name, value in fields.items() if value != ""}
        try:
            document = make(values, self._schema)
        except UnicodeEncodeError:
            document = make({n: _whole(value) for n, value in values.items()}, self._schema)
        self._waiting.append(document)
        self._length += sum(len(value) for value in values.values() if isinstance(value, str))
        if self._length > _TOGETHER:
            self._send()

    def _send(self) -> None:
        """Send the waiting documents to tantivy in order. An interrupt keeps the rest."""
        self._length = 0
        with _as_os_error():
            while self._waiting:
                self._writer.add_document(self._waiting[0])
                self._waiting.popleft()

    def remove(self, name: str, number: int) -> None:
        """Remove all documents with this number in a field."""
        # By query: `delete_documents_by_term` treats the number as signed and finds nothing.
        query = tantivy.Query.term_query(self._schema, name, number)
        self._send()
        with _as_os_error():
            self._writer.delete_documents_by_query(query)

    def clear(self) -> None:
        self._waiting.clear()
        self._length = 0
        with _as_os_error():
            self._writer.delete_all_documents()

    def commit(self) -> None:
        self._send()
        with _as_os_error():
            self._writer.commit()

    def close(self) -> None:
        """Wait for background merges. Nothing can be added afterwards."""
        with _as_os_error():
            self._writer.wait_merging_threads()

    def let_go(self) -> None:
        """Release the write lock, dropping uncommitted changes, even while referenced."""
        # An exception being handled keeps its frames, and thus the writer, alive.
        self.__dict__.pop("_writer", None)


def _whole(value: object) -> object:
    """Replace lone surrogates, which tantivy rejects."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
