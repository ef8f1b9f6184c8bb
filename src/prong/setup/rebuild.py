"""Recovery of records that a repair of state.db lost.

Forks are recovered from session files, snapshots from the repositories of sessions and worktrees,
workers from their copies next to state.db. A worker without a copy is found by its running process,
whose environment names the worker and the pane; its start options are lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prong import paths
from prong.agents.base import AgentStore
from prong.code.capture import Capture
from prong.code.worktrees import worktree
from prong.errors import ProngError, Taken
from prong.log import debug
from prong.model.workers import Pane, WorkerInfo
from prong.processes import process
from prong.session import lineage
from prong.setup import doctor_code
from prong.storage.forks import ForkRecords
from prong.storage.snapshots import SnapshotRecords
from prong.workers.launch.environment import COMMIT_TURNS, NAME, PUSH

if TYPE_CHECKING:
    from prong.app import App


def rebuild(app: App) -> dict[str, int]:
    """Record what other sources still know, and return the number of recovered records."""
    return {
        "forks": _forks(app),
        "snapshots": _snapshots(app),
        "workers": _workers(app),
    }


def _workers(app: App) -> int:
    copied = sum(_is_recorded(app, worker) for worker in app.workers.records.copies())
    return copied + sum(_is_recorded(app, worker) for worker in _living(app))


def _forks(app: App) -> int:
    records = ForkRecords(app.database)
    before = len(records.all())
    records.restore(lineage.rebuild(app.sessions.all()))
    return len(records.all()) - before


def _snapshots(app: App) -> int:
    records = SnapshotRecords(app.database)
    before = len(records.all())
    capture = Capture(app.state_dir)
    folders = set(doctor_code.repositories(app).values())
    folders.update(tree.repo for tree in worktree.listed(app.worktrees_root) if tree.repo.is_dir())
    for folder in folders:
        try:
            capture.rebuild([folder])
        except ProngError as error:
            debug(__name__, "the snapshots of %s are not known: %s", folder, error)
    return len(records.all()) - before


def _is_recorded(app: App, worker: WorkerInfo) -> bool:
    try:
        app.workers.records.add(worker)
    except Taken:
        return False
    return True


def _living(app: App) -> Iterator[WorkerInfo]:
    """Yield workers whose process is running."""
    marked = {
        pid: facts
        for pid, facts in process.running("cmdline", "cwd", "environ", "ppid")
        if NAME in (facts["environ"] or ()) and paths.state_dir(facts["environ"]) == app.state_dir
    }
    for pid, facts in marked.items():
        # Child processes inherit the agent's variables.
        parent = marked.get(facts["ppid"])
        if parent is not None and parent["environ"][NAME] == facts["environ"][NAME]:
            continue
        worker = _worker(app, pid, facts)
        if worker is not None:
            yield worker


def _worker(app: App, pid: int, facts: Mapping[str, Any]) -> WorkerInfo | None:
    if not facts["cwd"]:
        return None
    environ: Mapping[str, str] = facts["environ"]
    for name, store in app.stores.items():
        session = _session(store, pid)
        command = _program(store, facts["cmdline"] or ())
        if session is None and command is None:
            continue
        return WorkerInfo(
            name=environ[NAME],
            agent=name,
            workspace=Path(facts["cwd"]),
            command=command or (store.program.name if store.program else name),
            created=datetime.now(UTC),
            session=session,
            pane=_pane(environ),
            process=process.process_of(pid),
            started=datetime.now(UTC),
            commit_turns=environ.get(COMMIT_TURNS) == "1",
            push=environ.get(PUSH),
        )
    return None


def _session(store: AgentStore, pid: int) -> str | None:
    """Return the session that a process has open."""
    opened = store.open_sessions([pid]).get(pid)
    return opened.session if opened else None


def _program(store: AgentStore, words: Sequence[str]) -> str | None:
    """Return the agent's program if the process runs it."""
    if store.program is None:
        return None
    # For a script, the interpreter is the first word.
    names = {os.path.basename(word) for word in words[:2]}
    return store.program.name if store.program.name in names else None


def _pane(environ: Mapping[str, str]) -> Pane | None:
    """Return the pane of a process, from the variables of its terminal."""
    if "TMUX_PANE" in environ and "TMUX" in environ:
        return Pane("tmux", environ["TMUX_PANE"], environ["TMUX"].rsplit(",", 2)[0])
    if "KITTY_WINDOW_ID" in environ and "KITTY_LISTEN_ON" in environ:
        return Pane("kitty", environ["KITTY_WINDOW_ID"], environ["KITTY_LISTEN_ON"])
    if "WEZTERM_PANE" in environ and "WEZTERM_UNIX_SOCKET" in environ:
        return Pane("wezterm", environ["WEZTERM_PANE"], environ["WEZTERM_UNIX_SOCKET"])
    return None
