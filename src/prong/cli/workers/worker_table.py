"""Table of workers that fits the terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from prong.cli.output import styled, width
from prong.views.text import age, cells, clean, cut, cut_left, pad, short_ids, short_path
from prong.views.worker_rows import COLOURS, last, place

if TYPE_CHECKING:
    from prong.model.workers import WorkerStatus

_GAP = 2
_LEAST_LAST = 20
"""Columns to reserve for the last line before any other column is shown."""
_MOST = {"branch": 28, "workspace": 36}
_GIVEN_UP = ("workspace", "session", "pane", "branch", "agent", "turn")
"""Columns to drop, in this order, when there is no room."""


def print_workers(found: "Sequence[WorkerStatus]") -> None:
    """Print a header and one line per worker."""
    if not found:
        return
    columns = _columns(found)
    room = width()
    if room is not None:
        for name, limit in _MOST.items():
            columns[name] = [_shortened(name, text, limit) for text in columns[name]]
        for name in _GIVEN_UP:
            if _used(columns) + _LEAST_LAST <= room:
                break
            del columns[name]
    # Hide empty columns.
    shown = {name: texts for name, texts in columns.items() if any(texts)}
    widths = {name: max(map(cells, [name, *texts])) for name, texts in shown.items()}
    room_left = None if room is None else max(room - _used(shown), 0)
    last_lines = [last(status) for status in found]
    title = "last line" if any(last_lines) else ""
    head = [pad(name, widths[name]) for name in shown]
    click.echo(styled(_line([*head, title], room_left), dim=True))
    for i, status in enumerate(found):
        row = [_styled(name, pad(texts[i], widths[name]), status) for name, texts in shown.items()]
        click.echo(_line([*row, last_lines[i]], room_left))


def _columns(found: "Sequence[WorkerStatus]") -> dict[str, list[str]]:
    ids = [status.worker.session for status in found if status.worker.session]
    short = short_ids(ids)
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


def _shortened(name: str, text: str, most: int) -> str:
    return cut_left(text, most) if name == "workspace" else cut(text, most)


def _used(columns: dict[str, list[str]]) -> int:
    sizes = [
        max(map(cells, [name, *texts])) + _GAP for name, texts in columns.items() if any(texts)
    ]
    return sum(sizes)


def _styled(name: str, text: str, one: "WorkerStatus") -> str:
    if name == "name":
        return styled(text, fg="cyan")
    if name == "state":
        colour = COLOURS.get(one.state.value)
        return styled(text, fg=colour) if colour else styled(text, dim=True)
    return text


def _line(parts: list[str], left: int | None) -> str:
    *row, last = parts
    if left is not None:
        last = cut(last, left)
    return (" " * _GAP).join([*row, last] if last else row).rstrip()
