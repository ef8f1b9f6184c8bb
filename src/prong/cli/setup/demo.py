"""`prong demo`: try prong on sample sessions, in a temporary folder."""

import shlex
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import click

from prong.app import App
from prong.cli import output
from prong.cli.arguments import json_option
from prong.cli.main import command_named
from prong.cli.output import print_json, styled
from prong.config import Config
from prong.setup.demo import Demo
from prong.views import json

_INTENT = "share the request counters between workers"
"""What the demo searches for."""


@click.command()
@click.option("--keep", is_flag=True, help="Keep the folder, to try the commands yourself.")
@json_option
def demo(keep: bool, as_json: bool) -> None:
    """Try prong on sample sessions, in a temporary folder. Needs no agent."""
    home = Path(tempfile.mkdtemp(prefix="prong-demo-"))
    try:
        # The demo ignores the user's sessions and configuration.
        samples = App(Config()).setup.demo(home / "home")
        if as_json:
            # Scripts want the samples, not the tour, so keep them.
            keep = True
            print_json(json.demo(samples))
            return
        _tour(samples)
        if keep:
            _say_where(samples)
        else:
            click.echo("The samples were deleted. To keep them: prong demo --keep")
            click.echo('To search your own sessions: prong find "what you want to do"')
            click.echo("To capture the code of every turn: prong hooks install")
    finally:
        if not keep:
            shutil.rmtree(home, ignore_errors=True)


def _tour(made: Demo) -> None:
    for words, purpose in _steps(made):
        click.echo(styled(f"# {purpose}", dim=True))
        click.echo(styled(f"$ prong {shlex.join(words)}", bold=True))
        _run(words, made)
        click.echo()


def _steps(made: Demo) -> Iterator[tuple[list[str], str]]:
    """Yield the commands of the tour and what each shows."""
    session = f"{made.sessions[0].agent}:{made.sessions[0].id[:8]}"
    yield ["find", _INTENT], "search: the best matching turns, by keyword and by meaning"
    yield ["list"], "all Claude Code and Codex sessions, newest first"
    yield ["turns", session, "--all"], "the turns of a session, including abandoned ones"
    yield ["show", f"{session}@2"], "one turn"
    if made.has_code:
        yield ["diff", f"{session}@2", "--no-pager"], "what that turn changed in the code"
    fork = ["fork", "%1", "--title", "A token bucket in Redis"]
    code = ", and a new worktree with the code as of turn 2" if made.has_code else ""
    yield fork, f"fork at the first hit: a new session with turns 1 and 2{code}"
    if made.has_code:
        yield ["worktrees"], "the worktrees of forks"
    yield ["tree"], "which session was forked from which, at which turn"


def _run(words: list[str], made: Demo) -> None:
    """Run a command as if typed, on the samples instead of the user's sessions."""

    def app() -> App:
        # Forks are written but not run, so no agent is needed.
        return App(Config(), stores=made.stores, needs_programs=False)

    with output.using(app), made.entered():
        command = command_named(words[0])
        root = click.get_current_context().find_root()
        with command.make_context(words[0], words[1:], parent=root) as context:
            command.invoke(context)


def _say_where(made: Demo) -> None:
    click.echo("To use these samples:")
    for name, value in made.environment.items():
        click.echo(f"  export {name}={shlex.quote(value)}")
    click.echo(f"  cd {shlex.quote(str(made.repository))}")
