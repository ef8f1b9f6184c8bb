"""`prong ps`: a table of workers that fits the terminal."""

from collections.abc import Sequence

import click

from prong.cli.arguments import json_option
from prong.cli.output import fitted, note, open_app, patience, print_json, styled, width
from prong.model.amounts import counted
from prong.model.workers import WorkerStatus
from prong.views import workers as views
from prong.views.text import age, cells, clean, cut, cut_left, pad, short_ids, short_path
from prong.views.worker_rows import COLOURS, last, place
from prong.workers.service import recent

_GAP = 2
_LEAST_LAST = 20
"""Columns to reserve for the last line before any other column is shown."""
_MOST_BRANCH, _MOST_WORKSPACE = 28, 36
_GIVEN_UP = ("workspace", "session", "pane", "branch", "agent", "turn")
"""Columns to drop, in this order, when there is no room."""


@click.command()
@click.option(
    "--all", "everything", is_flag=True, help="Include workers that were stopped or are long gone."
)
@json_option
def ps(everything: bool, as_json: bool) -> None:
    """List workers and their state.

    `age` is the time spent in the current state. A worker that ended by itself, or with the
    machine, is `gone` and can be restarted. Workers that were stopped, or have been gone for a
    week, are listed with --all only.
    """
    app = open_app()
    with patience("looking at workers ..."):
        statuses = app.workers.states.all()
    shown = statuses
    if not everything:
        shown = [status for status in recent(statuses) if not _is_stopped(status)]
    if as_json:
        print_json({"workers": [views.worker(status) for status in shown]})
        return
    print_workers(shown)
    for status in shown:
        if status.state.value == "gone" and not _is_stopped(status):
            note(f"{status.worker.name} is gone: prong restart {status.worker.name}")
    for status in shown:
        if status.push_failure:
            reason = clean(status.push_failure)
            note(f"{status.worker.name} was not pushed to {status.worker.push}: {reason}")
    if hidden := len(statuses) - len(shown):
        note(f"{counted(hidden, 'worker')} left out, stopped or long gone: prong ps --all")
    elif not shown:
        note('no workers; prong run "..." starts one')


def _is_stopped(one: WorkerStatus) -> bool:
    """Return whether a person stopped it and it has ended."""
    return one.worker.stopped is not None and one.state.value == "gone"


def print_workers(found: Sequence[WorkerStatus]) -> None:
    if not found:
        return
    columns = _columns(found)
    room = width()
    if room is not None:
        columns["branch"] = [cut(text, _MOST_BRANCH) for text in columns["branch"]]
        columns["workspace"] = [cut_left(text, _MOST_WORKSPACE) for text in columns["workspace"]]
    # Hide empty columns.
    sizes = {name: max(map(cells, [name, *texts])) for name, texts in columns.items() if any(texts)}
    for name in _GIVEN_UP if room is not None else ():
        if _used(sizes) + _LEAST_LAST <= (room or 0):
            break
        sizes.pop(name, None)
    room_left = room and max(room - _used(sizes), 0)
    last_lines = [last(status) for status in found]
    head = [pad(name, size) for name, size in sizes.items()]
    title = "last line" if any(last_lines) else ""
    click.echo(styled(_line(head, title, room_left), dim=True))
    for number, status in enumerate(found):
        row = [pad(columns[name][number], size) for name, size in sizes.items()]
        row[0] = styled(row[0], fg="cyan")
        colour = COLOURS.get(status.state.value)
        row[1] = styled(row[1], fg=colour) if colour else styled(row[1], dim=True)
        click.echo(_line(row, last_lines[number], room_left))


def _columns(found: Sequence[WorkerStatus]) -> dict[str, list[str]]:
    short = short_ids([status.worker.session for status in found if status.worker.session])
    return {
        "name": [clean(status.worker.name) for status in found],
        "state": [status.state.value for status in found],
        "age": [age(status.evidence.time).removesuffix(" ago") for status in found],
        "agent": [clean(status.worker.agent) for status in found],
        "session": [clean(short.get(status.worker.session or "", "")) for status in found],
        "turn": ["" if status.turn is None else str(status.turn) for status in found],
        "pane": [place(status.worker) for status in found],
        "branch": [clean(status.worker.branch or "") for status in found],
        "workspace": [short_path(str(status.worker.workspace)) for status in found],
    }


def _used(sizes: dict[str, int]) -> int:
    return sum(sizes.values()) + _GAP * len(sizes)


def _line(row: list[str], last: str, room: int | None) -> str:
    last = fitted(last, room)
    return (" " * _GAP).join([*row, last] if last else row).rstrip()
