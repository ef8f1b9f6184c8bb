"""Records of snapshots in state.db: which turns have one, or why not, and where it is stored.

The commits contain the same facts; this table lets a list of turns avoid one git call per turn.
"""

import json
import os
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from prong.model.code import Snapshot, TurnKey
from prong.model.record import Record, asdict, convert
from prong.model.sessions import SessionRef
from prong.storage.connection import read
from prong.storage.rows import Records, as_column, name_bytes, path_in, time_column, time_in

_RENAMED = {"repo": "repository", "commit": "commit_id", "number": "turn"}
_COLUMNS = tuple(_RENAMED.get(field, field) for field in Snapshot._fields)
_FAILURE_COLUMNS = ("agent", "session", "turn_id", "time", "reason", "folder")
_OF_KEY = "WHERE agent = ? AND session = ? AND turn_id = ?"
_OF_TURNS = "WHERE agent = ? AND turn_id IN (SELECT value FROM json_each(?))"
_NEWEST_FIRST = "ORDER BY taken DESC, rowid DESC"


class SnapshotRecords(Records[Snapshot]):
    def __init__(self, path: Path) -> None:
        super().__init__(path, "snapshots", _COLUMNS, _snapshot)

    def add(self, *snapshots: Snapshot) -> None:
        """Record snapshots, all or none. A new one replaces the old one of its turn."""
        self._write_all(f"INSERT OR REPLACE {self._into}", [_row(item) for item in snapshots])

    def forget(self, keys: Iterable[TurnKey]) -> None:
        self._write_all(f"DELETE FROM snapshots {_OF_KEY}", list(keys))

    def all(self) -> list[Snapshot]:
        return self._select("ORDER BY taken, rowid")

    def turn_ids(self) -> set[str]:
        """Return the ids of all turns with a snapshot, across sessions."""
        rows = read(self.path, "SELECT DISTINCT turn_id FROM snapshots")
        return {str(id_) for (id_,) in rows if TurnKey("", "", str(id_)).is_turn}

    def among(self, agent: str, turn_ids: Collection[str]) -> set[str]:
        """Return those of an agent's turns that have a snapshot, without reading all records."""
        query = f"SELECT turn_id FROM snapshots {_OF_TURNS}"
        return {str(row[0]) for row in read(self.path, query, (agent, _ids(turn_ids)))}

    def sessions(self) -> set[tuple[str, str]]:
        """Return agent and id of every session with snapshots."""
        rows = read(self.path, "SELECT DISTINCT agent, session FROM snapshots")
        return {(str(agent), str(session)) for agent, session in rows}

    def repositories(self) -> list[Path]:
        """Return the working trees with snapshots, newest first."""
        query = "SELECT repository FROM snapshots GROUP BY repository ORDER BY max(taken) DESC"
        return [Path(os.fsdecode(row[0])) for row in read(self.path, query)]

    def incomplete(self) -> list[Snapshot]:
        return self._select(f"WHERE degraded IS NOT NULL OR left_out != '[]' {_NEWEST_FIRST}")

    def newest(self, in_each: int, in_all: int) -> list[Snapshot]:
        """Return snapshots, newest first, limited per working tree and in total."""
        rank = f"row_number() OVER (PARTITION BY repository {_NEWEST_FIRST}) AS place"
        numbered = f"SELECT rowid AS row, {rank} FROM snapshots"
        condition = f"WHERE rowid IN (SELECT row FROM ({numbered}) WHERE place <= ?)"
        return self._select(f"{condition} {_NEWEST_FIRST} LIMIT ?", in_each, in_all)

    def times(self, keys: Iterable[TurnKey]) -> dict[TurnKey, datetime]:
        query = f"SELECT taken FROM snapshots {_OF_KEY}"
        rows_of = {key: read(self.path, query, key) for key in keys}
        return {key: datetime.fromisoformat(rows[0][0]) for key, rows in rows_of.items() if rows}

    def of_agent(self, agent: str, turn_ids: Collection[str]) -> list[Snapshot]:
        """Return the snapshots of turns in all sessions, oldest first."""
        return self._select(f"{_OF_TURNS} ORDER BY taken, rowid", agent, _ids(turn_ids))

    def of_sessions(
        self, agent: str, sessions: Collection[str], turn_ids: Collection[str]
    ) -> list[Snapshot]:
        """Return the snapshots with these turn ids in some sessions."""
        within = "session IN (SELECT value FROM json_each(?))"
        return self._select(f"{_OF_TURNS} AND {within}", agent, _ids(turn_ids), _ids(sessions))

    def of_turns(
        self, session: SessionRef, turn_ids: Collection[str], more: Iterable[Snapshot] = ()
    ) -> dict[str, Snapshot]:
        """Return the snapshots of these turns by turn id, including unrecorded ones from `more`.

        A fork inherits turns, with their ids and snapshots, from another session. A snapshot taken
        in the session itself takes precedence.
        """
        ids = set(turn_ids)
        recorded = self.of_agent(session.agent, ids)
        keys = {snapshot.key for snapshot in recorded}
        recorded += [item for item in more if item.turn_id in ids and item.key not in keys]
        by_turn: dict[str, Snapshot] = {}
        for snapshot in recorded:
            own = snapshot.session == session.id
            # The code before the first prompt belongs to one session only.
            if own or snapshot.turn_id not in (TurnKey.BASELINE, TurnKey.START, *by_turn):
                by_turn[snapshot.turn_id] = snapshot
        return by_turn


class CaptureFailure(Record, frozen=True):
    """A turn whose code could not be captured at `time`."""

    key: TurnKey
    time: datetime
    reason: str
    folder: Path | None = None
    """The agent's folder."""


class CaptureFailureRecords(Records[CaptureFailure]):
    """The last failed capture of each turn. A later snapshot supersedes it."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, "capture_failures", _FAILURE_COLUMNS, _failure)

    def add(self, *failures: CaptureFailure) -> None:
        """Record failures, all or none. Reports older than the recorded one are ignored."""
        statement = f"""
            INSERT {self._into} ON CONFLICT (agent, session, turn_id) DO UPDATE
            SET time = excluded.time, reason = excluded.reason, folder = excluded.folder
            WHERE excluded.time >= capture_failures.time
        """
        self._write_all(statement, [_failure_row(failure) for failure in failures])

    def all(self) -> list[CaptureFailure]:
        return self._select("ORDER BY time DESC")

    def of_turns(self, session: SessionRef, turn_ids: Collection[str]) -> dict[str, CaptureFailure]:
        """Return the failures of these turns, by turn id. A fork shares the turns of its source.

        The code before the first prompt belongs to one session only.
        """
        failures = self._select(f"{_OF_TURNS} ORDER BY time", session.agent, _ids(turn_ids))
        return {
            failure.key.turn_id: failure
            for failure in failures
            if failure.key.turn_id != TurnKey.BASELINE or failure.key.session == session.id
        }


def failures_in(events: Iterable[Mapping[str, Any]]) -> list[CaptureFailure]:
    failures: list[CaptureFailure] = []
    for event in events:
        match event:
            case {
                "agent": str(agent),
                "session": str(session),
                "missing": str(turn_id),
                "time": str(time),
            }:
                reason = event.get("degraded") or "unknown reason"
                key, when = TurnKey(agent, session, turn_id), time_in(time)
                if when is not None:
                    path = Path(name) if (name := path_in(event.get("cwd"))) else None
                    failures.append(CaptureFailure(key, when, str(reason), path))
            case _:
                pass
    return failures


def _ids(turn_ids: Iterable[str]) -> str:
    return json.dumps(list(turn_ids))


def _row(snapshot: Snapshot) -> dict[str, Any]:
    row = {column: as_column(value) for column, value in zip(_COLUMNS, snapshot, strict=True)}
    # Escaped: undecodable file names contain surrogates, which sqlite rejects.
    lists = {"left_out": json.dumps(snapshot.left_out), "nested": json.dumps(snapshot.nested)}
    return {**row, **lists, "branch": name_bytes(snapshot.branch)}


def _snapshot(row: dict[str, Any]) -> Snapshot:
    lists = {"left_out": json.loads(row["left_out"]), "nested": json.loads(row["nested"])}
    return convert([*{**row, **lists}.values()], Snapshot)


def _failure_row(failure: CaptureFailure) -> dict[str, Any]:
    row = {name: as_column(value) for name, value in asdict(failure).items() if name != "key"}
    return {**row, **failure.key._asdict(), "time": time_column(failure.time)}


def _failure(row: dict[str, Any]) -> CaptureFailure:
    key = TurnKey(row["agent"], row["session"], row["turn_id"])
    return convert({**row, "key": key}, CaptureFailure)
