"""Text from sessions is data: made harmless, measured in columns, cut to fit."""

import os
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prong.model.sessions import SessionRef


# Patterns are compiled when a text needs them: most do not.
_INVISIBLE = (
    "[\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)
"""Characters that reorder or hide what stands beside them."""
_CONTROL = "[\x00-\x1f\x7f-\x9f\u2028\u2029]"
_CONTROL_BUT_LINES = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]"
_SURROGATE = "[\ud800-\udfff]"
_UNSAFE = f"{_CONTROL_BUT_LINES}|{_INVISIBLE}|{_SURROGATE}"
_BREAKS = dict.fromkeys(map(ord, "\t\v\f\r\x85\u2028\u2029"), "\n")
_VARIANTS = ("\ufe0e", "\ufe0f")
"""Asks for the narrow or the wide form of a sign; terminals do not agree on how wide that is."""
_LEAST = 8
"""How many characters of an id are shown at least."""
_WIDE = frozenset("WF")


def clean(text: str, *, lines: bool = False) -> str:
    """The text with nothing in it that a terminal would obey. `lines` keeps newlines and tabs."""
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
    """JSON text with the same meaning, and nothing in it that a terminal would obey."""
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
    """How many columns a terminal gives to the text."""
    if text.isascii():
        return len(text)
    return sum(_cell(character) for character in text)


def _cell(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Cf", "Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1


def cut(text: str, columns: int) -> str:
    """The beginning of the text that fits, with an ellipsis when something is missing."""
    if cells(text) <= columns:
        return text
    kept = ""
    room = columns - 1
    for character in text:
        room -= _cell(character)
        if room < 0:
            break
        kept += character
    return kept + "…" if columns > 0 else ""


def cut_left(text: str, columns: int) -> str:
    """The end of the text that fits; for paths, whose end tells more."""
    if cells(text) <= columns:
        return text
    return cut(text[::-1], columns)[::-1]


def pad(text: str, columns: int) -> str:
    return text + " " * max(columns - cells(text), 0)


def age(time: datetime | None, now: datetime | None = None) -> str:
    """How long ago, as a person says it."""
    if time is None:
        return ""
    now = now or datetime.now(UTC)
    passed = now - time
    if passed < timedelta(minutes=1):
        return "now"
    if passed < timedelta(hours=1):
        return f"{passed // timedelta(minutes=1)}m ago"
    if passed < timedelta(days=1):
        return f"{passed // timedelta(hours=1)}h ago"
    if passed < timedelta(days=100):
        return f"{passed.days}d ago"
    return f"{time:%Y-%m-%d}"


def short_number(number: int | None) -> str:
    """21,400 as 21k."""
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
    """Names to type: for each session the shortest that no other of its agent fits.

    Only of the wanted ones, if that is told.
    """
    known = list(refs)
    by_agent: dict[str, list[SessionRef]] = {}
    for ref in known if wanted is None else dict.fromkeys(wanted):
        by_agent.setdefault(ref.agent, []).append(ref)
    names: dict[SessionRef, str] = {}
    for agent, some in by_agent.items():
        short = short_ids([ref.id for ref in known if ref.agent == agent], [ref.id for ref in some])
        names.update({ref: clean(f"{agent}:{short[ref.id]}") for ref in some})
    return names


def short_ids(ids: Sequence[str], wanted: Sequence[str] | None = None) -> dict[str, str]:
    """For each id, or each wanted one, the shortest beginning that no other has.

    Codex ids begin with the time, so those of one minute need more than eight characters.
    """
    ordered = sorted({*ids, *(wanted or ())})
    names: dict[str, str] = {}
    for id_ in ordered if wanted is None else wanted:
        position = bisect_left(ordered, id_)
        beside = ordered[max(position - 1, 0) : position + 2]
        shared = max((_common(id_, other) for other in beside if other != id_), default=0)
        names[id_] = id_[: max(_LEAST, shared + 1)].rstrip("-")
    return names


def _common(one: str, other: str) -> int:
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def short_path(path: str | None) -> str:
    """A path with `~` for the home folder."""
    if not path:
        return ""
    home = os.environ.get("HOME", "").rstrip("/")
    inside = bool(home) and f"{path}/".startswith(f"{home}/")
    return clean("~" + path[len(home) :] if inside else path)


def wrapped(text: str, columns: int) -> list[str]:
    """Lines that fit, broken between words; a word that is too long is broken anywhere."""
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
        *full, line = _broken(word, columns)
        yield from full
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
