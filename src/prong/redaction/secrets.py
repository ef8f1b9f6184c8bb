"""Masking of secrets: `[masked: github token]`. The length is not revealed.

Two passes. The first finds patterns that are unlikely to be anything else. The second checks values
that a name, header or URL marks as secret, and masks them only if they look random. No pattern
looks ahead more than a bounded number of characters, so the time is proportional to the text.

Compiling the patterns takes longer than searching a few passages with them. So each is compiled
only when a text contains plain text that is part of every such secret.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple, TypeVar

from prong.model.search import Passage
from prong.redaction.kinds import CUT, NAMED, SHAPES, Named, Shape

_T = TypeVar("_T")
Marks = tuple[tuple[int, int], ...]

_FEW = 20_000
"""Below this many characters, a process is faster without compiling all signs (10 ms)."""
_SHORT_SIGN = 5
"""Signs shorter than this are part of many words, so their surroundings are checked, too."""
_NO_KEY = frozenset(" \t\n\"'`<>()[]{},;:\\")
_WORDLIKE = frozenset(
    ("live_", "test_", "api-", "sdk-", "key-", "API-", "expo_", "access-", "secret_", "sha256~")
)
"""Signs that may start ordinary words, and so cannot identify a truncated key."""
_REST_OF_CUT = rf"(?=[A-Za-z_-]{{0,40}}[0-9])[A-Za-z0-9_-]{{4,200}}{CUT}"


class _Secret(NamedTuple):
    start: int
    end: int
    kind: str

    @property
    def told(self) -> str:
        return f"[masked: {self.kind}]"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _shape(shape: Shape) -> re.Pattern[str]:
    """Compile a shape into a pattern that starts with plain text, which the engine finds fast.

    The text before must not belong to the same word, except for an escaped line end in JSON.
    """
    sign, rest = re.escape(shape.sign), shape.rest
    if len(shape.sign) >= 4 and shape.sign[-1] in "_-." and shape.sign not in _WORDLIKE:
        rest = f"(?:{rest}|{_REST_OF_CUT})"
    prefix = f"{shape.before}{sign}"
    boundary = rf"(?:(?<![A-Za-z0-9]{prefix})|(?<=\\[nrt]{prefix}))"
    before = f"(?<={prefix})" if shape.before else ""
    return re.compile(f"{sign}{before}{boundary}{rest}")


def _is_alone(text: str, at: int) -> bool:
    """Whether a word starts here, where an escaped line end in JSON may precede it."""
    previous = text[at - 1 : at]
    return not (previous.isascii() and previous.isalnum()) or (
        previous in "nrt" and text[at - 2 : at - 1] == "\\"
    )


def _may_begin(text: str, sign: str) -> bool:
    """Whether a short sign in the text may start a key."""
    start = text.find(sign)
    while start >= 0:
        end = start + len(sign)
        if _is_alone(text, start) and not _NO_KEY.intersection(text[end : end + 4]):
            return True
        start = text.find(sign, end)
    return False


class _Known:
    """Search for the secrets of `redaction.kinds`. Patterns are compiled on demand."""

    def __init__(self) -> None:
        self._read = 0

    def may_find(self, text: str) -> bool:
        """False only if `finditer` would find nothing."""
        return bool(self._shapes(text) or self._named(text)[1])

    def finditer(self, text: str) -> Iterator[_Secret]:
        """Yield secrets from left to right, without overlaps."""
        secrets = [
            _Secret(one.start() - shape.length, one.end(), shape.kind)
            for shape in self._shapes(text)
            for one in _shape(shape).finditer(text)
        ]
        # The longer match wins, and a shape is more specific than a name.
        secrets += self._said(text)
        end = 0
        for one in sorted(secrets, key=lambda one: (one.start, -one.end)):
            if one.end > end:
                # Of two that overlap, both are masked.
                yield one._replace(start=max(one.start, end))
                end = one.end

    def _shapes(self, text: str) -> list[Shape]:
        if self._read < _FEW and len(text) < _FEW:
            self._read += len(text)
            signs = {sign for sign in _BY_SIGN if sign in text}
        else:
            signs = set(_compiled(_any_sign(escapes="\\" in text)).findall(text))
        return [
            shape
            for sign in sorted(signs)
            for shape in _BY_SIGN[sign]
            if shape.sign in text
            and (shape.length or len(shape.sign) >= _SHORT_SIGN or _may_begin(text, shape.sign))
        ]

    def _named(self, text: str) -> tuple[str, list[Named]]:
        """Return the text in lower case, and the secrets whose names occur in it."""
        if not any(map(text.__contains__, _SEPARATORS)):
            return "", []
        lower = text.lower()
        if len(lower) != len(text):  # some characters become longer in lower case
            lower = "".join(item.lower() if item.isascii() else item for item in text)
        if self._read < _FEW and len(text) < _FEW:
            words = {word for word in _BY_WORD if word in lower}
        else:
            words = set(_compiled(_any_word()).findall(lower))
        if not words or not _compiled(_LETTER_BESIDE_DIGIT).search(lower):
            return lower, []
        return lower, [item for word in sorted(words) for item in _BY_WORD[word]]

    def _said(self, text: str) -> Iterator[_Secret]:
        lower, named = self._named(text)
        for entry in named:
            name = _compiled(entry.name.replace("-", "[._-]{0,2}"))
            value = _compiled(f"(?i:{entry.value})(?![A-Za-z0-9_-])")
            for match in name.finditer(lower):
                start = match.start()
                if not (_is_alone(text, start) or text[start].isupper()):
                    continue
                separator = _compiled(_NAMED_IS).match(text, match.end())
                secret = separator and value.match(text, separator.end())
                if secret and _looks_random(secret[0], 8, 2):
                    yield _Secret(*secret.span(), entry.kind)


def _any_of(words: Iterable[str]) -> str:
    """Combine many words into one pattern.

    Grouped by first character, they let the engine skip to possible matches: five times as fast.
    """
    branches: dict[str, list[str]] = {}
    for word in words:
        branches.setdefault(word[0], []).append(re.escape(word[1:]))
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in branches.items())


def _by_beginning(table: Iterable[tuple[str, _T]]) -> dict[str, list[_T]]:
    """Group rows under the shortest text of the table that their own text starts with.

    One combined pattern finds only the shortest ones, since matches do not overlap.
    """
    rows = list(table)
    texts = sorted({text for text, _ in rows}, key=len)
    groups: dict[str, list[_T]] = {}
    for text, row in rows:
        groups.setdefault(next(filter(text.startswith, texts)), []).append(row)
    return groups


_BY_SIGN = _by_beginning((shape.sign, shape) for shape in SHAPES)
_BY_WORD = _by_beginning((max(one.name.split("-"), key=len), one) for one in NAMED)


@cache
def _any_sign(*, escapes: bool) -> str:
    preceded = {sign for sign, shapes in _BY_SIGN.items() if shapes[0].length}
    standalone = _any_of(sign for sign in _BY_SIGN if sign not in preceded)
    inside = _any_of(sorted(preceded))
    if not escapes:
        return rf"(?<![A-Za-z0-9])(?:{standalone})|{inside}"
    # As a lookahead, because the letter of an escaped line end plus a sign may look like another
    # sign.
    return rf"(?=((?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{standalone})|{inside}))"


@cache
def _any_word() -> str:
    return _any_of(_BY_WORD)


KNOWN = _Known()


_NAMES = ("token", "secret", "password", "passwd", "passphrase", "credential")
_TWO_WORDS = (("api", "key"), ("access", "key"), ("auth", "key"), ("private", "key"))
_SHORT = ("password", "passwd", "passphrase")
"""Chosen by people, so they may be short."""
_VAGUE = ("key", "api", "auth")
"""As in `openweather_key`, `WEATHER_API` and `_auth`. Longer words precede these."""


def _spellings() -> Iterable[str]:
    for name in _NAMES:
        yield from (name, name.upper(), name.capitalize())
    for first, second in _TWO_WORDS:
        for separator in ("_", "-", ""):
            yield from (f"{first}{separator}{second}", f"{first}{separator}{second}".upper())
            yield f"{first.capitalize()}{separator}{second.capitalize()}"
        yield f"{first}{second.capitalize()}"


_SEPARATORS = ("=", ":", "||", ">", '",', "',", "`,")
"""What can be between a name and its value."""
_QUOTE = r"\\{0,3}[\"'`]"
_MORE = (
    r"(?i:[_-]?(?:access|secret|api|auth|private|client|key|value|base|prod|dev|live|test|\d)){0,3}"
)
_SIGN = r"(?::=|=>|[:=>]|(?<=[\"'`]),)"
_NAMED_IS = (
    rf"[\w.-]{{0,24}}\\{{0,3}}[\"'`]?[ \t]{{0,4}}(?:\?=|\|\||{_SIGN})[ \t]{{0,4}}\\{{0,3}}[\"'`]?"
)
_IS = rf"(?:{_QUOTE})?[ \t]{{0,8}}{_SIGN}[ \t]{{0,8}}"
_LOGIN = (
    r"[ =]?[\"']?[\w.@+-]{0,64}:((?=[^\s\"']{0,60}[0-9])(?=[^\s\"']{0,60}[A-Za-z])[^\s\"']{8,100})"
)
"""A user name and password on a command line, as of curl."""
_LOGINS = (" -u", " --user")
_OTHER_WORDS = ("Authorization", "authorization", "Bearer", "bearer", "://", *_LOGINS)
_SAYING = (*_NAMES, *_VAGUE, "authorization", "bearer", *_LOGINS)
"""Every text that announces a secret contains one of these in lower case, or a URL."""


@cache
def _any_saying() -> str:
    vague = (case(name) for name in _VAGUE for case in (str.lower, str.upper, str.capitalize))
    return _any_of((*_spellings(), *_OTHER_WORDS, *vague))


def _may_be_said(text: str) -> bool:
    """False only if no secret is announced. The pattern is compiled when this is True."""
    if "://" in text and "@" in text:
        return True
    lower = text.lower()
    # The value is a secret only if letters and digits alternate.
    return any(map(lower.__contains__, _SAYING)) and bool(
        _compiled(_LETTER_BESIDE_DIGIT).search(lower)
    )


_VALUE = (
    rf"{_MORE}{_IS}(?:{_QUOTE}([^\s\"'`\\\[\]]{{8,256}}+)(?={_QUOTE})"
    r"|([^\s\"'`\\\[\](){}<>|&;,$]{8,256}+)(?![(\[{$]))"
)
_HEADER = (
    rf"{_IS}(?:{_QUOTE})?(?:[A-Za-z][A-Za-z-]{{1,20}}[ \t]{{1,8}})?"
    r"([A-Za-z0-9._~+/=-]{12,4096}+)"
)
_BEARER = r"[ \t]{1,8}([A-Za-z0-9._~+/=-]{12,4096}+)"
_IN_ADDRESS = r"[^\s/:@\"'`\[\]<>]{0,100}+:([^\s/@\"'`\[\]<>{}$*]{1,200}+)(?=@)"
_PLACEHOLDERS = (
    *("xxxx", "***", "...", "\u2026", "${", "{{", "your", "example", "placeholder"),
    *("changeme", "redacted", "masked", "dummy"),
)
_TIME = r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d"
_DIGIT = "[0-9]"
_LETTER_BESIDE_DIGIT = r"(?<=[0-9])[A-Za-z]|(?<=[A-Za-z])[0-9]"


def may_be_in(text: str) -> bool:
    """False only if neither the text nor any part of it contains a secret."""
    return KNOWN.may_find(text) or _may_be_said(text)


def mask(text: str) -> str:
    """Mask the secrets in a text. Masks that it already contains stay."""
    for find in (KNOWN.finditer, _said):
        text = _replaced(text, list(find(text)))
    return text


def mask_passage(passage: Passage) -> Passage:
    """Mask a passage and adjust its marks; a mark inside a secret moves to its mask."""
    text, marks = passage
    for find in (KNOWN.finditer, _said):
        secrets = list(find(text))
        text, marks = _replaced(text, secrets), _moved(marks, secrets)
    return Passage(text, marks)


def _said(text: str) -> Iterator[_Secret]:
    end = 0
    for match in _compiled(_any_saying()).finditer(text) if _may_be_said(text) else ():
        secret = _said_by(match) if match.start() >= end else None
        if secret is not None:
            yield secret
            end = secret.end


def _said_by(found: re.Match[str]) -> _Secret | None:
    """Return the value after the announcing words, if it looks like a secret."""
    word = found[0].lower()
    kind, shortest, changes = "bearer token", 12, 2
    if word == "://":
        pattern, kind, changes = _IN_ADDRESS, "password", 0
    elif word in _LOGINS:
        pattern, kind, changes = _LOGIN, "password", 0
    elif word == "bearer":
        pattern = _BEARER
    elif word == "authorization":
        pattern = _HEADER
    else:
        pattern, kind, changes = _VALUE, _kind(word), 3
        shortest = 8 if kind == "password" else 16
    value = _compiled(pattern).match(found.string, found.end())
    if value is None or not value.lastindex:
        return None
    if changes and not _looks_random(value[value.lastindex], shortest, changes):
        return None
    return _Secret(*value.span(value.lastindex), kind)


def _kind(word: str) -> str:
    if word in _SHORT:
        return "password"
    return word if word in _NAMES else "key"


def _looks_random(value: str, shortest: int, changes: int) -> bool:
    """Whether letters and digits alternate too often for a chosen name."""
    value = value.rstrip(".:=!?")
    # Cheap checks first: most candidates are prose or code.
    if len(value) < shortest or len(_compiled(_DIGIT).findall(value)) * 20 < len(value):
        return False
    if "://" in value or value.startswith(("/", "./", "../", "~")) or _compiled(_TIME).match(value):
        return False
    lower = value.lower()
    if any(word in lower for word in _PLACEHOLDERS):
        return False
    count = len(_compiled(_LETTER_BESIDE_DIGIT).findall(value))
    return count >= changes and count * 10 >= len(value)


def _replaced(text: str, secrets: list[_Secret]) -> str:
    if not secrets:
        return text
    pieces: list[str] = []
    end = 0
    for secret in secrets:
        pieces += (text[end : secret.start], secret.told)
        end = secret.end
    return "".join((*pieces, text[end:]))


def _moved(marks: Marks, secrets: list[_Secret]) -> Marks:
    """Compute the positions of marks after secrets are replaced."""
    moved: list[tuple[int, int]] = []
    for start, end in marks:
        new_start, new_end, grown = start, end, 0
        for secret in secrets:
            before, grown = grown, grown + len(secret.told) - (secret.end - secret.start)
            if start >= secret.end:
                new_start = start + grown
            elif start > secret.start:
                new_start = secret.start + before
            if end >= secret.end:
                new_end = end + grown
            elif end > secret.start:
                new_end = secret.end + grown
        if moved and new_start < moved[-1][1]:
            new_start, new_end = moved[-1][0], max(moved.pop()[1], new_end)
        moved.append((new_start, new_end))
    return tuple(moved)
