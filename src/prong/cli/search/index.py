"""`prong index`: update the search index."""

import os
from collections.abc import Callable

import click

from prong.cli.arguments import json_option
from prong.cli.output import note, open_app, print_json
from prong.cli.progress import duration, progress
from prong.errors import UsageError
from prong.model.amounts import counted
from prong.model.search import IndexProgress, IndexState
from prong.views import search

_MEGABYTE = 1_000_000


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
    app = open_app()
    if status:
        state = app.search.state()
    else:
        try:
            with progress() as report:
                callback = _yielding(report)
                state = app.search.index(
                    rebuild=rebuild, vectors=not no_vectors, on_progress=callback
                )
        except KeyboardInterrupt:
            note("stopped; what was read can be searched, and prong index continues from there")
            raise
    if as_json:
        print_json({"index": search.index(state)})
    elif status:
        _print_status(state)
    else:
        _print_done(state)


def _yielding(report: Callable[[IndexProgress], None]) -> Callable[[IndexProgress], None]:
    """Report progress. Lower the priority once embedding starts: searches do not wait for it."""
    reading = False

    def told(progress: IndexProgress) -> None:
        nonlocal reading
        if progress.phase == "meaning" and not reading:
            reading = True
            os.nice(10)
        report(progress)

    return told


def _print_done(state: IndexState) -> None:
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
    rows = [("covers", _covered(state)), ("size", _size(state.size))]
    if state.age_s is not None:
        rows.append(("as of", f"{duration(state.age_s)} ago"))
    rows.append(("status", _behind(state)))
    if state.unread:
        rows.append(("pending", f"{_many(state.unread, 'text')} to embed: prong index"))
    if state.busy:
        rows.append(("busy", "another prong is updating it"))
    for name, text in rows:
        click.echo(f"{name:<8}{text}")


def _behind(state: IndexState) -> str:
    if state.behind:
        return f"{counted(state.behind, 'file')} changed since: prong index"
    if state.age_s is None:
        return "it is not complete: run prong index"
    return "up to date"


def _covered(state: IndexState) -> str:
    texts = f", {state.vectors:,} texts embedded" if state.vectors else ""
    sessions, turns = _many(state.sessions, "session"), _many(state.turns, "turn")
    return f"{sessions}, {turns}{texts}"


def _many(count: int, one: str) -> str:
    return f"{count:,} {one if count == 1 else one + 's'}"


def _size(size: int) -> str:
    if size < _MEGABYTE:
        return f"{max(round(size / 1000), 1)} kB" if size else "empty"
    return (
        f"{size / _MEGABYTE:,.1f} MB" if size < 100 * _MEGABYTE else f"{size / _MEGABYTE:,.0f} MB"
    )
