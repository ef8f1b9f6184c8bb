"""Any turn of any Codex thread can be forked, and the fork has exactly the turns up to it."""

import hashlib
import tempfile
from collections.abc import Generator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from prong.agents.codex.store import CodexStore
from prong.errors import Corrupt
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint
from prong.model.sessions import Conversation, Message, View
from tests.property.codex_sessions import Thread, families, legacy, threads
from tests.property.damage import Damage, apply, damages, examples
from tests.unit.agents.stores import Codex, uuid

ID = uuid(1)


class Unreadable(Exception):
    """Nothing of the session is left."""


class Lab:
    """A store, and a folder to fork into."""

    def __init__(self, folder: Path) -> None:
        self.codex = Codex(folder / "codex")
        self.store = CodexStore([self.codex.root])
        self.into = folder / "into"
        self.into.mkdir()
        self.journal = folder / "journal"
        self._forks = 0

    def digests(self) -> dict[Path, str]:
        files = [path for path in self.codex.root.rglob("*") if path.is_file()]
        return {path: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    def fork(self, path: Path, turn: str, *, full: bool) -> tuple[Conversation, list[Message]]:
        """A fork at the turn, as it reads: its turns, and what the model would get."""
        before = self.digests()
        session = self.store.session_at(path)
        assert session is not None
        self._forks += 1
        point = ForkPoint(session.ref, None, turn)
        child = Child(uuid(1_000 + self._forks), self.into, point)
        with closing(self.store.source(session)) as source, Publication(self.journal) as made_of:
            made = self.store.copy(source, Cut(turn, full), child, made_of)
        after = self.digests()
        assert {path: after[path] for path in before} == before
        assert set(after) - set(before) == {made.path}
        assert list(self.journal.iterdir()) == []
        assert (made.id, made.cwd, made.parent) == (child.id, str(self.into), session.ref)
        return self.store.conversation(made), list(self.store.messages(made, view=View.CONTEXT))


@contextmanager
def laboratory() -> Generator[Lab]:
    with tempfile.TemporaryDirectory() as folder:
        yield Lab(Path(folder))


def said(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    return [(m.role, m.text, m.tool.id if m.tool else "") for m in messages]


@given(threads(), st.sampled_from(["paginated", "legacy", "bare"]), st.booleans())
@examples(40)
def test_every_turn_can_be_forked(thread: Thread, form: str, full: bool) -> None:
    data = thread.data() if form == "paginated" else legacy(thread, bare=form == "bare")
    with laboratory() as lab:
        path = lab.codex.write(ID, [data])
        session = lab.store.session_at(path)
        assert session is not None
        turns = lab.store.conversation(session).turns
        whole = said(list(lab.store.messages(session, view=View.CONTEXT)))
        for number, turn in enumerate(turns, start=1):
            fork, context = lab.fork(path, turn.id, full=full)
            assert [one.id for one in fork.turns] == [one.id for one in turns[:number]]
            assert [one.prompt for one in fork.turns] == [one.prompt for one in turns[:number]]
            assert (fork.abandoned, fork.skipped) == ((), ())
            if full:
                assert fork.compactions == ()
                prompts = [one.prompt for one in turns[:number]]
                users = [m.text.strip() for m in context if m.role == "user"]
                assert users == prompts
            elif number == len(turns):
                assert said(context) == whole


@given(families(), st.booleans())
@examples(40)
def test_forks_and_rewinds_can_be_forked_at_every_turn(family: list[Thread], full: bool) -> None:
    with laboratory() as lab:
        for thread in family:
            thread.write(lab.codex)
        live = {thread.id: thread for thread in family}
        for id_, thread in live.items():
            path = lab.codex.session(id_).path
            ways = {turn: [*thread.all_turns[: at + 1]] for at, turn in enumerate(thread.all_turns)}
            for other in family:
                if other.id == id_:
                    for at, turn in enumerate(other.all_turns):
                        ways.setdefault(turn, [*other.all_turns[: at + 1]])
            for (turn, _), way in ways.items():
                fork, _ = lab.fork(path, turn, full=full)
                assert [(one.id, one.prompt) for one in fork.turns] == way


@given(threads(), st.sampled_from(["paginated", "legacy", "bare"]), damages)
@examples(80)
def test_a_damaged_session_forks_as_it_reads(
    thread: Thread, form: str, damage: list[Damage]
) -> None:
    data = thread.data() if form == "paginated" else legacy(thread, bare=form == "bare")
    with laboratory() as lab:
        path = lab.codex.write(ID, [apply(damage, data)])
        try:
            session = lab.store.session_at(path)
        except Corrupt:
            return
        if session is None:
            return
        turns = [turn.id for turn in lab.store.conversation(session).turns]
        for number, turn in enumerate(turns, start=1):
            fork, _ = lab.fork(path, turn, full=False)
            assert [one.id for one in fork.turns] == turns[:number]
