"""Waiting for workers, by events if the daemon runs, otherwise by polling."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from prong.errors import Busy, ProngError, Unavailable
from prong.log import debug
from prong.model.workers import WorkerInfo, WorkerState, WorkerStatus
from prong.workers.service import ENDS
from prong.workers.state import Lookout, described

if TYPE_CHECKING:
    from prong.app import App


_AFTER_A_WORD = 0.02
_LOOK_EVERY = 0.25


def wait(
    app: App,
    names: Sequence[str],
    *,
    any_: bool = False,
    timeout: float = inf,
    until: Collection[WorkerState] = ENDS,
) -> list[WorkerStatus]:
    """Wait until all workers, or any, are in one of these states; return their status.

    A worker that is gone always counts. Raises `NotFound` for an unknown name, and `Busy` on
    timeout.
    """
    names = list(dict.fromkeys(names))
    final = frozenset({*until, WorkerState.GONE})
    combine = any if any_ else all
    end = time.monotonic() + timeout
    lookout = Lookout(app)
    by_events, asked = True, False
    while True:
        statuses = lookout.look([app.workers.named(name) for name in names])
        if not statuses or combine(status.state in final for status in statuses):
            return described(app, statuses)
        left = end - time.monotonic()
        if left <= 0:
            raise _too_long(statuses, final, timeout)
        # Check what the daemon reports: it may know less, or report a state that is already over.
        # In that case, stop asking it.
        by_events = by_events and not asked and _told_by_daemon(app, names, final, left, any_=any_)
        asked = by_events
        pause = _AFTER_A_WORD if asked else _LOOK_EVERY
        time.sleep(min(pause, max(0.0, end - time.monotonic())))


def _told_by_daemon(
    app: App, names: Sequence[str], over: Iterable[WorkerState], timeout: float, *, any_: bool
) -> bool:
    """Wait for the daemon's answer. False if it does not run, or ended meanwhile."""
    try:
        if not app.daemon.running():
            return False
        app.daemon.wait(names, [state.value for state in over], timeout, any_=any_)
    except Unavailable:
        return False
    except ProngError as error:
        debug(__name__, "the daemon does not wait: %s", error)
        return False
    return True


def _too_long(found: Iterable[WorkerStatus], over: Collection[WorkerState], timeout: float) -> Busy:
    unfinished = [status for status in found if status.state not in over]
    summary = ", ".join(f"{status.worker.name} is {status.state.value}" for status in unfinished)
    return Busy(
        f"{summary} after {round(timeout, 1):g} s",
        hint=f"prong status {unfinished[0].worker.name}, or a longer --timeout",
        workers=[status.worker.name for status in unfinished],
    )


def watched(app: App, workers: Iterable[WorkerInfo]) -> set[Path]:
    """Return the folders whose changes may change the state of these workers."""
    folders = {app.state_dir, app.state_dir / "spool"}
    open_sessions: defaultdict[str, list[str]] = defaultdict(list)
    for worker in workers:
        open_sessions[worker.agent] += [worker.session] if worker.session else []
        if worker.log is not None:
            folders.add(worker.log.parent)
    for agent, sessions in open_sessions.items():
        store = app.stores.get(agent)
        if store is not None:
            folders.update(store.live_folders(sessions))
    return folders
