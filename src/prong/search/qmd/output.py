"""Parser of qmd's output: JSON rows in the variations of its versions."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_NOTHING = re.compile(r"^No results found\b", re.MULTILINE)
_START = re.compile(r"^(?=\[\s*[{\]]|\{\s*[\"}])", re.MULTILINE)
"""Where rows may begin, unlike `[1/3] loading`."""
_MOST_WORK = 16 << 20
"""Maximum characters to parse again after false starts: about a second of work."""
_A_START = 256
"""Minimum cost of a false start, in characters."""
_PLACE = re.compile(r"@@ -(\d+)(?:,\d+)? @@[^\n]*(?:\n|$)")
_INDEX = re.compile(r"\?index=[^/]*$")
_NEED_EMBEDDINGS = re.compile(r"^.*\bneeds? embedding.*$", re.MULTILINE | re.IGNORECASE)
_ERROR = re.compile(r"^(?:\w*(?:Error|Exception)\b|error:|panic).*$", re.MULTILINE | re.IGNORECASE)
_LONGEST_ERROR = 300
_LONGEST_PATH = 4096


class QmdRow(NamedTuple):
    """A document found by qmd."""

    file: str
    """`qmd://collection/path`, or a path, absolute or relative to qmd's working directory."""
    score: float
    text: str = ""
    """A piece of the document, or all of it."""
    first_line: int | None = None
    """First line of the piece; None when unknown."""
    line: int | None = None
    """Line of the best match."""

    @property
    def address(self) -> tuple[str | None, str]:
        """The collection if given, and the path in it or on disk."""
        if not self.file.startswith("qmd://"):
            return None, self.file
        collection, _, path = self.file.removeprefix("qmd://").partition("/")
        return collection, _INDEX.sub("", path)


class Unreadable(ValueError):
    """qmd's output contains no answer."""


def rows_in(output: bytes) -> list[QmdRow]:
    """Parse the rows in qmd's standard output. Raises `Unreadable`.

    Usually a JSON array. Also accepted: one object per line, text before and after, and the message
    that older versions print instead of an empty array.
    """
    text = _plain(output)
    if not text.strip():
        raise Unreadable("it printed nothing")
    rows: list[QmdRow] | None = None
    error = ""
    for value in _values(text):
        if (some := _rows(value)) is not None:
            rows = [*(rows or []), *some]
        elif isinstance(value, dict) and isinstance(told := cast(Any, value).get("error"), str):
            error = _shortened(told)
    if rows is not None:
        return rows
    if error:
        raise Unreadable(error)
    if _NOTHING.search(text):
        return []
    raise Unreadable(f"it did not print JSON: {_shortened(text.strip().splitlines()[0])}")


def _values(text: str) -> Iterator[object]:
    """Yield the JSON values that begin at the start of a line."""
    decoder = json.JSONDecoder()
    at = work = 0
    while work < _MOST_WORK and (start := _START.search(text, at)):
        work += _A_START
        try:
            value, at = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            # The error does not say how far it read: possibly to the end.
            work += len(text)
            at = start.start() + 1
            continue
        end = text.find("\n", at)
        # If text follows on the line, this is only a piece, like part of a truncated array.
        if not text[at : end if end >= 0 else None].strip():
            yield value


def _rows(value: Any) -> list[QmdRow] | None:
    """Return the rows of a value: one, a list of them, or an object with such a list."""
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if row := _row(fields):
            return [row]
        value = fields.get("results")
    if not isinstance(value, list):
        return None
    items = cast(list[Any], value)
    rows = [row for item in items if (row := _row(item))]
    return rows if rows or not items else None


def _row(value: Any) -> QmdRow | None:
    if not isinstance(value, dict):
        return None
    row = cast(dict[str, Any], value)
    file = row.get("file")
    if not isinstance(file, str) or not file.strip() or len(file) > _LONGEST_PATH:
        return None
    piece = row.get("snippet") or row.get("body") or ""
    text = piece if isinstance(piece, str) else ""
    hunk = _PLACE.match(text)
    is_complete = "snippet" not in row and bool(text)
    line = row.get("line")
    return QmdRow(
        file.strip(),
        _score(row.get("score")),
        text[hunk.end() :] if hunk else text,
        int(hunk[1][:9]) if hunk else 1 if is_complete else None,
        line if isinstance(line, int) and line > 0 else None,
    )


def _score(value: Any) -> float:
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(score, 0.0), 1.0) if math.isfinite(score) else 0.0


def complaint_in(complaints: bytes) -> str:
    """Find the error message in standard error; empty when there is none."""
    text = _plain(complaints)
    if error := _ERROR.search(text):
        return _shortened(error[0])
    lines = [line for line in text.splitlines() if line[:1].strip()]
    lines = [line for line in lines if not line.startswith("Node.js v")]
    return _shortened(lines[-1]) if lines else ""


def embeddings_wanted(complaints: bytes) -> str | None:
    """Find qmd's message that embeddings are missing."""
    match = _NEED_EMBEDDINGS.search(_plain(complaints))
    return _shortened(match[0]) if match else None


def _plain(printed: bytes) -> str:
    return _ESCAPE.sub("", printed.decode("utf-8", "replace")).replace("\r\n", "\n")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ERROR else line[: _LONGEST_ERROR - 1] + "\u2026"
