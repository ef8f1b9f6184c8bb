"""Workers as lines that fit the terminal."""

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
"""Columns that the last line wants before any other may stand there."""
_MOST = {"branch": 28, "workspace": 36}
_GIVEN_UP = ("workspace", "session", "pane", "branch", "agent", "turn")
"""In this order, where there is no room for all."""


def print_workers(found: "Sequence[WorkerStatus]") -> None:
    """One line for each, under the names of the columns."""
    if not found:
        return
    columns = _columns(found)
    room = width()
    if room is not None:
        for name, most in _MOST.items():
            columns[name] = [_shortened(name, text, most) for text in columns[name]]
        for name in _GIVEN_UP:
            if _used(columns) + _LEAST_LAST <= room:
                break
            del columns[name]
    # A column that says nothing is none.
    shown = {name: texts for name, texts in columns.items() if any(texts)}
    widths = {name: max(map(cells, [name, *texts])) for name, texts in shown.items()}
    left = None if room is None else max(room - _used(shown), 0)
    said = [last(one) for one in found]
    title = "last line" if any(said) else ""
    head = [pad(name, widths[name]) for name in shown]
    click.echo(styled(_line([*head, title], left), dim=True))
    for at, one in enumerate(found):
        row = [_styled(name, pad(texts[at], widths[name]), one) for name, texts in shown.items()]
        click.echo(_line([*row, said[at]], left))


def _columns(found: "Sequence[WorkerStatus]") -> dict[str, list[str]]:
    ids = [one.worker.session for one in found if one.worker.session]
    short = short_ids(ids)
    return {
        "name": [clean(one.worker.name) for one in found],
        "state": [one.state.value for one in found],
        "age": [age(one.evidence.time).removesuffix(" ago") for one in found],
        "agent": [clean(one.worker.agent) for one in found],
        "session": [clean(short.get(one.worker.session or "", "")) for one in found],
        "turn": ["" if one.turn is None else str(one.turn) for one in found],
        "pane": [place(one.worker) for one in found],
        "branch": [clean(one.worker.branch or "") for one in found],
        "workspace": [short_path(str(one.worker.workspace)) for one in found],
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
