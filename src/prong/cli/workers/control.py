"""`prong status`, `send`, `wait`, `attach`, `log`, `key`, `stop`, `rename` and `serve`."""

import sys
from importlib import import_module
from math import inf
from pathlib import Path

import click

from prong.cli.arguments import (
    WORKER,
    answer_timeout_option,
    json_option,
    seconds_option,
    worker_argument,
    worker_arguments,
)
from prong.cli.output import (
    become,
    can_ask,
    note,
    open_app,
    patience,
    print_json,
    read_prompt,
    styled,
)
from prong.cli.progress import spinner
from prong.cli.sessions.transcript import TranscriptPage
from prong.cli.workers.report import (
    WorkerReports,
    note_next,
    print_state,
    print_status,
    resuming,
)
from prong.errors import Busy, UsageError
from prong.session.transcript import paired
from prong.views import json
from prong.views import workers as views
from prong.views.command_line import command_line
from prong.views.text import clean, short_path
from prong.workers.service import WorkerService


@click.command()
@worker_argument
@json_option
def status(name: str, as_json: bool) -> None:
    """Show worker status and its evidence."""
    app = open_app()
    with patience("looking at it ..."):
        worker_status = app.workers.states.status(name)
    if as_json:
        print_json(views.status(worker_status))
    else:
        print_status(worker_status)
        note_next(worker_status)


@click.command()
@worker_argument
@click.argument("text", metavar="TEXT|-", nargs=-1, required=True)
@click.option("--wait", "-w", is_flag=True, help="Wait for the answer and print it.")
@answer_timeout_option
@click.option(
    "--as-command", is_flag=True, help="Send an agent command: /clear, or ! and a shell command."
)
@json_option
def send(
    name: str, text: tuple[str, ...], wait: bool, timeout: float, as_command: bool, as_json: bool
) -> None:
    """Send a prompt to a worker.

    `-` reads it from stdin. The text is always a prompt: `/clear` and `!ls` go to the model unless
    you pass --as-command. If the pane contains an unsent draft, nothing is sent and the exit status
    is 4.
    """
    prompt = read_prompt(" ".join(text), f'prong send {name} "..."')
    assert prompt is not None
    workers = open_app().workers
    reports = WorkerReports(workers)
    if not wait:
        with reports.kept(name), patience("sending ..."):
            workers.prompts.send(name, prompt, as_command=as_command)
        if as_json:
            print_json({"worker": name, "sent": True})
        return
    worker_status, reply = reports.ask(name, prompt, timeout, as_command=as_command)
    if as_json:
        print_json({"worker": views.worker(worker_status), "sent": True, "reply": reply})
    else:
        click.echo(clean(reply, lines=True))


@click.command()
@worker_arguments
@click.option("--any", "any_", is_flag=True, help="Return as soon as one worker is idle.")
@seconds_option("--timeout", "Time limit (default: none).")
@json_option
def wait(names: tuple[str, ...], any_: bool, timeout: float | None, as_json: bool) -> None:
    """Wait until workers are idle.

    The exit status is 4 if a worker needs input or has ended, which no waiting would change, or if
    the time limit is reached.
    """
    app = open_app()
    unique = list(dict.fromkeys(names))
    seconds = inf if timeout is None else timeout
    with spinner(f"waiting for {', '.join(unique)} (Ctrl-C stops) ..."):
        statuses = app.workers.states.wait(unique, any_=any_, timeout=seconds)
    if as_json:
        print_json({"workers": [views.status(one) for one in statuses]})
    else:
        for one in statuses:
            print_state(one)
            note_next(one)
    idle = [one.state.value == "idle" for one in statuses]
    if not (any(idle) if any_ else all(idle)):
        click.get_current_context().exit(Busy.exit_code)


@click.command()
@worker_argument
@json_option
def attach(name: str, as_json: bool) -> None:
    """Attach to a worker's pane.

    In the terminal that holds the pane, this moves the focus to it; in any other terminal, it shows
    the pane here. In a script it prints the command to attach.
    """
    launch = open_app().workers.attach(name)
    if as_json:
        print_json({"worker": name, **(json.launch(launch) if launch else {"command": None})})
    elif launch is not None and can_ask():
        become(launch)
    elif launch is not None:
        click.echo(styled(command_line(launch), bold=True))


@click.command()
@worker_argument
@click.option("--follow", "-f", is_flag=True, help="Follow new messages until Ctrl-C.")
@json_option
def log(name: str, follow: bool, as_json: bool) -> None:
    """Show a worker's transcript.

    `>` marks a prompt, `*` a tool call.
    """
    if follow and as_json:
        raise UsageError("--follow and --json cannot be combined", hint="leave --json out")
    workers = open_app().workers
    worker = workers.records.get(name)
    messages = workers.prompts.log(name, follow=follow)
    if as_json:
        print_json({"worker": name, "messages": [json.message(item) for item in paired(messages)]})
        return
    page = TranscriptPage(str(worker.workspace))
    if follow:
        for message in messages:
            if message.role != "tool":  # the call was already printed
                page.add(message)
                sys.stdout.flush()
    else:
        for message in paired(messages):
            page.add(message)
    if page.is_empty:
        note("no messages yet")


@click.command()
@worker_argument
@click.argument("keys", metavar="KEY...", nargs=-1, required=True)
@json_option
def key(name: str, keys: tuple[str, ...], as_json: bool) -> None:
    """Send keys to a worker's pane.

    KEY is a name such as Enter, Escape, Tab, Up, Down or C-c, or a single character. For example,
    `prong key NAME Down Enter` answers a dialog.
    """
    open_app().workers.prompts.press(name, *keys)
    if as_json:
        print_json({"worker": name, "keys": list(keys)})


@click.command()
@worker_arguments
@click.option("--force", "-f", is_flag=True, help="Stop busy workers without asking.")
@click.option("--forget", is_flag=True, help="Also remove them from the list of workers.")
@json_option
def stop(names: tuple[str, ...], force: bool, forget: bool, as_json: bool) -> None:
    """Stop workers.

    Keeps their sessions and workspaces: `prong restart NAME` resumes a stopped worker. Asks before
    it stops a busy one.
    """
    workers = open_app().workers
    for name in names:
        workers.records.get(name)  # a wrong name is an error before any worker is stopped
    asks = can_ask() and not as_json
    stopped: list[str] = []
    for name in dict.fromkeys(names):
        if not _stop(workers, name, force=force, asks=asks):
            continue
        stopped.append(name)
        if forget:
            workers.forget(name)
        if not as_json:
            click.echo(f"{styled('stopped', fg='green')} {styled(name, fg='cyan')}")
    if as_json:
        print_json({"stopped": stopped})
    elif stopped and not forget:
        note(resuming(workers.records.get(stopped[0])))


def _stop(workers: WorkerService, name: str, *, force: bool, asks: bool) -> bool:
    """Stop a worker; return False if the person chooses to keep a busy one running."""
    try:
        with patience(f"stopping {name} ..."):
            workers.stop(name, force=force)
    except Busy as error:
        if not asks:
            raise
        if not click.confirm(f"{error.message}. Stop it?", default=False, err=True):
            return False
        return _stop(workers, name, force=True, asks=False)
    return True


@click.command()
@click.argument("old", type=WORKER, metavar="OLD")
@click.argument("new", metavar="NEW")
@json_option
def rename(old: str, new: str, as_json: bool) -> None:
    """Rename a worker."""
    open_app().workers.rename(old, new)
    if as_json:
        print_json({"worker": new, "old": old})
    else:
        click.echo(f"{old} is {styled(new, fg='cyan')} now")


@click.command()
@json_option
def serve(as_json: bool) -> None:
    """Serve workers to other programs over a unix socket.

    Runs until Ctrl-C; workers keep running. Programs can start, fork, prompt and stop workers with
    HTTP and JSON, and `prong wait` is notified of changes instead of polling. No command needs it.
    """

    def ready(socket: Path) -> None:
        if as_json:
            print_json({"socket": str(socket)})
        else:
            click.echo(f"{styled('serving', fg='green')} {clean(short_path(str(socket)))}")
            note("press Ctrl-C to stop; workers keep running")
        sys.stdout.flush()

    # Front ends do not import each other; this one only starts the other.
    run = import_module("prong.serve.server").run
    app = open_app()
    run(app.settings, app.terminals, app.state_dir, ready)
