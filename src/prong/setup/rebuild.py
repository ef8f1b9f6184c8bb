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
from typing import Any

from prong import paths
from prong.agents.base import AgentStore
from prong.agents.stores import AgentStores
from prong.code.capture import Capture
from prong.code.worktrees import worktree
from prong.errors import ProngError, Taken
from prong.log import debug
from prong.model.record import Record
from prong.model.workers import Pane, WorkerInfo
from prong.processes import process
from prong.session import lineage
from prong.session.service import SessionService
from prong.setup.doctor_code import repositories
from prong.storage.forks import ForkRecords
from prong.storage.snapshots import SnapshotRecords
from prong.storage.workers import WorkerRecords
from prong.workers.launch.environment import COMMIT_TURNS, NAME, PUSH


class RecordRebuilder(Record, frozen=True):
    """Records what other sources than state.db still know."""

    sessions: SessionService
    stores: AgentStores
    workers: WorkerRecords
    state: Path
    worktrees: Path
    """Looked at for repositories, like the folders of sessions."""

    def rebuild(self) -> dict[str, int]:
        """Record what other sources still know, and return the number of recovered records."""
        return {
            "forks": self._forks(),
            "snapshots": self._snapshots(),
            "workers": self._workers(),
        }

    def _workers(self) -> int:
        copied = sum(self._is_recorded(worker) for worker in self.workers.copies())
        return copied + sum(self._is_recorded(worker) for worker in self._living())

    def _forks(self) -> int:
        records = ForkRecords(self.state / "state.db")
        before = len(records.all())
        records.restore(lineage.rebuild(self.sessions.all()))
        return len(records.all()) - before

    def _snapshots(self) -> int:
        records = SnapshotRecords(self.state / "state.db")
        before = len(records.all())
        capture = Capture(self.state)
        folders = set(repositories(self.sessions.all()).values())
        folders.update(tree.repo for tree in worktree.listed(self.worktrees) if tree.repo.is_dir())
        for folder in folders:
            try:
                capture.rebuild(folder)
            except ProngError as error:
                debug(__name__, "the snapshots of %s are not known: %s", folder, error)
        return len(records.all()) - before

    def _is_recorded(self, worker: WorkerInfo) -> bool:
        try:
            self.workers.add(worker)
        except Taken:
            return False
        return True

    def _living(self) -> Iterator[WorkerInfo]:
        """Yield workers whose process is running."""
        marked = {
            pid: facts
            for pid, facts in process.running("cmdline", "cwd", "environ", "ppid")
            if NAME in (facts["environ"] or ()) and paths.state_dir(facts["environ"]) == self.state
        }
        for pid, facts in marked.items():
            # Child processes inherit the agent's variables.
            parent = marked.get(facts["ppid"])
            if parent is not None and parent["environ"][NAME] == facts["environ"][NAME]:
                continue
            worker = self._worker(pid, facts)
            if worker is not None:
                yield worker

    def _worker(self, pid: int, facts: Mapping[str, Any]) -> WorkerInfo | None:
        if not facts["cwd"]:
            return None
        environ: Mapping[str, str] = facts["environ"]
        for name, store in self.stores.items():
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
