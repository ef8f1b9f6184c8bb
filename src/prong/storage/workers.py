"""Records of workers in state.db: name, session, pane and how each was started.

A name is reserved before anything starts, so two processes never start workers with the same name.
Keys, tokens and prompts are not stored.
"""

import json
import os
import sqlite3
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.errors import NotFound, Taken
from prong.files import atomic
from prong.files.regular import read_regular
from prong.log import debug
from prong.model.record import convert, replace
from prong.model.workers import Pane, Process, WorkerInfo
from prong.storage.connection import write
from prong.storage.rows import Records, as_column, name_bytes

_FIELDS = tuple(
    field for field in WorkerInfo.__struct_fields__ if field not in ("pane", "process", "warnings")
)
_COLUMNS = (*_FIELDS, "terminal", "pane", "pane_server", "pid", "pid_started")
_NAMED = "WHERE name = ?"


class WorkerRecords(Records[WorkerInfo]):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "workers", _COLUMNS, _worker)

    def add(self, worker: WorkerInfo) -> None:
        """Record a new worker. Raises `Taken` if the name is in use."""
        row = _row(worker)

        def add(connection: sqlite3.Connection) -> None:
            connection.execute(f"INSERT {self._into}", row)
            self._keep_copy(row)

        try:
            write(self.path, add)
        except sqlite3.IntegrityError:
            if self.named(worker.name) == replace(worker, warnings=()):
                return  # a repair has already restored this record from its copy
            raise Taken(
                f"a worker named {worker.name} already exists", hint="--name NAME, or: prong ps"
            ) from None

    def change(self, worker: str, /, **fields: Any) -> WorkerInfo:
        """Change some fields, regardless of concurrent changes by other processes."""

        def change(connection: sqlite3.Connection) -> WorkerInfo:
            workers = self._decoded(connection.execute(self._query(_NAMED), (worker,)))
            if not workers:
                raise NotFound(f"no worker named {worker}", hint="prong ps")
            changed = replace(workers[0], **fields)
            self._save(connection, worker, changed)
            return changed

        return write(self.path, change)

    def rename(self, name: str, new: str) -> WorkerInfo:
        try:
            return self.change(name, name=new)
        except sqlite3.IntegrityError:
            raise Taken(f"a worker named {new} already exists", hint="prong ps") from None

    def remove(self, name: str) -> None:
        def remove(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM workers WHERE name = ?", (name,))
            self._remove_copy(name)

        write(self.path, remove)

    def named(self, name: str) -> WorkerInfo | None:
        return next(iter(self._select(_NAMED, name)), None)

    def get(self, name: str) -> WorkerInfo:
        """Return the record of a worker. Raises `NotFound`."""
        worker = self.named(name)
        if worker is None:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        return worker

    def all(self) -> list[WorkerInfo]:
        """Return every recorded worker, oldest first."""
        return self._select("ORDER BY rowid")

    def names(self) -> set[str]:
        return {worker.name for worker in self.all()}

    def copies(self) -> list[WorkerInfo]:
        """Return every worker that has a copy, oldest first."""
        rows: list[list[Any]] = []
        for file in (self.path.parent / "workers").glob("*.json"):
            try:
                copy: dict[str, Any] = json.loads(read_regular(file))
                row = cast(dict[str, Any], copy["row"])
                row |= {key: os.fsencode(row[key]) for key in copy["bytes"]}
                rows.append([row.get(column) for column in _COLUMNS])
            except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
                debug(__name__, "the copy %s cannot be read: %s", file, error)
        return sorted(self._decoded(rows), key=lambda one: one.created)

    # How a worker was started is known nowhere else: a headless one has no process between turns,
    # and a running process does not reveal the options prong gave it. So each record has a copy in
    # a file, written in the transaction that changes the record, so that it is always as new.

    def _copy(self, name: str) -> Path:
        return self.path.parent / "workers" / f"{name}.json"

    def _keep_copy(self, row: Mapping[str, Any]) -> None:
        # File names need not be valid text.
        encoded = [key for key, item in row.items() if isinstance(item, bytes)]
        texts = {key: os.fsdecode(item) if key in encoded else item for key, item in row.items()}
        try:
            content = json.dumps({"row": texts, "bytes": encoded}).encode()
            atomic.write_private(self._copy(row["name"]), content)
        except OSError as error:
            debug(__name__, "no copy of the record of %s: %s", row["name"], error)

    def _remove_copy(self, name: str) -> None:
        with suppress(OSError):
            self._copy(name).unlink(missing_ok=True)

    def _save(self, connection: sqlite3.Connection, name: str, worker: WorkerInfo) -> None:
        row = _row(worker)
        columns = ", ".join(f"{column} = :{column}" for column in _COLUMNS)
        update = f"UPDATE workers SET {columns} WHERE name = :old_name"
        if connection.execute(update, {**row, "old_name": name}).rowcount == 0:
            raise NotFound(f"no worker named {name}", hint="prong ps")
        if name != worker.name:
            self._remove_copy(name)
        self._keep_copy(row)


def _row(worker: WorkerInfo) -> dict[str, Any]:
    pane, process = worker.pane, worker.process
    return {
        **{column: as_column(getattr(worker, column)) for column in _FIELDS},
        "command": json.dumps(worker.command),
        "env": json.dumps(dict(worker.env)),
        "branch": name_bytes(worker.branch),
        "terminal": pane and pane.terminal,
        "pane": pane and pane.id,
        "pane_server": name_bytes(pane.server) if pane else None,
        "pid": process and process.pid,
        "pid_started": process and process.started,
    }


def _worker(row: dict[str, Any]) -> WorkerInfo:
    pane = row["pane"]
    fields = {
        **row,
        "command": json.loads(row["command"]),
        "env": json.loads(row["env"]),
        # A command that was only printed has a terminal, but no pane.
        "pane": Pane(row["terminal"], pane, row["pane_server"]) if pane else None,
        "process": Process(row["pid"], row["pid_started"]) if row["pid"] else None,
    }
    return convert(fields, WorkerInfo)
