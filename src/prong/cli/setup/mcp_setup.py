"""`prong mcp install` and `remove`, which run the agents' own `mcp` commands."""

import shlex
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.arguments import AgentArgument
from prong.cli.output import can_ask, json_option, note, open_app, patience, print_json, styled
from prong.errors import ProngError, Unavailable, UsageError
from prong.views.text import clean, short_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from prong.app import App
    from prong.setup.mcp import McpPlan

    C = TypeVar("C", bound=Callable[..., Any])

_SCOPES = ("user", "local", "project")
_COLOURS = {"+": "green", "-": "red"}


def _common_options(command: "C") -> "C":
    for option in reversed(
        [
            click.option(
                "--agent",
                "-a",
                type=AgentArgument(),
                metavar="NAME",
                help="Only this agent (default: all installed agents).",
            ),
            click.option(
                "--name",
                default="prong",
                show_default=True,
                help="Name of the server in the agent's settings.",
            ),
            click.option("--dry-run", is_flag=True, help="Show the plan and change nothing."),
            click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts."),
        ]
    ):
        command = option(command)
    return command


@click.command()
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    default="user",
    show_default=True,
    help="For all folders, for you in this repository, or for everyone in this folder.",
)
@click.option("--read-only", is_flag=True, help="Leave out all tools that write.")
@click.option(
    "--env",
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Environment variable for the server. Without VALUE, the agent's own value.",
)
@_common_options
@json_option
def install(**given: Any) -> None:
    """Register the MCP server with Claude Code and Codex.

    Shows the change, asks, then runs `claude mcp add` and `codex mcp add`.
    """
    app = open_app()
    plans = app.setup.mcp.plan_install(
        given["agent"],
        scope=given["scope"],
        name=given["name"],
        read_only=given["read_only"],
        env=given["env"],
    )
    _carry_out(app, plans, given)


@click.command()
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    help="Only this scope (default: all that apply to this folder).",
)
@_common_options
@json_option
def remove(**given: Any) -> None:
    """Unregister the MCP server.

    Runs `claude mcp remove` and `codex mcp remove`. Servers of other programs are left alone.
    """
    app = open_app()
    plans = app.setup.mcp.plan_remove(given["agent"], scope=given["scope"], name=given["name"])
    _carry_out(app, plans, given, removing=True)


def _carry_out(
    app: "App", plans: "Sequence[McpPlan]", given: dict[str, Any], *, removing: bool = False
) -> None:
    as_json, dry_run = given["as_json"], given["dry_run"]
    if not as_json:
        for plan in plans:
            _show(plan, removing=removing)
    if any(plan.needed for plan in plans) and not dry_run and not given["yes"]:
        if as_json or not can_ask():
            raise UsageError("this changes your settings", hint="--yes, or --dry-run to see it")
        click.confirm("Do this?", default=False, abort=True, err=True)
    if not dry_run:
        plans = [_changed(app, plan, given, removing=removing) for plan in plans]
    errors = [plan.error for plan in plans if plan.error is not None]
    # A missing agent is an error only if all agents are missing.
    failed = [
        error for error in errors if len(errors) == len(plans) or not isinstance(error, Unavailable)
    ]
    if as_json:
        from prong.setup.mcp import plan_view

        print_json({"mcp": [plan_view(plan, done=not dry_run) for plan in plans]})
        if failed:
            raise failed[0]
    elif failed:
        # Each error is already printed.
        click.get_current_context().exit(failed[0].exit_code)


def _changed(app: "App", plan: "McpPlan", given: dict[str, Any], *, removing: bool) -> "McpPlan":
    """Carry out a plan. An error of one agent does not stop the others."""
    if not plan.needed:
        return plan
    try:
        with patience(f"asking {plan.agent} ..."):
            app.setup.mcp.change(plan)
    except ProngError as error:
        if given["agent"] is not None:
            raise
        if not given["as_json"]:
            _note_problem(plan.agent, error)
        from prong.model.record import replace

        return replace(plan, error=error)
    if not given["as_json"]:
        outcome = "removed" if removing else "installed"
        scope = plan.change.scope if plan.change else ""
        click.echo(f"{clean(plan.agent)}: {styled(outcome, fg='green')} ({scope})")
    return plan


def _note_problem(agent: str, error: ProngError) -> None:
    note(f"{agent}: {error.message}")
    if error.hint:
        note(f"try: {error.hint}")


def _show(plan: "McpPlan", *, removing: bool) -> None:
    if plan.error is not None:
        _note_problem(plan.agent, plan.error)
        return
    if not plan.needed:
        state = "not installed" if removing else "already installed"
        click.echo(f"{clean(plan.agent)}: {state}")
        return
    for words in plan.commands:
        click.echo(f"$ {clean(shlex.join(words))}")
    click.echo(styled(f"{short_path(str(plan.path))}:", bold=True))
    for line in plan.diff.split("\n"):
        click.echo(styled(clean(line, lines=True), fg=_COLOURS.get(line[:1])))
    for words in plan.notes:
        note(f"note: {words}")
