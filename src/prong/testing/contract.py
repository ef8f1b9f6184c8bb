"""Contract tests for agent stores, built in or from a plug-in.

A plug-in tests itself in a few lines:

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

from prong.agents.base import AgentStore
from prong.errors import Corrupt, NotFound
from prong.model.record import replace
from prong.model.sessions import KnownFile, Scan, Session, View
from prong.model.turn_text import FileTexts, Stamp, TurnText
from prong.search.indexing import plain_texts


class MemoryCache:
    """A scan cache in memory."""

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
    """Return time and digest of every file below the roots, to compare before and after."""
    return {
        str(path): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for root in roots
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


class AgentStoreContract:
    """Requirements for every `AgentStore`."""

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
        """Return the session with the most turns."""
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
        assert session.ref not in {other.ref for other in scan.sessions}

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
            prompts = [m.text for m in messages if m.turn == turn.index and m.role == "user"]
            assert turn.prompt in prompts

    def test_one_turn_is_a_part_of_the_whole(self, store: AgentStore, session: Session) -> None:
        messages = list(store.messages(session))
        for turn in store.conversation(session).turns:
            part = [message for message in messages if message.turn == turn.index]
            assert list(store.messages(session, turn=turn.id)) == part

    def test_an_abandoned_turn_can_be_read(self, store: AgentStore, session: Session) -> None:
        for turn in store.conversation(session).abandoned:
            prompts = [m.text for m in store.messages(session, turn=turn.id) if m.role == "user"]
            assert turn.prompt in prompts

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
        read = store.session_at(session.path)
        assert read is not None
        assert (read.ref, read.turn_count) == (session.ref, session.turn_count)

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
        program = store.program
        if program is not None:
            assert program.name
            assert program.install
            assert program.root_variable
        for root in store.roots:
            retention = store.retention(root)
            assert retention is None or retention.days >= 0

    def test_the_words_of_a_session_can_be_had_from_its_messages(
        self, store: AgentStore, session: Session
    ) -> None:
        parsed = store.conversation(session)
        texts = plain_texts(store, session)
        assert (texts.path, texts.session_id) == (session.file, session.id)
        listed = [(turn.index, turn.id, turn.prompt) for turn in (*parsed.turns, *parsed.abandoned)]
        actual = [(turn.index, turn.id, turn.prompt) for turn in texts.turns]
        assert [(index, id_) for index, id_, _ in actual] == [
            (index, id_) for index, id_, _ in listed
        ]
        for (_, _, words), (_, _, prompt) in zip(actual, listed, strict=True):
            assert words.startswith(prompt)


class TextCollector:
    """A text sink that accepts every new or changed file and keeps all texts."""

    def __init__(self, *, output: bool = True) -> None:
        self.output = output
        self.files: dict[str, FileTexts] = {}
        self.taken: list[str] = []

    def expect(self, files: Mapping[str, Stamp]) -> None:
        """Do nothing."""

    def wants(self, path: str, stamp: Stamp) -> bool:
        return path not in self.files or self.files[path].stamp != stamp

    def take(self, texts: FileTexts) -> None:
        self.taken.append(texts.path)
        self.files[texts.path] = texts._replace(turns=tuple(texts.turns))

    def turns(self, session: Session) -> dict[str, TurnText]:
        """Return the collected turns of a session, by id."""
        files = [file for file in self.files.values() if file.session_id == session.id]
        return {turn.id: turn for file in files for turn in file.turns}


class TextsContract:
    """Requirements for every store that supports `file_texts`."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> AgentStore:
        raise NotImplementedError("give a store with two sessions or more")

    @pytest.fixture
    def cache(self) -> MemoryCache:
        return MemoryCache()

    def test_the_scan_is_the_same(self, store: AgentStore, cache: MemoryCache) -> None:
        assert store.scan_texts(cache, TextCollector()) == store.scan(cache)

    def test_every_file_that_is_read_is_given_once(
        self, store: AgentStore, cache: MemoryCache
    ) -> None:
        sink = TextCollector()
        scan = store.scan_texts(cache, sink)
        assert sorted(sink.taken) == sorted(scan.changed)
        for path, file in scan.changed.items():
            assert sink.files[path].stamp == Stamp(file.size, file.mtime_ns, file.inode)

    def test_the_turns_are_those_of_the_conversation(
        self, store: AgentStore, cache: MemoryCache
    ) -> None:
        sink = TextCollector()
        for session in store.scan_texts(cache, sink).sessions:
            actual = sink.turns(session)
            expected = {turn.id: turn for turn in plain_texts(store, session).turns}
            assert set(actual) <= set(expected)
            for id_, turn in expected.items():
                if id_ in actual:
                    check_words(actual[id_], turn)
                else:
                    # It is in the file of the session that this one was forked from.
                    assert turn.index is not None
                    assert turn.index <= session.inherited

    def test_one_file_says_the_same(self, store: AgentStore, cache: MemoryCache) -> None:
        for output in (True, False):
            sink = TextCollector(output=output)
            store.scan_texts(cache, sink)
            for path, texts in sink.files.items():
                alone = store.file_texts(path, output=output)
                assert alone is not None
                assert alone._replace(turns=tuple(alone.turns)) == texts

    def test_what_tools_gave_back_is_left_out_unless_it_is_wanted(
        self, store: AgentStore, cache: MemoryCache
    ) -> None:
        with_output, without = TextCollector(), TextCollector(output=False)
        store.scan_texts(cache, with_output)
        store.scan_texts(cache, without)
        for path, texts in with_output.files.items():
            silent = tuple(replace(turn, output="") for turn in texts.turns)
            assert without.files[path] == texts._replace(turns=silent)

    def test_what_the_cache_knows_is_not_given_again(
        self, store: AgentStore, cache: MemoryCache
    ) -> None:
        cache.save(store.name, store.scan_texts(cache, TextCollector()))
        sink = TextCollector()
        store.scan_texts(cache, sink)
        assert sink.files == {}

    def test_a_file_that_is_not_wanted_is_only_scanned(
        self, store: AgentStore, cache: MemoryCache
    ) -> None:
        sink = TextCollector()
        store.scan_texts(cache, sink)
        sink.taken.clear()
        assert store.scan_texts(cache, sink) == store.scan(cache)
        assert sink.taken == []

    def test_a_file_that_is_gone_has_no_words(self, store: AgentStore, tmp_path: Path) -> None:
        assert store.file_texts(str(tmp_path / "gone.jsonl")) is None


def check_words(turn: TurnText, expected: TurnText) -> None:
    """Assert that two turns have the same content."""
    assert turn.index == expected.index
    assert turn.kind == expected.kind
    assert turn.prompt == expected.prompt
    assert turn.answer == expected.answer
    assert turn.last_answer == expected.last_answer
    assert turn.files == expected.files
    assert turn.commands == expected.commands
