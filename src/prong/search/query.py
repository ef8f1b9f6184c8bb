"""What a person types: words to look for, and among them words that narrow the search.

    agent:codex project:~/shop since:3d file:src/limit.py file:"a b.py" has:snapshot

Whatever is none of these is text: a URL, `std::vector`, `foo:bar`, an agent that does not exist, a
time that is none. Nothing that was typed gets lost, and nothing that is typed is an error.
"""

import re
from collections.abc import Collection, Sequence
from datetime import datetime

from prong.moments import EXAMPLES, moment
from prong.record import Record, field

_FILTER = r"""(?<!\S)                             # at the beginning of a word
        (?P<name>agent|project|since|file|has|before|until):
        (?:"(?P<quoted>[^"]*\S[^"]*)"(?!\S)
          |(?P<plain>(?!//|:|")\S+))        # file://a is a URL, file::a is code
    """
_WHOLE = r"(project|file):(?!//|:|\")(?=\S)"


class ParsedQuery(Record):
    """The text, and the filters that stood in it."""

    text: str = ""
    agent: str | None = None
    project: str | None = None
    since: datetime | None = None
    files: list[str] = field(default_factory=list[str])
    has_snapshot: bool = False
    notes: list[str] = field(default_factory=list[str])
    """Which words look like filters and are none, and why."""


def parse(words: Sequence[str], agents: Collection[str] = ()) -> ParsedQuery:
    """Take the filters out of what was typed. `agents` are the names that `agent:` knows.

    One word is a text to look into. Of several, `file:a b.py` is one that somebody quoted for
    their shell, so it stays whole.
    """
    parser = _Parser(agents)
    texts: list[str] = []
    for word in words:
        if ":" not in word:
            texts.append(word)
        elif len(words) > 1 and re.match(_WHOLE, word, re.IGNORECASE):
            name, _, value = word.partition(":")
            texts.append("" if parser.take(name.lower(), value) else word)
        else:
            flags = re.IGNORECASE | re.VERBOSE
            texts.append(re.sub(_FILTER, parser.replace, word, flags=flags))
    parser.found.text = " ".join(" ".join(texts).split())
    return parser.found


class _Parser:
    def __init__(self, agents: Collection[str]) -> None:
        self.found = ParsedQuery()
        self._agents = agents

    def replace(self, match: re.Match[str]) -> str:
        value = match["quoted"] or match["plain"]
        return "" if self.take(match["name"].lower(), value) else match[0]

    def take(self, name: str, value: str) -> bool:
        """Keep a filter; False when it is no more than text."""
        found = self.found
        if name == "file":
            found.files.append(value)
            return True
        if name == "has":
            return self._take_has(value)
        if name in ("before", "until"):
            # Only of a time it was meant to be a filter.
            return _is_time(value) and self._text(name, value, "only since: is supported")
        if getattr(found, name) is not None:
            return self._text(name, value, f"only one {name}: is supported")
        if name == "project":
            found.project = value
        elif name == "agent":
            if value.lower() not in self._agents:
                known = ", ".join(self._agents)
                return self._text(name, value, f"the agents are {known}" if known else "no agents")
            found.agent = value.lower()
        else:
            try:
                found.since = moment(value)
            except ValueError:
                return self._text(name, value, f"try {EXAMPLES}")
        return True

    def _take_has(self, value: str) -> bool:
        if value.lower() != "snapshot":
            return self._text("has", value, "only has:snapshot is supported")
        self.found.has_snapshot = True
        return True

    def _text(self, name: str, value: str, why: str) -> bool:
        self.found.notes.append(f"{name}:{value} is searched as text: {why}")
        return False


def _is_time(text: str) -> bool:
    try:
        moment(text)
    except ValueError:
        return False
    return True
