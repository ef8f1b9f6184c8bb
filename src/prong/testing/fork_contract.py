"""Contract tests for agents that can be forked.

class TestMine(ForkContract):
    @pytest.fixture
    def store(self, tmp_path): ...      # a store with a session of two turns or more
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from prong.agents.base import AgentStore, ForkSource
from prong.errors import Taken, UsageError
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint, Method
from prong.model.sessions import Activity, Message, Session
from prong.testing.contract import MemoryCache, fingerprint

Forker = Callable[..., Session]


class ForkContract:
    """Requirements for a store whose sessions can be forked."""

    @pytest.fixture
    def store(self, tmp_path: Path) -> AgentStore:
        raise NotImplementedError("give a store with a session of two turns or more")

    @pytest.fixture
    def forks(self, store: AgentStore, monkeypatch: pytest.MonkeyPatch) -> AgentStore:
        # Hide the agent's program: the contract must hold on any machine.
        monkeypatch.setenv("PATH", os.devnull)
        return store

    @pytest.fixture
    def session(self, store: AgentStore) -> Session:
        return max(store.scan(MemoryCache()).sessions, key=lambda session: session.turn_count)

    @pytest.fixture
    def source(self, forks: AgentStore, session: Session) -> Iterator[ForkSource]:
        source = forks.source(session)
        yield source
        source.close()

    @pytest.fixture
    def fork(
        self, forks: AgentStore, source: ForkSource, session: Session, tmp_path: Path
    ) -> Forker:
        """Return a function that forks at a cut, into a separate folder."""
        folder = tmp_path / "fork goes_here"
        folder.mkdir()

        def made(cut: Cut, wanted: str | None = None, title: str | None = None) -> Session:
            id_ = forks.fork_id(Method.COPY, source, cut, wanted)
            child = Child(id_, folder, ForkPoint(session.ref, None, cut.turn), title)
            with Publication(tmp_path / "journal") as publication:
                return forks.copy(source, cut, child, publication)

        return made

    def test_a_fork_has_the_turns_up_to_the_cut_and_the_source_stays(
        self, store: AgentStore, source: ForkSource, fork: Forker
    ) -> None:
        before = fingerprint(list(store.roots))
        turns = source.conversation.turns
        for number, turn in enumerate(turns, start=1):
            child = fork(Cut(turn.id))
            copied = store.conversation(child).turns
            assert [item.id for item in copied] == [item.id for item in turns[:number]]
            assert [item.prompt for item in copied] == [item.prompt for item in turns[:number]]
            assert child.parent == source.conversation.session.ref
        after = fingerprint(list(store.roots))
        assert {path: after[path] for path in before} == before

    def test_an_abandoned_turn_can_be_forked(
        self, store: AgentStore, source: ForkSource, fork: Forker
    ) -> None:
        for turn in source.conversation.abandoned:
            assert store.conversation(fork(Cut(turn.id))).turns[-1].id == turn.id

    def test_compactions_can_be_undone(
        self, store: AgentStore, source: ForkSource, fork: Forker
    ) -> None:
        turns = source.conversation.turns
        child = fork(Cut(turns[-1].id, full=True))
        conversation = store.conversation(child)
        assert [turn.id for turn in conversation.turns] == [turn.id for turn in turns]
        assert conversation.compactions == ()

    def test_a_fork_is_listed_with_its_title_and_its_folder(
        self, store: AgentStore, source: ForkSource, fork: Forker
    ) -> None:
        child = fork(Cut(source.conversation.turns[0].id), title="another way")
        listed = {session.ref: session for session in store.scan(MemoryCache()).sessions}
        assert listed[child.ref].title == "another way"
        assert listed[child.ref].cwd == child.cwd
        assert child.cwd is not None
        assert child.cwd.endswith("fork goes_here")
        assert child.path.stat().st_mode & 0o077 == 0

    def test_an_id_is_taken_once(self, source: ForkSource, fork: Forker) -> None:
        id_ = str(uuid4())
        cut = Cut(source.conversation.turns[0].id)
        assert fork(cut, id_).id == id_
        with pytest.raises(Taken):
            fork(cut, id_)

    def test_an_id_that_no_agent_would_take(self, source: ForkSource, fork: Forker) -> None:
        with pytest.raises(UsageError):
            fork(Cut(source.conversation.turns[0].id), "../../../etc/passwd")

    def test_nothing_is_left_beside_the_fork(
        self, source: ForkSource, fork: Forker, tmp_path: Path
    ) -> None:
        child = fork(Cut(source.conversation.turns[0].id))
        assert list((tmp_path / "journal").iterdir()) == []
        assert not [path for path in child.path.parent.iterdir() if path.name.startswith(".")]

    def test_more_turns_are_more_to_read(self, source: ForkSource) -> None:
        conversation = source.conversation
        first = conversation.compactions[0] if conversation.compactions else None
        turns = conversation.turns[: max(first - 1, 1) if first else None]
        extents = [source.extent(Cut(turn.id)) for turn in turns]
        assert [extent.turns for extent in extents] == list(range(1, len(turns) + 1))
        sizes = [extent.characters for extent in extents]
        assert sizes == sorted(sizes)
        assert sizes[0] > 0

    def test_the_messages_before_a_cut_hold_its_prompts(self, source: ForkSource) -> None:
        turns = source.conversation.turns
        for number, turn in enumerate(turns, start=1):
            prompts = [m.text for m in source.messages(Cut(turn.id, full=True)) if m.role == "user"]
            for other in turns[:number]:
                assert other.prompt in prompts
            assert not [other for other in turns[number:] if other.prompt in prompts]
        assert list(source.messages(Cut(None))) == []

    def test_planning_writes_nothing(self, store: AgentStore, source: ForkSource) -> None:
        before = fingerprint(list(store.roots))
        for turn in source.conversation.turns:
            source.extent(Cut(turn.id))
            list(source.messages(Cut(turn.id)))
        assert fingerprint(list(store.roots)) == before

    def test_a_conversation_of_another_agent_can_be_written_down(
        self, store: AgentStore, source: ForkSource, session: Session, tmp_path: Path
    ) -> None:
        if not store.supports("convert"):
            pytest.skip("this agent takes none")
        messages: list[Message] = [
            Message("user", "how are you?", 1),
            Message("assistant", "well", 1),
            Message("user", "and now?", 2),
        ]
        id_ = store.fork_id(Method.COPY, source, Cut("x"), str(uuid4()))
        child = Child(id_, tmp_path, ForkPoint(session.ref, 2, "x"), "from elsewhere")
        with Publication(tmp_path / "journal") as publication:
            converted = store.convert(messages, child, publication)
        turns = store.conversation(converted).turns
        assert [turn.prompt for turn in turns] == ["how are you?", "and now?"]

    def test_commands_are_lists_of_words(
        self, store: AgentStore, session: Session, tmp_path: Path
    ) -> None:
        prompt = "-x; rm -rf $(pwd)\n'quoted' \"twice\""
        child = Child(str(uuid4()), tmp_path, ForkPoint(session.ref, 1, "x"))
        for launch in (store.resume(session, tmp_path, prompt), store.start(child, prompt)):
            assert launch.cwd == tmp_path
            assert [word for word in launch.argv if word.strip() == prompt]
        assert session.id in " ".join(store.resume(session, tmp_path).argv)

    def test_no_agent_works_on_a_sample(self, store: AgentStore, session: Session) -> None:
        assert store.activity(session) is Activity.CLOSED

    def test_a_seed_takes_its_prompt_on_standard_input(
        self, store: AgentStore, session: Session, tmp_path: Path
    ) -> None:
        if store.longest_seed:
            child = Child(str(uuid4()), tmp_path, ForkPoint(session.ref, 1, "x"))
            words = " ".join(store.seed(child).argv)
            assert store.longest_seed > 100_000
            for dangerous in ("skip-permissions", "yolo", "bypass", "full-auto"):
                assert dangerous not in words
