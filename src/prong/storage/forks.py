"""Records of forks in state.db: which turn of which session each fork came from."""

import sqlite3
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prong.errors import Unsupported
from prong.model.forks import Fork, ForkPoint
from prong.model.record import Record, convert
from prong.model.sessions import SessionRef
from prong.storage import connection, repairs
from prong.storage.connection import write
from prong.storage.rows import Records, as_column, name_bytes

_FIELDS = {
    "id": "id",
    "parent_workspace": "parent_workspace",
    "method": "method",
    "created": "created",
    "seed_prompt_hash": "seed_hash",
    "seed_prompt_path": "seed_path",
    "token_estimate": "tokens",
    "context_window": "window",
    "seed_ack_filtered": "seed_ack_filtered",
}
"""Columns that have a field of their own. The others identify parent and child."""
_IDENTITIES = ("agent", "parent_session", "turn_id", "turn", "child_agent", "child_session")


class Health(Record, frozen=True):
    """The state of state.db, for `prong doctor`."""

    forks: int
    problem: str | None
    """Why nothing can be recorded."""
    damaged: tuple[Path, ...]
    """Damaged files that were replaced, and kept."""


class ForkRecords(Records[Fork]):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "forks", (*_FIELDS, *_IDENTITIES), _fork)

    def add(self, *forks: Fork) -> None:
        """Record forks, all or none, in place of earlier, rebuilt records of the same sessions."""
        if not forks:
            return

        def add(connection: sqlite3.Connection) -> None:
            for fork in forks:
                sys.audit("prong.step", "record", str(self.path))
                connection.execute(
                    "DELETE FROM forks WHERE child_agent = ? AND child_session = ?",
                    (fork.child.agent, fork.child.id),
                )
                connection.execute(f"INSERT {self._into}", _row(fork))

        write(self.path, add)

    def restore(self, forks: Iterable[Fork]) -> None:
        """Record forks found in session files. Recorded children stay unchanged."""
        self._write_all(f"INSERT OR IGNORE {self._into}", [_row(fork) for fork in forks])

    def all(self) -> list[Fork]:
        """Return every fork, in the order of recording."""
        return self._select("ORDER BY rowid")

    def health(self) -> Health:
        problem = connection.problem_with(self.path)
        try:
            forks = len(self.all())
        except Unsupported:
            forks = 0
        return Health(forks, problem, tuple(repairs.kept(self.path)))


def _row(fork: Fork) -> dict[str, Any]:
    parent, child = fork.parent, fork.child
    return {
        **{column: as_column(getattr(fork, field)) for column, field in _FIELDS.items()},
        "method": fork.method.value,
        "parent_workspace": name_bytes(fork.parent_workspace),
        "seed_prompt_path": name_bytes(fork.seed_path),
        "agent": parent.session.agent,
        "parent_session": parent.session.id,
        "turn_id": parent.turn_id,
        "turn": parent.turn,
        "child_agent": child.agent,
        "child_session": child.id,
    }


def _fork(row: dict[str, Any]) -> Fork:
    parent = SessionRef(row["agent"], row["parent_session"])
    fields = {field: row[column] for column, field in _FIELDS.items()}
    fields["parent"] = ForkPoint(parent, row["turn"], row["turn_id"])
    fields["child"] = SessionRef(row["child_agent"], row["child_session"])
    return convert(fields, Fork)
