"""Search query parser: words to look for, mixed with filters.

    agent:codex project:~/shop since:3d file:src/limit.py file:"a b.py" has:snapshot

Anything that is not a valid filter is text: a URL, `std::vector`, `foo:bar`, an unknown agent or an
invalid time. No input is dropped, and no input is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

from prong.agents.stores import AgentStores
from prong.errors import UsageError
from prong.model.record import Record, field, replace
from prong.model.search import ENGINES, SearchRequest
from prong.model.times import EXAMPLES, moment

_FILTER = r"""(?<!\S)                             # at the beginning of a word
        (?P<name>agent|project|since|file|has|before|until):
        (?:"(?P<quoted>[^"]*\S[^"]*)"(?!\S)
          |(?P<plain>(?!//|:|")\S+))        # file://a is a URL, file::a is code
    """
_WHOLE = r"(project|file):(?!//|:|\")(?=\S)"


class ParsedQuery(Record):
    """The text and the filters of a query."""

    text: str = ""
    agent: str | None = None
    project: str | None = None
    since: datetime | None = None
    files: list[str] = field(default_factory=list[str])
    has_snapshot: bool = False
    notes: list[str] = field(default_factory=list[str])
    """Notes about words that look like filters but are searched as text, and why."""


def parse(words: Sequence[str], agents: Collection[str] = ()) -> ParsedQuery:
    """Separate the filters from the text. `agents` are the valid values of `agent:`.

    A single word is a text to scan. Of several, `file:a b.py` was quoted for the shell.
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
        """Store a filter and return True, or return False when it is plain text."""
        parsed = self.found
        if name == "file":
            parsed.files.append(value)
            return True
        if name == "has":
            if value.lower() != "snapshot":
                return self._text(name, value, "only has:snapshot is supported")
            parsed.has_snapshot = True
            return True
        time = _time(value)
        if name in ("before", "until"):
            # Only with a time is it meant as a filter.
            return bool(time and self._text(name, value, "only since: is supported"))
        if getattr(parsed, name) is not None:
            return self._text(name, value, f"only one {name}: is supported")
        if name == "project":
            parsed.project = value
        elif name == "agent":
            if value.lower() not in self._agents:
                names = ", ".join(self._agents)
                return self._text(name, value, f"the agents are {names}" if names else "no agents")
            parsed.agent = value.lower()
        elif time is None:
            return self._text(name, value, f"try {EXAMPLES}")
        else:
            parsed.since = time
        return True

    def _text(self, name: str, value: str, why: str) -> bool:
        self.found.notes.append(f"{name}:{value} is searched as text: {why}")
        return False


def _time(text: str) -> datetime | None:
    try:
        return moment(text)
    except ValueError:
        return None


_EXAMPLE = 'prong find "add rate limiting to the public API"'


def check(request: SearchRequest, stores: AgentStores, *, needs_text: bool = False) -> None:
    """Raise `UsageError` for values that make no sense, `NotFound` for an unknown agent."""
    if request.agent is not None:
        stores.named(request.agent)
    if request.limit < 1:
        raise UsageError(f"limit must be at least 1, not {request.limit}", hint="limit=10")
    if isinstance(request.files, str):
        hint = f"files=[{request.files!r}]"
        raise UsageError("files must be a list of names, not a text", hint=hint)
    if request.engine not in (None, *ENGINES):
        hint = f"one of {', '.join(ENGINES)}"
        raise UsageError(f"unknown engine {request.engine!r}", hint=hint)
    if needs_text and not request.text.strip():
        lists = "; prong list shows sessions without a search" if request.is_narrowed else ""
        raise UsageError("the search is empty", hint=_EXAMPLE + lists)


def read(words: Sequence[str], request: SearchRequest, agents: Collection[str]) -> SearchRequest:
    """Add typed words and their filters to a request, whose own filters take precedence."""
    parsed = parse(words, agents)
    ignored = (
        f"{name}: in the query is ignored: the option takes precedence"
        for name in ("agent", "project", "since")
        if getattr(request, name) is not None and getattr(parsed, name) is not None
    )
    files = (*request.files, *parsed.files)
    patterns = (
        f"{name} is not a pattern: name a whole file or a folder" for name in files if "*" in name
    )
    typed = Path(parsed.project) if parsed.project is not None else None
    return replace(
        request,
        # A query with only a file asks for the turns that touched it.
        text=parsed.text or " ".join(files),
        agent=request.agent or parsed.agent,
        project=request.project if request.project is not None else typed,
        since=request.since or parsed.since,
        files=files,
        has_snapshot=request.has_snapshot or parsed.has_snapshot,
        notes=(*request.notes, *parsed.notes, *ignored, *patterns),
    )
