"""Schema migrations of state.db, numbered in order.

A released migration never changes; new tables come as a new one. The `user_version` of the file is
the number of the last applied migration.
"""

import sqlite3

from prong.errors import Unsupported

MIGRATIONS = (
    # 1: forks. Session content is not stored here: no prompts, titles or transcripts.
    """
    CREATE TABLE forks (
        id TEXT NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL,
        parent_session TEXT NOT NULL,
        parent_workspace BLOB,
        turn_id TEXT,
        turn INTEGER,
        child_session TEXT NOT NULL,
        child_agent TEXT NOT NULL,
        method TEXT NOT NULL,
        created TEXT NOT NULL,
        seed_prompt_hash TEXT,
        seed_prompt_path BLOB,
        token_estimate INTEGER NOT NULL,
        context_window INTEGER,
        seed_ack_filtered INTEGER NOT NULL DEFAULT 0,
        UNIQUE (child_agent, child_session)
    );
    """,
    # 2: snapshots, which can be restored from the commits (file lists are JSON); and the last
    # reported activity of each session, which exists nowhere else.
    """
    CREATE TABLE snapshots (
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        turn INTEGER,
        message_id TEXT,
        repository BLOB NOT NULL,
        ref TEXT NOT NULL,
        commit_id TEXT NOT NULL,
        tree TEXT NOT NULL,
        staged_tree TEXT,
        head TEXT,
        branch BLOB,
        taken TEXT NOT NULL,
        changed INTEGER NOT NULL,
        degraded TEXT,
        left_out TEXT NOT NULL,
        nested TEXT NOT NULL,
        late INTEGER NOT NULL,
        PRIMARY KEY (agent, session, turn_id)
    );
    CREATE INDEX snapshots_by_turn ON snapshots (agent, turn_id);
    CREATE TABLE activity (
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        state TEXT NOT NULL,
        detail TEXT,
        time TEXT NOT NULL,
        cwd BLOB,
        PRIMARY KEY (agent, session)
    );
    """,
    # 3: workers. The environment excludes keys and tokens; command and environment are JSON.
    """
    CREATE TABLE workers (
        name TEXT NOT NULL PRIMARY KEY,
        agent TEXT NOT NULL,
        session TEXT,
        workspace BLOB NOT NULL,
        command TEXT NOT NULL,
        env TEXT NOT NULL,
        created TEXT NOT NULL,
        started TEXT,
        stopped TEXT,
        prompted TEXT,
        commanded INTEGER NOT NULL DEFAULT 0,
        headless INTEGER NOT NULL,
        terminal TEXT,
        pane TEXT,
        pane_server BLOB,
        pid INTEGER,
        pid_started TEXT,
        log BLOB,
        worktree BLOB,
        branch BLOB,
        fork TEXT,
        forked_from TEXT,
        commit_turns INTEGER NOT NULL,
        push TEXT,
        version TEXT,
        settings_hash TEXT
    );
    ALTER TABLE activity ADD COLUMN worker TEXT;
    """,
    # 4: failed captures, until a later one succeeds.
    """
    CREATE TABLE capture_failures (
        agent TEXT NOT NULL,
        session TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        time TEXT NOT NULL,
        reason TEXT NOT NULL,
        folder BLOB,
        PRIMARY KEY (agent, session, turn_id)
    );
    CREATE INDEX capture_failures_by_turn ON capture_failures (agent, turn_id);
    """,
)


_LAST_VERSION = 10_000
"""No prong will ever use a larger version: a higher number means damage."""


def version(connection: sqlite3.Connection) -> int:
    (number,) = connection.execute("PRAGMA user_version").fetchone()
    return number


def is_current(connection: sqlite3.Connection) -> bool:
    """Whether every migration is applied."""
    return version(connection) == len(MIGRATIONS)


def refuse_newer(connection: sqlite3.Connection) -> None:
    """Raise `Unsupported` for a file written by a newer prong."""
    number = version(connection)
    if len(MIGRATIONS) < number <= _LAST_VERSION:
        raise Unsupported(
            f"state.db was written by a newer prong: it has version {number}, "
            f"this prong knows {len(MIGRATIONS)}",
            hint="update prong",
            version=number,
        )


def migrate(connection: sqlite3.Connection, last: int | None = None) -> None:
    """Apply missing migrations, all or up to `last`, each in its own transaction."""
    for number in range(version(connection) + 1, (last or len(MIGRATIONS)) + 1):
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have applied it while this one waited.
            if version(connection) < number:
                for statement in MIGRATIONS[number - 1].split(";"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {number}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:  # a full disk has already ended it
                connection.execute("ROLLBACK")
            raise


def is_complete(connection: sqlite3.Connection) -> bool:
    """Whether all tables and columns of the file's version exist; without one it must be empty."""
    number = version(connection)
    if number <= 0:
        return number == 0 and not _columns(connection)
    if number > len(MIGRATIONS):
        return False
    model = sqlite3.connect(":memory:", isolation_level=None)
    try:
        migrate(model, number)
        return _columns(model) <= _columns(connection)
    finally:
        model.close()


def tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    columns_of: dict[str, list[str]] = {}
    for table, column in sorted(_columns(connection)):
        columns_of.setdefault(table, []).append(column)
    return columns_of


def _columns(connection: sqlite3.Connection) -> set[tuple[str, str]]:
    query = """
        SELECT tables.name, columns.name
        FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
        WHERE tables.type = 'table'
    """
    return set(connection.execute(query))
