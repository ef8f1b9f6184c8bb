"""Where a thread comes from: what its metadata say, and what a seed says of itself."""

from pathlib import Path

import pytest

from prong.model.forks import ForkPoint, SeedHeader
from prong.model.sessions import SessionRef
from tests.samples.codex import CodexSample
from tests.unit.agents.codex.forks import Forks, thread, write
from tests.unit.agents.stores import Codex, uuid

PARENT = "60309e1e-8d4c-4f67-9c1e-1f0d8c7a5b21"
DIGEST = "0" * 64
AT_THREE = ForkPoint(SessionRef("claude", PARENT), 3)


def seed(point: ForkPoint = AT_THREE) -> str:
    return f"{SeedHeader(point, DIGEST)}\n\nThis is context only.\nuser: hello"


def seeded(codex: Codex, number: int = 1) -> CodexSample:
    sample = codex.new(number)
    sample.turn(seed(), "Ready.")
    sample.turn("go on", "ok")
    return sample


def test_a_seed_names_its_parent(codex: Codex) -> None:
    write(codex, seeded(codex))
    session = codex.session(uuid(1))
    assert session.parent == SessionRef("claude", PARENT)
    assert (session.forked_at, session.inherited, session.turn_count) == (3, 0, 2)
    assert session.title == "seed of claude:60309e1e@3"
    assert codex.prompts(uuid(1))[0] == seed()
    assert codex.store.session_at(session.path) == session


def test_a_seed_from_an_abandoned_turn(codex: Codex) -> None:
    turn = "d41d8cd9-8f00-4204-a980-0998ecf8427e"
    sample = codex.new()
    sample.turn(seed(ForkPoint(SessionRef("codex", PARENT), None, turn)), "Ready.")
    write(codex, sample)
    session = codex.session(uuid(1))
    assert (session.parent, session.forked_at) == (SessionRef("codex", PARENT), None)
    assert session.title == "seed of codex:60309e1e@d41d8cd9"


def test_a_name_is_better_than_a_header(codex: Codex) -> None:
    sample = seeded(codex)
    sample.add("event_msg", type="thread_name_updated", thread_name="Mine")
    write(codex, sample)
    assert codex.session(uuid(1)).title == "Mine"


@pytest.mark.parametrize(
    "prompt",
    [
        "What is [PRONG_FORK_SEED] for?",
        f"[PRONG_FORK_SEED] claude:{PARENT}@3",
        f"look: {SeedHeader(AT_THREE, DIGEST)}",
        f"{SeedHeader(AT_THREE, DIGEST)} and more",
    ],
)
def test_what_is_no_seed(codex: Codex, prompt: str) -> None:
    sample = codex.new()
    sample.turn(prompt, "ok")
    write(codex, sample)
    session = codex.session(uuid(1))
    assert (session.parent, session.forked_at) == (None, None)
    assert session.title == prompt


def test_a_seed_that_is_not_the_first_prompt(codex: Codex) -> None:
    sample = thread(codex, "hello")
    sample.turn(seed(), "Ready.")
    write(codex, sample)
    assert codex.session(uuid(1)).parent is None


def test_a_fork_of_a_seed_is_a_fork_of_that_thread(codex: Codex, tmp_path: Path) -> None:
    source = seeded(codex)
    path = write(codex, source)
    stub = source.fork(uuid(2), 2)
    stub.turn("mine", "ok")
    write(codex, stub)
    Forks(codex, tmp_path).make(path, 1, id_=uuid(3))
    for id_, inherited in ((uuid(2), 2), (uuid(3), 1)):
        session = codex.session(id_)
        assert session.parent == SessionRef("codex", uuid(1))
        assert (session.forked_at, session.inherited) == (None, inherited)
        assert session.title == "seed of claude:60309e1e@3"


def test_a_rewound_seed(codex: Codex) -> None:
    source = seeded(codex)
    write(codex, source)
    base = {"thread_id": uuid(1), "end_ordinal_exclusive": source.ends[0], "end_byte_offset": 0}
    segment = codex.new(history_base=base)
    segment.lines[0]["ordinal"] = source.ends[0]
    segment.ordinal = source.ends[0] + 1
    segment._count = 1000
    segment.turn("another way", "ok")
    codex.write(uuid(1), segment.lines, time=segment.now, segment=uuid(8))
    session = codex.session(uuid(1))
    assert (session.parent, session.forked_at) == (SessionRef("claude", PARENT), 3)
    assert session.turn_count == 2


@pytest.mark.parametrize("agent", [None, "claude"])
def test_a_parent_that_is_no_thread_of_codex(codex: Codex, agent: str | None) -> None:
    write(codex, thread(codex, "one", forked_from_id=PARENT, forked_from_agent=agent))
    session = codex.session(uuid(1))
    assert session.parent == SessionRef(agent or "codex", PARENT)
    assert (session.inherited, session.forked_at) == (0, None)


def test_a_copy_of_a_stub_knows_how_much_it_inherits(codex: Codex, tmp_path: Path) -> None:
    """The first turns of its parent stand in the file of a third thread."""
    source = thread(codex, "one", "two")
    stub = source.fork(uuid(2), 2)
    stub.turn("mine", "ok")
    write(codex, source)
    made = Forks(codex, tmp_path).make(write(codex, stub), 3, id_=uuid(3))
    assert (str(made.parent), made.inherited) == (f"codex:{uuid(2)}", 3)
    assert codex.session(uuid(3)) == made


def test_a_fork_was_never_where_its_parent_was(codex: Codex) -> None:
    parent = codex.new(1)
    parent.turn("one", "ok")
    home = parent.cwd
    parent.cwd = "/elsewhere"
    fork = parent.fork(uuid(2), 1)
    parent.cwd = home
    write(codex, parent)
    write(codex, fork)
    assert codex.session(uuid(2)).cwds == ("/elsewhere",)
    assert codex.session(uuid(1)).cwds == (home,)
    [turn] = codex.store.conversation(codex.session(uuid(2))).turns
    assert turn.cwd == home
