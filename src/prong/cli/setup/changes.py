"""Changes to the user's settings: shown, agreed to, carried out, reported."""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

import click

from prong.cli.arguments import dry_run_option, json_option, together, yes_option
from prong.cli.output import agree, note, note_error, print_json, styled
from prong.errors import ProngError
from prong.files.edits import Edit
from prong.model.record import Record, replace
from prong.views.text import clean

P = TypeVar("P", bound=Record)

_COLOURS = {"+": "green", "-": "red", "@": "cyan"}

change_options = together(yes_option, dry_run_option, json_option)


class Changes(Generic[P]):
    """The plans of one command, each for an agent or a scheduler."""

    name: ClassVar[str]
    """Key of the plans in the JSON result."""
    question: ClassVar[str] = "Do this?"
    refusal: ClassVar[str] = "this changes your settings"
    forgiven: ClassVar[tuple[type[ProngError], ...]] = ()
    """Errors that matter only if every plan has one."""

    def __init__(self, given: dict[str, Any], *, stops: bool = True) -> None:
        """Take the options of the command. `stops` if an error of one plan stops the others."""
        self._given = given
        self._stops = stops

    def is_needed(self, plan: P) -> bool:
        raise NotImplementedError

    def show(self, plan: P) -> None:
        """Print what would change."""
        raise NotImplementedError

    def change(self, plan: P) -> None:
        raise NotImplementedError

    def report(self, plan: P) -> None:
        """Print what was changed."""
        raise NotImplementedError

    def view(self, plan: P, *, done: bool) -> dict[str, Any]:
        raise NotImplementedError

    def carry_out(self, plans: Sequence[P]) -> None:
        as_json, dry_run = self._given["as_json"], self._given["dry_run"]
        for plan in () if as_json else plans:
            self._show(plan)
        if any(map(self.is_needed, plans)) and not dry_run and not self._given["yes"]:
            agree(self.question, self.refusal, "--yes, or --dry-run to see it", quiet=as_json)
        if not dry_run:
            plans = [self._changed(plan) if self.is_needed(plan) else plan for plan in plans]
        errors = [error for plan in plans if (error := _error(plan)) is not None]
        if len(errors) < len(plans):
            errors = [error for error in errors if not isinstance(error, self.forgiven)]
        if as_json:
            print_json({self.name: [self.view(plan, done=not dry_run) for plan in plans]})
            if errors:
                raise errors[0]
        elif errors:
            # Each error is already printed.
            click.get_current_context().exit(errors[0].exit_code)

    def _show(self, plan: P) -> None:
        error = _error(plan)
        if error is None:
            self.show(plan)
        else:
            note_error(error, getattr(plan, "agent", ""))

    def _changed(self, plan: P) -> P:
        try:
            self.change(plan)
        except ProngError as error:
            if self._stops:
                raise
            plan = replace(plan, error=error)
            if not self._given["as_json"]:
                self._show(plan)
            return plan
        if not self._given["as_json"]:
            self.report(plan)
        return plan


def _error(plan: object) -> ProngError | None:
    """Return why an agent is skipped; plans of schedulers have no such error."""
    return getattr(plan, "error", None)


def print_outcome(name: str, *, removed: bool, more: str = "") -> None:
    outcome = "removed" if removed else "installed"
    click.echo(f"{clean(name)}: {styled(outcome, fg='green')}{more}")


def print_edit(edit: Edit, *, err: bool = False) -> None:
    print_diff(edit.diff(), err=err)


def print_diff(diff: str, *, err: bool = False) -> None:
    for line in diff.split("\n"):
        click.echo(styled(clean(line, lines=True), fg=_COLOURS.get(line[:1])), err=err)


def print_notes(notes: Sequence[str]) -> None:
    for text in notes:
        note(f"note: {text}")
