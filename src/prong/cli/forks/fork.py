"""`prong fork`: fork a session at a turn."""

import re
from pathlib import Path
from typing import Any

import click

from prong.cli.arguments import (
    AGENT,
    OptionalNumbers,
    dry_run_option,
    json_option,
    pane_options,
    placement,
    request,
    run_options,
    session_argument,
    settings_option,
    yes_option,
)
from prong.cli.forks.command import ForkCommand, ForkOptions
from prong.cli.forks.picker import show_preview
from prong.cli.output import open_app, patience, print_json, read_prompt
from prong.errors import UsageError
from prong.forks.request import ForkRequest
from prong.model.forks import Code, Method
from prong.model.workers import RunOptions
from prong.views.text import clean
from prong.views.turn_preview import read

_METHODS = ("copy", "native", "seed")
_CODES = ("turn", "now", "head", "none")


class _Fork(OptionalNumbers):
    """Command that explains the @ when a turn number is given as a separate word."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        session = ctx.params.get("session")
        if rest and session and re.fullmatch(r"@?-?\d{1,4}", rest[0]):
            point = f"{session}@{rest[0].removeprefix('@')}"
            raise UsageError(f"turn {rest[0]} must follow an @", hint=f"prong fork {point}")
        if rest:
            ctx.fail(f"Got unexpected extra argument ({rest[0]})")
        return rest


@click.command(cls=_Fork)
@session_argument
@click.option(
    "--into", type=click.Path(path_type=Path), metavar="DIR", help="Folder to run the fork in."
)
@click.option(
    "--code",
    type=click.Choice(_CODES),
    help="Code to start from: the turn's, the current code, the last commit, or leave it alone.",
)
@click.option("--code-at", metavar="TURN", help="Take the code from another turn.")
@click.option("--branch", metavar="NAME", help="Branch name for the worktree.")
@click.option(
    "--no-worktree", is_flag=True, help="Run in the source's folder and leave its code alone."
)
@click.option("--agent", "-a", type=AGENT, metavar="NAME", help="Agent to fork into.")
@click.option("--model", "-m", metavar="NAME", help="Model for the fork.")
@click.option("--skip-permissions", is_flag=True, help="Bypass all permission checks.")
@settings_option("Agent settings file for the fork.")
@click.option("--method", type=click.Choice(_METHODS), default="copy", help="How to transfer it.")
@click.option("--id", metavar="UUID", help="Id of the new session.")
@click.option("--title", metavar="TEXT", help="Title of the new session.")
@click.option("--prompt", "-p", metavar="TEXT", help="First prompt of the fork; - reads stdin.")
@click.option(
    "--prompt-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    multiple=True,
    help="Read the first prompt from a file. Repeat for one fork per file, each in its own pane.",
)
@click.option("--retry", is_flag=True, help="Fork before the turn and edit its prompt.")
@click.option(
    "--count", "-n", type=click.IntRange(1, 100), default=1, metavar="N", help="Number of forks."
)
@click.option(
    "--before-compaction", is_flag=True, help="Restore the messages that a compaction summarized."
)
@click.option("--trim", is_flag=True, help="Drop turns from a seed that is too long.")
@click.option(
    "--wait",
    type=click.FloatRange(min=0),
    metavar="[SECONDS]",
    help="Wait while the agent is working on the session.",
)
@click.option("--name", metavar="NAME", help="Run the fork as a worker with this name.")
@pane_options
@click.option("--no-open", is_flag=True, help="Print the command instead of opening a pane.")
@click.option("--exec", "run", is_flag=True, help="Run the fork in this terminal.")
@yes_option
@dry_run_option
@click.option("--preview", is_flag=True, help="Show a preview of the turn, as in the picker.")
@json_option
def fork(session: str, **given: Any) -> None:
    """Fork a session at a turn.

    The fork is a new session with all turns up to and including TURN; `@0` is before the first
    turn. The source is never changed. Without TURN you pick one from a list; in scripts, and for
    workers, it is the last turn.

    In a git repository the fork gets its own worktree, with the code as it was at that turn if it
    was captured.

    The fork runs as a worker in a new pane if your terminal can open one. Otherwise prong prints
    the command that runs it. Use --exec to run it in this terminal.
    """
    prompts = tuple(map(_read, given["prompt_file"]))
    count, run = max(given["count"], len(prompts)), run_options(given)
    wanted = request(
        ForkRequest,
        given,
        method=Method(given["method"]),
        prompt=prompts[0] if prompts else read_prompt(given["prompt"]),
        code=_code(given["code"], no_worktree=given["no_worktree"]),
        count=count,
        # None starts the agent like the source, or as configured.
        run=run if run != RunOptions() else None,
    )
    if given["run"] and (count > 1 or given["as_json"]):
        raise UsageError("--exec runs one fork, in this terminal", hint="leave --exec out")
    if wanted.id and count > 1:
        raise UsageError("--id names one fork", hint="leave --id or --count out")
    if prompts and given["prompt"] is not None:
        raise UsageError("--prompt or --prompt-file, not both", hint="leave --prompt out")
    if len(prompts) > 1 and given["count"] not in (1, len(prompts)):
        message = f"{given['count']} forks and {len(prompts)} prompts"
        raise UsageError(message, hint=f"--count {len(prompts)}")
    if given["preview"]:
        _print_preview(session)
        return
    options = request(ForkOptions, given, place=placement(given), prompts=prompts)
    answer = ForkCommand(session, wanted, options).carry_out()
    if answer is not None:
        print_json(answer)


def _read(path: Path) -> str:
    """Read a prompt file unchanged."""
    name = clean(str(path))
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {name}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{name} is not text", hint="a file in UTF-8") from None
    if not text.strip():
        raise UsageError(f"{name} is empty", hint="write the prompt into it")
    return text


def _code(text: str | None, *, no_worktree: bool) -> Code | None:
    if no_worktree and text not in (None, Code.NONE.value):
        raise UsageError(f"--code {text} needs a worktree", hint="leave --no-worktree out")
    if no_worktree:
        return Code.NONE
    return Code(text) if text else None


def _print_preview(session: str) -> None:
    app = open_app()
    with patience():
        point = app.sessions.resolve(session)
        conversation = app.sessions.conversation(point.session)
    turn = app.sessions.turn(conversation, point.turn or "-1")
    if turn is None:
        raise UsageError("turn 0 is before the first prompt: nothing to show")
    show_preview(read(app.sessions, app.code, conversation, turn))
