"""`prong hooks`: install and remove hooks in agents' settings, and show their status."""

from pathlib import Path
from typing import Any

import click

from prong.cli.arguments import AGENT, json_option, together
from prong.cli.output import note, note_error, open_app, patience, print_json, styled
from prong.cli.setup.changes import (
    Changes,
    change_options,
    print_edit,
    print_notes,
    print_outcome,
)
from prong.errors import ProngError
from prong.setup.hooks import HookPlan, HookSetup
from prong.views.json import fields
from prong.views.text import clean, short_path

_COLOURS = {"installed": "green", "outdated": "yellow", "none": "blue", "unknown": "yellow"}
_WORDS = {"none": "not installed"}

_place_options = together(
    click.option("--project", "scope", flag_value="project", help="For this folder only."),
    click.option(
        "--user", "scope", flag_value="user", default=True, help="For all folders (default)."
    ),
    click.option("--agent", "-a", type=AGENT, metavar="NAME", help="Only this agent."),
)


@click.group()
def hooks() -> None:
    """Manage the hooks that capture code after every turn."""


@hooks.command()
@_place_options
@change_options
def install(**given: Any) -> None:
    """Install hooks for Claude Code and Codex.

    Shows the change, asks, and backs up the settings files. Other hooks are left alone.
    """
    setup = open_app().setup.hooks
    with patience("asking the agents ..."):
        plans = setup.plan_install(scope=given["scope"], agent=given["agent"])
    _HookChanges(setup, given).carry_out(plans)


@hooks.command()
@_place_options
@change_options
def remove(**given: Any) -> None:
    """Remove the hooks.

    A settings file that has not changed since gets its original bytes back.
    """
    setup = open_app().setup.hooks
    plans = setup.plan_remove(scope=given["scope"], agent=given["agent"])
    _HookChanges(setup, given).carry_out(plans)


@hooks.command()
@_place_options
@json_option
def status(agent: str | None, scope: Any, as_json: bool) -> None:
    """Show whether the hooks are installed."""
    app = open_app()
    with patience("asking the agents ..."):
        statuses = app.setup.hooks.status(scope=scope, agent=agent)
    if as_json:
        names = ("agent", "scope", "state", "files", "found", "problem")
        print_json({"hooks": [fields(row, *names) for row in statuses]})
        return
    for row in statuses:
        state = styled(_WORDS.get(row.state.value, row.state.value), fg=_COLOURS[row.state.value])
        paths = ", ".join(clean(short_path(str(path))) for path in row.files)
        click.echo(f"{clean(row.agent)}: {state}  {styled(paths, dim=True)}")
        if row.problem:
            note_error(ProngError(row.problem, hint=row.hint))


class _HookChanges(Changes[HookPlan]):
    name = "hooks"
    question = "Change these files?"

    def __init__(self, setup: HookSetup, given: dict[str, Any]) -> None:
        super().__init__(given, stops=given["agent"] is not None)
        self._setup = setup

    def is_needed(self, plan: HookPlan) -> bool:
        return bool(plan.changes)

    def change(self, plan: HookPlan) -> None:
        self._setup.change(plan)

    def show(self, plan: HookPlan) -> None:
        if not plan.changes:
            state = "no prong hooks are" if plan.remove else "the hooks are already"
            click.echo(f"{clean(plan.agent)}: {state} installed")
        for edit in plan.changes:
            print_edit(edit)
        print_notes(plan.notes)

    def report(self, plan: HookPlan) -> None:
        print_outcome(plan.agent, removed=plan.remove)
        for edit in plan.changes:
            backup = self._setup.backup(plan, edit)
            if backup is not None and not plan.remove:
                note(f"{short_path(str(edit.path))} as it was: {backup}")

    def view(self, plan: HookPlan, *, done: bool) -> dict[str, Any]:
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
                    "backup": saved(self._setup.backup(plan, edit)),
                }
                for edit in plan.edits
            ],
            "notes": list(plan.notes),
            "problem": plan.error.message if plan.error is not None else None,
        }
