"""Snapshots that were taken, in state.db: which turn has its code, and where.

The commits say the same: this table is here because a list of turns must not ask git for each.
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
"""Sqlite takes a limited number of values in one question."""


class SnapshotRecords:
    """The recorded snapshots. Reading works wherever it can; writing raises when it cannot."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def add(self, *snapshots: Snapshot) -> None:
        """Record snapshots, all or none. A turn has one: the last one that was taken counts."""
        if not snapshots:
            return
        insert, rows = f"INSERT OR REPLACE {_INTO}", [_row(snapshot) for snapshot in snapshots]
        write(self._path, lambda connection: connection.executemany(insert, rows))

    def forget(self, keys: Iterable[TurnKey]) -> None:
        """Drop what is no longer in its repository."""
        rows = [(key.agent, key.session, key.turn_id) for key in keys]
        if not rows:
            return
        delete = "DELETE FROM snapshots WHERE agent = ? AND session = ? AND turn_id = ?"
        write(self._path, lambda connection: connection.executemany(delete, rows))

    def all(self) -> list[Snapshot]:
        """Every recorded snapshot, the oldest first."""
        return self._read(f"{_SELECT} ORDER BY taken, rowid")

    def turn_ids(self) -> set[str]:
        """The turns that have a snapshot, of whatever session."""
        rows = read(self._path, "SELECT DISTINCT turn_id FROM snapshots")
        return {str(row[0]) for row in rows if TurnKey("", "", str(row[0])).is_turn}

    def among(self, agent: str, turn_ids: Collection[str]) -> set[str]:
        """Those of an agent's turns that have a snapshot, without a look at all the others."""
        wanted, found = list(dict.fromkeys(turn_ids)), set[str]()
        for start in range(0, len(wanted), _AT_A_TIME):
            some = wanted[start : start + _AT_A_TIME]
            marks = ", ".join("?" * len(some))
            query = f"SELECT turn_id FROM snapshots WHERE agent = ? AND turn_id IN ({marks})"  # noqa: S608
            found.update(str(row[0]) for row in read(self._path, query, (agent, *some)))
        return found

    def sessions(self) -> set[tuple[str, str]]:
        """Agent and id of the sessions that have some."""
        rows = read(self._path, "SELECT DISTINCT agent, session FROM snapshots")
        return {(str(agent), str(session)) for agent, session in rows}

    def repositories(self) -> list[Path]:
        """The working trees in which snapshots were taken, the newest first."""
        query = "SELECT repository FROM snapshots GROUP BY repository ORDER BY max(taken) DESC"
        rows = read(self._path, query)
        return [Path(as_text(row[0]) or "") for row in rows]

    def has(self, key: TurnKey) -> bool:
        """Whether the snapshot of a turn is recorded."""
        query = "SELECT 1 FROM snapshots WHERE agent = ? AND session = ? AND turn_id = ?"
        return bool(read(self._path, query, tuple(key)))

    def incomplete(self) -> list[Snapshot]:
        """Snapshots that lack something, the newest first."""
        some = "WHERE degraded IS NOT NULL OR left_out != '[]'"
        return self._read(f"{_SELECT} {some} ORDER BY taken DESC, rowid DESC")

    def newest(self, in_each: int, in_all: int) -> list[Snapshot]:
        """So many snapshots of each working tree, and of all together, the newest first."""
        order = "ORDER BY taken DESC, rowid DESC"
        place = f"row_number() OVER (PARTITION BY repository {order}) AS place"
        numbered = f"SELECT rowid AS row, {place} FROM snapshots"  # noqa: S608
        some = f"WHERE rowid IN (SELECT row FROM ({numbered}) WHERE place <= ?)"  # noqa: S608
        return self._read(f"{_SELECT} {some} {order} LIMIT ?", in_each, in_all)

    def times(self, keys: Iterable[TurnKey]) -> dict[TurnKey, datetime]:
        """When the snapshots of these turns were taken."""
        query = "SELECT taken FROM snapshots WHERE agent = ? AND session = ? AND turn_id = ?"
        found = {key: read(self._path, query, tuple(key)) for key in keys}
        return {key: datetime.fromisoformat(rows[0][0]) for key, rows in found.items() if rows}

    def of_turns(
        self, session: SessionRef, turn_ids: Collection[str], more: Iterable[Snapshot] = ()
    ) -> dict[str, Snapshot]:
        """The snapshots of these turns by their id, `more` of which may not be recorded.

        A fork has turns that were made in another session: they have their ids from there, and
        their snapshots as well. What was taken in the session itself comes first.
        """
        wanted = list(dict.fromkeys(turn_ids))
        recorded: list[Snapshot] = []
        for start in range(0, len(wanted), _AT_A_TIME):
            some = wanted[start : start + _AT_A_TIME]
            marks = ", ".join("?" * len(some))
            query = f"{_SELECT} WHERE agent = ? AND turn_id IN ({marks}) ORDER BY taken, rowid"
            recorded += self._read(query, session.agent, *some)
        known = {one.key for one in recorded}
        ids = set(wanted)
        recorded += [one for one in more if one.turn_id in ids and one.key not in known]
        found: dict[str, Snapshot] = {}
        for snapshot in recorded:
            own = snapshot.session == session.id
            # The code before a session's first prompt is that of one session only.
            if own or snapshot.turn_id not in (TurnKey.BASELINE, TurnKey.START, *found):
                found[snapshot.turn_id] = snapshot
        return found

    def _read(self, query: str, *values: str | int) -> list[Snapshot]:
        found: list[Snapshot] = []
        for row in read(self._path, query, values):
            try:
                found.append(_snapshot(dict(zip(_COLUMNS, row, strict=True))))
            except (ValueError, TypeError) as error:
                debug(__name__, "a recorded snapshot is not readable: %s", error)
        return found


def _row(snapshot: Snapshot) -> dict[str, Any]:
    left_out = [[one.path, one.size, one.reason] for one in snapshot.left_out]
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
        # Escaped: a file name that is no text has surrogates, which sqlite does not take.
        "left_out": json.dumps(left_out),
        "nested": json.dumps([[one.path, one.commit] for one in snapshot.nested]),
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
        left_out=tuple(LeftOut(*one) for one in json.loads(row["left_out"])),
        nested=tuple(NestedSnapshot(*one) for one in json.loads(row["nested"])),
        late=bool(row["late"]),
    )
