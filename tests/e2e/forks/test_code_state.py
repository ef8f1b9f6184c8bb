"""The proof: every turn has its code, and a fork starts from it.

The real agents work at a repository while the user does (tests/e2e/labs/code_day.py). The hooks are
installed by `prong hooks install`, once and for all. What prong has afterwards is held against what
was written down at the end of each turn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prong.code.snapshots import snapshot as snapshots
from prong.model.code import TurnKey
from prong.model.sessions import Turn, TurnState
from prong.testing.script import say
from tests.drivers.programs import MissingProgram, find_program
from tests.drivers.requests import Item
from tests.e2e.fidelity.native import ended, in_free_order
from tests.e2e.labs.code_day import Day, work
from tests.e2e.labs.code_lab import Code, Desk, desk_of
from tests.e2e.scenario import PROBE

PROGRAMS = {"claude": "PRONG_TEST_CLAUDE", "codex": "PRONG_TEST_CODEX"}
ACTIVE = ["alpha", "beta", "delta", "epsilon", "zeta", "eta"]


# All tests of an agent go to one worker: its day is long.
pytestmark = pytest.mark.parametrize(
    "day",
    [pytest.param(name, marks=pytest.mark.xdist_group(f"code_state {name}")) for name in PROGRAMS],
    indirect=True,
    scope="module",
)


@pytest.fixture(scope="module")
def day(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """What came of a day of work with each agent."""
    agent: str = request.param
    try:
        program = find_program(agent, PROGRAMS[agent])
    except MissingProgram as missing:
        pytest.skip(str(missing))
    with desk_of(agent, tmp_path_factory.mktemp(agent), program) as desk:
        yield work(desk)


# -- what was captured -----------------------------------------------------------------------------


def test_every_turn_has_its_code(day: Day) -> None:
    """The one that was left behind, those that were interrupted, and before the first."""
    desk = day.desk
    conversation = desk.conversation()
    assert [turn.prompt for turn in conversation.turns] == ACTIVE
    assert [turn.prompt for turn in conversation.abandoned] == ["gamma"]
    interrupted = [
        turn.prompt for turn in conversation.turns if turn.state is not TurnState.FINISHED
    ]
    assert interrupted == ["epsilon", "eta"]

    prompts = {turn.id: turn.prompt for turn in (*conversation.turns, *conversation.abandoned)}
    found = {id_: one for id_, one in desk.snapshots().items() if one.key.is_turn}
    assert set(found) == set(prompts)
    found[TurnKey.BASELINE] = desk.snapshots()[TurnKey.BASELINE]
    for turn_id, snapshot in found.items():
        prompt = prompts.get(turn_id, "")
        assert desk.user.files(snapshot.tree) == desk.codes[prompt].files, prompt
        assert (snapshot.degraded, snapshot.left_out, snapshot.nested) == (None, (), ()), prompt
    # The script did what it says: each turn left something else behind.
    assert len({found[turn.id].tree for turn in conversation.turns}) == len(ACTIVE)


def test_snapshots_say_whether_they_are_late(day: Day) -> None:
    found = day.desk.snapshots()
    late = [turn.prompt for turn in day.desk.conversation().turns if found[turn.id].late]
    assert late == ["epsilon", "eta"]  # the interrupted ones


def test_the_last_turn_is_caught_up_with_by_the_next_command(day: Day) -> None:
    """It was interrupted, and the session was still open."""
    last = day.caught_up["turns"][-1]
    assert (last["prompt"], last["state"]) == ("eta", "interrupted")
    assert last["snapshot"] == day.desk.snapshots()[last["id"]].commit


def test_nothing_of_the_users_was_touched(day: Day) -> None:
    """Index, head, branches, stash and settings while the hooks ran."""
    for prompt, (before, after) in day.desk.touched.items():
        # In delta the agent itself commits.
        assert (before == after) == (prompt != "delta"), prompt
    user = day.desk.user
    assert user.word("stash", "list", "--format=%gs").startswith("WIP on main")
    assert user.word("branch", "--list", "--format=%(refname)").split() == [
        "refs/heads/main",
        "refs/heads/topic",
    ]
    assert user.git("fsck", "--no-dangling") == b""


def test_turns_tell_what_changed(day: Day) -> None:
    """Whatever was committed in between, and by whom."""
    told = day.desk.prong("turns", day.desk.ref)
    assert {turn["prompt"]: tuple(turn["diffstat"].values()) for turn in told["turns"]} == {
        # notes.txt is new and src/app.py is edited; what lies in build/ is ignored.
        "alpha": (2, 4, 1),
        # src/old.py is renamed, notes.txt is gone, run.sh is executable, current is a symlink.
        "beta": (4, 1, 3),
        # src/app.py. Nothing of gamma, and not other.txt, which the user made in between.
        "delta": (1, 1, 1),
        # half.txt for other.txt.
        "epsilon": (2, 1, 1),
        # current leads elsewhere, run.sh is not executable, data.bin has no lines.
        "zeta": (3, 1, 1),
        # late.txt for half.txt.
        "eta": (2, 1, 1),
    }
    commits = {one.turn_id: one.commit for one in day.desk.snapshots().values()}
    shown = (*told["turns"], *told["abandoned"])
    assert all(turn["snapshot"] == commits[turn["id"]] for turn in shown)


def test_snapshots_have_the_numbers_that_people_see(day: Day) -> None:
    """The trailer `Prong-Turn`. The hook of Codex does not know it: it leaves it out."""
    desk = day.desk
    told = desk.prong("turns", desk.ref)["turns"]
    check_numbers(desk, told)
    # Also of the turns that come after those of another session.
    for child in (made_and_run(desk, f"{desk.ref}@2"), desk.forked_natively()):
        told = desk.prong("turns", child)["turns"]
        assert told[-1]["snapshot"]
        check_numbers(desk, told)


def made_and_run(desk: Desk, point: str) -> str:
    made = fork(desk, point)
    desk.run(made)
    return made["child"]


def check_numbers(desk: Desk, told: list[dict[str, Any]]) -> None:
    found = {one.commit: one.number for one in snapshots.find(desk.top)}
    for turn in told:
        number = found[turn["snapshot"]]
        is_known = desk.agent == "claude" or number is not None
        assert number == (turn["index"] if is_known else None), turn["prompt"]


def test_the_head_of_each_turn_is_kept(day: Day) -> None:
    found = day.desk.snapshots()
    turns = {turn.prompt: found[turn.id] for turn in day.desk.conversation().turns}
    messages = {
        prompt: day.desk.user.word("log", "-1", "--format=%s", str(one.head))
        for prompt, one in turns.items()
    }
    assert messages == {
        "alpha": "a commit",
        "beta": "what alpha did",
        "delta": "by the agent",
        "epsilon": "by the agent",
        "zeta": "by the agent",
        "eta": "on topic",
    }
    branches = [turns[prompt].branch for prompt in ACTIVE]
    assert branches == ["main", "main", "main", "topic", "topic", "topic"]


def test_hooks_are_not_heard(day: Day) -> None:
    """Neither the model nor the user learns of them."""
    assert "prong" not in json.dumps(day.asked)
    assert "hook" not in day.screen.lower()
    # Of all that Codex could warn of, one thing is left: nobody knows the fake model.
    assert "2 warnings" not in day.screen
    records = [json.loads(line) for line in day.desk.path().read_bytes().split(b"\n") if line]
    summaries = [one for one in records if one.get("subtype") == "stop_hook_summary"]
    assert not any(one["hookErrors"] or one["hasOutput"] for one in summaries)
    noted = [one["attachment"]["type"] for one in records if one["type"] == "attachment"]
    assert not [kind for kind in noted if kind.startswith("hook")]


# -- forks -----------------------------------------------------------------------------------------


def fork(desk: Desk, point: str) -> dict[str, Any]:
    """`prong fork ... --yes`, with the probe as first prompt."""
    made: dict[str, Any] = desk.prong("fork", point, "--yes", "--prompt", PROBE)["fork"]
    assert made["code"] == "turn"
    assert made["branch"].startswith("prong/")
    return made


def test_a_fork_at_every_turn_has_its_code_and_its_words(day: Day) -> None:
    desk = day.desk
    before = Code.of(desk.top)
    conversation = desk.conversation()
    points: list[tuple[str, Turn | None]] = [("0", None)]
    points += [(str(turn.index), turn) for turn in conversation.turns]
    points += [(turn.id, turn) for turn in conversation.abandoned]
    for name, turn in points:
        made = fork(desk, f"{desk.ref}@{name}")
        workspace = Path(made["workspace"])
        assert Code.of(workspace) == desk.codes[turn.prompt if turn else ""], name
        assert desk.user.word("-C", str(workspace), "branch", "--show-current") == made["branch"]
        asked = desk.server.requests()[-1].number
        desk.run(made)
        sent = desk.sent_after(asked, day.native)
        assert sent[-1] == Item("user", PROBE)
        assert heard(sent[:-1]) == heard(day.native.until(turn) if turn else []), name
    assert Code.of(desk.top) == before


def heard(history: list[Item]) -> list[Item]:
    """Without what an agent says for the model where an interrupted turn has no answer."""
    return in_free_order(ended(history))


def test_a_fork_has_the_code_of_the_turns_before_it(day: Day) -> None:
    desk = day.desk
    source = desk.prong("turns", desk.ref)["turns"]
    made = fork(desk, f"{desk.ref}@2")
    workspace = Path(made["workspace"])
    # The user looks around before the first prompt: that is part of no turn.
    (workspace / "looked.txt").write_text("around\n")
    desk.server.enqueue(desk.shell("echo new > new.txt"), say("done"))
    desk.run(made)
    own = Code.of(workspace)

    told = desk.prong("turns", made["child"])["turns"]
    assert [turn["prompt"] for turn in told] == ["alpha", "beta", PROBE]
    for mine, theirs in zip(told[:2], source, strict=False):
        assert (mine["snapshot"], mine["diffstat"]) == (theirs["snapshot"], theirs["diffstat"])
    assert told[2]["diffstat"] == {"files": 1, "added": 1, "removed": 0}
    codes = [desk.codes[""], desk.codes["alpha"], desk.codes["beta"], own]
    for number, code in enumerate(codes):
        again = fork(desk, f"{made['child']}@{number}")
        assert Code.of(Path(again["workspace"])) == code, number

    # The worktree can go: the repository has the code all the same.
    desk.user.git("worktree", "remove", "--force", str(workspace))
    again = fork(desk, f"{made['child']}@3")
    assert Code.of(Path(again["workspace"])) == own


def test_a_fork_in_place_leaves_the_code_of_its_turns_alone(day: Day) -> None:
    """It begins with other code than the turn had, so nothing is said about that turn."""
    desk = day.desk
    source = desk.prong("turns", desk.ref)["turns"]
    made = desk.prong("fork", f"{desk.ref}@2", "--yes", "--no-worktree", "--prompt", PROBE)["fork"]
    assert Path(made["workspace"]) == desk.top
    desk.run(made)
    told = desk.prong("turns", made["child"])["turns"]
    assert [turn["snapshot"] for turn in told[:2]] == [turn["snapshot"] for turn in source[:2]]
    assert Code.of(Path(fork(desk, f"{made['child']}@2")["workspace"])) == desk.codes["beta"]
    assert Code.of(Path(fork(desk, f"{made['child']}@3")["workspace"])) == Code.of(desk.top)


def test_the_agents_own_fork_has_the_code_of_its_turns(day: Day) -> None:
    desk = day.desk
    source = desk.prong("turns", desk.ref)["turns"]
    child = desk.forked_natively()
    told = desk.prong("turns", child)["turns"]
    assert [turn["prompt"] for turn in told] == [*ACTIVE, PROBE]
    for mine, theirs in zip(told, source, strict=False):
        assert (mine["snapshot"], mine["diffstat"]) == (theirs["snapshot"], theirs["diffstat"])
    assert told[-1]["snapshot"]
    assert Code.of(Path(fork(desk, f"{child}@0")["workspace"])) == desk.codes[""]
