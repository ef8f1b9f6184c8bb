"""`prong worktrees`: list and prune the worktrees that prong created."""

from typing import TYPE_CHECKING, Any

import click

from prong.cli.output import (
    can_ask,
    json_option,
    note,
    open_app,
    patience,
    print_json,
    styled,
    width,
)
from prong.errors import UsageError
from prong.model.amounts import counted, size_text
from prong.views.text import age, cells, clean, cut, pad, short_path, short_refs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prong.app import App
    from prong.code.worktrees.status import PrunePlan, WorktreeStatus

_COLOURS = {"open": "green", "new": "cyan", "under way": "yellow", "missing": "red"}
_EMPTY = "no worktrees; prong fork SESSION@TURN makes one"


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def worktrees(context: click.Context, as_json: bool) -> None:
    """List and prune the worktrees of forks.

    Without a command, lists the worktrees that prong made in any repository: state, age, size on
    disk, and what was done in them.
    """
    if context.invoked_subcommand is not None:
        return
    from prong.views import json

    app = open_app()
    with patience("looking at worktrees ..."):
        statuses = app.code.worktrees.list()
    if as_json:
        print_json({"worktrees": [json.worktree(status) for status in statuses]})
        return
    _print(statuses)
    if not statuses:
        note(_EMPTY)


@worktrees.command()
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.option(
    "--force", is_flag=True, help="Also remove worktrees whose changes exist nowhere else."
)
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts.")
@json_option
def prune(names: tuple[str, ...], force: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove finished worktrees, or those you name.

    Lists them and asks first. A worktree that an agent has open is never removed; one with changes
    that exist nowhere else is removed only with --force. Files that git ignores, such as .env and
    build output, are deleted with their worktree. A branch with its own commits is kept.
    """
    app = open_app()
    with patience("looking at worktrees ..."):
        plan = app.code.worktrees.plan_prune(names, force=force)
    if not as_json:
        _show(plan, dry_run=dry_run)
    if plan.removed and not dry_run and not yes:
        if as_json or not can_ask():
            raise UsageError("this deletes folders", hint="--yes, or --dry-run to see them")
        count = counted(len(plan.removed), "worktree")
        question = f"Remove {count}, with all files that git ignores there?"
        click.confirm(question, default=False, abort=True, err=True)
    branches = {} if dry_run else _remove(app, plan.removed, force=force, quiet=as_json)
    if as_json:
        print_json(_view(plan, branches, dry_run=dry_run))


def _remove(
    app: "App", chosen: "Sequence[WorktreeStatus]", *, force: bool, quiet: bool
) -> dict[str, str | None]:
    """Remove worktrees, reporting each at once; map each path to the branch that is kept."""
    branches: dict[str, str | None] = {}
    for status in chosen:
        with patience(f"removing {clean(status.name)} ..."):
            branch = app.code.worktrees.prune(status, force=force)
        branches[str(status.worktree.path)] = branch
        if quiet:
            continue
        click.echo(f"{styled('removed', fg='green')} {clean(status.name)}")
        if branch is not None:
            commits = status.work.commits
            reason = f": it has {counted(commits, 'commit')} of its own" if commits else ""
            note(f"the branch {branch} is kept{reason}")
    return branches


def _show(plan: "PrunePlan", *, dry_run: bool) -> None:
    _print(plan.removed)
    for status in plan.removed:
        if status.work.would_be_lost:
            note(f"{status.name}: {', '.join(_lost(status))} will be lost")
    for kept in plan.kept:
        hint = f" (try: {kept.error.hint})" if kept.error.hint else ""
        note(f"stays: {kept.worktree.name}: {kept.error.message}{hint}")
    if not plan.removed:
        note("nothing to remove" if plan.kept else _EMPTY)
    elif dry_run:
        note(f"{counted(len(plan.removed), 'worktree')} would be removed")


def _print(found: "Sequence[WorktreeStatus]") -> None:
    rows = [_row(status) for status in found]
    widths = [max(map(cells, column), default=0) for column in zip(*rows, strict=True)]
    short = short_refs(status.session for status in found if status.session)
    room = width()
    for status, row in zip(found, rows, strict=True):
        name, state, *rest = [pad(text, size) for text, size in zip(row, widths, strict=True)]
        state = styled(state, fg=_COLOURS.get(status.state.value))
        click.echo("  ".join([styled(name, fg="cyan"), state, *rest]).rstrip())
        session = f"{short[status.session]} {status.title}  " if status.session else ""
        path = short_path(str(status.worktree.path))
        branch = f"{status.worktree.branch} of {short_path(str(status.worktree.repo))}"
        for text in (f"{session}{branch}", path):
            line = clean(text)
            line = line if room is None else cut(line, room - 2)
            click.echo(f"  {styled(line, dim=True)}")


def _row(one: "WorktreeStatus") -> tuple[str, ...]:
    created = age(one.worktree.created)
    return (clean(one.name), one.state.value, created, size_text(one.size), _work(one))


def _work(one: "WorktreeStatus") -> str:
    if one.problem:
        return clean(f"git cannot read it: {one.problem}")
    work = one.work
    parts = [
        *_lost(one),
        f"{counted(len(work.in_snapshot), 'file')} in a snapshot" if work.in_snapshot else "",
        counted(work.commits, "own commit") if work.commits and not work.loose else "",
        "locked" if one.locked else "",
        f"in use by process {one.processes[0]}" if one.processes else "",
    ]
    return ", ".join(part for part in parts if part) or "clean"


def _lost(one: "WorktreeStatus") -> list[str]:
    """Name the work that exists nowhere else."""
    work = one.work
    parts = [
        counted(len(work.files), "changed file") if work.files else "",
        "commits on no branch" if work.loose else "",
        f"{work.under_way} under way" if work.under_way else "",
    ]
    return [part for part in parts if part]


def _view(plan: "PrunePlan", branches: dict[str, str | None], *, dry_run: bool) -> dict[str, Any]:
    from prong.views import json

    return {
        "dry_run": dry_run,
        "removed": [
            {**json.worktree(row), "kept_branch": branches.get(str(row.worktree.path))}
            for row in plan.removed
        ],
        "kept": [{**json.worktree(row.worktree), "reason": row.error.message} for row in plan.kept],
    }
