"""`prong mcp`: run the MCP server, and register it with the agents' own `mcp` commands."""

import shlex
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from prong.cli.arguments import AGENT, dry_run_option, json_option, together, yes_option
from prong.cli.output import note, open_app, patience, styled
from prong.cli.setup.changes import (
    Changes,
    print_diff,
    print_notes,
    print_outcome,
)
from prong.errors import Unavailable
from prong.views.setup import mcp_plan
from prong.views.text import clean, short_path

if TYPE_CHECKING:  # the server, which this module starts, does not need it
    from prong.setup.mcp import McpPlan, McpSetup

_SCOPES = ("user", "local", "project")

_common_options = together(
    click.option(
        "--agent",
        "-a",
        type=AGENT,
        metavar="NAME",
        help="Only this agent (default: all installed agents).",
    ),
    click.option(
        "--name",
        default="prong",
        show_default=True,
        help="Name of the server in the agent's settings.",
    ),
    dry_run_option,
    yes_option,
    json_option,
)


@click.group(invoke_without_command=True)
@click.option("--read-only", is_flag=True, help="Leave out all tools that write.")
@click.pass_context
def mcp(context: click.Context, read_only: bool) -> None:
    """Run the MCP server.

    Lets agents search, fork and run sessions. It speaks MCP on stdin and stdout and is started by
    the agent; `prong mcp install` registers it.
    """
    if context.invoked_subcommand is None:
        if sys.stdin.isatty():
            note("waiting for an agent (Ctrl-C to stop); to register the server: prong mcp install")
        # Front ends do not import each other; this one only starts the other.
        import_module("prong.mcp.server").run(read_only=read_only)


@mcp.command()
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
def install(**given: Any) -> None:
    """Register the MCP server with Claude Code and Codex.

    Shows the change, asks, then runs `claude mcp add` and `codex mcp add`.
    """
    setup = open_app().setup.mcp
    names = ("agent", "scope", "name", "read_only", "env")
    plans = setup.plan_install(**{name: given[name] for name in names})
    _McpChanges(setup, given).carry_out(plans)


@mcp.command()
@click.option(
    "--scope",
    type=click.Choice(_SCOPES),
    help="Only this scope (default: all that apply to this folder).",
)
@_common_options
def remove(**given: Any) -> None:
    """Unregister the MCP server.

    Runs `claude mcp remove` and `codex mcp remove`. Servers of other programs are left alone.
    """
    setup = open_app().setup.mcp
    plans = setup.plan_remove(given["agent"], scope=given["scope"], name=given["name"])
    _McpChanges(setup, given, removes=True).carry_out(plans)


class _McpChanges(Changes["McpPlan"]):
    name = "mcp"
    forgiven = (Unavailable,)  # a missing agent

    def __init__(self, setup: "McpSetup", given: dict[str, Any], *, removes: bool = False) -> None:
        super().__init__(given, stops=given["agent"] is not None)
        self._setup = setup
        self._removes = removes

    def is_needed(self, plan: "McpPlan") -> bool:
        return plan.needed

    def change(self, plan: "McpPlan") -> None:
        with patience(f"asking {plan.agent} ..."):
            self._setup.change(plan)

    def show(self, plan: "McpPlan") -> None:
        if not plan.needed:
            state = "not installed" if self._removes else "already installed"
            click.echo(f"{clean(plan.agent)}: {state}")
            return
        for words in plan.commands:
            click.echo(f"$ {clean(shlex.join(words))}")
        click.echo(styled(f"{short_path(str(plan.path))}:", bold=True))
        print_diff(plan.diff)
        print_notes(plan.notes)

    def report(self, plan: "McpPlan") -> None:
        scope = plan.change.scope if plan.change else ""
        print_outcome(plan.agent, removed=self._removes, more=f" ({scope})")

    def view(self, plan: "McpPlan", *, done: bool) -> dict[str, Any]:
        return mcp_plan(plan, done=done)
