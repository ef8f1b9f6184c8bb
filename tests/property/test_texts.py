"""The words of turns, from any file."""

import json
import tempfile
from pathlib import Path
from unittest import mock

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from prong.agents import words
from prong.agents.base import AgentStore
from prong.errors import ProngError
from prong.search.indexing import plain_texts
from prong.storage.scan_cache import NoCache
from prong.testing.contract import TextCollector, check_words
from tests.property.claude_sessions import Story, stories, stories_with_last_prompts
from tests.property.codex_sessions import Thread, families, legacy, threads
from tests.property.damage import Damage, apply, damages, examples
from tests.unit.agents.stores import Claude, Codex, as_bytes, uuid

ID = uuid(1)


def heard(store: AgentStore) -> TextCollector:
    """All that is said in a store, which is scanned as if nobody listened."""
    sink = TextCollector()
    assert store.scan_texts(NoCache(), sink) == store.scan(NoCache())
    for path, given_ in sink.files.items():
        alone = store.file_texts(path)
        assert alone is not None
        assert alone._replace(turns=tuple(alone.turns)) == given_
        for turn in given_.turns:
            for text in (turn.prompt, turn.answer, turn.last_answer, turn.output, turn.aside):
                text.encode()
    return sink


def check_numbers(store: AgentStore) -> None:
    """The turns that are told of are those of the conversation."""
    sink = heard(store)
    for session in store.scan(NoCache()).sessions:
        try:
            found = store.conversation(session)
        except ProngError:
            continue
        asked = {turn.id: turn for turn in (*found.turns, *found.abandoned)}
        told = sink.turns(session)
        assert set(told) == set(asked)
        for id_, turn in told.items():
            assert turn.index == asked[id_].index
            assert turn.prompt.startswith(asked[id_].prompt)


def check_texts(store: AgentStore) -> None:
    """They also say what the messages say; what a fork inherits stands in another file."""
    sink = heard(store)
    for session in store.scan(NoCache()).sessions:
        told = sink.turns(session)
        for expected in plain_texts(store, session).turns:
            if expected.id in told:
                check_words(told.pop(expected.id), expected)
            else:
                assert (expected.index or 0) in range(1, session.inherited + 1)
        assert told == {}


@given(stories())
@examples(100)
def test_claude_turns_say_what_their_messages_say(story: Story) -> None:
    with tempfile.TemporaryDirectory() as folder:
        claude = Claude(Path(folder))
        claude.write(ID, story.sample.lines)
        check_texts(claude.store)


@given(stories_with_last_prompts(), damages)
@examples(200)
def test_no_damage_to_a_claude_file_is_too_much(story: Story, harm: list[Damage]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        claude = Claude(Path(folder))
        claude.write(ID, [apply(harm, as_bytes(story.sample.lines))])
        check_numbers(claude.store)


@given(families())
@examples(100)
def test_codex_turns_say_what_their_messages_say(family: list[Thread]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        codex = Codex(Path(folder))
        for thread in family:
            thread.write(codex)
        check_texts(codex.store)


@given(threads(), st.sampled_from(["paginated", "legacy", "bare"]), damages)
@examples(200)
def test_no_damage_to_a_codex_file_is_too_much(
    thread: Thread, form: str, harm: list[Damage]
) -> None:
    data = thread.data() if form == "paginated" else legacy(thread, bare=form == "bare")
    with tempfile.TemporaryDirectory() as folder:
        codex = Codex(Path(folder))
        codex.write(ID, [apply(harm, data)])
        check_numbers(codex.store)


@given(families(), st.integers(0, 3), damages)
@examples(100)
def test_a_damaged_file_of_a_codex_family(
    family: list[Thread], which: int, harm: list[Damage]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        codex = Codex(Path(folder))
        broken = family[which % len(family)]
        for thread in family:
            thread.write(codex, apply(harm, thread.data()) if thread is broken else None)
        heard(codex.store)


_letters = st.sampled_from(
    ["a", "b1", " ", "\n", '"', "\\", "\\u", "é", "漢", "😀", "\x00", "nn", "/"]
)


@given(st.lists(_letters, max_size=120).map("".join), st.booleans(), st.integers(8, 40))
@examples(500)
def test_a_long_result_is_cut_between_characters(text: str, ascii_only: bool, end: int) -> None:
    raw = msgspec.Raw(json.dumps(text, ensure_ascii=ascii_only).encode())
    with mock.patch.object(words, "RESULT_END", end):
        pieces = [words.decoded([piece]) for piece in words.cut_pieces(raw)]
    if len(raw) <= 2 * end:
        assert pieces == ([text] if text else [])
    else:
        head, tail = pieces
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) <= len(text)
