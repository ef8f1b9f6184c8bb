"""Records of snapshots in state.db: which turns have one, and where it is stored.

The commits contain the same facts; this table lets a list of turns avoid one git call per turn.
"""

import json
from collections.abc import Collection, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.log import debug
from prong.model.code import LeftOut, NestedSnapshot, Snapshot, TurnKey
from prong.model.sessions import SessionRef
from prong.storage.connection import read, write
from prong.storage.values import as_bytes, as_text

_COLUMNS = (
    "agent",
    "session",
    "turn_id",
    "turn",
    "message_id",
    "repository",
    "ref",
    "commit_id",
    "tree",
    "staged_tree",
    "head",
    "branch",
    "taken",
    "changed",
    "degraded",
    "left_out",
    "nested",
    "late",
)
_INTO = f"INTO snapshots ({', '.join(_COLUMNS)}) VALUES (:{', :'.join(_COLUMNS)})"
_SELECT = f"SELECT {', '.join(_COLUMNS)} FROM snapshots"  # noqa: S608 -- only the names above
_AT_A_TIME = 500
"""Sqlite limits the number of values in one query."""


class SnapshotRecords:
    """The recorded snapshots. Reads are best effort; writes raise."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, *snapshots: Snapshot) -> None:
        """Record snapshots, all or none. A new one replaces the old one of its turn."""
        if not snapshots:
            return
        insert, rows = f"INSERT OR REPLACE {_INTO}", [_row(snapshot) for snapshot in snapshots]
        write(self._path, lambda connection: connection.executemany(insert, rows))

    def forget(self, keys: Iterable[TurnKey]) -> None:
        """Delete the records of snapshots that no longer exist."""
        rows = [(key.agent, key.session, key.turn_id) for key in keys]
        if not rows:
            return
        delete = "DELETE FROM snapshots WHERE agent = ? AND session = ? AND turn_id = ?"
        write(self._path, lambda connection: connection.executemany(delete, rows))

    def all(self) -> list[Snapshot]:
        """Return every recorded snapshot, oldest first."""
        return self._read(f"{_SELECT} ORDER BY taken, rowid")

    def turn_ids(self) -> set[str]:
        """Return the ids of all turns with a snapshot, across sessions."""
        rows = read(self._path, "SELECT DISTINCT turn_id FROM snapshots")
        return {str(row[0]) for row in rows if TurnKey("", "", str(row[0])).is_turn}

    def among(self, agent: str, turn_ids: Collection[str]) -> set[str]:
        """Return those of an agent's turns that have a snapshot, without reading all records."""
        ids, present = list(dict.fromkeys(turn_ids)), set[str]()
        for start in range(0, len(ids), _AT_A_TIME):
            batch = ids[start : start + _AT_A_TIME]
            marks = ", ".join("?" * len(batch))
            query = f"SELECT turn_id FROM snapshots WHERE agent = ? AND turn_id IN ({marks})"  # noqa: S608
            present.update(str(row[0]) for row in read(self._path, query, (agent, *batch)))
        return present

    def sessions(self) -> set[tuple[str, str]]:
        """Return agent and id of every session with snapshots."""
        rows = read(self._path, "SELECT DISTINCT agent, session FROM snapshots")
        return {(str(agent), str(session)) for agent, session in rows}

    def repositories(self) -> list[Path]:
        """Return the working trees with snapshots, newest first."""
        query = "SELECT repository FROM snapshots GROUP BY repository ORDER BY max(taken) DESC"
        rows = read(self._path, query)
        return [Path(as_text(row[0]) or "") for row in rows]

    def has(self, key: TurnKey) -> bool:
        """Whether a snapshot of the turn is recorded."""
        query = "SELECT 1 FROM snapshots WHERE agent = ? AND session = ? AND turn_id = ?"
        return bool(read(self._path, query, tuple(key)))

    def incomplete(self) -> list[Snapshot]:
        """Return incomplete snapshots, newest first."""
        condition = "WHERE degraded IS NOT NULL OR left_out != '[]'"
        return self._read(f"{_SELECT} {condition} ORDER BY taken DESC, rowid DESC")

    def newest(self, in_each: int, in_all: int) -> list[Snapshot]:
        """Return snapshots, newest first, limited per working tree and in total."""
        order = "ORDER BY taken DESC, rowid DESC"
        rank = f"row_number() OVER (PARTITION BY repository {order}) AS place"
        numbered = f"SELECT rowid AS row, {rank} FROM snapshots"  # noqa: S608
        condition = f"WHERE rowid IN (SELECT row FROM ({numbered}) WHERE place <= ?)"  # noqa: S608
        return self._read(f"{_SELECT} {condition} {order} LIMIT ?", in_each, in_all)

    def times(self, keys: Iterable[TurnKey]) -> dict[TurnKey, datetime]:
        """Return when the snapshots of these turns were taken."""
        query = "SELECT taken FROM snapshots WHERE agent = ? AND session = ? AND turn_id = ?"
        rows_of = {key: read(self._path, query, tuple(key)) for key in keys}
        return {key: datetime.fromisoformat(rows[0][0]) for key, rows in rows_of.items() if rows}

    def of_turns(
        self, session: SessionRef, turn_ids: Collection[str], more: Iterable[Snapshot] = ()
    ) -> dict[str, Snapshot]:
        """Return the snapshots of these turns by turn id, including unrecorded ones from `more`.

        A fork inherits turns, with their ids and snapshots, from another session. A snapshot taken
        in the session itself takes precedence.
        """
        turns = list(dict.fromkeys(turn_ids))
        recorded: list[Snapshot] = []
        for start in range(0, len(turns), _AT_A_TIME):
            batch = turns[start : start + _AT_A_TIME]
            marks = ", ".join("?" * len(batch))
            query = f"{_SELECT} WHERE agent = ? AND turn_id IN ({marks}) ORDER BY taken, rowid"
            recorded += self._read(query, session.agent, *batch)
        keys = {snap.key for snap in recorded}
        ids = set(turns)
        recorded += [snap for snap in more if snap.turn_id in ids and snap.key not in keys]
        by_turn: dict[str, Snapshot] = {}
        for snapshot in recorded:
            own = snapshot.session == session.id
            # The code before the first prompt belongs to one session only.
            if own or snapshot.turn_id not in (TurnKey.BASELINE, TurnKey.START, *by_turn):
                by_turn[snapshot.turn_id] = snapshot
        return by_turn

    def _read(self, query: str, *values: str | int) -> list[Snapshot]:
        snapshots: list[Snapshot] = []
        for row in read(self._path, query, values):
            try:
                snapshots.append(_snapshot(dict(zip(_COLUMNS, row, strict=True))))
            except (ValueError, TypeError) as error:
                debug(__name__, "a recorded snapshot is not readable: %s", error)
        return snapshots


def _row(snapshot: Snapshot) -> dict[str, Any]:
    left_out = [[item.path, item.size, item.reason] for item in snapshot.left_out]
    return {
        "agent": snapshot.agent,
        "session": snapshot.session,
        "turn_id": snapshot.turn_id,
        "turn": snapshot.number,
        "message_id": snapshot.message_id,
        "repository": as_bytes(str(snapshot.repo)),
        "ref": snapshot.ref,
        "commit_id": snapshot.commit,
        "tree": snapshot.tree,
        "staged_tree": snapshot.staged_tree,
        "head": snapshot.head,
        "branch": as_bytes(snapshot.branch),
        "taken": snapshot.taken.astimezone(UTC).isoformat(),
        "changed": int(snapshot.changed),
        "degraded": snapshot.degraded,
        # Escaped: undecodable file names contain surrogates, which sqlite rejects.
        "left_out": json.dumps(left_out),
        "nested": json.dumps([[item.path, item.commit] for item in snapshot.nested]),
        "late": int(snapshot.late),
    }


def _snapshot(row: dict[str, Any]) -> Snapshot:
    return Snapshot(
        repo=Path(as_text(row["repository"]) or ""),
        ref=row["ref"],
        commit=row["commit_id"],
        tree=row["tree"],
        staged_tree=row["staged_tree"],
        head=row["head"],
        branch=as_text(row["branch"]),
        agent=row["agent"],
        session=row["session"],
        turn_id=row["turn_id"],
        number=row["turn"],
        message_id=row["message_id"],
        taken=datetime.fromisoformat(row["taken"]),
        changed=bool(row["changed"]),
        degraded=row["degraded"],
        left_out=tuple(LeftOut(*item) for item in json.loads(row["left_out"])),
        nested=tuple(NestedSnapshot(*item) for item in json.loads(row["nested"])),
        late=bool(row["late"]),
    )
