"""What is compared: plain BM25 over whole sessions, prong, and prong with one part left out."""

from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import tantivy
from tantivy import Occur

from benchmarks.retrieval.homes import stores, texts
from prong.app import App
from prong.model.search import SearchRequest
from prong.search import lexical, ranking
from prong.search.lexical import SESSION_FIELDS, TURN_FIELDS, TYPED
from prong.search.query_terms import words_of
from prong.search.ranking import WEIGHTS, Weights

DEPTH = 10
"""How many sessions are asked for: as many as `prong find` shows."""

Search = Callable[[str], list[str]]
"""A query in; session files out, relative to the home, the best first."""


def plain_bm25(home: Path) -> Search:
    """BM25 over sessions: one document of all prompts and answers, English stems, any word.

    The words of the query are those of prong, so that only the ranking differs.
    """
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("number", fast=True)
    builder.add_text_field("text", tokenizer_name="en_stem", index_option="freq")
    schema = builder.build()
    index = tantivy.Index(schema)
    writer = index.writer(64 << 20, 1)
    names: list[str] = []
    for file in texts(home):
        said = "\n".join(f"{turn.prompt}\n{turn.answer}" for turn in file.turns)
        document = tantivy.Document()
        document.add_unsigned("number", len(names))
        document.add_text("text", said)
        writer.add_document(document)
        names.append(str(Path(file.path).relative_to(home)))
    writer.commit()
    writer.wait_merging_threads()
    index.reload()
    searcher = index.searcher()

    def search(text: str) -> list[str]:
        terms = [tantivy.Query.term_query(schema, "text", word) for word in words_of(text).stems]
        query = tantivy.Query.boolean_query([(Occur.Should, term) for term in terms])
        hits = searcher.search(query, DEPTH, count=False).hits
        numbers = searcher.fast_field_values("number", [address for _, address in hits])
        return [names[int(number)] for number in numbers if number is not None]

    return search


@dataclass(frozen=True)
class Variant:
    """prong as it is, or otherwise."""

    name: str
    weights: Weights = WEIGHTS
    fields: Mapping[str, float] = field(default_factory=lambda: TURN_FIELDS)
    session_fields: Mapping[str, float] = field(default_factory=lambda: SESSION_FIELDS)
    typed: float = TYPED
    fast: bool = False

    @contextmanager
    def in_force(self) -> Generator[None]:
        """While it lasts, prong ranks like this."""
        with ExitStack() as changes:
            changes.enter_context(patch.object(ranking, "WEIGHTS", self.weights))
            changes.enter_context(patch.object(lexical, "TURN_FIELDS", self.fields))
            changes.enter_context(patch.object(lexical, "SESSION_FIELDS", self.session_fields))
            changes.enter_context(patch.object(lexical, "TYPED", self.typed))
            yield


def _without(*names: str) -> dict[str, float]:
    return {name: boost for name, boost in TURN_FIELDS.items() if name not in names}


PRONG = Variant("prong")
FAST = Variant("without the model (`--fast`)", fast=True)
VARIANTS = (
    PRONG,
    FAST,
    Variant("without the words of the turn", WEIGHTS._replace(turn=0)),
    Variant("without the words of the session", WEIGHTS._replace(session=0)),
    Variant("without the title", WEIGHTS._replace(title=0)),
    Variant("without coverage", WEIGHTS._replace(coverage=0)),
    Variant("without the query in a command", typed=0),
    Variant("without company", WEIGHTS._replace(company=0)),
    Variant("without the names of the session", session_fields={"all": 1.0}),
    Variant(
        "without files, commands, names",
        fields=_without("files", "commands", "names"),
        session_fields={"all": 1.0},
        typed=0,
    ),
    Variant("without tool output", fields=_without("output")),
    Variant("session + turn alone", WEIGHTS._replace(floor=0, title=0, coverage=0), fast=True),
)


class Prong:
    """prong on a home. It keeps its index in the cache folder of the environment."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.app = App(stores=stores(home))

    def search(self, text: str, variant: Variant = PRONG) -> list[str]:
        """Sessions in the order of their best turns; those with a copy of it come right after."""
        query = SearchRequest(
            text, fast=variant.fast, by_session=True, limit=DEPTH, engine="builtin"
        )
        with variant.in_force():
            result = self.app.search.find(query)
        files = {session.ref: session.file for session in self.app.sessions.all()}
        refs = [ref for hit in result.hits for ref in (hit.ref, *(also for also, _ in hit.also))]
        found = [files[ref] for ref in dict.fromkeys(refs) if ref in files]
        return [str(Path(file).relative_to(self._home)) for file in found]
