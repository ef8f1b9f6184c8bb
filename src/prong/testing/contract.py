"""The suite that every agent store must pass, built in or from a plug-in.

An outside plug-in proves itself in a few lines:

    class TestMyAgent(AgentStoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            write_two_sessions_or_more(tmp_path)
            return MyStore([tmp_path])

At least one of the sessions must have two turns.
"""

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from prong.errors import Corrupt, NotFound
from prong.model import KnownFile, Scan, Session, View
from prong.ports import AgentStore, HasProgram, HasRetention


class MemoryCache:
    """A scan cache that forgets when it is dropped."""

    def __init__(self) -> None:
        self.files: dict[str, KnownFile] = {}
        self.last: bytes | None = None

    def known(self, agent: str) -> Mapping[str, KnownFile]:
        return {
            path: KnownFile(f.size, f.mtime_ns, f.inode, f.facts) for path, f in self.files.items()
        }

    def file(self, agent: str, path: str) -> KnownFile | None:
        return self.files.get(path)

    def result(self, agent: str) -> bytes | None:
        return self.last

    def save(self, agent: str, scan: Scan) -> None:
        self.last = scan.result or self.last
        self.files.update(scan.changed)
        for path in scan.gone:
            self.files.pop(path, None)


def fingerprint(roots: list[Path]) -> dict[str, tuple[int, str]]:
    """Every file below the roots with its time and content: equal means untouched."""
    return {
        str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


class AgentStoreContract:
    """Promises of every `AgentStore`."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> AgentStore:
        raise NotImplementedError("give a store with two sessions or more")

    @pytest.fixture
    def cache(self) -> MemoryCache:
        return MemoryCache()

    @pytest.fixture
    def sessions(self, store: AgentStore, cache: MemoryCache) -> tuple[Session, ...]:
        scan = store.scan(cache)
        cache.save(store.name, scan)
        assert len(scan.sessions) >= 2
        assert any(session.turn_count >= 2 for session in scan.sessions)
        return scan.sessions

    @pytest.fixture
    def session(self, sessions: tuple[Session, ...]) -> Session:
        """The one with the most turns."""
        return max(sessions, key=lambda session: session.turn_count)

    def test_a_session_is_named_by_its_agent_and_a_unique_id(
        self, store: AgentStore, sessions: tuple[Session, ...]
    ) -> None:
        assert {session.agent for session in sessions} == {store.name}
        assert len({session.ref for session in sessions}) == len(sessions)

    def test_a_session_lies_below_a_root(
        self, store: AgentStore, sessions: tuple[Session, ...]
    ) -> None:
        for session in sessions:
            assert session.path.is_file()
            assert any(session.path.is_relative_to(root) for root in store.roots)
            assert session.title
            assert session.updated is not None
            assert session.updated.utcoffset() is not None

    def test_a_second_scan_finds_the_same_and_reads_nothing(
        self, store: AgentStore, cache: MemoryCache, sessions: tuple[Session, ...]
    ) -> None:
        again = store.scan(cache)
        assert set(again.sessions) == set(sessions)
        assert again.complete
        assert not again.changed
        assert not again.gone

    def test_a_deleted_file_is_gone_once_a_scan_was_complete(
        self, store: AgentStore, cache: MemoryCache, session: Session
    ) -> None:
        session.path.unlink()
        scan = store.scan(cache)
        assert scan.complete
        assert session.file in scan.gone
        assert session.ref not in {one.ref for one in scan.sessions}

    def test_a_vanished_root_deletes_nothing(
        self, store: AgentStore, cache: MemoryCache, sessions: tuple[Session, ...]
    ) -> None:
        for root in store.roots:
            shutil.rmtree(root)
        scan = store.scan(cache)
        assert not scan.sessions
        assert not scan.complete
        assert not scan.gone

    def test_the_list_and_the_conversation_agree(
        self, store: AgentStore, sessions: tuple[Session, ...]
    ) -> None:
        for session in sessions:
            turns = store.conversation(session).turns
            assert len(turns) == session.turn_count
            assert [turn.index for turn in turns] == list(range(1, len(turns) + 1))

    def test_turn_ids_are_unique(self, store: AgentStore, session: Session) -> None:
        conversation = store.conversation(session)
        ids = [turn.id for turn in (*conversation.turns, *conversation.abandoned)]
        assert len(set(ids)) == len(ids)
        assert all(turn.index is None for turn in conversation.abandoned)

    def test_messages_come_in_the_order_of_turns_and_hold_the_prompts(
        self, store: AgentStore, session: Session
    ) -> None:
        messages = list(store.messages(session))
        numbers = [message.turn for message in messages if message.turn is not None]
        assert numbers == sorted(numbers)
        for turn in store.conversation(session).turns:
            said = [m.text for m in messages if m.turn == turn.index and m.role == "user"]
            assert turn.prompt in said

    def test_one_turn_is_a_part_of_the_whole(self, store: AgentStore, session: Session) -> None:
        whole = list(store.messages(session))
        for turn in store.conversation(session).turns:
            part = [message for message in whole if message.turn == turn.index]
            assert list(store.messages(session, turn=turn.id)) == part

    def test_an_abandoned_turn_can_be_read(self, store: AgentStore, session: Session) -> None:
        for turn in store.conversation(session).abandoned:
            said = [m.text for m in store.messages(session, turn=turn.id) if m.role == "user"]
            assert turn.prompt in said

    def test_the_context_ends_like_the_history(self, store: AgentStore, session: Session) -> None:
        context = list(store.messages(session, view=View.CONTEXT))
        history = list(store.messages(session))
        assert context
        assert context[-1].text == history[-1].text

    def test_raw_lines_are_lines_of_the_files(self, store: AgentStore, session: Session) -> None:
        lines = {
            line
            for root in store.roots
            for path in root.rglob("*.jsonl")
            for line in path.read_bytes().split(b"\n")
        }
        assert set(store.raw(session)) <= lines

    def test_a_file_is_known_by_its_path(self, store: AgentStore, session: Session) -> None:
        found = store.session_at(session.path)
        assert found is not None
        assert (found.ref, found.turn_count) == (session.ref, session.turn_count)

    def test_another_format_is_not_claimed(self, store: AgentStore, tmp_path: Path) -> None:
        other = tmp_path / "other.jsonl"
        other.write_text('{"kind": "something else"}\n')
        assert store.session_at(other) is None

    def test_garbage_is_corrupt(self, store: AgentStore, tmp_path: Path) -> None:
        garbage = tmp_path / "garbage.jsonl"
        garbage.write_bytes(b"\x00\xff not json\n" * 3)
        with pytest.raises(Corrupt):
            store.session_at(garbage)

    def test_a_session_that_went_away_is_not_found(
        self, store: AgentStore, session: Session
    ) -> None:
        session.path.unlink()
        with pytest.raises(NotFound):
            store.conversation(session)

    def test_nothing_is_written(
        self, store: AgentStore, cache: MemoryCache, session: Session
    ) -> None:
        roots = list(store.roots)
        before = fingerprint(roots)
        store.scan(cache)
        store.conversation(session)
        list(store.messages(session))
        list(store.raw(session))
        store.session_at(session.path)
        assert fingerprint(roots) == before

    def test_what_it_can_do_is_said_in_full(self, store: AgentStore) -> None:
        if isinstance(store, HasProgram):
            program = store.program
            assert program.name
            assert program.install
            assert program.root_variable
        if isinstance(store, HasRetention):
            for root in store.roots:
                retention = store.retention(root)
                assert retention is None or retention.days >= 0
