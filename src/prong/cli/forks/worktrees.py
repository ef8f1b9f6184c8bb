"""`prong worktrees`: list and prune the worktrees that prong created."""

from collections.abc import Sequence

import click

from prong.cli.arguments import dry_run_option, json_option, yes_option
from prong.cli.output import agree, fitted, note, open_app, patience, print_json, styled, width
from prong.code.worktrees.status import PrunePlan, WorktreeStatus
from prong.model.amounts import counted, size_text
from prong.views import json
from prong.views.text import age, cells, clean, pad, short_path, short_refs

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
@dry_run_option
@yes_option
@json_option
def prune(names: tuple[str, ...], force: bool, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Remove finished worktrees, or those you name.

    Lists them and asks first. A worktree that an agent has open is never removed; one with changes
    that exist nowhere else is removed only with --force. Files that git ignores, such as .env and
    build output, are deleted with their worktree. A branch with its own commits is kept.
    """
    managed = open_app().code.worktrees
    with patience("looking at worktrees ..."):
        plan = managed.plan_prune(names, force=force)
    if not as_json:
        _show(plan, dry_run=dry_run)
    if plan.removed and not dry_run and not yes:
        count = counted(len(plan.removed), "worktree")
        question = f"Remove {count}, with all files that git ignores there?"
        hint = "--yes, or --dry-run to see them"
        agree(question, "this deletes folders", hint, quiet=as_json)
    branches: dict[str, str | None] = {}
    for status in () if dry_run else plan.removed:
        with patience(f"removing {clean(status.name)} ..."):
            branch = managed.prune(status, force=force)
        branches[str(status.worktree.path)] = branch
        if as_json:
            continue
        click.echo(f"{styled('removed', fg='green')} {clean(status.name)}")
        if branch is not None:
            commits = status.work.commits
            reason = f": it has {counted(commits, 'commit')} of its own" if commits else ""
            note(f"the branch {branch} is kept{reason}")
    if as_json:
        removed = [
            {**json.worktree(row), "kept_branch": branches.get(str(row.worktree.path))}
            for row in plan.removed
        ]
        kept = [{**json.worktree(row.worktree), "reason": row.error.message} for row in plan.kept]
        print_json({"dry_run": dry_run, "removed": removed, "kept": kept})


def _show(plan: PrunePlan, *, dry_run: bool) -> None:
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


def _print(found: Sequence[WorktreeStatus]) -> None:
    rows = [
        (
            clean(one.name),
            one.state.value,
            age(one.worktree.created),
            size_text(one.size),
            _work(one),
        )
        for one in found
    ]
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
            line = fitted(clean(text), room and room - 2)
            click.echo(f"  {styled(line, dim=True)}")


def _work(one: WorktreeStatus) -> str:
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


def _lost(one: WorktreeStatus) -> list[str]:
    """Name the work that exists nowhere else."""
    work = one.work
    parts = [
        counted(len(work.files), "changed file") if work.files else "",
        "commits on no branch" if work.loose else "",
        f"{work.under_way} under way" if work.under_way else "",
    ]
    return [part for part in parts if part]
