"""`prong find`: search past turns."""

import os
import sys
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from prong.cli.arguments import AgentArgument, OptionalNumbers, SinceArgument
from prong.cli.output import json_option, note, open_app, print_json, width
from prong.errors import NotFound, UsageError

if TYPE_CHECKING:
    from prong.app import App
    from prong.model.search import IndexProgress, SearchRequest, SearchResult

_LIMIT = 10
_LINES_OF_NOTES = 4
"""Lines to keep free below the hits, including the shell prompt."""
_ENGINES = ("auto", "builtin", "qmd")
_CODES = ("turn", "now", "head", "none")
_OF_FORK = ("into", "code", "prompt", "run", "yes", "dry_run")
"""Options that need `--fork`."""


@click.command(cls=OptionalNumbers)
@click.argument("intent", nargs=-1, metavar="INTENT...")
@click.option(
    "-n",
    "--limit",
    type=click.IntRange(1, 1000),
    default=_LIMIT,
    show_default=True,
    metavar="N",
    help="Maximum number of results.",
)
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="SCORE", help="Minimum score.")
@click.option("-a", "--agent", type=AgentArgument(), help="Only sessions of this agent.")
@click.option(
    "-p",
    "--project",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Only sessions that ran in this folder or below it.",
)
@click.option(
    "-s", "--since", type=SinceArgument(), help="Only turns since: 3d, 12h, yesterday, 2026-11-01."
)
@click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    metavar="PATH",
    help="Only turns that touched this file. Repeat to require several files.",
)
@click.option("--has", type=click.Choice(["snapshot"]), help="Only turns with captured code.")
@click.option("--sessions", "by_session", is_flag=True, help="Only the best turn of each session.")
@click.option("--engine", type=click.Choice(_ENGINES), help="Search engine (default: auto).")
@click.option(
    "--collection", default="claude-sessions", metavar="NAME", help="qmd collection to search."
)
@click.option("--fast", is_flag=True, help="Keyword search only; skip the sentence model.")
@click.option("--no-snippets", is_flag=True, help="Hide the matching passages.")
@click.option("--no-mask", is_flag=True, help="Show keys and tokens unmasked.")
@click.option(
    "--fork",
    "number",
    type=click.IntRange(min=1),
    metavar="[N]",
    help="Fork at hit N (default: 1).",
)
@click.option(
    "--into",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="With --fork: folder to run the fork in.",
)
@click.option("--code", type=click.Choice(_CODES), help="With --fork: code to start from.")
@click.option("--prompt", metavar="TEXT", help="With --fork: first prompt of the fork.")
@click.option("--exec", "run", is_flag=True, help="With --fork: run the fork in this terminal.")
@click.option("--yes", "-y", is_flag=True, help="With --fork: skip confirmation prompts.")
@click.option("--dry-run", is_flag=True, help="With --fork: show the plan and change nothing.")
@json_option
def find(intent: tuple[str, ...], **given: Any) -> None:
    """Search past turns.

    INTENT is what you want to do, in your own words. It may contain filters: `agent:codex`,
    `project:~/shop`, `since:3d`, `file:limit.py`, `has:snapshot`.

    Hits are numbered. `prong fork %1` forks at the first one, and every command that takes a
    SESSION takes `%1`. The numbers are valid in this terminal until the next search.
    """
    if given["number"] is None and (extra := [name for name in _OF_FORK if given[name]]):
        option = {"run": "exec", "dry_run": "dry-run"}.get(extra[0], extra[0])
        raise UsageError(f"--{option} needs a fork", hint=f"--fork --{option}")
    app = open_app()
    result, saved = _search(app, intent, given)
    if given["number"] is not None:
        _fork(app, result, given)
        return
    if given["as_json"]:
        print_json(_view(result, given))
        return
    _show(app, result, snippets=not given["no_snippets"], numbered=saved)


def _search(
    app: "App", words: tuple[str, ...], given: dict[str, Any]
) -> "tuple[SearchResult, bool]":
    """Search; return the result and whether `%N` can name its hits."""
    from prong.cli.progress import progress
    from prong.model.record import replace

    request = app.search.read(words, _request(given))
    is_reading = False

    def told(now: "IndexProgress") -> None:
        nonlocal is_reading
        is_reading = True
        report(now)

    try:
        with progress(1.0, "searching ...") as report:
            result = app.search.find(request, on_progress=told)
    except KeyboardInterrupt:
        if is_reading:
            note("stopped; what was read is kept, and the next search continues from there")
        raise
    saved = app.search.last.keep(result.hits)
    if result.hits and not saved:
        unsaved = "the hits could not be saved: their numbers do not work"
        result = replace(result, notes=(*result.notes, unsaved))
    return result, saved


def _request(given: dict[str, Any]) -> "SearchRequest":
    from prong.model.search import SearchRequest

    since: datetime | None = given["since"]
    return SearchRequest(
        agent=given["agent"],
        project=given["project"],
        since=since,
        files=given["files"],
        has_snapshot=given["has"] == "snapshot",
        limit=given["limit"],
        min_score=given["min_score"],
        here=_here(),
        fast=given["fast"],
        by_session=given["by_session"],
        engine=given["engine"],
        collection=given["collection"],
        masked=not given["no_mask"],
    )


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted
        return None


def _view(result: "SearchResult", given: dict[str, Any]) -> dict[str, Any]:
    from prong.views import search

    return search.result(result, snippets=not given["no_snippets"])


def _show(app: "App", result: "SearchResult", *, snippets: bool, numbered: bool) -> None:
    """Print the hits; without --limit, as many as fit the screen."""
    from prong.cli.search.found_notes import print_notes
    from prong.cli.search.found_table import FoundTable

    table = FoundTable(result, width(), snippets=snippets)
    count = table.print(None if _is_given("limit") else _lines_of_screen())
    print_notes(app, result, numbered=numbered, shown=count)


def _is_given(option: str) -> bool:
    source = click.get_current_context().get_parameter_source(option)
    return source is not ParameterSource.DEFAULT


def _lines_of_screen() -> int | None:
    """Return how many lines hits may take so that the best one stays visible."""
    if not sys.stdout.isatty():
        return None
    lines = os.get_terminal_size(sys.stdout.fileno()).lines
    return max(lines - _LINES_OF_NOTES, 1) if lines else None


def _fork(app: "App", result: "SearchResult", given: dict[str, Any]) -> None:
    """Run `prong fork` at one of the hits."""
    from prong.cli.forks.fork import fork, fork_at
    from prong.search.last_search import place_of

    number: int = given["number"]
    if not result.hits and not given["as_json"]:
        _show(app, result, snippets=True, numbered=False)
    if number > len(result.hits):
        count = len(result.hits)
        raise NotFound(
            f"no hit {number}: the search found {count} hit{'' if count == 1 else 's'}",
            hint="leave --fork out to see the hits" if count else "other words, or fewer filters",
        )
    hit = result.hits[number - 1]
    point = place_of(hit)
    if point is None or not hit.can_fork:
        reason = hit.warning or "its session no longer exists"
        raise NotFound(f"hit {number} cannot be forked: {reason}", hint=f"--fork {number + 1}")
    if not given["as_json"]:
        from prong.cli.search.found_table import FoundTable

        # Show which hit on stderr: stdout is for the fork.
        table = FoundTable(result, width(), snippets=not given["no_snippets"])
        table.print_hit(number, err=True)
    with fork.make_context("fork", [str(point)]) as context:
        chosen = {name: given[name] for name in (*_OF_FORK, "as_json")}
        answer = fork_at(str(point), {**context.params, **chosen})
    if answer is not None:
        print_json({**_view(result, given), **answer})
