"""`prong index`: update the search index."""

import os

import click

from prong.cli.arguments import json_option
from prong.cli.output import note, open_app, print_json
from prong.cli.progress import duration, progress
from prong.errors import UsageError
from prong.model.amounts import counted
from prong.model.search import IndexProgress, IndexState
from prong.views import search as views


@click.command()
@click.option("--rebuild", is_flag=True, help="Delete the index and rebuild it.")
@click.option("--status", is_flag=True, help="Show what the index covers.")
@click.option("--no-vectors", is_flag=True, help="Do not compute embeddings.")
@json_option
def index(rebuild: bool, status: bool, no_vectors: bool, as_json: bool) -> None:
    """Update the search index.

    Every search updates the index for up to half a second. This command reads everything that is
    missing and computes the embeddings, so that searches do not have to wait. You can stop it at
    any time; finished work is kept.
    """
    if status and (rebuild or no_vectors):
        raise UsageError("--status does not take other options", hint="prong index --status")
    search, embeds = open_app().search, False

    def told(now: IndexProgress) -> None:
        nonlocal embeds
        if now.phase == "meaning" and not embeds:
            embeds = True
            os.nice(10)  # searches do not wait for it
        report(now)

    if status:
        state = search.state()
    else:
        try:
            with progress() as report:
                state = search.index(rebuild=rebuild, vectors=not no_vectors, on_progress=told)
        except KeyboardInterrupt:
            note("stopped; what was read can be searched, and prong index continues from there")
            raise
    if as_json:
        print_json({"index": views.index(state)})
    elif status:
        _print_status(state)
    else:
        click.echo(f"{_covered(state)}, {_size(state.size)}")
        if state.busy:
            note("another prong is updating the index")
        elif state.behind:
            note(f"{counted(state.behind, 'file')} could not be read: prong doctor")


def _print_status(state: IndexState) -> None:
    if not state.kept:
        click.echo("no index: the cache folder is not writable; run prong index for details")
        return
    if state.age_s is None and not state.turns:
        click.echo("no index yet; run prong index or prong find")
        return
    if state.behind:
        coverage = f"{counted(state.behind, 'file')} changed since: prong index"
    else:
        is_complete = state.age_s is not None
        coverage = "up to date" if is_complete else "it is not complete: run prong index"
    pending = f"{_many(state.unread, 'text')} to embed: prong index" if state.unread else ""
    for name, text in (
        ("covers", _covered(state)),
        ("size", _size(state.size)),
        ("as of", "" if state.age_s is None else f"{duration(state.age_s)} ago"),
        ("status", coverage),
        ("pending", pending),
        ("busy", "another prong is updating it" if state.busy else ""),
    ):
        if text:
            click.echo(f"{name:<8}{text}")


def _covered(state: IndexState) -> str:
    texts = f", {state.vectors:,} texts embedded" if state.vectors else ""
    sessions, turns = _many(state.sessions, "session"), _many(state.turns, "turn")
    return f"{sessions}, {turns}{texts}"


def _many(count: int, one: str) -> str:
    return f"{count:,} {one if count == 1 else one + 's'}"


def _size(size: int) -> str:
    megabytes = size / 1_000_000
    if megabytes < 1:
        return f"{max(round(size / 1000), 1)} kB" if size else "empty"
    return f"{megabytes:,.1f} MB" if megabytes < 100 else f"{megabytes:,.0f} MB"
