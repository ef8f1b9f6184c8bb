"""Which session was forked from which, and how many turns the child inherited."""

from datetime import timedelta
from typing import Any

import pytest

from prong.model.forks import ForkPoint, SeedHeader
from prong.model.sessions import SessionRef
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import Claude, uuid

PARENT, CHILD, GRANDCHILD, OTHER = uuid(1), uuid(2), uuid(3), uuid(4)


def conversation(claude: Claude, *prompts: str) -> ClaudeSample:
    sample = claude.new()
    for prompt in prompts:
        sample.prompt(prompt)
        sample.answer(f"answer to {prompt}")
    return sample


def fork_session(
    source: ClaudeSample, id_: str, *prompts: str, turns: int | None = None, hours: int = 1
) -> ClaudeSample:
    """A copy as `--fork-session` makes it: same uuids, one promptId, no mark."""
    child = ClaudeSample(id_, source.cwd, source.now + timedelta(hours=hours))
    seen = 0
    for line in source.lines:
        if "uuid" not in line:
            continue
        seen += "turnPosition" in line
        if turns is not None and seen > turns:
            break
        child.lines.append({**line, "sessionId": id_})
        child.leaf = line["uuid"]
    for prompt in prompts:
        child.prompt(prompt)
        child.answer(f"answer to {prompt}")
    openers = [line for line in child.lines if "turnPosition" in line]
    own = openers[-len(prompts)]["promptId"] if prompts else "one"
    for line in openers[: len(openers) - len(prompts)]:
        line["promptId"] = own
    return child


def parents(claude: Claude, *samples: ClaudeSample) -> dict[str, tuple[str, int] | None]:
    for sample in samples:
        claude.write(sample.id, sample.lines)
    return {
        session.id: (session.parent.id, session.inherited) if session.parent else None
        for session in claude.scan().sessions
    }


def test_unrelated_sessions(claude: Claude) -> None:
    one, two = claude.new(1), claude.new(2)
    for sample in (one, two):
        sample.prompt("same words")
        sample.answer("same answer")
    assert parents(claude, one, two) == {PARENT: None, CHILD: None}


def test_branch_names_its_parent(claude: Claude) -> None:
    source = conversation(claude, "one", "two", "three")
    at = source.lines[5]["uuid"]
    child = source.branch_off(CHILD, at)
    child.prompt("other three")
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, 2)}


def test_branch_before_its_first_own_prompt(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    child = source.branch_off(CHILD, source.lines[-1]["uuid"])
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, 2)}


def test_branch_of_a_branch(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    child = source.branch_off(CHILD, source.lines[2]["uuid"])
    child.prompt("child's")
    last = child.answer("ok")
    grandchild = child.branch_off(GRANDCHILD, last)
    grandchild.prompt("grandchild's")
    assert parents(claude, source, child, grandchild) == {
        PARENT: None,
        CHILD: (PARENT, 1),
        GRANDCHILD: (CHILD, 2),
    }


def test_a_branch_whose_parent_is_gone_still_names_it(claude: Claude) -> None:
    source = conversation(claude, "one")
    child = source.branch_off(CHILD, source.lines[-1]["uuid"])
    assert parents(claude, child) == {CHILD: (PARENT, 1)}


def test_a_session_that_claims_to_be_its_own_parent(claude: Claude) -> None:
    source = conversation(claude, "one")
    loop = source.branch_off(PARENT, source.lines[-1]["uuid"])
    assert parents(claude, loop) == {PARENT: None}


@pytest.mark.parametrize("shared", [1, 2, 3])
def test_fork_session_is_found_by_its_copied_prompts(claude: Claude, shared: int) -> None:
    source = conversation(claude, "one", "two", "three")
    child = fork_session(source, CHILD, "my own", turns=shared)
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, shared)}


@pytest.mark.parametrize("shared", [2, 3])
def test_the_parent_may_go_on_after_the_fork(claude: Claude, shared: int) -> None:
    source = conversation(claude, "one", "two", "three")
    child = fork_session(source, CHILD, "my own", turns=shared)
    source.now += timedelta(days=3)
    source.prompt("much later")
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, shared)}


def test_one_shared_prompt_and_a_parent_that_went_on_later(claude: Claude) -> None:
    source = conversation(claude, "one")
    child = fork_session(source, CHILD, "my own")
    source.now += timedelta(days=3)
    source.prompt("much later")
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, 1)}


def test_a_parent_without_turns_of_its_own(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    child = fork_session(source, CHILD, "my own")
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, 2)}


def test_several_forks_of_one_parent(claude: Claude) -> None:
    source = conversation(claude, "one", "two", "three")
    first = fork_session(source, CHILD, "a", turns=2)
    second = fork_session(source, GRANDCHILD, "b", turns=2, hours=2)
    third = fork_session(source, OTHER, "c", hours=3)
    assert parents(claude, source, first, second, third) == {
        PARENT: None,
        CHILD: (PARENT, 2),
        GRANDCHILD: (PARENT, 2),
        OTHER: (PARENT, 3),
    }


def test_fork_of_a_fork(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    child = fork_session(source, CHILD, "a", "b")
    grandchild = fork_session(child, GRANDCHILD, "c")
    assert parents(claude, source, child, grandchild) == {
        PARENT: None,
        CHILD: (PARENT, 2),
        GRANDCHILD: (CHILD, 4),
    }


def test_lines_whose_ids_are_no_uuids(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    for number, line in enumerate(source.lines):
        line["uuid"] = f"line {number}"
        line["parentUuid"] = f"line {number - 1}" if number else None
    source.leaf = source.lines[-1]["uuid"]
    child = fork_session(source, CHILD, "my own")
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, 2)}


def without_prompt_ids(*samples: ClaudeSample) -> None:
    for sample in samples:
        for line in sample.lines:
            line.pop("promptId", None)


def test_without_prompt_ids_the_one_that_went_on_later_is_the_child(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    child = fork_session(source, CHILD, "my own", turns=1, hours=5)
    without_prompt_ids(source, child)
    assert parents(claude, source, child) == {PARENT: None, CHILD: (PARENT, 1)}


def test_copies_of_a_file_have_one_parent_among_them(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    copies = [fork_session(source, id_) for id_ in (CHILD, GRANDCHILD)]
    without_prompt_ids(source, *copies)
    for copy in copies:
        copy.lines = [{**line, "sessionId": copy.id} for line in source.lines]
    found = parents(claude, source, *copies)
    roots = [id_ for id_, parent in found.items() if parent is None]
    assert len(roots) == 1
    assert all(parent == (roots[0], 2) for id_, parent in found.items() if id_ != roots[0])


def test_sessions_that_name_each_other_do_not_loop(claude: Claude) -> None:
    source = conversation(claude, "one", "two")
    mark: dict[str, Any] = {"sessionId": CHILD, "messageUuid": "x"}
    child = fork_session(source, CHILD, "own")
    for line in source.lines:
        line["forkedFrom"] = mark
    for line in child.lines:
        line["forkedFrom"] = {"sessionId": PARENT, "messageUuid": "x"}
    assert set(parents(claude, source, child)) == {PARENT, CHILD}


def test_a_fork_session_copy_of_a_marked_branch(claude: Claude) -> None:
    """Nobody has seen what the CLI does with the marks; kept or dropped, there is a parent."""
    source = conversation(claude, "one", "two")
    branch = source.branch_off(CHILD, source.lines[-1]["uuid"])
    branch.prompt("three")
    branch.answer("3")
    copy = fork_session(branch, GRANDCHILD, "four")
    for line in copy.lines:
        line.pop("forkedFrom", None)
    assert parents(claude, source, branch, copy)[GRANDCHILD] == (CHILD, 3)


def test_a_forked_fork_that_goes_on_stays_the_parent(claude: Claude) -> None:
    parent = conversation(claude, "one", "two")
    child = fork_session(parent, CHILD, "three")
    grandchild = fork_session(child, GRANDCHILD, "four", hours=2)
    child.now = grandchild.now + timedelta(hours=1)
    child.prompt("later")
    child.answer("answer")
    found = parents(claude, parent, child, grandchild)
    assert found == {PARENT: None, CHILD: (PARENT, 2), GRANDCHILD: (CHILD, 3)}


def test_a_fork_of_a_branch_keeps_the_branch_s_marks_but_is_its_child(claude: Claude) -> None:
    parent = conversation(claude, "one", "two")
    assert parent.leaf is not None
    branch = parent.branch_off(CHILD, parent.leaf)
    branch.now += timedelta(hours=1)
    branch.prompt("three")
    branch.answer("answer")
    fork = fork_session(branch, GRANDCHILD, "four", hours=2)
    assert any("forkedFrom" in line for line in fork.lines)
    found = parents(claude, parent, branch, fork)
    assert found == {PARENT: None, CHILD: (PARENT, 2), GRANDCHILD: (CHILD, 3)}


def test_two_forks_of_one_parent_that_went_on_late(claude: Claude) -> None:
    parent = conversation(claude, "one", "two")
    first = fork_session(parent, CHILD, "three", hours=1)
    second = fork_session(parent, OTHER, "drei", hours=2)
    parent.now = second.now + timedelta(hours=1)
    parent.prompt("later than both")
    parent.answer("answer")
    found = parents(claude, parent, first, second)
    assert found == {PARENT: None, CHILD: (PARENT, 2), OTHER: (PARENT, 2)}


def test_a_seed_says_where_it_came_from(claude: Claude) -> None:
    header = SeedHeader(ForkPoint(SessionRef("codex", uuid(5)), 3, None), "0" * 64)
    sample = claude.new(1)
    sample.prompt(f"{header}\nwhat follows is context\n")
    sample.answer("Ready.")
    sample.write(claude.root)
    session = claude.session(uuid(1))
    assert session.parent == SessionRef("codex", uuid(5))
    assert (session.forked_at, session.inherited) == (3, 0)
    assert session.title == f"seed of codex:{uuid(5)[:8]}@3"
    # A copy of it is a fork of the seeded session, not of what that came from.
    copy = sample.branch_off(uuid(2), sample.lines[-1]["uuid"])
    copy.prompt("go on")
    copy.write(claude.root)
    child = claude.session(uuid(2))
    assert child.parent == SessionRef("claude", uuid(1))
    assert (child.forked_at, child.inherited) == (None, 1)
