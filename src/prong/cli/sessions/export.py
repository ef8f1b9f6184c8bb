"""`prong export`: export sessions as Markdown."""

from pathlib import Path
from typing import Any

import click

from prong.cli.arguments import filter_options, json_option, request
from prong.cli.output import note, open_app, patience, print_json
from prong.cli.progress import progress
from prong.errors import ProngError, UsageError
from prong.model.amounts import counted
from prong.model.search import Attempt
from prong.session.export import Export, ExportPlan, ExportState, view
from prong.session.listing import SessionFilter
from prong.views.search import attempt
from prong.views.text import short_path

_SHOWN = 5
"""Maximum number of failed exports to name."""


@click.command()
@click.argument("folder", type=click.Path(), metavar="DIR")
@filter_options()
@click.option("--all", "everything", is_flag=True, help="Include archived and headless sessions.")
@click.option("--no-mask", is_flag=True, help="Do not mask keys and tokens.")
@click.option("--prune", is_flag=True, help="Delete exports of sessions that no longer exist.")
@click.option("--index", "with_qmd", is_flag=True, help="Run qmd update and qmd embed afterwards.")
@click.option(
    "--collection",
    default="claude-sessions",
    show_default=True,
    metavar="NAME",
    help="qmd collection to embed.",
)
@click.option("--dry-run", is_flag=True, help="Show what would be written and change nothing.")
@json_option
def export(folder: str, **given: Any) -> None:
    """Export sessions as Markdown.

    Writes one file per session into DIR, and only those that changed since the last export. Files
    that prong did not write, or that were edited since, are left alone.
    """
    dry_run, as_json = given["dry_run"], given["as_json"]
    if not folder:
        raise UsageError("DIR is empty", hint="prong export ~/claude-sessions-md")
    app = open_app()
    notes: list[str] = []
    with patience():
        project = app.sessions.project(Path(given["project"]), notes) if given["project"] else None
        plan = app.sessions.plan_export(
            Path(folder),
            request(SessionFilter, given, project=project),
            masked=not given["no_mask"],
            prune=given["prune"],
        )
    if not dry_run:
        try:
            with progress() as report:
                plan = app.sessions.export(plan, report)
        except KeyboardInterrupt:
            note("stopped; what was written is whole, and prong export continues from there")
            raise
    attempts: list[Attempt] = []
    problem: ProngError | None = None
    if given["with_qmd"] and not dry_run:
        try:
            with patience("qmd is reading the exports ..."):
                attempts = app.search.refresh_qmd(plan.folder, given["collection"])
        except ProngError as error:
            problem = error  # the export itself is still reported
    if as_json:
        result = view(plan, dry_run=dry_run)
        print_json({**result, "qmd": [attempt(item) for item in attempts]})
    else:
        for text in notes:
            note(text)
        _print(plan, attempts, dry_run=dry_run)
    if problem is not None:
        raise problem


def _print(plan: ExportPlan, attempts: list[Attempt], *, dry_run: bool) -> None:
    path = short_path(str(plan.folder))
    if dry_run:
        for entry in plan.changed:
            click.echo(f"{entry.state.value:<8} {short_path(str(entry.path))}")
        for entry in plan.pruned:
            click.echo(f"{'remove':<8} {short_path(str(entry.path))}")
    sessions = counted(len(plan.exports), "session")
    changed = f"{len(plan.changed)} {'would change' if dry_run else 'changed'}"
    click.echo(f"{sessions} in {path}: {changed}")
    _note_some("were left alone", plan.of(ExportState.REFUSED))
    _note_some("could not be read", plan.of(ExportState.FAILED))
    pruned = len(plan.pruned)
    if pruned and not dry_run:
        note(f"{counted(pruned, 'export')} of deleted sessions: removed")
    if kept := len(plan.stale) - pruned:
        why = "changed since, kept" if plan.prune else "kept; --prune removes them"
        note(f"{counted(kept, 'export')} of deleted sessions: {why}")
    if plan.hidden:
        note(f"{plan.hidden} left out, archived or headless: --all")
    for entry in attempts:
        outcome = f" was skipped: {entry.error}" if entry.skipped else ": done"
        note(f"qmd {entry.mode}{outcome}")


def _note_some(what: str, some: tuple[Export, ...]) -> None:
    if not some:
        return
    note(f"{len(some)} {what}:")
    for entry in some[:_SHOWN]:
        note(f"  {short_path(str(entry.path))}: {entry.reason}")
    if len(some) > _SHOWN:
        note(f"  and {len(some) - _SHOWN} more: --json names them all")
