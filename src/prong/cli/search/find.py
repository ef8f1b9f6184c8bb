"""`prong find`: search past turns."""

import os
import sys
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from prong.cli.arguments import (
    OptionalNumbers,
    filter_options,
    json_option,
    request,
)
from prong.cli.output import is_terminal, note, open_app, print_json, read_prompt, width
from prong.cli.progress import progress
from prong.cli.search.found_notes import print_notes
from prong.cli.search.found_table import FoundTable
from prong.errors import NotFound, UsageError
from prong.model.amounts import counted
from prong.model.record import replace
from prong.model.search import ENGINES, Hit, IndexProgress, SearchRequest, SearchResult
from prong.search.last_search import place_of
from prong.search.service import SearchService
from prong.views import search as views

_LIMIT = 10
_LINES_OF_NOTES = 4
"""Lines to keep free below the hits, including the shell prompt."""
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
@filter_options(click.Path(path_type=Path), "turns")
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
@click.option("--engine", type=click.Choice(ENGINES), help="Search engine (default: auto).")
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
    wanted = request(
        SearchRequest,
        given,
        here=_here(),
        has_snapshot=given["has"] == "snapshot",
        masked=not given["no_mask"],
    )
    result = _search(app.search, app.search.read(intent, wanted))
    saved = app.last_search.keep(result.hits)
    if result.hits and not saved:
        unsaved = "the hits could not be saved: their numbers do not work"
        result = replace(result, notes=(*result.notes, unsaved))
    as_json, number, snippets = given["as_json"], given["number"], not given["no_snippets"]
    table = FoundTable(result, width(), snippets=snippets)
    if not as_json and (number is None or not result.hits):
        count = table.print(_most_lines())
        numbered = saved and number is None
        print_notes(result, app.sessions, app.stores, numbered=numbered, shown=count)
    answer: dict[str, Any] | None = None
    if number is not None:
        hit = _hit(result, number)
        for line in () if as_json else table.lines(number):
            click.echo(line, err=True)  # stdout is for the fork
        answer = _fork(hit, given)
    if as_json:
        print_json({**views.result(result, snippets=snippets), **(answer or {})})


def _search(search: SearchService, wanted: SearchRequest) -> SearchResult:
    is_reading = False

    def told(now: IndexProgress) -> None:
        nonlocal is_reading
        is_reading = True
        report(now)

    try:
        with progress(1.0, "searching ...") as report:
            return search.find(wanted, on_progress=told)
    except KeyboardInterrupt:
        if is_reading:
            note("stopped; what was read is kept, and the next search continues from there")
        raise


def _here() -> Path | None:
    try:
        return Path.cwd()
    except OSError:  # the folder was deleted
        return None


def _most_lines() -> int | None:
    """Return how many lines hits may take so that the best one stays visible.

    With --limit, all hits are wanted; a pipe has room for them.
    """
    source = click.get_current_context().get_parameter_source("limit")
    if source is not ParameterSource.DEFAULT or not is_terminal(sys.stdout):
        return None
    lines = os.get_terminal_size(sys.stdout.fileno()).lines
    return max(lines - _LINES_OF_NOTES, 1) if lines else None


def _hit(result: SearchResult, number: int) -> Hit:
    count = len(result.hits)
    if number > count:
        raise NotFound(
            f"no hit {number}: the search found {counted(count, 'hit')}",
            hint="leave --fork out to see the hits" if count else "other words, or fewer filters",
        )
    hit = result.hits[number - 1]
    if place_of(hit) is None or not hit.can_fork:
        reason = hit.warning or "its session no longer exists"
        raise NotFound(f"hit {number} cannot be forked: {reason}", hint=f"--fork {number + 1}")
    return hit


def _fork(hit: Hit, given: dict[str, Any]) -> dict[str, Any] | None:
    from prong.cli.forks.command import ForkCommand, ForkOptions  # most searches need none of it
    from prong.forks.request import ForkRequest
    from prong.model.forks import Code

    code = Code(given["code"]) if given["code"] else None
    wanted = ForkRequest(into=given["into"], code=code, prompt=read_prompt(given["prompt"]))
    options = request(ForkOptions, given)
    return ForkCommand(str(place_of(hit)), wanted, options).carry_out()
