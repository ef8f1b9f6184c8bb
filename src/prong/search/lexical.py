"""The index of words: tantivy, with a document for each turn, each session and each title.

Sessions have an index of their own: BM25 asks how long a document is beside the others, and how
many have a word, and for that turns are not sessions. Turns and titles share no field, so a query
for one never meets the other. Documents hold no text, only a key and, of a turn, the two numbers
that show copies of it; what a key means is in the catalogue.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import tantivy
from tantivy import Occur

from prong.search.analyzers import analyzers, names_in, spelled
from prong.search.candidates import FoundTurn
from prong.search.documents import Documents, DocumentWriter

# By an alias, so that it counts as a part of this module.
# ruff: noqa: PLC0414
from prong.search.query_terms import QueryTerms as QueryTerms
from prong.search.query_terms import beginning_in
from prong.search.query_terms import query_text as query_text
from prong.search.query_terms import words_of as words_of

TURN_FIELDS: Mapping[str, float] = {
    "prompt": 1.5,
    "answer": 1.0,
    "files": 0.3,
    "commands": 0.3,
    "names": 0.3,
    "aside": 0.3,
    "output": 0.1,
}
"""What counts how much in a turn."""
SESSION_FIELDS: Mapping[str, float] = {"all": 1.0, "names": 0.3}
"""The same in a session."""
TYPED = 4.0
"""What it counts in a turn that a command has the whole query, as the one that made a commit has
its subject."""
_FEWEST_TYPED = 3
"""Words; fewer stand in many commands."""
_HEAP = 96 << 20
_SESSION_HEAP = 32 << 20
_COVERED = 200
"""For how many turns it is told how much of a query they have."""
_MOST_POSTINGS = 10_000
"""How many places of words are looked at for that."""
_MOST_PRINTED = 10_000
"""The same in what tools printed, to find turns."""


_COMPLETED = (("prompt", "answer"), ("names", "files"))
"""Where the words are from that an unfinished one may become: prose, and what is not stemmed."""
_MOST_COMPLETED = 12


class Scope(NamedTuple):
    """Where to look. None is everywhere."""

    marks: Sequence[int] | None = None
    since: int | None = None
    """Milliseconds since 1970."""
    files: tuple[str, ...] = ()
    """Words that the names of touched files must have."""
    ids: Sequence[int] | None = None
    """The numbers of turns' ids."""
    without: tuple[int, ...] = ()
    """Marks of files that are left out."""


class TurnWords(NamedTuple):
    """What the index gets of a turn."""

    key: int
    id: int
    """The `number_of` its id."""
    time: int
    fingerprint: int
    """Of its words: a copy in a fork has the same."""
    place: int
    """The `place_of` it."""
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
    """What came of it, for its session."""


_FOUND = FoundTurn._fields[1:]


class Coverage(NamedTuple):
    """How much of a query turns have, in [0, 1]."""

    shares: Mapping[int, float]
    """Of the turns that have most."""
    rest: float
    """Of all others, at most."""

    def of(self, key: int) -> float:
        return self.shares.get(key, self.rest)


class Lexical:
    """The index in a folder."""

    def __init__(self, folder: Path) -> None:
        """Open it, or make it. Raises `ValueError` when it is damaged or of another kind."""
        sessions = folder / "sessions"
        if Documents.are_in(folder) and not Documents.are_in(sessions):
            raise ValueError("the words of the sessions are gone")
        folder.mkdir(mode=0o700, exist_ok=True)
        # The turns last: where they are, all is.
        self._sessions = Documents(sessions, _session_schema(), analyzers())
        self._turns = Documents(folder, _turn_schema(), analyzers())

    def reload(self) -> None:
        """See what was committed since."""
        self._sessions.reload()
        self._turns.reload()

    def writer(self) -> "LexicalWriter":
        """Raises `ValueError` while another process writes."""
        return LexicalWriter(self._turns.writer(_HEAP), self._sessions.writer(_SESSION_HEAP))

    # -- asking ------------------------------------------------------------------------------

    def completed(self, words: QueryTerms, text: str) -> QueryTerms:
        """The words, and those that the last one of the text may become, the most frequent ones."""
        start = beginning_in(text)
        if start is None:
            return words
        stems, plain = (self._beginning(fields, start) for fields in _COMPLETED)
        return words._replace(
            stems=tuple(dict.fromkeys((*words.stems, *stems))),
            plain=tuple(dict.fromkeys((*words.plain, *plain))),
        )

    def _beginning(self, fields: Sequence[str], start: str) -> list[str]:
        counts: Counter[str] = Counter()
        for name in fields:
            counts.update(dict(self._turns.beginning(name, start, _MOST_COMPLETED)))
        return [word for word, _ in counts.most_common(_MOST_COMPLETED)]

    def turns(self, words: QueryTerms, scope: Scope, limit: int) -> list[FoundTurn]:
        """The turns that have some of the words, the best first."""
        found = self._search(self._terms(words), scope, limit, _FOUND)
        return list(map(FoundTurn._make, found))

    def _terms(self, words: QueryTerms) -> list[tantivy.Query]:
        """Any of the words in any field of a turn.

        What tools printed counts least and has most words: there only the rare ones are looked for.
        """
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
        """The turns that have the whole query in a command, which counts besides its words.

        They are asked for alone: a query of nothing but words takes a quarter less time.
        """
        if len(words.sentence) < _FEWEST_TYPED or not TYPED:
            return []
        sentence = list[str | tuple[int, str]](words.sentence)
        typed = tantivy.Query.phrase_query(self._turns.schema, "commands", sentence)
        if not self._search([typed], scope, 1):
            return []
        both = [(Occur.Must, _boosted(typed, TYPED)), (Occur.Should, _any(self._terms(words)))]
        found = self._search([tantivy.Query.boolean_query(both)], scope, limit, _FOUND)
        return list(map(FoundTurn._make, found))

    def sessions(self, words: QueryTerms, scope: Scope, limit: int) -> dict[int, float]:
        """The marks of session files that have some of the words, and how well they fit."""
        wanted = _terms(self._sessions, SESSION_FIELDS, words)
        found = _found(self._sessions, wanted, Scope(scope.marks), limit, ("mark",))
        return {mark: score for score, mark in found}

    def titles(self, words: QueryTerms, scope: Scope, limit: int) -> dict[int, float]:
        """The same by title."""
        # A session's files and time are those of its turns.
        wanted = _terms(self._turns, {"title": 1.0}, words)
        found = _found(self._turns, wanted, Scope(scope.marks), limit, ("mark",))
        return {mark: score for score, mark in found}

    def coverage(
        self, words: QueryTerms, scope: Scope, worth: Callable[[int, int], float]
    ) -> "Coverage":
        """How much of the query turns have: the share of its words, each as much as it is worth.

        `worth` takes in how many turns a word is, and how many turns there are. Words that very
        many turns have are left out, as long as there are others: they cost most and say least.
        """
        known = [(self._frequencies(pair), pair) for pair in words.telling]
        known.sort(key=lambda one: sum(one[0].values()))
        counted: list[tantivy.Query] = []
        whole, postings = 0.0, 0
        for frequencies, pair in known:
            postings += sum(frequencies.values())
            if counted and postings > _MOST_POSTINGS:
                break
            rarity = worth(max(frequencies.values(), default=0), self.documents)
            whole += rarity
            terms = [
                self._turns.term(name, word) for name, word in _forms(*pair) if frequencies[name]
            ]
            if terms:
                counted.append(tantivy.Query.const_score_query(_any(terms), rarity))
        found = self._search(counted, scope, _COVERED)
        shares = {key: min(score / whole, 1.0) for score, key in found}
        full = len(found) == _COVERED
        return Coverage(shares, found[-1][0] / whole if full else 0.0)

    def _frequencies(self, pair: tuple[str, str]) -> dict[str, int]:
        """In how many turns each field has a word."""
        having = self._turns.having
        return {name: having(name, word) for name, word in _forms(*pair)}

    @property
    def documents(self) -> int:
        return self._turns.searcher.num_docs

    def _search(
        self,
        wanted: Sequence[tantivy.Query],
        scope: Scope,
        limit: int,
        fields: Sequence[str] = ("key",),
    ) -> list[tuple[Any, ...]]:
        return _found(self._turns, wanted, scope, limit, fields)


class LexicalWriter:
    """The one writer. What it adds can be found after `commit`."""

    def __init__(self, turns: DocumentWriter, sessions: DocumentWriter) -> None:
        self._turns = turns
        self._sessions = sessions

    def add_turn(self, mark: int, turn: TurnWords) -> None:
        self._turns.add(
            {
                "mark": mark,
                "key": turn.key,
                "id": turn.id,
                "time": turn.time,
                "fingerprint": turn.fingerprint,
                "place": turn.place,
                "prompt": turn.prompt,
                "answer": turn.answer,
                "files": turn.files,
                "commands": turn.commands,
                "names": " ".join(turn.names),
                "aside": turn.aside,
                "output": turn.output,
            }
        )

    def add_session(self, mark: int, text: str, names: Sequence[str]) -> None:
        """Under the mark of its file: what was asked, what came of it, and the names of turns."""
        self._sessions.add({"mark": mark, "all": text, "names": " ".join(names)})

    def add_title(self, mark: int, title: str) -> None:
        """Under the mark of its file; the old one must have been removed."""
        text = spelled(title)
        words = " ".join((text, *names_in(text)))
        self._turns.add({"mark": mark, "named": mark, "title": words})

    def remove(self, mark: int) -> None:
        """All of a file."""
        self._turns.remove("mark", mark)
        self._sessions.remove("mark", mark)

    def remove_title(self, mark: int) -> None:
        self._turns.remove("named", mark)

    def clear(self) -> None:
        """Everything."""
        self._turns.clear()
        self._sessions.clear()

    def commit(self) -> None:
        self._sessions.commit()
        self._turns.commit()

    def close(self) -> None:
        """Wait for what goes on in the background. Nothing can be added afterwards."""
        self._sessions.close()
        self._turns.close()

    def let_go(self) -> None:
        """Let others write, whoever still holds this one; what was not committed is gone."""
        self._sessions.let_go()
        self._turns.let_go()


_UNSTEMMED = frozenset({"names", "output", "files", "commands"})


def _forms(stem: str, plain: str) -> list[tuple[str, str]]:
    """The fields of a turn, each with the form in which it has the word."""
    return [(name, plain if name in _UNSTEMMED else stem) for name in TURN_FIELDS]


# -- tantivy -----------------------------------------------------------------------------------


def _turn_schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_unsigned_field("mark", indexed=True, fast=True)
    builder.add_unsigned_field("named", indexed=True)
    builder.add_unsigned_field("key", indexed=True, fast=True)
    builder.add_unsigned_field("id", indexed=True)
    # What a list needs to know of each turn, where hundreds of them are looked at.
    builder.add_unsigned_field("fingerprint", fast=True)
    builder.add_unsigned_field("place", fast=True)
    builder.add_integer_field("time", indexed=True, fast=True)
    for name in ("prompt", "answer", "aside", "title"):
        builder.add_text_field(name, tokenizer_name="prose", index_option="freq")
    builder.add_text_field("files", tokenizer_name="plain", index_option="freq")
    # In their order, so that a command is found by what was typed.
    builder.add_text_field("commands", tokenizer_name="plain", index_option="position")
    # No more than that the word is there: a log that repeats itself is not more to the point.
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
    """Any of the words in any of the fields, where there is one."""
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
    fields: Sequence[str],
) -> list[tuple[Any, ...]]:
    """The scores of the best documents, and what they have in the fields."""
    if not wanted:
        return []
    return documents.found(_within(documents.schema, _any(wanted), scope), limit, fields)


def _any(wanted: Sequence[tantivy.Query]) -> tantivy.Query:
    if len(wanted) == 1:
        return wanted[0]
    return tantivy.Query.boolean_query([(Occur.Should, query) for query in wanted])


def _boosted(query: tantivy.Query, boost: float) -> tantivy.Query:
    return tantivy.Query.boost_query(query, boost)


def _within(schema: tantivy.Schema, query: tantivy.Query, scope: Scope) -> tantivy.Query:
    """The query, with conditions that do not count."""
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
    clauses = [(Occur.Must, tantivy.Query.const_score_query(one, 0)) for one in conditions]
    if scope.without:
        without = tantivy.Query.term_set_query(schema, "mark", list(scope.without))
        clauses.append((Occur.MustNot, without))
    return tantivy.Query.boolean_query([(Occur.Must, query), *clauses]) if clauses else query
