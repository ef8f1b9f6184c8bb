"""Running forks as workers, each in its own pane."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from prong.cli.forks.fork_report import print_fork
from prong.cli.output import is_on_samples, is_shown, note, patience
from prong.cli.workers.panes import asks_for_pane, placement
from prong.cli.workers.started import READY_SECONDS, ready
from prong.cli.workers.worker_report import print_pane, say_what_it_wants
from prong.errors import ProngError, UsageError
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.forks.request import ForkRequest
    from prong.model.forks import ForkPlan
    from prong.workers.launch.fork import ForkedWorker


def opens(app: "App", given: dict[str, Any]) -> bool:
    """Return whether a fork opens in a pane.

    By default only if stdout is a terminal that can open panes. Never with --json: scripts do not
    expect it.
    """
    asking = _asked(given)
    for option, reason in (
        ("as_json", "--json cannot open a pane"),
        ("run", "--exec runs it in this terminal"),
        ("no_open", "--no-open cannot open a pane"),
    ):
        if given[option]:
            if asking is not None:
                hint = "prong run --fork SESSION --json" if option == "as_json" else None
                raise UsageError(reason, hint=hint or f"leave {asking} out")
            return False
    if asking is not None:
        return True
    if is_on_samples() or not is_shown():
        return False
    return app.terminals.here() is not None


def _asked(given: dict[str, Any]) -> str | None:
    """Return the option that asks for a pane."""
    if given["name"] is not None:
        return "--name"
    if len(given["prompt_file"]) > 1:
        return "--prompt-file"
    return "--terminal, --split, --window or --tab" if asks_for_pane(given) else None


def prompts(files: tuple[Path, ...]) -> tuple[str, ...]:
    """Read prompt files unchanged."""
    return tuple(_read(path) for path in files)


def _read(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot read {clean(str(path))}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise UsageError(f"{clean(str(path))} is not text", hint="a file in UTF-8") from None
    if not text.strip():
        raise UsageError(f"{clean(str(path))} is empty", hint="write the prompt into it")
    return text


def planned(app: "App", session: str, options: "ForkRequest") -> "ForkPlan":
    """Plan the first fork. Its prompt may be longer than a command line."""
    return app.workers.forks.plan(session, options, count=options.count)


def can_wait(plan: "ForkPlan", given: dict[str, Any]) -> bool:
    """Return whether to fork now and run later, because the agent's program is missing.

    Not with several prompt files: only one of the prompts would be kept.
    """
    return plan.missing is not None and len(given["prompt_file"]) < 2


def run(app: "App", plan: "ForkPlan", given: dict[str, Any], options: "ForkRequest") -> None:
    """Create and start the forks. Report each at once, and errors at the end."""
    from prong.workers.request import WorkerRequest

    request = WorkerRequest(
        prompt=options.prompt,
        name=given["name"] or None,
        terminal=given["terminal"],
        place=placement(given),
    )
    texts = prompts(given["prompt_file"])
    forks = app.workers.forks.start(plan, request, options.count, texts)
    started: list[str] = []
    errors: list[ProngError] = []
    while True:
        with patience("forking ..."):
            forked = next(forks, None)
        if forked is None:
            break
        _tell(app, plan, forked)
        if forked.worker is not None:
            started.append(forked.worker.name)
        if forked.error is not None:
            errors.append(forked.error)
    for name in started:
        try:
            status = ready(app, app.workers.records.get(name), READY_SECONDS)
        except ProngError as error:
            errors.append(error)
            continue
        if status.state.value == "waiting":
            say_what_it_wants(status)
    for error in errors[:-1]:
        note(f"{error.message} (try: {error.hint})" if error.hint else error.message)
    if errors:
        # On errors, say which workers exist, so that a retry does not create them twice.
        if started:
            errors[-1].details.setdefault("made", started)
        raise errors[-1]


def _tell(app: "App", plan: "ForkPlan", one: "ForkedWorker") -> None:
    if one.fork is None:
        return
    print_fork(app, plan, one.fork, runs=one.worker is not None)
    for warning in one.fork.warnings:
        note(f"note: {warning}")
    if one.worker is not None:
        print_pane(one.worker)
