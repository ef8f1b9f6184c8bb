"""What a person types: words to look for, and among them words that narrow the search.

    agent:codex project:~/shop since:3d file:src/limit.py file:"a b.py" has:snapshot

Whatever is none of these is text: a URL, `std::vector`, `foo:bar`, an agent that does not exist, a
time that is none. Nothing that was typed gets lost, and nothing that is typed is an error.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from prong.errors import UsageError
from prong.model.record import Record, field, replace
from prong.model.search import Query
from prong.model.times import EXAMPLES, moment
from prong.sessions.folder_names import project_folder

if TYPE_CHECKING:
    from prong.app import App


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


_EXAMPLE = 'prong find "add rate limiting to the public API"'


class Intent(Record, frozen=True):
    """A query, and what a person should know about how their words were understood."""

    query: Query
    notes: tuple[str, ...] = ()


def understood(app: App, words: Sequence[str], options: Query) -> Intent:
    """The query of these words. `options` has all but the text; it overrules filters in the words.

    Raises `UsageError` when nothing is left to look for, `NotFound` for an unknown agent.
    """
    intent = read(app, words, options)
    query = intent.query
    if not query.text:
        narrowed = any((query.agent, query.project, query.since, query.has_snapshot))
        hint = f"{_EXAMPLE}; prong list shows sessions without a search" if narrowed else _EXAMPLE
        raise UsageError("the search is empty", hint=hint)
    return intent


def read(app: App, words: Sequence[str], options: Query) -> Intent:
    """The same, also where only filters were typed, or nothing: the text is empty then."""
    if options.agent is not None:
        app.store(options.agent)
    parsed = parse(words, tuple(app.stores))
    notes = [
        *parsed.notes,
        *(
            f"{name}: in the query is ignored: the option takes precedence"
            for name in ("agent", "project", "since")
            if getattr(options, name) is not None and getattr(parsed, name) is not None
        ),
    ]
    typed = Path(parsed.project) if parsed.project is not None else None
    project = options.project if options.project is not None else typed
    if project is not None:
        project = project_folder(app, project, notes)
    files = (*options.files, *parsed.files)
    notes += [
        f"{name} is not a pattern: name a whole file or a folder" for name in files if "*" in name
    ]
    # Who names only a file looks for the turns that have to do with it.
    text = parsed.text or " ".join(files)
    query = replace(
        options,
        text=text,
        agent=options.agent or parsed.agent,
        project=project,
        since=options.since or parsed.since,
        files=files,
        has_snapshot=options.has_snapshot or parsed.has_snapshot,
    )
    return Intent(query, tuple(notes))
