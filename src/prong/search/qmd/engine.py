"""qmd search engine: searches Markdown exports of sessions with the qmd program.

It tries qmd's search modes in this order: `query` (keywords, vectors and a reranker),
`vsearch` (vectors), `search` (keywords). A failure is recorded, and the next mode is tried. Scores
are qmd's own, in [0, 1], and not comparable between modes.

A qmd row names a file and shows a piece that rarely includes the header. The file is read directly,
because each start of qmd takes 0.2 seconds.
"""

import os
import re
import shutil
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from prong.files.regular import open_regular
from prong.model.record import Record
from prong.model.search import Answer, Attempt, Found, Passage, SearchRequest
from prong.search.analyzers import STOP_WORDS
from prong.search.passages import WIDTH, Marker
from prong.search.qmd.bounded import NO_START, Ended, run
from prong.search.qmd.exported import ExportedTurn, header_in, id_in_name, readable, turn_at
from prong.search.qmd.output import QmdRow, Unreadable, complaint_in, embeddings_wanted, rows_in
from prong.search.qmd.setup import (
    START,
    collection_folder,
    has_models,
    models_folder,
    unknown_collection,
)
from prong.search.query_terms import words_of

_FOLDER = "/"
"""Working directory of qmd; in a project it would read the project's settings."""
_ENVIRONMENT = {"NO_COLOR": "1", "PWD": _FOLDER}
_LONGEST_TEXT = 2000
_LONGEST_EXPORT = 8 << 20
_ROWS = 50
"""Minimum rows to request: qmd knows none of our filters, so prong discards some."""
_CANNOT_RUN = (126, 127)
_SIGNALS = {each.value: each.name for each in signal.Signals}

_UNPRINTABLE = re.compile(r"[\x00-\x20\x7f-\x9f\ud800-\udfff\u2028\u2029]+")
_WORD = re.compile(r"[^\W_]+(?:['_][^\W_]+)*")
_EVERYWHERE = """
add adding change changed code commit create delete error feature file files find fix fixed fixes
function get implement improve issue line list make method name need new problem project read remove
run script set support test tests update use using work working write
"""
_COMMON = frozenset(_EVERYWHERE.split())
"""Words in nearly every session."""


class Timeouts(Record, frozen=True):
    """Timeouts in seconds per mode. The first two load models at every start."""

    query: float = 20
    vsearch: float = 10
    search: float = 5


class QmdEngine:
    """Search engine that runs qmd and records its failures as attempts."""

    name = "qmd"

    def __init__(
        self,
        collection: str | None = None,
        env: Mapping[str, str] | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        """Default to the collection of the query and the environment of this process."""
        self._collection = collection
        self._env = os.environ if env is None else env
        self._timeouts = timeouts or Timeouts()

    def search(self, request: SearchRequest) -> Answer:
        collection = self._collection or request.collection
        asking = _Asking(request, collection, {**self._env, **_ENVIRONMENT}, self._timeouts)
        rows = asking.rows()
        found: dict[str, Found] = {}
        if rows:
            folder = collection_folder(self._env, collection)
            marker = Marker(words_of(one_line(request.text)))
            for row in sorted(rows, key=lambda row: -row.score):
                result = _found(row, folder, marker)
                found.setdefault(result.session_id or row.file, result)
        return Answer(tuple(found.values()), tuple(asking.attempts), ok=bool(found))


class _Asking:
    """One search, with all its attempts."""

    def __init__(
        self, request: SearchRequest, collection: str, env: Mapping[str, str], timeouts: Timeouts
    ) -> None:
        self.attempts: list[Attempt] = []
        self._text = one_line(request.text)
        self._options = ("--json", "-n", str(max(_ROWS, 5 * request.limit)), "-c", collection)
        self._env = env
        self._timeouts = timeouts
        self._program = shutil.which("qmd", path=env.get("PATH"))
        self._hopeless = False

    def rows(self) -> list[QmdRow]:
        """Return the rows of the first attempt that has any."""
        if self._program is None:
            self.attempts.append(Attempt("qmd", START, ("qmd",), "qmd is not on PATH"))
            return []
        if not content_words(self._text):
            self._skip("search", "the query has no words to search for")
            return []
        if has_models(self._env):
            for mode in ("query", "vsearch"):
                if (rows := self._try(mode, self._text)) or self._hopeless:
                    return rows or []
        else:
            reason = f"no model (*.gguf) in {models_folder(self._env)}"
            self._skip("query", f"{reason}: it would have to download one")
            self._skip("vsearch", reason)
        # qmd requires all words to be in one document.
        for fewer in (self._text, *shorter(self._text)):
            rows = self._try("search", fewer)
            if rows or rows is None:
                return rows or []
        return []

    def _skip(self, mode: str, why: str) -> None:
        self.attempts.append(Attempt("qmd", mode, error=why, skipped=True))

    def _try(self, mode: str, text: str) -> list[QmdRow] | None:
        """Run one mode; returns None on failure."""
        command = (mode, *self._options, "--", text)
        seconds = getattr(self._timeouts, mode)
        program = str(Path(self._program or "").absolute())
        started = time.monotonic()
        result = run((program, *command), env=self._env, cwd=_FOLDER, seconds=seconds)
        seconds = time.monotonic() - started
        rows: list[QmdRow] | None = None
        error = _failure(result)
        if error is None:
            try:
                rows = rows_in(result.output)
            except Unreadable as unreadable:
                error = str(unreadable)
        if rows == [] and mode != "search" and (message := embeddings_wanted(result.complaints)):
            rows, error = None, message
        cannot_run = result.status in _CANNOT_RUN or (result.stopped or "").startswith(NO_START)
        if cannot_run:
            mode, error = START, f"cannot run qmd: {error}"
        self._hopeless = cannot_run or (error is not None and unknown_collection(error))
        hits = None if rows is None else len(rows)
        shown = ("qmd", *command)
        self.attempts.append(Attempt("qmd", mode, shown, error, seconds=seconds, hits=hits))
        return rows


def _found(row: QmdRow, folder: Path | None, marker: Marker) -> Found:
    export = _export(row, folder)
    header = header_in(export or (row.text if row.first_line == 1 else ""))
    passage = readable(row.text)
    turn = _turn(row, export)
    return Found(
        row.score,
        header.session_id or id_in_name(row.address[1]),
        header.agent,
        passage=marker.passage([passage]) or Passage(" ".join(passage.split())[:WIDTH]),
        cwd=header.cwd,
        date=turn.time if turn else header.date,
        source=row.file,
        turn_number=turn.number if turn else None,
    )


def _failure(ended: Ended) -> str | None:
    """Describe why a program failed; None if it succeeded."""
    status = ended.status
    if status == 0:
        return None
    complaint = complaint_in(ended.complaints)
    if status is None:
        reason = ended.stopped or ""
    elif status < 0 or status - 128 in _SIGNALS:  # a shell adds 128 to the signal
        number = -status if status < 0 else status - 128
        reason = f"killed by {_SIGNALS.get(number, f'signal {number}')}"
    else:
        return complaint or f"ended with status {status}"
    return f"{reason}: {complaint}" if complaint else reason


def _export(row: QmdRow, folder: Path | None) -> str | None:
    """Read the exported file of a row; None when it no longer exists."""
    collection, path = row.address
    if collection is None:
        file = Path(_FOLDER, path)
    elif folder is not None:
        file = Path(os.path.normpath(folder / path.lstrip("/")))
        if not file.is_relative_to(folder):
            return None
    else:
        return None
    # If it is missing or invalid, qmd's output must do.
    with suppress(OSError, ValueError), open_regular(file) as stream:
        return stream.read(_LONGEST_EXPORT).decode("utf-8", "replace")
    return None


def _turn(row: QmdRow, export: str | None) -> ExportedTurn | None:
    """Find the turn of a row's piece, if the export still has it at that line."""
    if export is None or row.first_line is None or row.line is None:
        return None
    lines = row.text.split("\n")
    at = row.line - row.first_line
    return turn_at(export, row.line, lines[at]) if 0 <= at < len(lines) else None


def one_line(text: str) -> str:
    """Convert a query to one line, not too long, that does not look like an option."""
    line = _UNPRINTABLE.sub(" ", text).strip().lstrip("- ")
    if len(line) > _LONGEST_TEXT:
        line = line[:_LONGEST_TEXT].rpartition(" ")[0] or line[:_LONGEST_TEXT]
    return line


def content_words(text: str) -> list[str]:
    """List the distinct words without stop words, unless there are no others."""
    words = {word.casefold(): word for word in reversed(_WORD.findall(one_line(text)))}
    in_order = [word for word in _WORD.findall(one_line(text)) if words.pop(word.casefold(), None)]
    return [word for word in in_order if word.casefold() not in STOP_WORDS] or in_order


def shorter(text: str) -> Iterator[str]:
    """Yield shorter queries: without stop words, the rarest 3 and 2, and each alone.

    Rarity is guessed, because qmd does not tell frequencies. A name (`parse_json`, `HttpClient`,
    `utf8`) is rarer than a plain word, a long word is rarer than a short one, and some words are
    everywhere. The rarest may have no match at all, so others are tried alone, too.
    """
    words = content_words(text)
    rarest = sorted(words, key=_commonness)
    tried = {" ".join(text.split()).casefold()}
    for subset in (words, rarest[:3], rarest[:2], *([word] for word in rarest[:3])):
        line = " ".join(word for word in words if word in subset)
        if line and line.casefold() not in tried:
            tried.add(line.casefold())
            yield line


def _commonness(word: str) -> tuple[bool, bool, int]:
    name = not word.isalpha() or not (word.islower() or word.istitle() or word.isupper())
    return word.casefold() in _COMMON, not name, -len(word)
