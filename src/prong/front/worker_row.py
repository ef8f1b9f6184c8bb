"""A worker in a few words: where it runs, and what was said last."""

from typing import TYPE_CHECKING

from prong.front.text import clean

if TYPE_CHECKING:
    from prong.worker import WorkerInfo, WorkerStatus

COLOURS = {"idle": "green", "busy": "yellow", "waiting": "magenta", "starting": "cyan"}
"""Of the states; the others are dim."""


def place(worker: "WorkerInfo") -> str:
    """Where it runs."""
    if worker.headless:
        return "headless"
    if worker.pane is None:
        return ""
    # The id of a pane that was only printed is the whole command.
    return "print" if worker.pane.terminal == "print" else clean(str(worker.pane))


def last(one: "WorkerStatus") -> str:
    """What it wants of a person is more important than what was said."""
    wants = one.evidence.detail if one.state.value == "waiting" else None
    return clean(f"[{wants}] {one.last_line}" if wants else one.last_line)
