"""`prong fork`: fork a session at a turn."""

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from prong.cli.arguments import AgentArgument, OptionalNumbers, session_argument
from prong.cli.forks import fork_panes
from prong.cli.forks.fork_report import print_fork, print_plan
from prong.cli.launch import become
from prong.cli.output import (
    can_ask,
    json_option,
    note,
    open_app,
    patience,
    print_json,
    read_prompt,
)
from prong.cli.workers.panes import pane_options
from prong.errors import NotFound, UsageError
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.forks.request import ForkRequest
    from prong.model.forks import Code, Fork, ForkPlan
    from prong.model.workers import RunOptions

T = TypeVar("T")

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
@click.option("--agent", "-a", type=AgentArgument(), metavar="NAME", help="Agent to fork into.")
@click.option("--model", "-m", metavar="NAME", help="Model for the fork.")
@click.option("--skip-permissions", is_flag=True, help="Bypass all permission checks.")
@click.option(
    "--settings",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Agent settings file for the fork.",
)
@click.option("--method", type=click.Choice(_METHODS), default="copy", help="How to transfer it.")
@click.option("--id", "new_id", metavar="UUID", help="Id of the new session.")
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
@click.option("--yes", "-y", is_flag=True, help="Skip confirmation prompts.")
@click.option("--dry-run", is_flag=True, help="Show the plan and change nothing.")
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
    answer = fork_at(session, given)
    if answer is not None:
        print_json(answer)


def fork_at(session: str, given: dict[str, Any]) -> dict[str, Any] | None:
    """Fork with these options and report it; with `as_json`, return the result instead."""
    from prong.views import json

    options = _options(given)
    _check(given, options)
    app = open_app()
    opens = fork_panes.opens(app, given)
    count = max(given["count"], len(given["prompt_file"]))
    if given["preview"]:
        _print_preview(app, session)
        return None
    if not (given["yes"] or given["as_json"] or given["dry_run"] or given["method"] == "native"):
        from prong.cli.forks import turn_choice

        title = "Edit the prompt of which turn?" if options.retry else "Fork at which turn?"
        session = turn_choice.ask(app, session, title)
    wait: float | None = given["wait"]

    def planned() -> "ForkPlan":
        with patience():
            if opens:
                return fork_panes.planned(app, session, options)
            return app.forks.plan(session, options)

    plan = _when_idle(app, session, wait, planned)
    if opens and fork_panes.can_wait(plan, given):
        opens, plan = False, _when_idle(app, session, wait, planned)
    if given["dry_run"]:
        if given["as_json"]:
            return {"plan": json.plan(plan), "count": count}
        print_plan(app, plan, count=count)
        return None
    if not given["yes"]:
        plan = _agreed(app, session, plan, options, asks=not given["as_json"])
    if opens:
        _when_idle(app, session, wait, partial(fork_panes.run, app, plan, given, options))
        return None
    make = partial(_made, app, plan, count, quiet=given["as_json"])
    created = _when_idle(app, session, wait, make)
    if given["as_json"]:
        forks = [json.fork(fork) for fork in created]
        return {"forks": forks} if count > 1 else {"fork": forks[0]}
    if given["run"] and plan.missing is None:
        assert created[0].launch is not None
        become(app, created[0].child.agent, created[0].launch)
    return None


def _check(given: dict[str, Any], options: "ForkRequest") -> None:
    """Refuse options that cannot be combined."""
    count, files = given["count"], len(given["prompt_file"])
    if given["run"] and (max(count, files) > 1 or given["as_json"]):
        raise UsageError("--exec runs one fork, in this terminal", hint="leave --exec out")
    if options.id and max(count, files) > 1:
        raise UsageError("--id names one fork", hint="leave --id or --count out")
    if files and given["prompt"] is not None:
        raise UsageError("--prompt or --prompt-file, not both", hint="leave --prompt out")
    if files > 1 and count not in (1, files):
        raise UsageError(f"{count} forks and {files} prompts", hint=f"--count {files}")


def _options(given: dict[str, Any]) -> "ForkRequest":
    from prong.forks.request import ForkRequest
    from prong.model.forks import Method

    from_file = next(iter(fork_panes.prompts(given["prompt_file"][:1])), None)
    return ForkRequest(
        agent=given["agent"],
        into=given["into"],
        method=Method(given["method"]),
        id=given["new_id"],
        title=given["title"],
        prompt=from_file or read_prompt(given["prompt"]),
        retry=given["retry"],
        before_compaction=given["before_compaction"],
        trim=given["trim"],
        code=_code(given["code"], no_worktree=given["no_worktree"]),
        code_at=given["code_at"],
        branch=given["branch"],
        name=given["name"],
        count=max(given["count"], len(given["prompt_file"])),
        run=_run_options(given),
    )


def _run_options(given: dict[str, Any]) -> "RunOptions | None":
    """Return how to start the agent; None means like the source, or as configured."""
    from prong.model.workers import RunOptions

    settings: Path | None = given["settings"]
    options = RunOptions(
        model=given["model"],
        skip_permissions=given["skip_permissions"],
        settings=settings.absolute() if settings else None,
    )
    return options if options != RunOptions() else None


def _code(text: str | None, *, no_worktree: bool) -> "Code | None":
    from prong.model.forks import Code

    if no_worktree:
        if text not in (None, Code.NONE.value):
            raise UsageError(f"--code {text} needs a worktree", hint="leave --no-worktree out")
        return Code.NONE
    return Code(text) if text else None


def _when_idle(app: "App", session: str, wait: float | None, act: Callable[[], T]) -> T:
    """Run `act` now or, with --wait, when the agent has finished its turn."""
    if wait is None:
        return act()
    source = app.sessions.get(session)

    def waiting() -> None:
        note(f"waiting until {source.agent} is done with {clean(source.title)} ... (Ctrl-C stops)")

    return app.sessions.when_idle(source, act, wait, waiting)


def _agreed(
    app: "App", session: str, plan: "ForkPlan", options: "ForkRequest", *, asks: bool
) -> "ForkPlan":
    if asks and can_ask():
        return _confirmed(app, session, plan, options)
    _refuse_unasked(plan)
    return plan


def _confirmed(app: "App", session: str, plan: "ForkPlan", options: "ForkRequest") -> "ForkPlan":
    """Ask for the prompt and for confirmation; return the plan that the person agreed to."""
    from prong.model.record import replace

    if options.retry and options.prompt is None:
        edited = click.edit(plan.prompt, extension=".md")
        # If the editor was closed without saving, keep the prompt.
        prompt = plan.prompt if edited is None else edited.strip()
        if not prompt:
            raise UsageError("the prompt is empty; nothing was forked", hint="--prompt TEXT")
        plan = app.forks.plan(session, replace(options, prompt=prompt))
    if plan.warnings:
        print_plan(app, plan, count=options.count, err=True)
        click.confirm("Fork?", default=True, abort=True, err=True)
    return plan


def _refuse_unasked(plan: "ForkPlan") -> None:
    """Without a person to ask, refuse approximate or missing code unless an option accepts it."""
    if plan.unopened is not None:
        raise NotFound(
            f"the code of {plan.point} is not available: {plan.unopened}",
            hint=f"--yes or --no-worktree to run it in {clean(str(plan.workspace))} as it is",
        )
    worktree = plan.worktree
    if worktree is not None and worktree.since is not None:
        from prong.forks.workspace import changed_since

        raise NotFound(
            f"{changed_since(worktree.since)} ({plan.point})",
            hint="--code now takes the code as it is now, --code turn --yes the commit of that "
            "time, --code none no code",
            commits=worktree.since.commits,
            files=worktree.since.files,
        )
    if worktree is None or worktree.is_exact:
        return
    commit = (worktree.commit or "")[:12]
    raise NotFound(
        f"no code captured at {plan.point}: the nearest commit, {commit}, is not exact",
        hint="--yes to use that commit; --code now or --code none to do without it",
        commit=worktree.commit,
    )


def _print_preview(app: "App", session: str) -> None:
    from prong.cli.forks import turn_preview
    from prong.views.turn_preview import read

    with patience():
        point = app.sessions.resolve(session)
        conversation = app.sessions.conversation(point.session)
    turn = app.sessions.turn(conversation, point.turn or "-1")
    if turn is None:
        raise UsageError("turn 0 is before the first prompt: nothing to show")
    turn_preview.show(read(app.sessions, app.code, conversation, turn))


def _made(app: "App", plan: "ForkPlan", count: int, *, quiet: bool) -> "list[Fork]":
    """Create the forks and report each at once, so that Ctrl-C hides nothing."""
    created: list[Fork] = []
    seen: set[str] = set()
    forks = app.forks.make_several(plan, count)
    try:
        while True:
            with patience("forking ..."):
                fork = next(forks, None)
            if fork is None:
                return created
            created.append(fork)
            if not quiet:
                print_fork(app, plan, fork)
                for warning in fork.warnings:
                    if warning not in seen:
                        seen.add(warning)
                        note(f"note: {warning}")
    except KeyboardInterrupt:
        if quiet and created:
            note(f"created before the interrupt: {', '.join(str(fork.child) for fork in created)}")
        raise
