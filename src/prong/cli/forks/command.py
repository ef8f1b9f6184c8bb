"""What `prong fork` and `prong find --fork` do: plan, ask, create, open in a pane, report."""

import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

import click

from prong.cli.forks import turn_choice
from prong.cli.output import (
    become,
    can_ask,
    is_on_samples,
    is_terminal,
    note,
    open_app,
    patience,
    print_rows,
    styled,
)
from prong.cli.workers.report import WorkerReports, note_request, print_pane
from prong.errors import NotFound, ProngError, UsageError
from prong.forks.request import ForkRequest
from prong.forks.workspace import changed_since
from prong.model.forks import Fork, ForkPlan, Method
from prong.model.record import replace
from prong.model.workers import Placement
from prong.views import json
from prong.views.command_line import command_line
from prong.views.fork_plan import code, plan_rows
from prong.views.text import clean, short_path
from prong.workers.request import WorkerRequest

T = TypeVar("T")

_NAME = 8


class ForkOptions(NamedTuple):
    """How to carry out a request: what is asked, where the fork runs, what is printed."""

    as_json: bool = False
    dry_run: bool = False
    yes: bool = False
    run: bool = False
    """In this terminal."""
    wait: float | None = None
    """Seconds to wait while the agent is working on the source."""
    no_open: bool = False
    terminal: str | None = None
    place: Placement | None = None
    prompts: tuple[str, ...] = ()
    """One for each fork, if read from files."""


class ForkCommand:
    def __init__(self, session: str, request: ForkRequest, options: ForkOptions) -> None:
        app = open_app()
        self._sessions = app.sessions
        self._forks = app.forks
        self._app = app
        self._session = session
        self._request = request
        self._options = options

    def carry_out(self) -> dict[str, Any] | None:
        """Fork and report it; with `as_json`, return the result instead."""
        options, request = self._options, self._request
        opens = self._opens()
        is_asked = not (options.yes or options.as_json or options.dry_run)
        if is_asked and request.method is not Method.NATIVE:
            title = "Edit the prompt of which turn?" if request.retry else "Fork at which turn?"
            picker = self._app.settings.picker
            self._session = turn_choice.ask(
                self._sessions, self._app.code, self._session, title, picker
            )
        plan = self._when_idle(lambda: self._plan(opens=opens))
        if opens and plan.missing is not None and len(options.prompts) < 2:
            # The agent's program is missing: fork now, run later. Not with several prompts, of
            # which only one would be kept.
            opens = False
            plan = self._when_idle(lambda: self._plan(opens=False))
        if options.dry_run:
            if options.as_json:
                return {"plan": json.plan(plan), "count": request.count}
            self._print_plan(plan)
            return None
        if not options.yes:
            if not options.as_json and can_ask():
                plan = self._confirmed(plan)
            else:
                _refuse_unasked(plan)
        if opens:
            self._when_idle(lambda: self._start(plan))
            return None
        created = self._when_idle(lambda: self._make(plan))
        if options.as_json:
            forks = [json.fork(fork) for fork in created]
            return {"forks": forks} if request.count > 1 else {"fork": forks[0]}
        launch = created[0].launch
        if options.run and plan.missing is None and launch is not None:
            become(self._app.setup.hooks.for_one_run(created[0].child.agent, launch))
        return None

    def _opens(self) -> bool:
        """Return whether the fork opens in a pane.

        By default only if stdout is a terminal that can open panes. Never with --json: scripts do
        not expect it.
        """
        options = self._options
        asking = None
        if self._request.name is not None:
            asking = "--name"
        elif len(options.prompts) > 1:
            asking = "--prompt-file"
        elif options.terminal is not None or options.place is not None:
            asking = "--terminal, --split, --window or --tab"
        for is_given, reason, hint in (
            (options.as_json, "--json cannot open a pane", "prong run --fork SESSION --json"),
            (options.run, "--exec runs it in this terminal", f"leave {asking} out"),
            (options.no_open, "--no-open cannot open a pane", f"leave {asking} out"),
        ):
            if is_given and asking is not None:
                raise UsageError(reason, hint=hint)
            if is_given:
                return False
        if asking is not None:
            return True
        on_screen = is_terminal(sys.stdout) and not is_on_samples()
        return on_screen and self._app.terminals.here() is not None

    def _when_idle(self, act: Callable[[], T]) -> T:
        """Run `act` now or, with --wait, when the agent has finished its turn."""
        if self._options.wait is None:
            return act()
        source = self._sessions.get(self._session)

        def waiting() -> None:
            title = clean(source.title)
            note(f"waiting until {source.agent} is done with {title} ... (Ctrl-C stops)")

        return self._sessions.when_idle(source, act, self._options.wait, waiting)

    def _plan(self, *, opens: bool) -> ForkPlan:
        with patience():
            if not opens:
                return self._forks.plan(self._session, self._request)
            # The prompt of a worker may be longer than a command line.
            workers = self._app.workers.forks
            return workers.plan(self._session, self._request, count=self._request.count)

    def _confirmed(self, plan: ForkPlan) -> ForkPlan:
        """Ask for the prompt and for confirmation; return the plan that the person agreed to."""
        if self._request.retry and self._request.prompt is None:
            edited = click.edit(plan.prompt, extension=".md")
            # If the editor was closed without saving, keep the prompt.
            prompt = plan.prompt if edited is None else edited.strip()
            if not prompt:
                raise UsageError("the prompt is empty; nothing was forked", hint="--prompt TEXT")
            plan = self._forks.plan(self._session, replace(self._request, prompt=prompt))
        if plan.warnings:
            self._print_plan(plan, err=True)
            click.confirm("Fork?", default=True, abort=True, err=True)
        return plan

    # -- creating ------------------------------------------------------------------------------

    def _make(self, plan: ForkPlan) -> list[Fork]:
        """Create the forks and report each at once, so that Ctrl-C hides nothing."""
        created: list[Fork] = []
        seen: set[str] = set()
        quiet = self._options.as_json
        forks = self._forks.make_several(plan, self._request.count)
        try:
            for fork in _each(forks):
                created.append(fork)
                if quiet:
                    continue
                self._print_fork(plan, fork)
                for warning in dict.fromkeys(fork.warnings):
                    if warning not in seen:
                        note(f"note: {warning}")
                seen.update(fork.warnings)
        except KeyboardInterrupt:
            if quiet and created:
                children = ", ".join(str(fork.child) for fork in created)
                note(f"created before the interrupt: {children}")
            raise
        return created

    def _start(self, plan: ForkPlan) -> None:
        """Create and start the forks as workers. Report each at once, and errors at the end."""
        options, workers = self._options, self._app.workers
        request = WorkerRequest(
            prompt=self._request.prompt,
            name=self._request.name or None,
            terminal=options.terminal,
            place=options.place,
        )
        forks = workers.forks.start(plan, request, self._request.count, options.prompts)
        started: list[str] = []
        errors: list[ProngError] = []
        for forked in _each(forks):
            if forked.fork is not None:
                self._print_fork(plan, forked.fork, runs=forked.worker is not None)
                for warning in forked.fork.warnings:
                    note(f"note: {warning}")
            if forked.worker is not None:
                print_pane(forked.worker)
                started.append(forked.worker.name)
            if forked.error is not None:
                errors.append(forked.error)
        reports = WorkerReports(workers)
        for name in started:
            try:
                status = reports.ready(workers.records.get(name))
            except ProngError as error:
                errors.append(error)
                continue
            if status.state.value == "waiting":
                note_request(status)
        for error in errors[:-1]:
            note(f"{error.message} (try: {error.hint})" if error.hint else error.message)
        if errors:
            # Say which workers exist, so that a retry does not create them twice.
            if started:
                errors[-1].details.setdefault("made", started)
            raise errors[-1]

    # -- reporting -----------------------------------------------------------------------------

    def _print_plan(self, plan: ForkPlan, *, err: bool = False) -> None:
        rows = plan_rows(self._forks, self._app.code, plan, self._request.count)
        # Never cut warnings: they must be readable before the user agrees.
        print_rows(rows, size=_NAME, wraps="note", err=err)
        # Never cut, because it is there to be copied.
        command = command_line(plan.launch)
        click.echo(f"{styled('command'.ljust(_NAME), dim=True)}{command}", err=err)

    def _print_fork(self, plan: ForkPlan, made: Fork, *, runs: bool = False) -> None:
        """Print the created fork, and the command that runs it unless it already runs."""
        parent, child = clean(str(made.parent)), clean(str(made.child))
        click.echo(f"{styled('forked', fg='green')} {parent} into {styled(child, fg='cyan')}")
        if made.method is Method.SEED:
            waiting = "; waiting for your next prompt" if made.seed_ack_filtered else ""
            click.echo(f"Fork created; context injected{waiting}.")
        if made.path is not None:
            click.echo(f"  {styled(clean(short_path(str(made.path))), dim=True)}")
        if plan.worktree is not None:
            for name, text in (
                ("code", code(self._forks, self._app.code, plan)),
                ("folder", short_path(str(made.workspace or ""))),
                ("branch", made.branch or ""),
            ):
                click.echo(f"  {styled(name.ljust(_NAME), dim=True)}{clean(text)}")
        if made.launch is not None and not runs:
            click.echo(f"  {styled(command_line(made.launch), bold=True)}")


def _each(forks: Iterator[T]) -> Iterator[T]:
    """Show that it takes long to create one."""
    while True:
        with patience("forking ..."):
            fork = next(forks, None)
        if fork is None:
            return
        yield fork


def _refuse_unasked(plan: ForkPlan) -> None:
    """Without a person to ask, refuse approximate or missing code unless an option accepts it."""
    if plan.unopened is not None:
        raise NotFound(
            f"the code of {plan.point} is not available: {plan.unopened}",
            hint=f"--yes or --no-worktree to run it in {clean(str(plan.workspace))} as it is",
        )
    worktree = plan.worktree
    if worktree is not None and worktree.since is not None:
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
