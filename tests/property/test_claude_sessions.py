import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.agents.claude import transcript
from prong.agents.claude.tree import Tree
from prong.errors import ProngError
from prong.model.sessions import Conversation
from tests.property.claude_sessions import Story, stories, stories_with_last_prompts
from tests.property.consistency import check, check_session
from tests.property.damage import Damage, apply, cuts, damages, examples
from tests.unit.agents.stores import Claude, as_bytes, uuid

ID = uuid(1)


def read(data: bytes) -> Conversation | None:
    """The one session in these bytes, checked."""
    with tempfile.TemporaryDirectory() as folder:
        claude = Claude(Path(folder))
        path = claude.write(ID, [data])
        found = check(claude.store)
        try:
            session = claude.store.session_at(path)
        except ProngError:
            assert found == []
        else:
            if session is not None:
                check_session(claude.store, session)
        return found[0] if found else None


def turns(data: bytes) -> list[tuple[str, str]]:
    found = read(data)
    return [(turn.id, turn.prompt) for turn in found.turns] if found else []


@given(stories())
@examples(150)
def test_what_was_written_is_read(story: Story) -> None:
    data = as_bytes(story.sample.lines)
    found = read(data)
    assert found
    tip = next(uuid for uuid in reversed(story.at))
    expected = story.at[tip]
    assert [(turn.id, turn.prompt) for turn in found.turns] == [
        (id_, story.prompts[id_]) for id_ in expected
    ]
    left = {turn.id for turn in found.abandoned}
    assert left == set(story.prompts) - set(expected)
    assert found.skipped == ()


@given(stories(), cuts)
@examples(200)
def test_a_file_cut_anywhere_has_the_turns_of_that_moment(story: Story, cut: Damage) -> None:
    lines = story.sample.lines
    data = as_bytes(lines)
    kept = cut(data)
    end, expected = 0, list[str]()
    for line in lines:
        end += len(as_bytes([line]))
        # A last line without its newline is whole.
        if end - 1 > len(kept):
            break
        expected = story.at.get(line.get("uuid", ""), expected)
    assert turns(kept) == [(id_, story.prompts[id_]) for id_ in expected]


@given(stories(linear=True), cuts)
@examples(100)
def test_a_session_that_was_never_rewound_is_cut_to_its_first_turns(
    story: Story, cut: Damage
) -> None:
    data = as_bytes(story.sample.lines)
    before, after = turns(data), turns(cut(data))
    assert before[: len(after)] == after


@given(stories_with_last_prompts(), damages)
@examples(400)
def test_no_damage_is_too_much(story: Story, harm: list[Damage]) -> None:
    read(apply(harm, as_bytes(story.sample.lines)))


@given(stories_with_last_prompts(), damages)
@examples(150)
def test_the_context_is_made_of_lines_of_the_file(story: Story, harm: list[Damage]) -> None:
    data = apply(harm, as_bytes(story.sample.lines))
    with tempfile.TemporaryFile() as file:
        file.write(data)
        found = transcript.read(file)
    tree = Tree(found)
    for nodes in (tree.history, tree.context()):
        uuids = [node.uuid for node in nodes]
        assert len(set(uuids)) == len(uuids)
        for node in nodes:
            assert found.nodes[node.uuid] is node
            assert not node.sidechain
            place = node.place
            assert data[place.offset : place.offset + place.length].lstrip().startswith(b"{")


@given(st.lists(stories(), min_size=2, max_size=3), damages)
@examples(60)
def test_copies_of_a_session_have_no_loop_of_parents(
    versions: list[Story], harm: list[Damage]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        claude = Claude(Path(folder))
        for number, story in enumerate(versions, start=1):
            claude.write(uuid(number), story.sample.lines)
        claude.write(uuid(9), [apply(harm, as_bytes(versions[0].sample.lines))])
        check(claude.store)
        parents = {session.id: session.parent for session in claude.scan().sessions}
        for id_ in parents:
            seen: set[str] = set()
            while (parent := parents.get(id_)) is not None:
                assert id_ not in seen
                seen.add(id_)
                id_ = parent.id  # noqa: PLW2901 -- the way up


@pytest.mark.parametrize("data", [b"", b"\n", b"{", b"{}", b"{}\n" * 5, b"[]", b"\x00" * 100])
def test_hardly_a_file(data: bytes) -> None:
    assert read(data) is None
