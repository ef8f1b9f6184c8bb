"""Records of forks in state.db: which turn of which session each fork came from."""

import sqlite3
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.errors import Unsupported
from prong.log import debug
from prong.model.forks import Fork, ForkPoint, Method
from prong.model.record import Record
from prong.model.sessions import SessionRef
from prong.storage import connection, repairs
from prong.storage.connection import read, write
from prong.storage.values import as_bytes, as_text

_COLUMNS = (
    "id",
    "agent",
    "parent_session",
    "parent_workspace",
    "turn_id",
    "turn",
    "child_session",
    "child_agent",
    "method",
    "created",
    "seed_prompt_hash",
    "seed_prompt_path",
    "token_estimate",
    "context_window",
    "seed_ack_filtered",
)
_INTO = f"INTO forks ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM forks"  # noqa: S608 -- only the names above


class Health(Record, frozen=True):
    """The state of state.db, for `prong doctor`."""

    forks: int
    problem: str | None
    """Why nothing can be recorded."""
    damaged: tuple[Path, ...]
    """Damaged files that were replaced, and kept."""


class ForkRecords:
    """The recorded forks. Reads are best effort; writes raise."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, *forks: Fork) -> None:
        """Record forks, all or none.

        A session has one parent. An earlier record of the same child is replaced, because the
        caller that created the fork knows more than a rebuilt record.
        """
        if not forks:
            return

        def add(connection: sqlite3.Connection) -> None:
            for fork in forks:
                sys.audit("prong.step", "record", str(self._path))
                connection.execute(
                    "DELETE FROM forks WHERE child_agent = ? AND child_session = ?",
                    (fork.child.agent, fork.child.id),
                )
                connection.execute(f"INSERT {_INTO}", _row(fork))

        write(self._path, add)

    def restore(self, forks: Iterable[Fork]) -> None:
        """Record forks found in session files. Recorded children stay unchanged."""
        rows = [_row(fork) for fork in forks]
        if not rows:
            return
        insert = f"INSERT OR IGNORE {_INTO}"
        write(self._path, lambda connection: connection.executemany(insert, rows))

    def all(self) -> list[Fork]:
        """Return every fork, in the order of recording."""
        forks: list[Fork] = []
        for row in read(self._path, f"{_SELECT} ORDER BY rowid"):
            try:
                forks.append(_fork(dict(zip(_COLUMNS, row, strict=True))))
            except (ValueError, TypeError) as error:
                debug(__name__, "a recorded fork is not readable: %s", error)
        return forks

    def health(self) -> Health:
        problem = connection.problem_with(self._path)
        try:
            forks = len(self.all())
        except Unsupported:
            forks = 0
        return Health(forks, problem, tuple(repairs.kept(self._path)))


def _row(fork: Fork) -> dict[str, Any]:
    return {
        "id": fork.id,
        "agent": fork.parent.session.agent,
        "parent_session": fork.parent.session.id,
        "parent_workspace": as_bytes(fork.parent_workspace),
        "turn_id": fork.parent.turn_id,
        "turn": fork.parent.turn,
        "child_session": fork.child.id,
        "child_agent": fork.child.agent,
        "method": fork.method.value,
        "created": fork.created.astimezone(UTC).isoformat(),
        "seed_prompt_hash": fork.seed_hash,
        "seed_prompt_path": as_bytes(fork.seed_path),
        "token_estimate": fork.tokens,
        "context_window": fork.window,
        "seed_ack_filtered": int(fork.seed_ack_filtered),
    }


def _fork(row: dict[str, Any]) -> Fork:
    parent = SessionRef(row["agent"], row["parent_session"])
    return Fork(
        id=row["id"],
        parent=ForkPoint(parent, row["turn"], row["turn_id"]),
        parent_workspace=as_text(row["parent_workspace"]),
        child=SessionRef(row["child_agent"], row["child_session"]),
        method=Method(row["method"]),
        created=datetime.fromisoformat(row["created"]),
        tokens=row["token_estimate"],
        window=row["context_window"],
        seed_hash=row["seed_prompt_hash"],
        seed_path=as_text(row["seed_prompt_path"]),
        seed_ack_filtered=bool(row["seed_ack_filtered"]),
    )
