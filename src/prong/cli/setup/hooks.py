"""`prong hooks`: install and remove hooks in agents' settings, and show their status."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.arguments import AgentArgument
from prong.cli.output import can_ask, json_option, note, open_app, patience, print_json, styled
from prong.cli.setup.edit_report import print_edit
from prong.errors import ProngError, UsageError
from prong.views.text import clean, short_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prong.app import App
    from prong.setup.hooks import HookPlan, HookStatus

    C = TypeVar("C", bound=Callable[..., Any])

_COLOURS = {"installed": "green", "outdated": "yellow", "none": "blue", "unknown": "yellow"}
_WORDS = {"none": "not installed"}


def _place_options(command: "C") -> "C":
    for option in (
        click.option(
            "--agent", "-a", type=AgentArgument(), metavar="NAME", help="Only this agent."
        ),
        click.option(
            "--user", "scope", flag_value="user", default=True, help="For all folders (default)."
        ),
        click.option("--project", "scope", flag_value="project", help="For this folder only."),
    ):
        command = option(command)
    return command


def _change_options(command: "C") -> "C":
    for option in (
        click.option("--dry-run", is_flag=True, help="Show the plan and change nothing."),
        click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts."),
    ):
        command = option(command)
    return command


@click.group()
def hooks() -> None:
    """Manage the hooks that capture code after every turn."""


@hooks.command()
@_place_options
@_change_options
@json_option
def install(**given: Any) -> None:
    """Install hooks for Claude Code and Codex.

    Shows the change, asks, and backs up the settings files. Other hooks are left alone.
    """
    app = open_app()
    with patience("asking the agents ..."):
        plans = app.setup.hooks.plan_install(scope=given["scope"], agent=given["agent"])
    _carry_out(app, plans, given)


@hooks.command()
@_place_options
@_change_options
@json_option
def remove(**given: Any) -> None:
    """Remove the hooks.

    A settings file that has not changed since gets its original bytes back.
    """
    app = open_app()
    plans = app.setup.hooks.plan_remove(scope=given["scope"], agent=given["agent"])
    _carry_out(app, plans, given)


@hooks.command()
@_place_options
@json_option
def status(agent: str | None, scope: Any, as_json: bool) -> None:
    """Show whether the hooks are installed."""
    app = open_app()
    with patience("asking the agents ..."):
        statuses = app.setup.hooks.status(scope=scope, agent=agent)
    if as_json:
        print_json({"hooks": [_status_view(row) for row in statuses]})
        return
    for row in statuses:
        state = styled(_WORDS.get(row.state.value, row.state.value), fg=_COLOURS[row.state.value])
        paths = ", ".join(clean(short_path(str(path))) for path in row.files)
        click.echo(f"{clean(row.agent)}: {state}  {styled(paths, dim=True)}")
        if row.problem:
            _note_problem(row.problem, row.hint)


def _carry_out(app: "App", plans: "Sequence[HookPlan]", given: dict[str, Any]) -> None:
    as_json, dry_run = given["as_json"], given["dry_run"]
    if not as_json:
        for plan in plans:
            _show(plan)
    changes = [plan for plan in plans if plan.changes]
    if changes and not dry_run and not given["yes"]:
        if as_json or not can_ask():
            raise UsageError("this changes your settings", hint="--yes, or --dry-run to see it")
        click.confirm("Change these files?", default=False, abort=True, err=True)
    if not dry_run:
        plans = [_changed(app, plan, given) for plan in plans]
    errors = [plan.error for plan in plans if plan.error is not None]
    if as_json:
        print_json({"hooks": [_plan_view(app, plan, done=not dry_run) for plan in plans]})
        if errors:
            raise errors[0]
    elif errors:
        # Each error is already printed.
        click.get_current_context().exit(errors[0].exit_code)


def _changed(app: "App", plan: "HookPlan", given: dict[str, Any]) -> "HookPlan":
    """Carry out a plan. An error of one agent does not stop the others."""
    if not plan.changes:
        return plan
    try:
        app.setup.hooks.change(plan)
    except ProngError as error:
        if given["agent"] is not None:
            raise
        if not given["as_json"]:
            _note_problem(f"{plan.agent}: {error.message}", error.hint)
        from prong.model.record import replace

        return replace(plan, error=error)
    if not given["as_json"]:
        _tell(app, plan)
    return plan


def _note_problem(text: str, hint: str | None) -> None:
    note(text)
    if hint:
        note(f"try: {hint}")


def _show(plan: "HookPlan") -> None:
    if plan.error is not None:
        _note_problem(f"{plan.agent}: {plan.error.message}", plan.error.hint)
        return
    if not plan.changes:
        state = "no prong hooks are installed" if plan.remove else "the hooks are already installed"
        click.echo(f"{clean(plan.agent)}: {state}")
    for edit in plan.changes:
        print_edit(edit)
    for words in plan.notes:
        note(f"note: {words}")


def _tell(app: "App", plan: "HookPlan") -> None:
    outcome = "removed" if plan.remove else "installed"
    click.echo(f"{clean(plan.agent)}: {styled(outcome, fg='green')}")
    for edit in plan.changes:
        backup = app.setup.hooks.backup(plan, edit)
        if backup is not None and not plan.remove:
            note(f"{short_path(str(edit.path))} as it was: {backup}")


def _status_view(one: "HookStatus") -> dict[str, Any]:
    return {
        "agent": one.agent,
        "scope": one.scope,
        "state": one.state.value,
        "files": [str(path) for path in one.files],
        "found": dict(one.found),
        "problem": one.problem,
    }


def _plan_view(app: "App", plan: "HookPlan", *, done: bool) -> dict[str, Any]:
    changed = bool(plan.changes) and done and plan.error is None

    def saved(path: Path | None) -> str | None:
        return str(path) if path is not None and changed and not plan.remove else None

    return {
        "agent": plan.agent,
        "scope": plan.scope,
        "changed": changed,
        "files": [
            {
                "path": str(edit.path),
                "change": edit.kind,
                "diff": edit.diff(),
                "backup": saved(app.setup.hooks.backup(plan, edit)),
            }
            for edit in plan.edits
        ],
        "notes": list(plan.notes),
        "problem": plan.error.message if plan.error is not None else None,
    }
