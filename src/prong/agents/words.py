"""Words out of raw JSON, for a search: cut before they are decoded, decoded once for each turn.

A piece is what stands between the quotes of a JSON string. A tool may have given back megabytes;
of those only the two ends are looked at.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.model.turn_text import FileTexts, Stamp

RESULT_END = 2_000
"""How many bytes of a tool result are kept at each of its ends."""

ASIDE_LENGTH = 20_000
"""How many characters are kept of a sub-agent's task, and of what it said."""

_BREAK = b"\\n"
_QUOTE = b'"'
_EMPTY = b'""'
_LIST = b"["
_SEARCHED = 200
"""How far from an end a word may begin or end."""

# No escape is that long, and none has a backslash behind its first byte: so such bytes are not
# inside of one at their end, and neither are they inside of a character.
_BETWEEN = re.compile(rb"[^\\\x80-\xff]{6}")

_string = msgspec.json.Decoder(str).decode


class _Part(Struct, gc=False):
    text: Raw = Raw(b"")


_parts = msgspec.json.Decoder(list[_Part]).decode


def piece(raw: Raw) -> bytes:
    """What stands in a JSON string; nothing when it is another value."""
    data = bytes(raw)
    return data[1:-1] if data[:1] == _QUOTE else b""


def pieces(raw: Raw) -> list[bytes]:
    """The texts of a string, or of a list of content blocks."""
    data = bytes(raw)
    if data[:1] == _QUOTE:
        return [data[1:-1]] if len(data) > len(_EMPTY) else []
    if data[:1] != _LIST:
        return []
    found = [piece(part.text) for part in jsonl.decoded(_parts, data) or ()]
    return [one for one in found if one]


def cut_pieces(raw: Raw) -> list[bytes]:
    """The same of a tool result, each text cut to its ends."""
    if len(raw) <= 2 * RESULT_END:
        return pieces(raw)
    start = bytes(memoryview(raw)[:1])
    if start == _LIST:
        parts = jsonl.decoded(_parts, raw) or ()
        return [one for part in parts for one in cut_pieces(part.text)]
    return _ends(raw) if start == _QUOTE else []


def _ends(raw: Raw) -> list[bytes]:
    view = memoryview(raw)
    return [_head(bytes(view[1 : RESULT_END + 1])), _tail(bytes(view[-RESULT_END - 1 : -1]))]


def _head(data: bytes) -> bytes:
    # A blank is never part of an escape or of a character.
    end = data.rfind(b" ", len(data) - _SEARCHED)
    if end < 0:
        found = [match.end() for match in _BETWEEN.finditer(data, len(data) - _SEARCHED)]
        end = found[-1] if found else 0
    return data[:end]


def _tail(data: bytes) -> bytes:
    start = data.find(b" ", 0, _SEARCHED)
    if start < 0:
        found = _BETWEEN.search(data)
        start = found.end() if found else len(data)
    return data[start:]


def decoded(pieces: Sequence[bytes]) -> str:
    """The pieces as text, each on a line of its own."""
    if not pieces:
        return ""
    try:
        return _string(b'"%b"' % _BREAK.join(pieces))
    except ValueError:
        # One of them is damaged: that one loses its wrong bytes, or all of its text.
        whole = (jsonl.decoded(_string, b'"%b"' % piece) for piece in pieces)
        return "\n".join(text for text in whole if text)


def answers(pieces: Sequence[bytes]) -> tuple[str, str]:
    """All that was said, and the last of it."""
    last = decoded(pieces[-1:])
    before = decoded(pieces[:-1])
    return (f"{before}\n{last}" if before else last), last


def bounded(text: str) -> str:
    """A long text cut to its beginning and its end."""
    half = ASIDE_LENGTH // 2
    return text if len(text) <= ASIDE_LENGTH else f"{text[:half]}\n{text[-half:]}"


def lines(texts: Iterable[str]) -> str:
    """The texts that say something, each on a line of its own."""
    return "\n".join(text for text in texts if text)


class KeptTexts:
    """A sink that wants one file and keeps what it is given."""

    def __init__(self, *, output: bool) -> None:
        self.output = output
        self.texts: FileTexts | None = None

    def expect(self, files: Mapping[str, Stamp]) -> None:
        """It takes what comes."""

    def wants(self, path: str, stamp: Stamp) -> bool:
        return True

    def take(self, texts: FileTexts) -> None:
        self.texts = texts
