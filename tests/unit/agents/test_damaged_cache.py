"""A scan with a cache that cannot be trusted is like one without."""

import pytest

from prong.agents.codex.store import CodexStore
from prong.model.sessions import KnownFile, Scan, Session
from prong.storage.scan_cache import SqliteScanCache
from tests.unit.agents.scans import Case, codex_lines, scan, titles
from tests.unit.agents.stores import Codex, uuid

ID = uuid(1)


class Damaged:
    """A cache whose rows are not what was stored."""

    def __init__(
        self,
        known: dict[str, KnownFile],
        state: bytes | None = None,
        result: bytes | None = None,
    ) -> None:
        self._known = known
        self._state = state
        self._result = result

    def known(self, agent: str) -> dict[str, KnownFile]:
        return self._known

    def file(self, agent: str, path: str) -> KnownFile | None:
        known = self._known.get(path)
        return known._replace(state=self._state) if known else None

    def result(self, agent: str) -> bytes | None:
        return self._result

    def save(self, agent: str, scan: Scan) -> None:
        pass


def damage(data: bytes) -> list[bytes]:
    return [
        b"",
        b"\x00",
        data[:1],
        data[: len(data) // 2],
        data[:1] + b"\xff" * (len(data) - 1),
        bytes([data[0] + 1]) + data[1:],
        b"".join(bytes([byte | 0x80]) if byte > 0x60 else bytes([byte]) for byte in data),
        b"\xff" + data,
    ]


def fresh(case: Case) -> Session:
    return case.sessions.session(ID)


def test_damaged_facts_are_read_anew(case: Case, cache: SqliteScanCache) -> None:
    path = case.write("hello café")
    scan(case.store, cache)
    known = cache.known(case.store.name)[str(path)]
    for facts in damage(known.facts):
        row = KnownFile(known.size, known.mtime_ns, known.inode, facts)
        (session,) = case.store.scan(Damaged({str(path): row}, None)).sessions
        assert session == fresh(case)


def test_a_damaged_result_is_put_together_anew(case: Case, cache: SqliteScanCache) -> None:
    case.write("hello café")
    scan(case.store, cache)
    result = cache.result(case.store.name)
    assert result
    for stored in damage(result):
        # Where only a text inside is damaged, nobody can tell; what comes back is still a session.
        (session,) = case.store.scan(Damaged({}, result=stored)).sessions
        assert session.ref == fresh(case).ref


@pytest.mark.usefixtures("large")
def test_a_damaged_state_is_read_anew(case: Case, cache: SqliteScanCache) -> None:
    path = case.write("hello café")
    scan(case.store, cache)
    known = cache.file(case.store.name, str(path))
    assert known
    assert known.state
    path.write_bytes(case.lines("hello café", "two"))
    for stored in (None, *damage(known.state)):
        (session,) = case.store.scan(Damaged({str(path): known}, stored)).sessions
        assert session == fresh(case)


def test_numbers_that_no_cache_can_hold(codex: Codex, cache: SqliteScanCache) -> None:
    lines = codex_lines(1, "hello").replace(b'"ordinal":', b'"ordinal":9999999999999999999')
    codex.write(ID, [lines])
    found = scan(CodexStore([codex.root]), cache)
    assert (titles(found), found.changed) == ({("hello", 1)}, {})
