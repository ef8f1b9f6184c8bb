"""The file itself: versions, damage, locks, and places that cannot be written."""

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prong.errors import Busy, External, Unsupported
from prong.model.forks import Fork
from prong.storage import connection, migrations, repairs
from prong.storage.file import alone
from prong.storage.forks import ForkRecords
from tests.unit.storage.fork_facts import environment, fork, script


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "prong" / "state.db"


@pytest.fixture
def records(path: Path) -> ForkRecords:
    return ForkRecords(path)


def pragma(path: Path, text: str) -> object:
    """Ask or tell the file something, past prong."""
    other = sqlite3.connect(path)
    try:
        row = other.execute(f"PRAGMA {text}").fetchone()
        return row[0] if row else None
    finally:
        other.close()


# -- settings and versions ---------------------------------------------------------------------


def test_settings(records: ForkRecords, path: Path) -> None:
    records.add(fork())
    assert pragma(path, "journal_mode") == "wal"
    assert pragma(path, "user_version") == len(migrations.MIGRATIONS)
    settings = {
        name: connection.read(path, f"PRAGMA {name}")[0][0]
        for name in ("busy_timeout", "foreign_keys", "synchronous")
    }
    assert settings == {"busy_timeout": 5000, "foreign_keys": 1, "synchronous": 2}


def test_an_older_file_is_brought_up_to_date(
    records: ForkRecords, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records.add(fork())
    more = ("ALTER TABLE forks ADD COLUMN note TEXT", "CREATE TABLE more (id TEXT); ")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, *more))
    assert records.all() == [fork()]
    assert pragma(path, "user_version") == len(migrations.MIGRATIONS)
    assert pragma(path, "table_info(more)") == 0


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    records: ForkRecords, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records.add(fork())
    before = pragma(path, "user_version")
    opened = sqlite3.connect(path, isolation_level=None)
    steps = (*migrations.MIGRATIONS, "CREATE TABLE half (id TEXT); CREATE TABLE half (id TEXT)")
    monkeypatch.setattr(migrations, "MIGRATIONS", steps)
    with pytest.raises(sqlite3.OperationalError):
        migrations.migrate(opened)
    opened.close()
    monkeypatch.undo()
    assert (pragma(path, "user_version"), pragma(path, "table_info(half)")) == (before, None)
    assert records.all() == [fork()]


def test_a_newer_file_is_refused_and_left_alone(records: ForkRecords, path: Path) -> None:
    records.add(fork())
    pragma(path, "user_version = 77")
    connection.close(path)
    before = path.read_bytes()
    for call in (records.all, lambda: records.add(fork(2))):
        with pytest.raises(Unsupported, match="newer prong: it has version 77") as caught:
            call()
        assert caught.value.hint == "update prong"
    assert "newer prong" in (records.health().problem or "")
    assert path.read_bytes() == before


# -- damage ------------------------------------------------------------------------------------


def _other_tables(path: Path) -> None:
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (id)")
    other.execute(f"PRAGMA user_version = {len(migrations.MIGRATIONS)}")
    other.close()


def _same_table_without_a_version(path: Path) -> None:
    pragma(path, "user_version = 0")


def _odd_letters(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"NOT NULL", b"NOT N\x97LL"))


def _no_forks(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("DROP TABLE forks")
    other.close()


def _zeroed(start: int, end: int) -> Callable[[Path], object]:
    def damage(path: Path) -> None:
        whole = path.read_bytes()
        path.write_bytes(whole[:start] + bytes(end - start) + whole[end:])

    return damage


DAMAGES: dict[str, tuple[Callable[[Path], object], bool]] = {
    "no database": (lambda path: path.write_bytes(b"# my notes\n" * 500), False),
    "torn": (lambda path: path.write_bytes(path.read_bytes()[:5000]), False),
    "overwritten": (
        lambda path: path.write_bytes(path.read_bytes()[:4096] + b"\xee" * 8192),
        False,
    ),
    "other tables": (_other_tables, False),
    "lost table": (_no_forks, False),
    "no version": (_same_table_without_a_version, True),
    "negative version": (lambda path: pragma(path, "user_version = -3"), True),
    "odd letters": (_odd_letters, True),
    "zeroed head": (_zeroed(0, 100), True),
    "zeroed first page": (_zeroed(0, 4096), True),
}
"""Each with whether the only fork can be salvaged."""


@pytest.mark.parametrize(("damage", "is_salvaged"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_file_is_kept_and_what_can_be_read_goes_into_a_new_one(
    records: ForkRecords, path: Path, damage: Callable[[Path], object], is_salvaged: bool
) -> None:
    for number in (1, 2):
        records.add(fork(1))
        connection.close(path)
        damage(path)
        damaged = path.read_bytes()
        salvaged = [fork(1)] if is_salvaged else []
        assert records.all() == salvaged
        kept = path.with_name(f"state.db.damaged-{number}")
        assert kept.read_bytes() == damaged
        notice = connection.notices(path)[-1]
        assert "state.db was damaged" in notice
        assert f"kept as {kept.name}" in notice
        assert ("1 forks" in notice) == is_salvaged
        records.add(fork(2))
        assert records.all() == [*salvaged, fork(2)]
        assert records.health().damaged[-1] == kept
        assert len(records.health().damaged) == number
        path.unlink()


def test_damage_that_no_access_meets_is_found_by_the_doctor(
    records: ForkRecords, path: Path
) -> None:
    records.add(fork(1))
    connection.close(path)
    _zeroed(2 * 4096, 3 * 4096)(path)  # an index
    assert records.all() == [fork(1)]
    health = records.health()
    assert (health.problem, health.forks, len(health.damaged)) == (None, 1, 1)
    assert records.all() == [fork(1)]


def large(path: Path) -> list[Fork]:
    """A file of some hundred pages, closed; the forks in it."""
    forks = [fork(number) for number in range(2000)]
    ForkRecords(path).add(*forks)
    connection.close(path)
    return forks


def leaves(path: Path) -> list[int]:
    """The pages with rows of the table of forks, in the order of the rows."""
    other = sqlite3.connect(path)
    query = "SELECT pageno FROM dbstat WHERE name = 'forks' AND pagetype = 'leaf' ORDER BY path"
    found = [number for (number,) in other.execute(query)]
    other.close()
    return found


@pytest.mark.parametrize("where", ["first", "middle", "last", "two"])
def test_only_the_rows_of_a_damaged_page_are_lost(
    records: ForkRecords, path: Path, where: str
) -> None:
    forks = large(path)
    pages = leaves(path)
    middle = len(pages) // 2
    chosen = {
        "first": pages[:1],
        "middle": pages[middle : middle + 1],
        "last": pages[-1:],
        "two": [pages[middle // 2], pages[middle]],
    }[where]
    content = bytearray(path.read_bytes())
    for page in chosen:
        content[(page - 1) * 4096 : page * 4096] = b"\xee" * 4096
    path.write_bytes(content)
    found = records.all()
    lost = len(forks) - len(found)
    assert 0 < lost <= 2 * len(chosen) * len(forks) / len(pages)
    assert found == [one for one in forks if one in set(found)]


def test_a_file_that_was_cut_off(records: ForkRecords, path: Path) -> None:
    forks = large(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    found = records.all()
    assert len(forks) / 4 < len(found) < len(forks)
    assert found == [one for one in forks if one in set(found)]


def test_a_mistake_in_a_statement_is_no_damage(records: ForkRecords, path: Path) -> None:
    records.add(fork(1))
    with pytest.raises(External, match="no such column"):
        connection.write(path, lambda opened: opened.execute("SELECT missing FROM forks"))
    assert records.all() == [fork(1)]
    assert records.health().damaged == ()
    assert connection.notices(path) == []


def test_the_log_of_a_damaged_file_goes_with_it(records: ForkRecords, path: Path) -> None:
    """A log that is left behind would be written into the new file. What it has is salvaged."""
    records.add(fork(1))
    keeper = sqlite3.connect(path)  # while it is open, the log stays
    keeper.execute("SELECT * FROM forks").fetchall()
    records.add(fork(2))
    log = path.with_name("state.db-wal").read_bytes()
    assert log
    connection.close(path)
    path.write_bytes(b"nonsense" * 1000)
    path.with_name("state.db-shm").unlink()
    records.add(fork(3))
    assert path.with_name("state.db.damaged-1-wal").read_bytes() == log
    assert records.all() == [fork(1), fork(2), fork(3)]
    keeper.close()
    assert records.all() == [fork(1), fork(2), fork(3)]


def test_an_empty_file_is_a_new_one(records: ForkRecords, path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    assert records.all() == []
    records.add(fork())
    assert records.all() == [fork()]
    assert records.health().damaged == ()


@pytest.mark.parametrize("length", [None, 60], ids=["whole", "cut off"])
def test_a_version_that_no_prong_can_have_is_damage(
    records: ForkRecords, path: Path, length: int | None
) -> None:
    records.add(fork(1))
    connection.close(path)
    content = bytearray(path.read_bytes()[:length])
    content[60:64] = (700_000_000).to_bytes(4)
    if length is not None:
        content += b"\xb6" * length
    path.write_bytes(content)
    assert records.all() == ([fork(1)] if length is None else [])
    records.add(fork(99))
    assert fork(99) in records.all()
    assert [kept.read_bytes() for kept in repairs.kept(path)] == [bytes(content)]


@settings(max_examples=50, deadline=None)
@given(data=st.data())
def test_whatever_the_damage_the_next_fork_is_recorded(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damage") / "state.db"
    records = ForkRecords(path)
    records.add(*(fork(number) for number in range(1, 30)))
    connection.close(path)
    whole = path.read_bytes()
    start = data.draw(st.integers(0, len(whole) - 1))
    written = data.draw(st.binary(max_size=64))
    if data.draw(st.booleans(), "cut off"):
        whole = whole[:start]
    broken = whole[:start] + written + whole[start + len(written) :]
    path.write_bytes(broken)
    try:
        records.all()
        for kept in repairs.kept(path):
            assert kept.read_bytes() == broken
        records.add(fork(99))
    except (Unsupported, External):
        # The head can say: of a newer version, or not to be written.
        assert start < 64
        return
    assert fork(99) in records.all()
    connection.close(path)


def test_a_head_that_is_cut_off_says_nothing_about_a_newer_version(path: Path) -> None:
    records = ForkRecords(path)
    records.add(fork(1))
    connection.close(path)
    path.write_bytes(path.read_bytes()[:62] + b"\x01")
    records.add(fork(2))
    assert records.all() == [fork(2)]
    assert len(repairs.kept(path)) == 1


# -- others are at work ------------------------------------------------------------------------


def test_others_are_waited_for_but_not_for_ever(
    records: ForkRecords, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    records.add(fork(1))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(Busy, match="another process") as caught:
        records.add(fork(2))
    assert caught.value.hint == "try again"
    assert records.all() == [fork(1)]
    other.close()
    records.add(fork(2))
    assert records.all() == [fork(1), fork(2)]


def test_a_process_that_holds_the_lock_and_never_lets_go(
    records: ForkRecords, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records.add(fork(1))
    monkeypatch.setattr(connection, "PATIENCE", 0.05)
    with alone(path, 1):
        with pytest.raises(Busy):
            records.add(fork(2))
        # What is there can be read all the same.
        assert records.all() == [fork(1)]


# -- places that cannot be written -------------------------------------------------------------

# CI runs as root, who may write everywhere; a mount that is read-only or full stops even root.
MOUNTED = """
set -e
folder="$1"; options="$2"; shift 2
if [ "$options" = ro ]; then
    mount --bind "$folder" "$folder"
    mount -o remount,bind,ro "$folder"
else
    mount -t tmpfs -o "$options" none "$folder"
fi
exec "$@"
"""


def on_mount(path: Path, options: str, code: str) -> list[str]:
    """Run code with the folder of the database on a mount of its own; the lines it prints."""
    in_namespace = ["unshare", "-rm", "sh", "-c", MOUNTED, "sh"]
    result = subprocess.run(
        [*in_namespace, str(path.parent), options, *script(code, path)],
        env=environment(),
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


READ_AND_WRITE = """
from prong.errors import External
print([one.id for one in records.all()])
try:
    records.add(fork(9))
except External as error:
    print(error.message)
print(records.health().problem)
"""


def test_a_read_only_mount_can_be_read(records: ForkRecords, path: Path) -> None:
    records.add(fork(1), fork(2))
    known, refused, problem = on_mount(path, "ro", READ_AND_WRITE)
    assert known == "['fork-1', 'fork-2']"
    assert refused.endswith("cannot be written: Read-only file system")
    assert problem == refused


def test_what_is_still_in_the_log_is_read_from_there(records: ForkRecords, path: Path) -> None:
    """A killed process leaves the log; on a read-only mount nobody can write it back."""
    records.add(fork(1))
    keeper = sqlite3.connect(path)
    keeper.execute("SELECT * FROM forks").fetchall()
    records.add(fork(2))
    assert b"fork-2" not in path.read_bytes()
    for side_file in ("state.db-shm", None):
        known, *_ = on_mount(path, "ro", READ_AND_WRITE)
        assert known == "['fork-1', 'fork-2']"
        if side_file:
            path.with_name(side_file).unlink()
    keeper.close()


def test_a_read_only_folder_without_a_file(path: Path) -> None:
    path.parent.mkdir()
    known, refused, problem = on_mount(path, "ro", READ_AND_WRITE)
    assert known == "[]"
    assert refused.endswith("cannot be written: Read-only file system")
    assert problem == f"{path.parent} cannot be written"


def test_damage_on_a_read_only_mount(records: ForkRecords, path: Path) -> None:
    records.add(fork(1))
    connection.close(path)
    path.write_bytes(b"nonsense" * 1000)
    known, refused, _ = on_mount(path, "ro", READ_AND_WRITE)
    assert known == "[]"
    assert refused.endswith("cannot be written: Read-only file system")


def test_a_full_disk_is_called_so_and_loses_nothing(path: Path) -> None:
    path.parent.mkdir()
    code = """
from prong.errors import External
records.add(fork(0))
count = 1
try:
    while count < 10_000:
        records.add(*(fork(count + more) for more in range(50)))
        count += 50
except External as error:
    print(error.message, error.hint)
print(len(records.all()) == count)
"""
    told, whole = on_mount(path, "size=400k", code)
    assert told == f"the disk is full: {path} cannot be written make room"
    assert whole == "True"


def test_a_disk_that_was_full_from_the_start(path: Path) -> None:
    path.parent.mkdir()
    code = """
from prong.errors import External
filler = Path(sys.argv[1]).with_name("filler").open("wb", buffering=0)
try:
    while filler.write(bytes(4096)):
        pass
except OSError:
    pass
try:
    records.add(fork(1))
except External as error:
    print(error.message)
print(records.all())
filler.truncate(0)
records.add(fork(1))
print(len(records.all()), records.health().damaged)
"""
    assert on_mount(path, "size=400k", code) == [
        f"the disk is full: {path} cannot be written",
        "[]",
        "1 ()",
    ]


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "prong").write_text("")
    records = ForkRecords(tmp_path / "prong" / "state.db")
    assert records.all() == []
    with pytest.raises(External, match="cannot be written"):
        records.add(fork())
    assert records.health().problem == f"{tmp_path / 'prong'} cannot be written"


def test_a_folder_where_the_file_should_be(records: ForkRecords, path: Path) -> None:
    path.mkdir(parents=True)
    assert records.all() == []
    with pytest.raises(External, match=r"cannot be written: state\.db is not a regular file"):
        records.add(fork())
