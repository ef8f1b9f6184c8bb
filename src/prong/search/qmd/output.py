"""What qmd prints: rows as JSON, in whatever form its versions and its helpers leave it in."""

import json
import math
import re
from typing import Any, NamedTuple, cast

_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_NOTHING = re.compile(r"^No results found\b", re.MULTILINE)
_START = re.compile(r"^(?=\[\s*[{\]]|\{\s*[\"}])", re.MULTILINE)
"""Where rows may begin: not at `[1/3] loading`."""
_MOST_WORK = 16 << 20
"""So many characters are read again behind starts that were none: a second's work."""
_A_START = 256
"""A start takes as long as so many characters, however short what begins there is."""
_PLACE = re.compile(r"@@ -(\d+)(?:,\d+)? @@[^\n]*(?:\n|$)")
_INDEX = re.compile(r"\?index=[^/]*$")
_NEED_EMBEDDINGS = re.compile(r"^.*\bneeds? embedding.*$", re.MULTILINE | re.IGNORECASE)
_ERROR = re.compile(r"^(?:\w*(?:Error|Exception)\b|error:|panic).*$", re.MULTILINE | re.IGNORECASE)
_LONGEST_ERROR = 300
_LONGEST_PATH = 4096


class QmdRow(NamedTuple):
    """One document that qmd found."""

    file: str
    """`qmd://collection/path`, or a path: absolute, or from the folder that qmd ran in."""
    score: float
    text: str = ""
    """A piece of it, or all."""
    first_line: int | None = None
    """Where the piece begins; None when qmd does not say."""
    line: int | None = None
    """Where the best of it stands."""

    @property
    def address(self) -> tuple[str | None, str]:
        """The collection, where it is named, and the path in it or on disk."""
        if not self.file.startswith("qmd://"):
            return None, self.file
        collection, _, path = self.file.removeprefix("qmd://").partition("/")
        return collection, _INDEX.sub("", path)


class Unreadable(ValueError):
    """There is no answer in what qmd printed."""


def rows_in(output: bytes) -> list[QmdRow]:
    """The rows in what qmd printed on standard output. Raises `Unreadable`.

    An array is the rule. Also taken: an object a line, text before and after, and the words that
    older versions print instead of an empty array.
    """
    text = _plain(output)
    if not text.strip():
        raise Unreadable("it printed nothing")
    found = _Values(text)
    if found.rows is not None:
        return found.rows
    if found.error:
        raise Unreadable(found.error)
    if _NOTHING.search(text):
        return []
    raise Unreadable(f"it did not print JSON: {_shortened(text.strip().splitlines()[0])}")


class _Values:
    """The JSON values that begin at the beginning of a line."""

    def __init__(self, text: str) -> None:
        self.rows: list[QmdRow] | None = None
        self.error: str | None = None
        decoder = json.JSONDecoder()
        at = work = 0
        while work < _MOST_WORK and (start := _START.search(text, at)):
            work += _A_START
            try:
                value, at = decoder.raw_decode(text, start.start())
            except (ValueError, RecursionError):
                # How far it came is not told: it may have been the end.
                work += len(text)
                at = start.start() + 1
                continue
            end = text.find("\n", at)
            # What goes on in the same line is a piece of something, like an array cut off.
            if not text[at : end if end >= 0 else None].strip():
                self._take(value)

    def _take(self, value: Any) -> None:
        if isinstance(value, dict):
            one = cast(dict[str, Any], value)
            if (row := _row(one)) is not None:
                self._add([row])
            elif isinstance(one.get("results"), list):
                self._take(one["results"])
            elif isinstance(one.get("error"), str):
                self.error = _shortened(one["error"])
        elif isinstance(value, list):
            rows = [_row(item) for item in cast(list[Any], value)]
            good = [row for row in rows if row is not None]
            if good or not rows:
                self._add(good)

    def _add(self, rows: list[QmdRow]) -> None:
        self.rows = (self.rows or []) + rows


def _row(value: Any) -> QmdRow | None:
    if not isinstance(value, dict):
        return None
    row = cast(dict[str, Any], value)
    file = row.get("file")
    if not isinstance(file, str) or not file.strip() or len(file) > _LONGEST_PATH:
        return None
    piece = row.get("snippet") or row.get("body") or ""
    text = piece if isinstance(piece, str) else ""
    place = _PLACE.match(text)
    whole = "snippet" not in row and bool(text)
    line = row.get("line")
    return QmdRow(
        file.strip(),
        _score(row.get("score")),
        text[place.end() :] if place else text,
        int(place[1][:9]) if place else 1 if whole else None,
        line if isinstance(line, int) and line > 0 else None,
    )


def _score(value: Any) -> float:
    try:
        score = float(value)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return min(max(score, 0.0), 1.0) if math.isfinite(score) else 0.0


def complaint_in(complaints: bytes) -> str:
    """The line of standard error that says what went wrong; empty when there is none."""
    text = _plain(complaints)
    if error := _ERROR.search(text):
        return _shortened(error[0])
    lines = [line for line in text.splitlines() if line[:1].strip()]
    lines = [line for line in lines if not line.startswith("Node.js v")]
    return _shortened(lines[-1]) if lines else ""


def embeddings_wanted(complaints: bytes) -> str | None:
    """The words of qmd when nothing was embedded that could be searched."""
    found = _NEED_EMBEDDINGS.search(_plain(complaints))
    return _shortened(found[0]) if found else None


def _plain(printed: bytes) -> str:
    return _ESCAPE.sub("", printed.decode("utf-8", "replace")).replace("\r\n", "\n")


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_ERROR else line[: _LONGEST_ERROR - 1] + "\u2026"
