"""`prong run`, `clone` and `restart`: start a worker."""

from math import inf
from pathlib import Path
from typing import Any

import click

from prong.cli.arguments import (
    AGENT,
    SESSION,
    WithRest,
    answer_timeout_option,
    dry_run_option,
    json_option,
    pane_options,
    placement,
    ready_option,
    request,
    run_options,
    seconds_option,
    settings_option,
    worker_argument,
    yes_option,
)
from prong.cli.output import agree, can_ask, note, open_app, patience, print_json, read_prompt
from prong.cli.progress import spinner
from prong.cli.setup.changes import print_edit
from prong.cli.workers.report import WorkerReports, print_plan
from prong.errors import UsageError
from prong.files.edits import Edit
from prong.views import workers as views
from prong.views.text import clean
from prong.workers.request import TrustPlan, WorkerPlan, WorkerRequest


@click.command(cls=WithRest, rest="extra")
@click.argument("prompt", metavar="[PROMPT|-] [-- WORD...]", nargs=-1)
@click.option("--agent", "-a", type=AGENT, metavar="NAME", help="Agent: claude (default), codex.")
@click.option("--name", "-n", metavar="NAME", help="Name of the worker (default: generated).")
@click.option("--id", metavar="UUID", help="Id of the new session.")
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
@settings_option("Agent settings file for this worker.")
@click.option("--commit-turns", is_flag=True, help="Commit to the branch after every turn.")
@click.option("--push", metavar="REMOTE", help="Push the branch after every turn.")
@click.option("--resume", type=SESSION, metavar="SESSION", help="Resume a session.")
@click.option("--fork", type=SESSION, metavar="SESSION[@TURN]", help="Fork a session and run it.")
@click.option("--continue", "continue_", is_flag=True, help="Resume the newest session.")
@click.option("--headless", is_flag=True, help="Run without a pane.")
@click.option("--trust", is_flag=True, help="Mark the folder as trusted.")
@pane_options
@ready_option
@click.option("--wait", is_flag=True, help="Wait for the answer and print it.")
@answer_timeout_option
@dry_run_option
@yes_option
@json_option
def run(prompt: tuple[str, ...], **given: Any) -> None:
    """Start a worker.

    A worker is an agent that runs in a terminal pane and has a name. It keeps running when you
    close this terminal. In a git repository it gets its own worktree and branch.

    `-` reads the prompt from stdin. Arguments after `--` are passed to the agent unchanged.
    """
    text = read_prompt(" ".join(prompt) if prompt else None, 'prong run "..."')
    waits, as_json = given["wait"], given["as_json"]
    if waits and text is None:
        raise UsageError("--wait needs a prompt", hint="leave --wait out")
    workers = open_app().workers
    with patience("looking at the project ..."):
        plan = workers.planner.plan(
            request(
                WorkerRequest,
                given,
                prompt=text,
                run=run_options(given),
                env=_environment(given["env"]),
                place=placement(given),
            )
        )
    if given["dry_run"]:
        if as_json:
            print_json({"plan": views.plan(plan)})
        else:
            print_plan(plan)
        return
    if plan.trust is not None and not given["yes"]:
        _ask_for_trust(plan.trust, quiet=as_json)
    for warning in () if as_json else plan.warnings:
        note(f"note: {warning}")
    reports = WorkerReports(workers, quiet=as_json)
    with reports.kept(plan.name), patience("starting ..."):
        worker = workers.starter.start(plan)
    # With --wait, stdout is for the answer.
    status = reports.report(worker, seconds=given["ready_timeout"], err=waits)
    more: dict[str, Any] = {"warnings": list(plan.warnings)}
    if waits:
        status, more["reply"] = reports.answer(worker.name, _turns(plan), given["timeout"])
    if as_json:
        print_json({"worker": views.worker(status), **more})
    elif waits:
        click.echo(clean(more["reply"], lines=True))


def _environment(pairs: tuple[str, ...]) -> dict[str, str]:
    variables: dict[str, str] = {}
    for pair in pairs:
        name, is_pair, value = pair.partition("=")
        if not (is_pair and name):
            raise UsageError(f"--env {pair}: expected NAME=VALUE", hint="--env KEY=VALUE")
        variables[name] = value
    return variables


def _turns(plan: WorkerPlan) -> int:
    """Count the turns before the prompt."""
    if plan.resumed is not None:
        return plan.resumed.turn_count
    return (plan.fork.point.turn or 0) if plan.fork is not None else 0


def _ask_for_trust(trust: TrustPlan, *, quiet: bool) -> None:
    refusal = f"--trust changes {clean(str(trust.path))}"
    if not quiet and can_ask():
        print_edit(Edit(trust.path, trust.before, trust.after), err=True)
    agree(
        "Let the agent work in this folder?", refusal, "--yes, or --dry-run to see it", quiet=quiet
    )


@click.command()
@click.argument("source", type=SESSION, metavar="NAME|SESSION")
@click.argument("new", metavar="[NEW]", required=False)
@seconds_option("--timeout", "Time limit for the source (default: none).")
@click.option("--no-ignored", is_flag=True, help="Leave out files that git ignores.")
@click.option("--trust", is_flag=True, help="Mark the new folder as trusted.")
@pane_options
@ready_option
@yes_option
@json_option
def clone(source: str, new: str | None, timeout: float | None, **given: Any) -> None:
    """Clone a worker.

    Copies its workspace, conversation and settings to a new worker that runs in its own folder and
    session. Waits until the source is idle, and leaves it unchanged.
    """
    workers = open_app().workers
    as_json: bool = given["as_json"]
    if given["trust"] and not given["yes"]:
        refusal = "--trust changes the agent's settings"
        agree("Let the agent work in the copy?", refusal, "--yes", quiet=as_json)
    name = clean(source)
    with spinner(f"cloning {name} ...") as say:

        def waiting(reason: str) -> None:
            say(f"waiting until {name} is idle (Ctrl-C cancels): {clean(reason)} ...")

        worker = workers.cloner.clone(
            source,
            request(WorkerRequest, given, name=new, place=placement(given)),
            ignored=not given["no_ignored"],
            timeout=inf if timeout is None else timeout,
            waiting=waiting,
        )
    for warning in () if as_json else worker.warnings:
        note(f"note: {warning}")
    reports = WorkerReports(workers, quiet=as_json)
    status = reports.report(worker, "cloned", given["ready_timeout"])
    if as_json:
        print_json({"worker": views.worker(status), "warnings": list(worker.warnings)})


@click.command()
@worker_argument
@pane_options
@ready_option
@json_option
def restart(name: str, **given: Any) -> None:
    """Restart a worker that is gone or was stopped.

    Resumes its session in the same folder, with the same command and settings.
    """
    workers = open_app().workers
    with patience("starting ..."):
        worker = workers.starter.restart(name, terminal=given["terminal"], place=placement(given))
    reports = WorkerReports(workers, quiet=given["as_json"])
    status = reports.report(worker, "restarted", given["ready_timeout"])
    if given["as_json"]:
        print_json({"worker": views.worker(status)})
