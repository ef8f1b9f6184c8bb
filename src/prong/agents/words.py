"""Extract text to index from raw JSON: trim it before decoding, and decode once for each turn.

A piece is the content of a JSON string, without the quotes. A tool result may have megabytes;
only its two ends are kept.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.model.turn_text import FileTexts, Stamp

RESULT_END = 2_000
"""Bytes kept at each end of a tool result."""

ASIDE_LENGTH = 20_000
"""Characters kept of a sub-agent's task, and of its answer."""

_BREAK = b"\\n"
_QUOTE = b'"'
_EMPTY = b'""'
_LIST = b"["
_SEARCHED = 200
"""Bytes to search for a word boundary."""

# Six such bytes end outside any escape sequence and any multi-byte character: escapes are no
# longer than that and have a backslash only in front.
_BETWEEN = re.compile(rb"[^\\\x80-\xff]{6}")

_string = msgspec.json.Decoder(str).decode


class _Part(Struct, gc=False):
    text: Raw = Raw(b"")


_parts = msgspec.json.Decoder(list[_Part]).decode


def piece(raw: Raw) -> bytes:
    """Return the content of a JSON string; empty for other values."""
    data = bytes(raw)
    return data[1:-1] if data[:1] == _QUOTE else b""


def pieces(raw: Raw) -> list[bytes]:
    """Return the texts of a string or a list of content blocks."""
    data = bytes(raw)
    if data[:1] == _QUOTE:
        return [data[1:-1]] if len(data) > len(_EMPTY) else []
    if data[:1] != _LIST:
        return []
    texts = [piece(part.text) for part in jsonl.decoded(_parts, data) or ()]
    return [text for text in texts if text]


def cut_pieces(raw: Raw) -> list[bytes]:
    """Return the texts of a tool result, keeping only the two ends of long ones."""
    if len(raw) <= 2 * RESULT_END:
        return pieces(raw)
    start = bytes(memoryview(raw)[:1])
    if start == _LIST:
        parts = jsonl.decoded(_parts, raw) or ()
        return [text for part in parts for text in cut_pieces(part.text)]
    return _ends(raw) if start == _QUOTE else []


def _ends(raw: Raw) -> list[bytes]:
    view = memoryview(raw)
    return [_head(bytes(view[1 : RESULT_END + 1])), _tail(bytes(view[-RESULT_END - 1 : -1]))]


def _head(data: bytes) -> bytes:
    # A space is never part of an escape or a multi-byte character.
    end = data.rfind(b" ", len(data) - _SEARCHED)
    if end < 0:
        ends = [match.end() for match in _BETWEEN.finditer(data, len(data) - _SEARCHED)]
        end = ends[-1] if ends else 0
    return data[:end]


def _tail(data: bytes) -> bytes:
    start = data.find(b" ", 0, _SEARCHED)
    if start < 0:
        match = _BETWEEN.search(data)
        start = match.end() if match else len(data)
    return data[start:]


def decoded(pieces: Sequence[bytes]) -> str:
    """Decode the pieces and join them with line breaks."""
    if not pieces:
        return ""
    try:
        return _string(b'"%b"' % _BREAK.join(pieces))
    except ValueError:
        # One of them is damaged: replace its invalid bytes, or drop it.
        texts = (jsonl.decoded(_string, b'"%b"' % piece) for piece in pieces)
        return "\n".join(text for text in texts if text)


def answers(pieces: Sequence[bytes]) -> tuple[str, str]:
    """Return all answers joined, and the last one."""
    last = decoded(pieces[-1:])
    before = decoded(pieces[:-1])
    return (f"{before}\n{last}" if before else last), last


def bounded(text: str) -> str:
    """Cut a long text to its beginning and end."""
    half = ASIDE_LENGTH // 2
    return text if len(text) <= ASIDE_LENGTH else f"{text[:half]}\n{text[-half:]}"


def lines(texts: Iterable[str]) -> str:
    """Join nonempty texts with line breaks."""
    return "\n".join(text for text in texts if text)


class KeptTexts:
    """A sink that keeps the text of one file."""

    def __init__(self, *, output: bool) -> None:
        self.output = output
        self.texts: FileTexts | None = None

    def expect(self, files: Mapping[str, Stamp]) -> None:
        """Ignore the announcement."""

    def wants(self, path: str, stamp: Stamp) -> bool:
        return True

    def take(self, texts: FileTexts) -> None:
        self.texts = texts
