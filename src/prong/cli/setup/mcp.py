"""`prong mcp`: run the MCP server."""

import sys
from importlib import import_module

import click

from prong.cli.output import note
from prong.cli.setup.mcp_setup import install, remove


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


mcp.add_command(install)
mcp.add_command(remove)
