"""`prong run`: start a worker."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prong.cli.arguments import AgentArgument, SessionArgument
from prong.cli.output import can_ask, json_option, note, open_app, patience, print_json, read_prompt
from prong.cli.workers.panes import pane_options, placement
from prong.cli.workers.started import answer, kept, print_answer, ready_option, report, view
from prong.errors import UsageError
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.workers.request import TrustPlan, WorkerPlan, WorkerRequest


class _WithExtra(click.Command):
    """Command that passes words after `--` to the agent's program."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        extra: list[str] = []
        if "--" in args:
            separator = args.index("--")
            args, extra = args[:separator], args[separator + 1 :]
        rest = super().parse_args(ctx, args)
        ctx.params["extra"] = tuple(extra)
        return rest


@click.command(cls=_WithExtra)
@click.argument("prompt", metavar="[PROMPT|-] [-- WORD...]", nargs=-1)
@click.option(
    "--agent", "-a", type=AgentArgument(), metavar="NAME", help="Agent: claude (default), codex."
)
@click.option("--name", "-n", metavar="NAME", help="Name of the worker (default: generated).")
@click.option("--id", "id_", metavar="UUID", help="Id of the new session.")
@click.option(
    "--project",
    "-p",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Project folder (default: the current one).",
)
@click.option(
    "--worktree/--no-worktree",
    default=None,
    help="Run in a new worktree (default in a git repository), or in the folder itself.",
)
@click.option("--branch", metavar="NAME", help="Branch name for the worktree.")
@click.option("--base", metavar="REV", help="Commit to start from (default: HEAD).")
@click.option("--model", "-m", metavar="NAME", help="Model to use.")
@click.option("--skip-permissions", is_flag=True, help="Bypass all permission checks.")
@click.option(
    "--env", "-e", multiple=True, metavar="KEY=VALUE", help="Set an environment variable."
)
@click.option(
    "--settings",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Agent settings file for this worker.",
)
@click.option("--commit-turns", is_flag=True, help="Commit to the branch after every turn.")
@click.option("--push", metavar="REMOTE", help="Push the branch after every turn.")
@click.option("--resume", type=SessionArgument(), metavar="SESSION", help="Resume a session.")
@click.option(
    "--fork", type=SessionArgument(), metavar="SESSION[@TURN]", help="Fork a session and run it."
)
@click.option("--continue", "continue_", is_flag=True, help="Resume the newest session.")
@click.option("--headless", is_flag=True, help="Run without a pane.")
@click.option("--trust", is_flag=True, help="Mark the folder as trusted.")
@pane_options
@ready_option
@click.option("--wait", is_flag=True, help="Wait for the answer and print it.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=1800,
    metavar="SECONDS",
    help="Time limit of --wait (default: 1800).",
)
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
@click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts.")
@json_option
def run(prompt: tuple[str, ...], **given: Any) -> None:
    """Start a worker.

    A worker is an agent that runs in a terminal pane and has a name. It keeps running when you
    close this terminal. In a git repository it gets its own worktree and branch.

    `-` reads the prompt from stdin. Arguments after `--` are passed to the agent unchanged.
    """
    text = read_prompt(" ".join(prompt) if prompt else None, 'prong run "..."')
    if given["wait"] and text is None:
        raise UsageError("--wait needs a prompt", hint="leave --wait out")
    app = open_app()
    with patience("looking at the project ..."):
        plan = app.workers.planner.plan(_options(text, given))
    as_json: bool = given["as_json"]
    if given["dry_run"]:
        _show(plan, as_json=as_json)
        return
    if plan.trust is not None and not given["yes"]:
        _ask_for_trust(plan.trust, quiet=as_json)
    for warning in () if as_json else plan.warnings:
        note(f"note: {warning}")
    with kept(app, plan.name), patience("starting ..."):
        worker = app.workers.starter.start(plan)
    # With --wait, stdout is for the answer.
    seconds: float = given["ready_timeout"]
    status = report(app, worker, seconds=seconds, as_json=as_json, err=given["wait"])
    more: dict[str, Any] = {"warnings": list(plan.warnings)}
    if given["wait"]:
        status, more["reply"] = answer(app, worker.name, _turns(plan), given["timeout"])
    if as_json:
        print_json(view(status, **more))
    elif given["wait"]:
        print_answer(more["reply"])


def _options(prompt: str | None, given: dict[str, Any]) -> "WorkerRequest":
    from prong.model.workers import RunOptions
    from prong.workers.request import WorkerRequest

    settings: Path | None = given["settings"]
    return WorkerRequest(
        prompt=prompt,
        agent=given["agent"],
        name=given["name"],
        id=given["id_"],
        project=given["project"],
        worktree=given["worktree"],
        branch=given["branch"],
        base=given["base"],
        run=RunOptions(
            model=given["model"],
            skip_permissions=given["skip_permissions"],
            settings=settings.absolute() if settings else None,
            extra=given["extra"],
        ),
        env=_environment(given["env"]),
        commit_turns=given["commit_turns"],
        push=given["push"],
        headless=given["headless"],
        trust=given["trust"],
        terminal=given["terminal"],
        place=placement(given),
        resume=given["resume"],
        fork=given["fork"],
        continue_=given["continue_"],
    )


def _environment(pairs: tuple[str, ...]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for pair in pairs:
        name, is_pair, value = pair.partition("=")
        if not (is_pair and name):
            raise UsageError(f"--env {pair}: expected NAME=VALUE", hint="--env KEY=VALUE")
        variables[name] = value
    return variables


def _turns(plan: "WorkerPlan") -> int:
    """Count the turns before the prompt."""
    if plan.resumed is not None:
        return plan.resumed.turn_count
    return (plan.fork.point.turn or 0) if plan.fork is not None else 0


def _ask_for_trust(trust: "TrustPlan", *, quiet: bool) -> None:
    """Show the change to the agent's settings and ask: only a person, or --yes, may agree."""
    from prong.cli.setup.edit_report import print_edit
    from prong.files.edits import Edit

    if quiet or not can_ask():
        path = clean(str(trust.path))
        raise UsageError(f"--trust changes {path}", hint="--yes, or --dry-run to see it")
    print_edit(Edit(trust.path, trust.before, trust.after), err=True)
    click.confirm("Let the agent work in this folder?", default=False, abort=True, err=True)


def _show(plan: "WorkerPlan", *, as_json: bool) -> None:
    from prong.cli.workers.worker_report import print_plan
    from prong.views import workers

    if as_json:
        print_json({"plan": workers.plan(plan)})
    else:
        print_plan(plan)
