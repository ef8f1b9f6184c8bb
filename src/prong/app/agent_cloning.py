"""What an agent may clone, and what the clone would be."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prong.app import agent_wishes, worker_cloning
from prong.app.clone_source import Origin, Rest
from prong.record import Record
from prong.worker import WorkerState, WorkerStatus

if TYPE_CHECKING:
    from prong.app.application import App


class ClonePlan(Record, frozen=True):
    """What would be copied. Making it wrote nothing."""

    workspace: Path
    status: WorkerStatus | None
    """None for a session that no worker has."""
    terminal: str | None
    warnings: tuple[str, ...]


def plan(app: App, source: str, new: str | None, *, trust: bool) -> ClonePlan:
    """Raises `UsageError` for what the person has not allowed."""
    agent_wishes.refuse_unallowed(app, trust=trust)
    worker_cloning.check_name(app, new)
    origin = Origin.find(app, source)
    worker = origin.worker
    agent_wishes.refuse_inherited(app, origin.agent, worker.command if worker else None)
    status = app.workers.status(worker.name) if worker else None
    return ClonePlan(
        origin.folder,
        status,
        None if origin.headless else agent_wishes.terminal(app),
        tuple(_warnings(status)) if status else (),
    )


def _warnings(status: WorkerStatus) -> Iterator[str]:
    if status.state is WorkerState.BUSY:
        yield "it is busy: the clone waits until it is idle"
    if status.state is WorkerState.WAITING:
        about = f" ({status.evidence.detail})" if status.evidence.detail else ""
        yield (
            f"it is waiting for input{about}, and the clone until it is idle: "
            f"prong attach {status.worker.name}"
        )


def wait(app: App, source: str, timeout: float) -> None:
    """Until the source is idle. Raises `Busy` when that takes longer than so many seconds."""
    Rest(app, timeout, lambda _: None).wait_for(Origin.find(app, source))
