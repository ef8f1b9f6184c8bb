import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.errors import ProngError
from prong.model.sessions import Conversation
from tests.property.codex_sessions import Thread, families, legacy, threads
from tests.property.consistency import check, check_session
from tests.property.damage import Damage, apply, cuts, damages, examples
from tests.unit.agents.stores import Codex, uuid

ID = uuid(1)


def read(data: bytes) -> Conversation | None:
    """The one session in these bytes, checked."""
    with tempfile.TemporaryDirectory() as folder:
        codex = Codex(Path(folder))
        path = codex.write(ID, [data])
        found = check(codex.store)
        try:
            session = codex.store.session_at(path)
        except ProngError:
            assert found == []
        else:
            if session is not None:
                check_session(codex.store, session)
        return found[0] if found else None


def turns(data: bytes) -> list[tuple[str, str]]:
    found = read(data)
    return [(turn.id, turn.prompt) for turn in found.turns] if found else []


@given(threads())
@examples(100)
def test_what_was_written_is_read(thread: Thread) -> None:
    assert turns(thread.data()) == thread.turns


@given(threads(), st.booleans())
@examples(100)
def test_older_formats_have_the_same_prompts(thread: Thread, bare: bool) -> None:
    prompts = [prompt for _, prompt in turns(legacy(thread, bare=bare))]
    assert prompts == [prompt for _, prompt in thread.turns]


@given(families())
@examples(150)
def test_forks_and_rewinds_have_the_turns_that_lead_to_them(family: list[Thread]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        codex = Codex(Path(folder))
        for thread in family:
            thread.write(codex)
        found = {conversation.session.id: conversation for conversation in check(codex.store)}
    live = {thread.id: thread for thread in family}
    assert set(found) == set(live)
    for id_, thread in live.items():
        conversation = found[id_]
        assert [(turn.id, turn.prompt) for turn in conversation.turns] == thread.all_turns
        written = {turn for other in family if other.id == id_ for turn in other.all_turns}
        left = {(turn.id, turn.prompt) for turn in conversation.abandoned}
        assert left == written - set(thread.all_turns)
        assert conversation.skipped == ()


@given(threads(), st.sampled_from(["paginated", "legacy", "bare"]), cuts)
@examples(200)
def test_a_file_cut_anywhere_has_its_first_turns(thread: Thread, form: str, cut: Damage) -> None:
    data = thread.data() if form == "paginated" else legacy(thread, bare=form == "bare")
    before, after = turns(data), turns(cut(data))
    if form == "legacy":
        # Until the first event is written, the prompt is known by the item that stands before it.
        before, after = [("", text) for _, text in before], [("", text) for _, text in after]
    assert before[: len(after)] == after


@given(threads(), st.sampled_from(["paginated", "legacy", "bare"]), damages)
@examples(300)
def test_no_damage_is_too_much(thread: Thread, form: str, harm: list[Damage]) -> None:
    data = thread.data() if form == "paginated" else legacy(thread, bare=form == "bare")
    read(apply(harm, data))


@given(families(), st.integers(0, 3), damages)
@examples(300)
def test_a_damaged_file_of_a_family(family: list[Thread], which: int, harm: list[Damage]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        codex = Codex(Path(folder))
        broken = family[which % len(family)]
        for thread in family:
            thread.write(codex, apply(harm, thread.data()) if thread is broken else None)
        # Where the lines of a base are out of order, a list cannot know what a cut leaves of them.
        check(codex.store, counted=broken.rollout not in {thread.base for thread in family})


@pytest.mark.parametrize("data", [b"", b"\n", b"{", b"{}", b"{}\n" * 5, b"[]", b"\x00" * 100])
def test_hardly_a_file(data: bytes) -> None:
    assert read(data) is None
