"""Records of workers in state.db: name, session, pane and how each was started.

A name is reserved before anything starts, so two processes never start workers with the same name.
Keys, tokens and prompts are not stored.
"""

import json
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from prong.errors import NotFound, Taken
from prong.log import debug
from prong.model.record import replace
from prong.model.workers import Pane, Process, WorkerInfo
from prong.storage import worker_copies
from prong.storage.connection import read, write
from prong.storage.values import as_bytes, as_text

_COLUMNS = (
    "name",
    "agent",
    "session",
    "workspace",
    "command",
    "env",
    "created",
    "started",
    "stopped",
    "prompted",
    "commanded",
    "headless",
    "terminal",
    "pane",
    "pane_server",
    "pid",
    "pid_started",
    "log",
    "worktree",
    "branch",
    "fork",
    "forked_from",
    "commit_turns",
    "push",
    "version",
    "settings_hash",
)
_VALUES = f"({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})"
_INSERT = f"INSERT INTO workers {_VALUES}"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM workers"  # noqa: S608
_UPDATE = f"UPDATE workers SET {', '.join(f'{one} = :{one}' for one in _COLUMNS)}"  # noqa: S608


class WorkerRecords:
    """The recorded workers. Reads are best effort; writes raise."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @property
    def path(self) -> Path:
        return self._path

    def add(self, worker: WorkerInfo) -> None:
        """Record a new worker. Raises `Taken` if the name is in use."""
        row = _row(worker)

        def add(connection: sqlite3.Connection) -> None:
            connection.execute(_INSERT, row)
            worker_copies.keep(self._copies, row)

        try:
            write(self._path, add)
        except sqlite3.IntegrityError:
            if self.named(worker.name) == replace(worker, warnings=()):
                return  # a repair has already restored this record from its copy
            raise Taken(
                f"a worker named {worker.name} already exists", hint="--name NAME, or: prong ps"
            ) from None

    def save(self, worker: WorkerInfo) -> None:
        """Replace a record. Raises `NotFound` if it was removed meanwhile."""
        write(self._path, lambda connection: self._save(connection, worker.name, worker))

    def change(self, worker: str, /, **fields: Any) -> WorkerInfo:
        """Change some fields, regardless of concurrent changes by other processes."""

        def change(connection: sqlite3.Connection) -> WorkerInfo:
            changed = replace(_named(connection, worker), **fields)
            self._save(connection, worker, changed)
            return changed

        return write(self._path, change)

    def rename(self, name: str, new: str) -> WorkerInfo:
        try:
            return self.change(name, name=new)
        except sqlite3.IntegrityError:
            raise Taken(f"a worker named {new} already exists", hint="prong ps") from None

    def remove(self, name: str) -> None:
        """Delete a record, if it exists."""

        def remove(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM workers WHERE name = ?", (name,))
            worker_copies.remove(self._copies, name)

        write(self._path, remove)

    def named(self, name: str) -> WorkerInfo | None:
        rows = read(self._path, f"{_SELECT} WHERE name = ?", (name,))
        return next(iter(_readable(rows)), None)

    def all(self) -> list[WorkerInfo]:
        """Return every recorded worker, oldest first."""
        return _readable(read(self._path, f"{_SELECT} ORDER BY rowid"))

    def copies(self) -> list[WorkerInfo]:
        """Return every worker that has a copy, oldest first; see `worker_copies`."""
        rows = (tuple(map(row.get, _COLUMNS)) for row in worker_copies.rows(self._copies))
        return sorted(_readable(rows), key=lambda one: one.created)

    @property
    def _copies(self) -> Path:
        return self._path.parent / "workers"

    def _save(self, connection: sqlite3.Connection, name: str, worker: WorkerInfo) -> None:
        row = _row(worker)
        updated = connection.execute(f"{_UPDATE} WHERE name = :old_name", {**row, "old_name": name})
        if updated.rowcount == 0:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        if name != worker.name:
            worker_copies.remove(self._copies, name)
        worker_copies.keep(self._copies, row)


def _named(connection: sqlite3.Connection, name: str) -> WorkerInfo:
    workers = _readable(connection.execute(f"{_SELECT} WHERE name = ?", (name,)))
    if not workers:
        raise NotFound(f"no worker named {name}", hint="prong ps")
    return workers[0]


def _readable(rows: Any) -> list[WorkerInfo]:
    workers: list[WorkerInfo] = []
    for row in rows:
        try:
            workers.append(_worker(dict(zip(_COLUMNS, row, strict=True))))
        except (ValueError, TypeError) as error:
            debug(__name__, "a recorded worker is not readable: %s", error)
    return workers


def _row(worker: WorkerInfo) -> dict[str, Any]:
    pane, process = worker.pane, worker.process
    return {
        "name": worker.name,
        "agent": worker.agent,
        "session": worker.session,
        "workspace": _path_bytes(worker.workspace),
        "command": json.dumps(worker.command),
        "env": json.dumps(dict(worker.env)),
        "created": _moment(worker.created),
        "started": _moment(worker.started),
        "stopped": _moment(worker.stopped),
        "prompted": _moment(worker.prompted),
        "commanded": int(worker.commanded),
        "headless": int(worker.headless),
        "terminal": pane.terminal if pane else None,
        "pane": pane.id if pane else None,
        "pane_server": as_bytes(pane.server) if pane else None,
        "pid": process.pid if process else None,
        "pid_started": process.started if process else None,
        "log": _path_bytes(worker.log),
        "worktree": _path_bytes(worker.worktree),
        "branch": as_bytes(worker.branch),
        "fork": worker.fork,
        "forked_from": worker.forked_from,
        "commit_turns": int(worker.commit_turns),
        "push": worker.push,
        "version": worker.version,
        "settings_hash": worker.settings_hash,
    }


def _worker(row: Mapping[str, Any]) -> WorkerInfo:
    pane = row["pane"]
    command: Any = json.loads(row["command"])
    env: Any = json.loads(row["env"])
    return WorkerInfo(
        name=row["name"],
        agent=row["agent"],
        session=row["session"],
        workspace=Path(as_text(row["workspace"]) or ""),
        command=command if isinstance(command, str) else tuple(map(str, command)),
        env={str(key): str(value) for key, value in cast(dict[Any, Any], env).items()},
        created=datetime.fromisoformat(row["created"]),
        started=_when(row["started"]),
        stopped=_when(row["stopped"]),
        prompted=_when(row["prompted"]),
        commanded=bool(row["commanded"]),
        headless=bool(row["headless"]),
        pane=Pane(row["terminal"], pane, as_text(row["pane_server"])) if pane else None,
        process=Process(row["pid"], row["pid_started"]) if row["pid"] else None,
        log=_path(row["log"]),
        worktree=_path(row["worktree"]),
        branch=as_text(row["branch"]),
        fork=row["fork"],
        forked_from=row["forked_from"],
        commit_turns=bool(row["commit_turns"]),
        push=row["push"],
        version=row["version"],
        settings_hash=row["settings_hash"],
    )


def _path_bytes(path: Path | None) -> bytes | None:
    return as_bytes(str(path)) if path is not None else None


def _path(value: bytes | None) -> Path | None:
    return Path(as_text(value) or "") if value is not None else None


def _moment(time: datetime | None) -> str | None:
    return time.astimezone(UTC).isoformat() if time else None


def _when(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None
