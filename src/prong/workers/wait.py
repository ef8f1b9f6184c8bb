"""Waiting for workers: by the events of the daemon where one runs, else by looking."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.worker_base import HasLiveFolders
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
    """What these workers do, as soon as all of them, or any, do one of these things.

    One that is gone is waited for no longer, whatever was wanted. Raises `NotFound` for a name that
    is not there, and `Busy` when the time is up.
    """
    names = list(dict.fromkeys(names))
    over = frozenset({*until, WorkerState.GONE})
    enough = any if any_ else all
    end = time.monotonic() + timeout
    lookout = Lookout(app)
    by_events, told = True, False
    while True:
        found = lookout.look([app.workers.named(name) for name in names])
        if not found or enough(one.state in over for one in found):
            return described(app, found)
        left = end - time.monotonic()
        if left <= 0:
            raise _too_long(found, over, timeout)
        # What the daemon tells is looked at, too: it may see less than we do, or be asked for
        # something that is over again. Then it is not asked once more.
        by_events = by_events and not told and _told_by_daemon(app, names, over, left, any_=any_)
        told = by_events
        pause = _AFTER_A_WORD if told else _LOOK_EVERY
        time.sleep(min(pause, max(0.0, end - time.monotonic())))


def _told_by_daemon(
    app: App, names: Sequence[str], over: Iterable[WorkerState], timeout: float, *, any_: bool
) -> bool:
    """Wait for its word. False when there is none, or when it ended meanwhile."""
    try:
        if not app.daemon.running():
            return False
        app.daemon.wait(names, [one.value for one in over], timeout, any_=any_)
    except Unavailable:
        return False
    except ProngError as error:
        debug(__name__, "the daemon does not wait: %s", error)
        return False
    return True


def _too_long(found: Iterable[WorkerStatus], over: Collection[WorkerState], timeout: float) -> Busy:
    left = [one for one in found if one.state not in over]
    told = ", ".join(f"{one.worker.name} is {one.state.value}" for one in left)
    return Busy(
        f"{told} after {round(timeout, 1):g} s",
        hint=f"prong status {left[0].worker.name}, or a longer --timeout",
        workers=[one.worker.name for one in left],
    )


def watched(app: App, workers: Iterable[WorkerInfo]) -> set[Path]:
    """The folders of what hooks tell, of the records, and of what these workers' agents write."""
    folders = {app.state_dir, app.state_dir / "spool"}
    open_sessions: defaultdict[str, list[str]] = defaultdict(list)
    for worker in workers:
        open_sessions[worker.agent] += [worker.session] if worker.session else []
        if worker.log is not None:
            folders.add(worker.log.parent)
    for agent, sessions in open_sessions.items():
        store = app.stores.get(agent)
        if isinstance(store, HasLiveFolders):
            folders.update(store.live_folders(sessions))
    return folders
