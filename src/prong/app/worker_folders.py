"""Where something changes when a worker does: for those who watch instead of looking."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from prong.worker import WorkerInfo
from prong.worker_ports import HasLiveFolders

if TYPE_CHECKING:
    from prong.app.application import App


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
