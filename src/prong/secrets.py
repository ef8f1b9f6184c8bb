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
from typing import NamedTuple

from prong.hits import Passage

Marks = tuple[tuple[int, int], ...]

_ALNUM = "[A-Za-z0-9]"
_WORD = "[A-Za-z0-9_-]"

_CUT = "(?=\u2026|\\Z)"
"""Where a text was shortened: with an unmistakable beginning, the rest of a key is masked, too."""
_PEM = (
    # With its end, or with as much as there is; no other dashes are crossed. What a look ahead has
    # found is not given back, as by `{0,20000}+`, which Python gets wrong here before 3.11.5.
    r"[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"(?=(?:[^-]|-(?!----)){0,400}?[A-Za-z0-9+/=]{40})"
    r"(?:(?=(?P<body>(?:[^-]|-(?!----)){0,20000}))(?P=body)"
    r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----"
    r"|(?:[A-Za-z0-9+/=\s:,]|\\[nr]|-(?!----))+)"
)
_JWT = (
    # No hyphen before it either: then only one place in a long run is tried.
    rf"(?<!-eyJ){_WORD}{{8,}}(?:\.eyJ{_WORD}{{8,}}\.{_WORD}*|(?:\.{_WORD}*)?{_CUT})"
)
_SHAPES = (
    ("anthropic key", "sk-ant-", rf"(?:{_WORD}{{16,}}|{_WORD}{{4,}}{_CUT})"),
    ("openai key", "sk-", rf"(?:proj|svcacct|admin)-(?:{_WORD}{{20,}}|{_WORD}{{4,}}{_CUT})"),
    # A class name of a style sheet may begin like that; it has hyphens, and no digits.
    ("openai key", "sk-", rf"(?=[A-Za-z]{{0,40}}[0-9]){_ALNUM}{{32,}}(?!{_WORD})"),
    ("stripe key", "sk_", rf"(?:live|test)_{_ALNUM}{{16,}}"),
    ("stripe key", "rk_", rf"(?:live|test)_{_ALNUM}{{16,}}"),
    ("github token", "gh", rf"[pousr]_(?:{_ALNUM}{{30,}}|{_ALNUM}{{4,}}{_CUT})"),
    ("github token", "github_pat_", rf"(?:[A-Za-z0-9_]{{22,}}|[A-Za-z0-9_]{{4,}}{_CUT})"),
    (
        "gitlab token",
        "gl",
        rf"(?:pat|dt|rt|cbt|ptt|ft|soat)-(?:{_WORD}{{20,}}|{_WORD}{{4,}}{_CUT})",
    ),
    ("aws key id", "AKIA", rf"[A-Z0-9]{{16}}(?!{_WORD})"),
    ("aws key id", "ASIA", rf"[A-Z0-9]{{16}}(?!{_WORD})"),
    ("google key", "AIza", rf"{_WORD}{{35}}(?!{_WORD})"),
    ("google token", "ya29.", rf"{_WORD}{{20,}}"),
    ("slack token", "xox", r"[abeoprs]-(?=[A-Za-z-]{0,20}[0-9])[A-Za-z0-9-]{10,}"),
    ("slack token", "xapp-", r"[0-9]-[A-Za-z0-9-]{10,}"),
    ("slack webhook", "hooks.slack.com/services/", r"[A-Za-z0-9/_-]{20,}"),
    ("npm token", "npm_", rf"{_ALNUM}{{36,}}"),
    ("pypi token", "pypi-A", rf"{_WORD}{{40,}}"),
    ("hugging face token", "hf_", rf"{_ALNUM}{{30,}}"),
    ("web token", "eyJ", _JWT),
    ("private key", "-----BEGIN ", _PEM),
)
"""Kind, beginning, and the rest. What stands before must not belong to the same word."""
_LONGER = {
    "sk-": ("sk-proj-", "sk-svcacct-", "sk-admin-"),
    "sk_": ("sk_live_", "sk_test_"),
    "rk_": ("rk_live_", "rk_test_"),
    "gh": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "gl": ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-"),
}
"""How beginnings go on that are in many words; `sk-` may go on without anything to know it by."""
_SIGNS = tuple(
    dict.fromkeys(sign for _, start, _ in _SHAPES for sign in _LONGER.get(start, (start,)))
)
_BARE = ("sk-", 32)


def _by_first_character(words: Iterable[tuple[str, str]]) -> str:
    """One pattern of many: beginnings that are plain text, and what follows them.

    Alternatives that begin with different plain characters let the engine jump to the places where
    one of them may begin; that makes it five times as fast.
    """
    branches: dict[str, list[str]] = {}
    for beginning, rest in words:
        branches.setdefault(beginning[0], []).append(f"{re.escape(beginning[1:])}{rest}")
    return "|".join(f"{first}(?:{'|'.join(rest)})" for first, rest in branches.items())


def _alone(beginning: str) -> str:
    """Behind a beginning: what stands before it is not of the same word; a line end in JSON may."""
    word = re.escape(beginning)
    return rf"(?:(?<![A-Za-z0-9_]{word})|(?<=\\[nrt]{word}))"


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


def _any_shape() -> str:
    return _by_first_character(
        (beginning, f"{_alone(beginning)}(?P<k{number}>{rest})")
        for number, (_, beginning, rest) in enumerate(_SHAPES)
    )


def _may_have_shape(text: str) -> bool:
    return any(map(text.__contains__, _SIGNS)) or _may_have_bare(text)


def _may_have_bare(text: str) -> bool:
    start, length = _BARE
    at = text.find(start)
    while at >= 0:
        rest = text[at + len(start) : at + len(start) + length]
        if len(rest) == length and rest.isalnum():
            return True
        at = text.find(start, at + 1)
    return False


KNOWN = _Pattern(_any_shape, _may_have_shape)

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


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


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


class _Secret(NamedTuple):
    start: int
    end: int
    kind: str

    @property
    def told(self) -> str:
        return f"[masked: {self.kind}]"


def _known(text: str) -> list[_Secret]:
    return [
        _Secret(found.start(), found.end(), _SHAPES[int((found.lastgroup or "k0")[1:])][0])
        for found in KNOWN.finditer(text)
    ]


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
