"""Word index: tantivy, with a document for each turn, session and title.

Sessions have their own index, because BM25 weighs a document's length and a word's frequency
against other documents, and turns are not comparable to sessions. Turns and titles share no field,
so a query for one never matches the other. Documents store no text, only a key and, for turns, the
two numbers that reveal copies; the catalogue maps keys to content.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

import tantivy
from tantivy import Occur

from prong.search.analyzers import analyzers, names_in, spelled
from prong.search.candidates import FoundTurn
from prong.search.documents import Documents, DocumentWriter
from prong.search.query_terms import QueryTerms, beginning_in

TURN_FIELDS: Mapping[str, float] = {
    "prompt": 1.5,
    "answer": 1.0,
    "files": 0.3,
    "commands": 0.3,
    "names": 0.3,
    "aside": 0.3,
    "output": 0.1,
}
"""Boosts of the fields of a turn."""
SESSION_FIELDS: Mapping[str, float] = {"all": 1.0, "names": 0.3}
"""Boosts of the fields of a session."""
TYPED = 4.0
"""Boost of a turn with the whole query in a command, such as the commit whose subject it is."""
_FEWEST_TYPED = 3
"""Minimum words of such a query; shorter ones are in many commands."""
_HEAP = 96 << 20
_SESSION_HEAP = 32 << 20
_COVERED = 200
"""Number of turns whose coverage of the query is computed."""
_MOST_POSTINGS = 10_000
"""Maximum number of postings read for the coverage."""
_MOST_PRINTED = 10_000
"""Maximum number of postings in tool output read to find turns."""
_COMPLETED = {"stems": ("prompt", "answer"), "plain": ("names", "files")}
"""Fields that complete an unfinished word, by the form of words that they have."""
_MOST_COMPLETED = 12


class Scope(NamedTuple):
    """Filters of a search; None means no filter."""

    marks: Sequence[int] | None = None
    since: int | None = None
    """Milliseconds since 1970."""
    files: tuple[str, ...] = ()
    """Words that the paths of touched files must contain."""
    ids: Sequence[int] | None = None
    """The `number_of` each turn id."""
    without: tuple[int, ...] = ()
    """Marks of excluded files."""


class TurnWords(NamedTuple):
    key: int
    id: int
    """The `number_of` its id."""
    time: int
    fingerprint: int
    """Hash of its text, identical in the copies that forks contain."""
    place: int
    """Its packed `place_of`."""
    # The texts are `spelled`.
    prompt: str
    answer: str
    files: str
    commands: str
    output: str
    aside: str
    names: Sequence[str]
    """Its `names_in`."""
    result: str = ""
    """Its result, for the session's document."""


_FOUND = FoundTurn._fields[1:]


class Coverage(NamedTuple):
    """How much of the query each turn contains, in [0, 1]."""

    shares: Mapping[int, float]
    """Coverage of the best turns by key."""
    rest: float
    """Upper bound for all other turns."""

    def of(self, key: int) -> float:
        return self.shares.get(key, self.rest)


class Lexical:
    def __init__(self, folder: Path) -> None:
        """Open or create it. Raises `ValueError` when it is damaged or has another schema."""
        sessions = folder / "sessions"
        if (folder / "meta.json").exists() and not (sessions / "meta.json").exists():
            raise ValueError("the words of the sessions are gone")
        folder.mkdir(mode=0o700, exist_ok=True)
        # Turns last: if their index exists, the index is complete.
        self._sessions = Documents(sessions, _session_schema(), analyzers())
        self._turns = Documents(folder, _turn_schema(), analyzers())

    def reload(self) -> None:
        self._sessions.reload()
        self._turns.reload()

    def writer(self) -> "LexicalWriter":
        """Open the writer. Raises `ValueError` while another process writes."""
        return LexicalWriter(self._turns.writer(_HEAP), self._sessions.writer(_SESSION_HEAP))

    # -- queries -----------------------------------------------------------------------------

    def completed(self, words: QueryTerms, text: str) -> QueryTerms:
        """Add the most frequent completions of the text's last word."""
        start = beginning_in(text)
        if start is None:
            return words
        forms = {"stems": words.stems, "plain": words.plain}
        for form, names in _COMPLETED.items():
            counts = Counter[str]()
            for name in names:
                counts.update(dict(self._turns.beginning(name, start, _MOST_COMPLETED)))
            common = [word for word, _ in counts.most_common(_MOST_COMPLETED)]
            forms[form] = tuple(dict.fromkeys((*forms[form], *common)))
        return words._replace(**forms)

    def turns(self, words: QueryTerms, scope: Scope, limit: int) -> list[FoundTurn]:
        """Find turns that contain any of the words, best first."""
        hits = _found(self._turns, self._terms(words), scope, limit, _FOUND)
        return list(map(FoundTurn._make, hits))

    def _terms(self, words: QueryTerms) -> list[tantivy.Query]:
        """Build the queries for words in any field of a turn; in tool output for rare ones only."""
        terms = _terms(self._turns, TURN_FIELDS, words, without="output")
        boost = TURN_FIELDS.get("output", 0.0)
        printed = sorted((self._turns.having("output", word), word) for word in words.plain)
        postings = 0
        for count, word in printed if boost else ():
            if count:
                terms.append(_boosted(self._turns.term("output", word), boost))
            postings += count
            if postings > _MOST_PRINTED:
                break
        return terms

    def typed(self, words: QueryTerms, scope: Scope, limit: int) -> list[FoundTurn]:
        """Find turns with the whole query in a command. Apart, other queries are faster."""
        if len(words.sentence) < _FEWEST_TYPED or not TYPED:
            return []
        sentence = list[str | tuple[int, str]](words.sentence)
        typed = tantivy.Query.phrase_query(self._turns.schema, "commands", sentence)
        if not _found(self._turns, [typed], scope, 1):
            return []
        clauses = [(Occur.Must, _boosted(typed, TYPED)), (Occur.Should, _any(self._terms(words)))]
        query = tantivy.Query.boolean_query(clauses)
        return list(map(FoundTurn._make, _found(self._turns, [query], scope, limit, _FOUND)))

    def sessions(self, words: QueryTerms, scope: Scope, limit: int) -> dict[int, float]:
        """Score session files that contain any of the words, by mark."""
        return _marks(self._sessions, SESSION_FIELDS, words, scope, limit)

    def titles(self, words: QueryTerms, scope: Scope, limit: int) -> dict[int, float]:
        """Score session files whose title contains any of the words, by mark."""
        return _marks(self._turns, {"title": 1.0}, words, scope, limit)

    def coverage(
        self, words: QueryTerms, scope: Scope, worth: Callable[[int, int], float]
    ) -> Coverage:
        """Compute how much of the query each turn contains: the weighted share of its words.

        `worth` maps a word's document frequency and the document count to a weight. The most
        frequent words are skipped as long as there are others: they cost most and say least.
        """
        words_by_rarity: list[tuple[list[int], list[tuple[str, str]]]] = []
        for stem, plain in words.telling:
            forms = [(name, plain if name in _UNSTEMMED else stem) for name in TURN_FIELDS]
            words_by_rarity.append(([self._turns.having(*form) for form in forms], forms))
        words_by_rarity.sort(key=lambda one: sum(one[0]))
        counted: list[tantivy.Query] = []
        total_weight, postings = 0.0, 0
        for frequencies, forms in words_by_rarity:
            postings += sum(frequencies)
            if counted and postings > _MOST_POSTINGS:
                break
            rarity = worth(max(frequencies, default=0), self.documents)
            total_weight += rarity
            terms = [self._turns.term(*form) for form in compress(forms, frequencies)]
            if terms:
                counted.append(tantivy.Query.const_score_query(_any(terms), rarity))
        hits = _found(self._turns, counted, scope, _COVERED)
        shares = {key: min(score / total_weight, 1.0) for score, key in hits}
        full = len(hits) == _COVERED
        return Coverage(shares, hits[-1][0] / total_weight if full else 0.0)

    @property
    def documents(self) -> int:
        return self._turns.searcher.num_docs


class LexicalWriter:
    """The single writer of the index. Changes are visible after `commit`."""

    def __init__(self, turns: DocumentWriter, sessions: DocumentWriter) -> None:
        self._turns = turns
        self._sessions = sessions

    def add_turn(self, mark: int, turn: TurnWords) -> None:
        fields = {name: value for name, value in turn._asdict().items() if name != "result"}
        self._turns.add({**fields, "mark": mark, "names": " ".join(turn.names)})

    def add_session(self, mark: int, text: str, names: Sequence[str]) -> None:
        """Add a session's document: its prompts, results and names."""
        self._sessions.add({"mark": mark, "all": text, "names": " ".join(names)})

    def add_title(self, mark: int, title: str) -> None:
        """Add a title. The previous one must have been removed."""
        text = spelled(title)
        words = " ".join((text, *names_in(text)))
        self._turns.add({"mark": mark, "named": mark, "title": words})

    def remove(self, mark: int) -> None:
        self._turns.remove("mark", mark)
        self._sessions.remove("mark", mark)

    def remove_title(self, mark: int) -> None:
        self._turns.remove("named", mark)

    def clear(self) -> None:
        self._turns.clear()
        self._sessions.clear()

    def commit(self) -> None:
        self._sessions.commit()
        self._turns.commit()

    def close(self) -> None:
        self._sessions.close()
        self._turns.close()

    def let_go(self) -> None:
        self._sessions.let_go()
        self._turns.let_go()


_UNSTEMMED = frozenset({"names", "output", "files", "commands"})


# -- tantivy -----------------------------------------------------------------------------------


def _turn_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("mark", indexed=True, fast=True)
    builder.add_unsigned_field("named", indexed=True)
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_unsigned_field("id", indexed=True)
    # Read for hundreds of turns per query, so stored as fast fields.
    builder.add_unsigned_field("fingerprint", fast=True)
    builder.add_unsigned_field("place", fast=True)
    builder.add_integer_field("time", indexed=True, fast=True)
    for name in ("prompt", "answer", "aside", "title"):
        builder.add_text_field(name, tokenizer_name="prose", index_option="freq")
    builder.add_text_field("files", tokenizer_name="plain", index_option="freq")
    # With positions, so that a command is found by the phrase that was typed.
    builder.add_text_field("commands", tokenizer_name="plain", index_option="position")
    # Presence only: a log that repeats a word is not more relevant.
    builder.add_text_field("output", tokenizer_name="plain", index_option="basic")
    builder.add_text_field("names", tokenizer_name="spaced", index_option="freq")
    return builder.build()


def _session_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("mark", indexed=True, fast=True)
    builder.add_text_field("all", tokenizer_name="prose", index_option="freq")
    builder.add_text_field("names", tokenizer_name="spaced", index_option="freq")
    return builder.build()


def _terms(
    documents: Documents, fields: Mapping[str, float], words: QueryTerms, without: str = ""
) -> list[tantivy.Query]:
    """Build queries for each word in each field that contains it."""
    return [
        _boosted(documents.term(name, word), boost)
        for name, boost in fields.items()
        if name != without
        for word in (words.plain if name in _UNSTEMMED else words.stems)
        if documents.having(name, word)
    ]


def _found(
    documents: Documents,
    wanted: Sequence[tantivy.Query],
    scope: Scope,
    limit: int,
    fields: Sequence[str] = ("key",),
) -> list[tuple[Any, ...]]:
    """Return the scores and field values of the best documents."""
    if not wanted:
        return []
    return documents.found(_within(documents.schema, _any(wanted), scope), limit, fields)


def _marks(
    documents: Documents,
    fields: Mapping[str, float],
    words: QueryTerms,
    scope: Scope,
    limit: int,
) -> dict[int, float]:
    """Score session files by mark. Filters by file and time apply to turns only."""
    queries = _terms(documents, fields, words)
    hits = _found(documents, queries, Scope(scope.marks), limit, ("mark",))
    return {mark: score for score, mark in hits}


def _any(wanted: Sequence[tantivy.Query]) -> tantivy.Query:
    if len(wanted) == 1:
        return wanted[0]
    return tantivy.Query.boolean_query([(Occur.Should, query) for query in wanted])


def _boosted(query: tantivy.Query, boost: float) -> tantivy.Query:
    return tantivy.Query.boost_query(query, boost)


def _within(schema: tantivy.Schema, query: tantivy.Query, scope: Scope) -> tantivy.Query:
    """Restrict a query to a scope without changing scores."""
    conditions: list[tantivy.Query] = []
    if scope.marks is not None:
        conditions.append(tantivy.Query.term_set_query(schema, "mark", list(scope.marks)))
    if scope.since is not None:
        integer = tantivy.FieldType.Integer
        conditions.append(
            tantivy.Query.range_query(schema, "time", integer, scope.since, (1 << 63) - 1)
        )
    if scope.ids is not None:
        conditions.append(tantivy.Query.term_set_query(schema, "id", list(scope.ids)))
    conditions += [tantivy.Query.term_query(schema, "files", word) for word in scope.files]
    clauses = [(Occur.Must, tantivy.Query.const_score_query(each, 0)) for each in conditions]
    if scope.without:
        without = tantivy.Query.term_set_query(schema, "mark", list(scope.without))
        clauses.append((Occur.MustNot, without))
    return tantivy.Query.boolean_query([(Occur.Must, query), *clauses]) if clauses else query
