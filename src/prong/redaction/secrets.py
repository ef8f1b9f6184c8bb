"""Keys and tokens of known shapes, masked: `[masked: github token]`. The length is not told.

Two readings. The first knows shapes that are unlikely to be anything else; the second looks at what
a name, a header or an address says is secret, and takes it for that only when it looks random. No
pattern looks further than a bounded number of characters, so the time is proportional to the text.

To compile the patterns takes longer than to read a few passages with them. So none is compiled
before a text has one of the pieces of plain text that such secrets have in them.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple, TypeVar

from prong.model.search import Passage
from prong.redaction.kinds import CUT, NAMED, SHAPES, Named, Shape

_T = TypeVar("_T")
Marks = tuple[tuple[int, int], ...]

_FEW = 20_000
"""A process that reads fewer characters is faster without a pattern of all signs: 10 ms."""
_SHORT_SIGN = 5
"""A sign of fewer characters is in many words, so what stands around it is looked at, too."""
_NO_KEY = frozenset(" \t\n\"'`<>()[]{},;:\\")
_WORDLIKE = frozenset(
    ("live_", "test_", "api-", "sdk-", "key-", "API-", "expo_", "access-", "secret_", "sha256~")
)
"""What may begin a word that is no key: half of a key is not known by them."""
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
    """It begins with the sign, which is plain text: the engine jumps from one to the next.

    What stands before is not of the same word; a line end in JSON may.
    """
    sign, rest = re.escape(shape.sign), shape.rest
    if len(shape.sign) >= 4 and shape.sign[-1] in "_-." and shape.sign not in _WORDLIKE:
        rest = f"(?:{rest}|{_REST_OF_CUT})"
    begun = f"{shape.before}{sign}"
    alone = rf"(?:(?<![A-Za-z0-9]{begun})|(?<=\\[nrt]{begun}))"
    before = f"(?<={begun})" if shape.before else ""
    return re.compile(f"{sign}{before}{alone}{rest}")


def _is_alone(text: str, at: int) -> bool:
    """Whether a word begins here: what is before is not of it; a line end in JSON may be."""
    before = text[at - 1 : at]
    return not (before.isascii() and before.isalnum()) or (
        before in "nrt" and text[at - 2 : at - 1] == "\\"
    )


def _may_begin(text: str, sign: str) -> bool:
    """Whether one of the short signs in a text may be the beginning of a key."""
    at = text.find(sign)
    while at >= 0:
        end = at + len(sign)
        if _is_alone(text, at) and not _NO_KEY.intersection(text[end : end + 4]):
            return True
        at = text.find(sign, end)
    return False


class _Known:
    """The keys of `secret_kinds`. Patterns are compiled for the first text that needs them."""

    def __init__(self) -> None:
        self._read = 0

    def may_find(self, text: str) -> bool:
        """False only when it finds nothing."""
        return bool(self._shapes(text) or self._named(text)[1])

    def finditer(self, text: str) -> Iterator[_Secret]:
        """From the left, none inside another."""
        found = [
            _Secret(one.start() - shape.length, one.end(), shape.kind)
            for shape in self._shapes(text)
            for one in _shape(shape).finditer(text)
        ]
        # The longer one counts, and a shape says more than the name before it.
        found += self._said(text)
        end = 0
        for one in sorted(found, key=lambda one: (one.start, -one.end)):
            if one.start >= end:
                yield one
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
        """The text in small letters, and those that are named in it."""
        if "=" not in text and ":" not in text and "||" not in text:
            return "", []
        small = text.lower()
        if len(small) != len(text):  # of a letter or two that small ones have more of
            small = "".join(one.lower() if one.isascii() else one for one in text)
        if self._read < _FEW and len(text) < _FEW:
            words = {word for word in _BY_WORD if word in small}
        else:
            words = set(_compiled(_any_word()).findall(small))
        if not words or not _compiled(_LETTER_BESIDE_DIGIT).search(small):
            return small, []
        return small, [one for word in sorted(words) for one in _BY_WORD[word]]

    def _said(self, text: str) -> Iterator[_Secret]:
        small, named = self._named(text)
        for one in named:
            name = _compiled(one.name.replace("-", "[._-]{0,2}"))
            value = _compiled(f"(?:{one.value})(?![A-Za-z0-9_-])")
            for told in name.finditer(small):
                at = told.start()
                if not (_is_alone(text, at) or text[at].isupper()):
                    continue
                begun = _compiled(_NAMED_IS).match(text, told.end())
                found = begun and value.match(text, begun.end())
                if found and _looks_random(found[0], 8, 2):
                    yield _Secret(*found.span(), one.kind)


def _by_first_character(words: Iterable[tuple[str, str]]) -> str:
    """One pattern of many: beginnings that are plain text, and what follows them.

    Alternatives that begin with different plain characters let the engine jump to the places where
    one of them may begin; that makes it five times as fast.
    """
    branches: dict[str, list[str]] = {}
    for beginning, rest in words:
        branches.setdefault(beginning[0], []).append(f"{re.escape(beginning[1:])}{rest}")
    return "|".join(f"{re.escape(first)}(?:{'|'.join(rest)})" for first, rest in branches.items())


def _by_beginning(table: Iterable[tuple[str, _T]]) -> dict[str, list[_T]]:
    """What has such a text in it, below the shortest text that this one begins with.

    Shortest ones are what one pattern can find: it finds no other text where it found one.
    """
    rows = list(table)
    texts = sorted({text for text, _ in rows}, key=len)
    found: dict[str, list[_T]] = {}
    for text, row in rows:
        found.setdefault(next(filter(text.startswith, texts)), []).append(row)
    return found


_BY_SIGN = _by_beginning((shape.sign, shape) for shape in SHAPES)
_BY_WORD = _by_beginning((max(one.name.split("-"), key=len), one) for one in NAMED)


@cache
def _any_sign(*, escapes: bool) -> str:
    behind = {sign for sign, shapes in _BY_SIGN.items() if shapes[0].length}
    alone = _by_first_character((sign, "") for sign in _BY_SIGN if sign not in behind)
    inside = _by_first_character((sign, "") for sign in sorted(behind))
    if not escapes:
        return rf"(?<![A-Za-z0-9])(?:{alone})|{inside}"
    # Looked at, not taken: the letter of a line end in JSON and a sign may look like another sign.
    return rf"(?=((?:(?<![A-Za-z0-9])|(?<=\\[nrt]))(?:{alone})|{inside}))"


@cache
def _any_word() -> str:
    return _by_first_character((word, "") for word in _BY_WORD)


KNOWN = _Known()


class _Pattern:
    """Compiled for the first text in which it may find something."""

    def __init__(self, pattern: Callable[[], str], may_find: Callable[[str], bool]) -> None:
        self._pattern = pattern
        self.may_find = may_find
        """False only when it finds nothing."""
        self._compiled: re.Pattern[str] | None = None

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        if self._compiled is None:
            if not self.may_find(text):
                return iter(())
            self._compiled = re.compile(self._pattern())
        return self._compiled.finditer(text)


_NAMES = ("token", "secret", "password", "passwd", "passphrase", "credential")
_TWO_WORDS = (("api", "key"), ("access", "key"), ("auth", "key"), ("private", "key"))
_SHORT = ("password", "passwd", "passphrase")
"""People choose them, so they may be short."""


def _spellings() -> Iterable[str]:
    for name in _NAMES:
        yield from (name, name.upper(), name.capitalize())
    for one, two in _TWO_WORDS:
        for between in ("_", "-", ""):
            yield from (f"{one}{between}{two}", f"{one}{between}{two}".upper())
            yield f"{one.capitalize()}{between}{two.capitalize()}"
        yield f"{one}{two.capitalize()}"


_QUOTE = r"\\{0,3}[\"'`]"
_MORE = (
    r"(?i:[_-]?(?:access|secret|api|auth|private|client|key|value|base|prod|dev|live|test|\d)){0,3}"
)
_NAMED_IS = r"[\w.-]{0,24}\\{0,3}[\"'`]?[ \t]{0,4}(?::=|=>|\?=|\|\||[:=])[ \t]{0,4}\\{0,3}[\"'`]?"
_IS = rf"(?:{_QUOTE})?[ \t]{{0,8}}(?::=|=>|[:=])[ \t]{{0,8}}"
_OTHER_WORDS = ("Authorization", "authorization", "Bearer", "bearer", "://")
_SAYING = (*_NAMES, "key", "authorization", "bearer")
"""One of them is in every text, in small letters, that says so; or it has an address."""


def _any_saying() -> str:
    return _by_first_character((word, "") for word in (*_spellings(), *_OTHER_WORDS))


def _may_say(text: str) -> bool:
    if "://" in text and "@" in text:
        return True
    small = text.lower()
    # What follows such a word is a secret only where letters and digits stand in turns.
    return any(map(small.__contains__, _SAYING)) and bool(
        _compiled(_LETTER_BESIDE_DIGIT).search(small)
    )


SAID = _Pattern(_any_saying, _may_say)
"""What may say that a secret follows."""


_VALUE = (
    rf"{_MORE}{_IS}(?:{_QUOTE}([^\s\"'`\\\[\]]{{8,256}}+)(?={_QUOTE})"
    r"|([^\s\"'`\\\[\](){}<>|&;,$]{8,256}+)(?![(\[{$]))"
)
_HEADER = (
    rf"{_IS}(?:{_QUOTE})?(?:[Bb]earer|[Bb]asic|[Tt]oken)[ \t]{{1,8}}"
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
    """False only when there is a secret neither in the text nor in any part of it."""
    return KNOWN.may_find(text) or SAID.may_find(text)


def mask(text: str) -> str:
    """The text without its secrets. What is masked already stays as it is."""
    for look in (_known, _said):
        text = _replaced(text, look(text))
    return text


def mask_passage(passage: Passage) -> Passage:
    """The same with the marks moved along; a mark inside a secret is one on what stands for it."""
    text, marks = passage
    for look in (_known, _said):
        found = look(text)
        text, marks = _replaced(text, found), _moved(marks, found)
    return Passage(text, marks)


def _known(text: str) -> list[_Secret]:
    return list(KNOWN.finditer(text))


def _said(text: str) -> list[_Secret]:
    secrets: list[_Secret] = []
    done = 0
    for found in SAID.finditer(text):
        secret = _said_by(found) if found.start() >= done else None
        if secret is not None:
            secrets.append(secret)
            done = secret.end
    return secrets


def _said_by(found: re.Match[str]) -> _Secret | None:
    """What follows such words, when it looks like a secret."""
    word = found[0].lower()
    kind, shortest, changes = "bearer token", 12, 2
    if word == "://":
        pattern, kind, changes = _IN_ADDRESS, "password", 0
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
    """Letters and digits in turns, as nobody would name a thing."""
    value = value.rstrip(".:=!?")
    # The cheap questions first: most of what is asked about is prose or code.
    if len(value) < shortest or len(_compiled(_DIGIT).findall(value)) * 20 < len(value):
        return False
    if "://" in value or value.startswith(("/", "./", "../", "~")) or _compiled(_TIME).match(value):
        return False
    lower = value.lower()
    if any(word in lower for word in _PLACEHOLDERS):
        return False
    found = len(_compiled(_LETTER_BESIDE_DIGIT).findall(value))
    return found >= changes and found * 10 >= len(value)


def _replaced(text: str, secrets: list[_Secret]) -> str:
    if not secrets:
        return text
    pieces: list[str] = []
    done = 0
    for secret in secrets:
        pieces += (text[done : secret.start], secret.told)
        done = secret.end
    return "".join((*pieces, text[done:]))


def _moved(marks: Marks, secrets: list[_Secret]) -> Marks:
    """Where the marks are when the secrets are replaced."""
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
