"""Terminal-safe text: clean control characters, measure columns, cut and wrap."""

import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from os.path import commonprefix
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prong.model.sessions import SessionRef


# Patterns are compiled on first use: most texts need none.
_INVISIBLE = (
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters that reorder or hide their neighbours."""
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"
_CONTROL_BUT_LINES = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]"
_SURROGATE = "[\ud800-\udfff]"
_UNSAFE = f"{_CONTROL_BUT_LINES}|{_INVISIBLE}|{_SURROGATE}"
_BREAKS = dict.fromkeys(map(ord, "\t\v\f\r\x85\u2028\u2029"), "\n")
_VARIANTS = ("\ufe0e", "\ufe0f")
"""Variation selectors, dropped because terminals disagree on the width they give a character."""
_LEAST = 8
"""Minimum number of characters of a shortened id."""
_WIDE = frozenset("WF")


def clean(text: str, *, lines: bool = False) -> str:
    """Remove everything that a terminal would obey. `lines` keeps newlines and tabs."""
    for variant in _VARIANTS:
        text = text.replace(variant, "")
    if lines:
        text = text.replace("\r\n", "\n")
        if text.replace("\n", "").isprintable():
            return text
        text = re.sub(_CONTROL_BUT_LINES, _picture, text)
    else:
        if text.isprintable():
            return text.strip()
        pieces = (piece.strip() for piece in text.translate(_BREAKS).split("\n"))
        text = " ".join(piece for piece in pieces if piece)
        if text.isprintable():
            return text
        text = re.sub(_CONTROL, _picture, text)
    return re.sub(_SURROGATE, "\ufffd", re.sub(_INVISIBLE, "", text))


def escaped(json_text: str) -> str:
    """Escape what a terminal would obey in JSON text, without changing its meaning."""
    return re.sub(_UNSAFE, _escape, json_text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code <= 0xFFFF:
        return f"\\u{code:04x}"
    code -= 0x10000
    return f"\\u{0xD800 + (code >> 10):04x}\\u{0xDC00 + (code & 0x3FF):04x}"


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\ufffd"


def cells(text: str) -> int:
    """Count the terminal columns of a text."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def cut(text: str, columns: int) -> str:
    """Cut the end of a text that is too wide and add an ellipsis."""
    if cells(text) <= columns:
        return text
    beginning = ""
    room = columns - 1
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        beginning += character
    return beginning + "…" if columns > 0 else ""


def cut_left(text: str, columns: int) -> str:
    """Cut the beginning of a text that is too wide; the end of a path says more."""
    if cells(text) <= columns:
        return text
    return cut(text[::-1], columns)[::-1]


def pad(text: str, columns: int) -> str:
    return text + " " * max(columns - cells(text), 0)


def age(time: datetime | None, now: datetime | None = None) -> str:
    """Format the time since then: `5m ago`, `3h ago`, or the date after 100 days."""
    if time is None:
        return ""
    now = now or datetime.now(UTC)
    elapsed = now - time
    if elapsed < timedelta(minutes=1):
        return "now"
    if elapsed < timedelta(hours=1):
        return f"{elapsed // timedelta(minutes=1)}m ago"
    if elapsed < timedelta(days=1):
        return f"{elapsed // timedelta(hours=1)}h ago"
    if elapsed < timedelta(days=100):
        return f"{elapsed.days}d ago"
    return f"{time:%Y-%m-%d}"


def short_number(number: int | None) -> str:
    """Abbreviate a number: 21,400 as `21k`."""
    if number is None:
        return ""
    if number < 1000:
        return str(number)
    if number < 1_000_000:
        return f"{number / 1000:.0f}k"
    return f"{number / 1_000_000:.1f}M"


def short_refs(
    refs: Iterable["SessionRef"], wanted: Iterable["SessionRef"] | None = None
) -> dict["SessionRef", str]:
    """Map each session, or each of `wanted`, to its shortest unique reference."""
    every = list(refs)
    by_agent: dict[str, list[SessionRef]] = {}
    for ref in every if wanted is None else dict.fromkeys(wanted):
        by_agent.setdefault(ref.agent, []).append(ref)
    names: dict[SessionRef, str] = {}
    for agent, own in by_agent.items():
        short = short_ids([ref.id for ref in every if ref.agent == agent], [ref.id for ref in own])
        names.update({ref: clean(f"{agent}:{short[ref.id]}") for ref in own})
    return names


def short_ids(ids: Sequence[str], wanted: Sequence[str] | None = None) -> dict[str, str]:
    """Map each id, or each of `wanted`, to its shortest unique prefix.

    Codex ids begin with the time, so ids of the same minute need more than eight characters.
    """
    ordered = sorted({*ids, *(wanted or ())})
    names: dict[str, str] = {}
    for id_ in ordered if wanted is None else wanted:
        position = bisect_left(ordered, id_)
        neighbours = ordered[max(position - 1, 0) : position + 2]
        shared = [
            len(commonprefix([id_, other]))  # noqa: RUF071 -- ids share characters
            for other in neighbours
            if other != id_
        ]
        names[id_] = id_[: max(_LEAST, max(shared, default=0) + 1)].rstrip("-")
    return names


def short_path(path: str | None) -> str:
    """Replace the home folder in a path with `~`."""
    if not path:
        return ""
    home = os.environ.get("HOME", "").rstrip("/")
    inside = bool(home) and f"{path}/".startswith(f"{home}/")
    return clean("~" + path[len(home) :] if inside else path)


def wrapped(text: str, columns: int) -> list[str]:
    """Wrap text between words; a word that is too long is split."""
    return [line for part in text.split("\n") for line in _wrapped(part.expandtabs(4), columns)]


def _wrapped(text: str, columns: int) -> Iterator[str]:
    line = ""
    indent = text[: len(text) - len(text.lstrip(" "))]
    for word in text.split():
        joined = f"{line} {word}" if line else indent + word
        if cells(joined) <= columns:
            line = joined
            continue
        if line:
            yield line
        *lines, line = _broken(word, columns)
        yield from lines
    yield line


def _broken(word: str, columns: int) -> list[str]:
    pieces = [""]
    room = columns
    for character in word:
        size = cells(character)
        if size > room:
            pieces.append("")
            room = columns
        pieces[-1] += character
        room -= size
    return pieces
