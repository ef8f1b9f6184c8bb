"""Options of commands that open a pane."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.arguments import TerminalArgument
from prong.errors import UsageError

if TYPE_CHECKING:
    from prong.model.workers import Placement

C = TypeVar("C", bound=Callable[..., Any])

_PLACES = ("split", "window", "tab")


def terminal_option(command: C) -> C:
    return click.option(
        "--terminal",
        type=TerminalArgument(),
        metavar="NAME",
        help="Terminal for the pane: tmux, kitty, wezterm, iterm2.",
    )(command)


def pane_options(command: C) -> C:
    """Add `--terminal` and the options for where the pane opens."""
    for option in (
        click.option("--tab", is_flag=True, help="Open a new tab."),
        click.option("--window", is_flag=True, help="Open a new window."),
        click.option("--split", is_flag=True, help="Open a pane next to this one."),
        terminal_option,
    ):
        command = option(command)
    return command


def placement(given: dict[str, Any]) -> "Placement | None":
    """Return the chosen placement; None leaves it to the configuration and the terminal."""
    chosen = [name for name in _PLACES if given[name]]
    if len(chosen) > 1:
        raise UsageError(f"--{chosen[0]} or --{chosen[1]}, not both", hint=f"--{chosen[0]}")
    if not chosen:
        return None
    from prong.model.workers import Placement

    return Placement(chosen[0])


def asks_for_pane(given: dict[str, Any]) -> bool:
    return given["terminal"] is not None or any(given[name] for name in _PLACES)
