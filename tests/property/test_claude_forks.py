"""Any turn of any Claude session can be forked, and the fork has exactly the turns up to it."""

import hashlib
import tempfile
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from prong.errors import Corrupt
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint, Method
from prong.model.sessions import Conversation, Message, View
from tests.property.claude_sessions import Story, stories, stories_with_last_prompts
from tests.property.damage import Damage, apply, damages, examples
from tests.unit.agents.stores import Claude, as_bytes, uuid

ID = uuid(1)


class Unreadable(Exception):
    """Nothing of the session is left."""


class Lab:
    """A store with one session in it, and a folder to fork into."""

    def __init__(self, folder: Path, data: bytes) -> None:
        self.claude = Claude(folder / "claude")
        self.path = self.claude.write(ID, [data])
        self.digest = hashlib.sha256(data).hexdigest()
        self.into = folder / "into"
        self.into.mkdir()
        self.journal = folder / "journal"
        try:
            session = self.claude.store.session_at(self.path)
        except Corrupt:
            session = None
        if session is None:
            raise Unreadable
        self.source = self.claude.store.source(session)

    def fork(self, turn: str, *, full: bool) -> tuple[Conversation, list[Message]]:
        """A fork at the turn, as it reads: its turns, and what the model would get."""
        store = self.claude.store
        cut = Cut(turn, full)
        id_ = store.fork_id(Method.COPY, self.source, cut, None)
        child = Child(id_, self.into, ForkPoint(self.source.session.ref, None, turn), "a fork")
        with Publication(self.journal) as publication:
            made = store.copy(self.source, cut, child, publication)
        assert hashlib.sha256(self.path.read_bytes()).hexdigest() == self.digest
        assert made.title == "a fork"
        assert list(self.journal.iterdir()) == []
        assert not list(made.path.parent.glob(".prong-*"))
        return store.conversation(made), list(store.messages(made, view=View.CONTEXT))


@contextmanager
def lab_with(data: bytes) -> Generator[Lab]:
    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(Path(folder), data)
        with closing(lab.source):
            yield lab


@given(stories(), st.booleans())
@examples(60)
def test_every_turn_can_be_forked(story: Story, full: bool) -> None:
    with lab_with(as_bytes(story.sample.lines)) as lab:
        for id_ in story.prompts:
            fork, context = lab.fork(id_, full=full)
            # A prompt leads to itself.
            assert [turn.id for turn in fork.turns] == story.at[id_]
            if full:
                prompts = [story.prompts[id_] for id_ in story.at[id_]]
                said = [message.text.strip() for message in context if message.role == "user"]
                assert [text for text in said if text in prompts] == prompts


@given(stories_with_last_prompts())
@examples(60)
def test_a_fork_at_the_end_sends_what_the_session_sends(story: Story) -> None:
    with lab_with(as_bytes(story.sample.lines)) as lab:
        turns = lab.source.conversation.turns
        if not turns:
            return
        _, context = lab.fork(turns[-1].id, full=False)
        store = lab.claude.store
        whole = list(store.messages(lab.source.session, view=View.CONTEXT))
        assert [m.text for m in context] == [m.text for m in whole][: len(context)]
        # What is missing is no part of the turn: it is a line that the CLI wrote about it.
        assert all(message.role == "user" for message in whole[len(context) :])


@given(stories(), damages)
@examples(120)
def test_a_damaged_session_forks_as_it_reads(story: Story, damage: list[Damage]) -> None:
    data = apply(damage, as_bytes(story.sample.lines))
    try:
        with lab_with(data) as lab:
            turns = [turn.id for turn in lab.source.conversation.turns]
            for number, turn in enumerate(turns, start=1):
                fork, _ = lab.fork(turn, full=False)
                assert [one.id for one in fork.turns] == turns[:number]
    except Unreadable:
        return
