"""One tantivy index in a folder: documents that hold words and say by a number what they are."""

from collections import deque
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import tantivy
from tantivy import Document, TextAnalyzer

_TOGETHER = 8 << 20
"""About so many characters are given to tantivy at a time. Its thread goes to sleep when it has
nothing to do, and to be woken for each document costs both threads more than the document."""


@contextmanager
def _as_os_error() -> Generator[None]:
    """An error of tantivy as what it mostly is: it has one kind for all."""
    try:
        yield
    except ValueError as error:
        raise OSError(str(error)) from error


_MOST_KNOWN = 10_000
"""Words."""


class Documents:
    """An index, open to be asked."""

    def __init__(
        self, folder: Path, schema: tantivy.Schema, analyzers: Mapping[str, TextAnalyzer]
    ) -> None:
        """Open it, or make it. Raises `ValueError` when it is damaged or of another kind."""
        folder.mkdir(mode=0o700, exist_ok=True)
        self.schema = schema
        self._index = tantivy.Index(schema, path=str(folder))
        for name, analyzer in analyzers.items():
            self._index.register_tokenizer(name, analyzer)
        self._index.config_reader("Manual")
        self._having: dict[tuple[str, str], int] = {}

    @staticmethod
    def are_in(folder: Path) -> bool:
        return (folder / "meta.json").exists()

    def reload(self) -> None:
        """See what was committed since."""
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
        """How many documents have a word in a field."""
        known = self._having.get((name, word))
        if known is None:
            if len(self._having) > _MOST_KNOWN:
                self._having.clear()
            known = self._having[name, word] = self.searcher.doc_freq(name, word)
        return known

    def beginning(self, name: str, start: str, most: int) -> list[tuple[str, int]]:
        """The most frequent words of a field that begin so, and how many documents have each."""
        with _as_os_error():
            return self.searcher.terms_with_prefix(name, start, limit=most)

    def found(
        self, query: tantivy.Query, limit: int, fields: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """The best documents: their score, and the number that they have in each of the fields."""
        if not limit or not self.searcher.num_docs:
            return []
        with _as_os_error():
            hits = self.searcher.search(query, limit, count=False).hits
            addresses = [address for _, address in hits]
            numbers = [self.searcher.fast_field_values(field, addresses) for field in fields]
        return list(zip([score for score, _ in hits], *numbers, strict=True))

    def writer(self, heap: int) -> "DocumentWriter":
        """Raises `ValueError` while another process writes."""
        return DocumentWriter(self._index.writer(heap, 1), self.schema)


class DocumentWriter:
    """Adds and removes documents. That is seen after `commit`. Raises `OSError` when it fails."""

    def __init__(self, writer: tantivy.IndexWriter, schema: tantivy.Schema) -> None:
        self._writer = writer
        self._schema = schema
        self._waiting: deque[Document] = deque()
        self._length = 0
        """Of what is waiting."""

    def add(self, fields: Mapping[str, object]) -> None:
        # Its type names no types of keys and values.
        make = cast(Callable[[Mapping[str, object], tantivy.Schema], Document], Document.from_dict)  # pyright: ignore[reportUnknownMemberType]
        given = {name: value for name, value in fields.items() if value != ""}
        try:
            document = make(given, self._schema)
        except UnicodeEncodeError:
            document = make({n: _whole(value) for n, value in given.items()}, self._schema)
        self._waiting.append(document)
        self._length += sum(len(value) for value in given.values() if isinstance(value, str))
        if self._length > _TOGETHER:
            self._send()

    def _send(self) -> None:
        """Give tantivy what is waiting, in its order. After an interrupt the rest still waits."""
        self._length = 0
        with _as_os_error():
            while self._waiting:
                self._writer.add_document(self._waiting[0])
                self._waiting.popleft()

    def remove(self, name: str, number: int) -> None:
        """All documents that have this number in a field."""
        # By a query: `delete_documents_by_term` takes the number for a signed one, and finds none.
        query = tantivy.Query.term_query(self._schema, name, number)
        self._send()
        with _as_os_error():
            self._writer.delete_documents_by_query(query)

    def clear(self) -> None:
        """Remove all documents."""
        self._waiting.clear()
        self._length = 0
        with _as_os_error():
            self._writer.delete_all_documents()

    def commit(self) -> None:
        self._send()
        with _as_os_error():
            self._writer.commit()

    def close(self) -> None:
        """Wait for what goes on in the background. Nothing can be added afterwards."""
        with _as_os_error():
            self._writer.wait_merging_threads()

    def let_go(self) -> None:
        """Let others write, whoever still holds this one; what was not committed is gone."""
        # An error that is being handled holds all that was at work when it was raised.
        self.__dict__.pop("_writer", None)


def _whole(value: object) -> object:
    """A text without half characters, which tantivy does not take."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
