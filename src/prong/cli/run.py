"""`prong run`."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from prong.cli.arguments import AgentArgument, SessionArgument
from prong.cli.output import can_ask, json_option, note, open_app, patience, print_json, read_prompt
from prong.cli.panes import pane_options, placement
from prong.cli.started import answer, kept, print_answer, ready_option, report, view
from prong.errors import UsageError
from prong.front.text import clean

if TYPE_CHECKING:
    from prong.app.worker_planning import TrustPlan, WorkerOptions, WorkerPlan


class _WithExtra(click.Command):
    """A command that takes words for the agent's program behind `--`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        extra: list[str] = []
        if "--" in args:
            at = args.index("--")
            args, extra = args[:at], args[at + 1 :]
        rest = super().parse_args(ctx, args)
        ctx.params["extra"] = tuple(extra)
        return rest


@click.command(cls=_WithExtra)
@click.argument("prompt", metavar="[PROMPT|-] [-- WORD...]", nargs=-1)
@click.option(
    "--agent", "-a", type=AgentArgument(), metavar="NAME", help="claude (default), codex."
)
@click.option("--name", "-n", metavar="NAME", help="What to call the worker; else prong does.")
@click.option("--id", "id_", metavar="UUID", help="The id of the new session.")
@click.option(
    "--project",
    "-p",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Work on what is in this folder, instead of the one you are in.",
)
@click.option(
    "--worktree/--no-worktree",
    default=None,
    help="Run in a new worktree (the default in a git repository), or in the folder itself.",
)
@click.option("--branch", metavar="NAME", help="The branch of the worktree.")
@click.option("--base", metavar="REV", help="The commit that the worktree starts from, not HEAD.")
@click.option("--model", "-m", metavar="NAME", help="The model.")
@click.option("--skip-permissions", is_flag=True, help="Let it do everything unasked.")
@click.option("--env", "-e", multiple=True, metavar="KEY=VALUE", help="Set this for the worker.")
@click.option(
    "--settings",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="A settings file of the agent for this run.",
)
@click.option("--commit-turns", is_flag=True, help="Commit after every turn, on its branch.")
@click.option("--push", metavar="REMOTE", help="Push the branch there after every turn.")
@click.option("--resume", type=SessionArgument(), metavar="SESSION", help="Go on with a session.")
@click.option(
    "--fork", type=SessionArgument(), metavar="SESSION[@TURN]", help="Go on with a fork of one."
)
@click.option(
    "--continue", "continue_", is_flag=True, help="Go on with the last one of the folder."
)
@click.option("--headless", is_flag=True, help="Without a pane: one process for each prompt.")
@click.option("--trust", is_flag=True, help="Record that the agent may work in the folder.")
@pane_options
@ready_option
@click.option("--wait", is_flag=True, help="Wait until it is idle again, and print its answer.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    default=1800,
    metavar="SECONDS",
    help="How long --wait waits (1800).",
)
@click.option("--dry-run", is_flag=True, help="Show what would be done, and do nothing.")
@click.option("--yes", "-y", is_flag=True, help="Ask nothing.")
@json_option
def run(prompt: tuple[str, ...], **given: Any) -> None:
    """Start a worker: an agent in a pane, known by a name.

    In a git repository it gets a worktree and a branch of its own. Its session id is known from the
    start. It runs on when this terminal is closed. `-` reads the prompt from stdin; words behind
    `--` are given to the agent's program as they are.
    """
    text = read_prompt(" ".join(prompt) if prompt else None, 'prong run "..."')
    if given["wait"] and text is None:
        raise UsageError("--wait waits for an answer: there is no prompt", hint="leave --wait out")
    app = open_app()
    with patience("looking at the project ..."):
        plan = app.workers.plan(_options(text, given))
    as_json: bool = given["as_json"]
    if given["dry_run"]:
        _show(plan, as_json=as_json)
        return
    if plan.trust is not None and not given["yes"]:
        _ask_for_trust(plan.trust, quiet=as_json)
    for warning in () if as_json else plan.warnings:
        note(f"note: {warning}")
    with kept(app, plan.name), patience("starting ..."):
        worker = app.workers.start(plan)
    # With --wait the answer is what a pipe wants.
    seconds: float = given["ready_timeout"]
    status = report(app, worker, seconds=seconds, as_json=as_json, err=given["wait"])
    more: dict[str, Any] = {"warnings": list(plan.warnings)}
    if given["wait"]:
        status, more["reply"] = answer(app, worker.name, _turns(plan), given["timeout"])
    if as_json:
        print_json(view(status, **more))
    elif given["wait"]:
        print_answer(more["reply"])


def _options(prompt: str | None, given: dict[str, Any]) -> "WorkerOptions":
    from prong.app.worker_planning import WorkerOptions
    from prong.worker import RunOptions

    settings: Path | None = given["settings"]
    return WorkerOptions(
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
    found: dict[str, str] = {}
    for pair in pairs:
        name, is_pair, value = pair.partition("=")
        if not (is_pair and name):
            raise UsageError(f"--env {pair}: a name and a value are meant", hint="--env KEY=VALUE")
        found[name] = value
    return found


def _turns(plan: "WorkerPlan") -> int:
    """How many turns there are before the prompt."""
    if plan.resumed is not None:
        return plan.resumed.turn_count
    return (plan.fork.point.turn or 0) if plan.fork is not None else 0


def _ask_for_trust(trust: "TrustPlan", *, quiet: bool) -> None:
    """It changes a file of the agent, so it is shown, and nobody but a person agrees to it."""
    from prong.cli.edit_report import print_edit
    from prong.edits import Edit

    if quiet or not can_ask():
        where = clean(str(trust.path))
        raise UsageError(f"--trust changes {where}", hint="--yes, or --dry-run to see it")
    print_edit(Edit(trust.path, trust.before, trust.after), err=True)
    click.confirm("Let the agent work in this folder?", default=False, abort=True, err=True)


def _show(plan: "WorkerPlan", *, as_json: bool) -> None:
    from prong.app import worker_views
    from prong.cli.worker_report import print_plan

    if as_json:
        print_json({"plan": worker_views.plan(plan)})
    else:
        print_plan(plan)
