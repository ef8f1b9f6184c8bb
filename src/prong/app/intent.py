"""From what a person types to a query: the words, the filters among them, and options."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prong.app.folder_names import project_folder
from prong.errors import UsageError
from prong.hits import Query
from prong.record import Record, replace
from prong.search.query import parse

if TYPE_CHECKING:
    from prong.app.application import App

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
