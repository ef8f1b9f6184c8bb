"""`prong tree`: who was forked from whom."""

from datetime import timedelta
from typing import Any

from prong import paths
from prong.model.forks import Fork, ForkPoint, Method, SeedHeader
from prong.model.sessions import SessionRef
from prong.storage.forks import ForkRecords
from tests.cli.shell import API, NOW, PARSER, SEARCH, SNIFFER, WINDOW, Shell
from tests.samples.codex import CodexSample

CODEX = "01a1e9c0-0000-7000-8000-000000000001"


def test_families(samples: Shell) -> None:
    assert samples.ok("tree").splitlines() == [
        "claude:60309e1e  Rate limiting for the public API  4h ago",
        "└─ @2 claude:7d1c44a2  Rate limiting with a sliding window  +1 turn  1h ago",
        (
            "codex:01a1e076  Write a parser for the suppliers' price lists "
            "(CSV, three dialects)  23h ago"
        ),
        "└─ @1 codex:01a1e5b2  +1 turn  23h ago",
    ]


def test_the_family_of_one(samples: Shell) -> None:
    lines = samples.ok("tree", SNIFFER).splitlines()
    assert len(lines) == 2
    assert lines[1].endswith(" *")
    assert samples.ok("tree", f"codex:{PARSER}").splitlines()[0].endswith(" *")


def test_a_session_that_was_never_forked(samples: Shell) -> None:
    assert len(samples.ok("tree", SEARCH).splitlines()) == 1
    assert SEARCH[:8] not in samples.ok("tree")
    assert SEARCH[:8] in samples.ok("tree", "--all")


def test_nothing_was_ever_forked(shell: Shell) -> None:
    shell.simple(1)
    result = shell.run("tree")
    assert (result.exit_code, result.stdout) == (0, "")
    assert "prong tree --all" in result.stderr
    assert shell.json("tree") == {"roots": []}


def test_json(samples: Shell) -> None:
    first, second = samples.json("tree")["roots"]
    assert first.keys() == {"ref", "turn", "title", "updated", "missing", "children"}
    assert (first["ref"], first["turn"], first["missing"]) == (f"claude:{API}", None, False)
    [child] = first["children"]
    assert (child["ref"], child["turn"], child["children"]) == (f"claude:{WINDOW}", 2, [])
    assert second["children"][0]["ref"] == f"codex:{SNIFFER}"


def test_a_deleted_parent_is_shown_as_such(samples: Shell) -> None:
    [path] = samples.home.claude.rglob(f"{API}.jsonl")
    path.unlink()
    lines = samples.ok("tree", WINDOW).splitlines()
    assert lines[0] == "claude:60309e1e  (deleted)"
    assert lines[1].startswith("└─ @2 claude:7d1c44a2")
    [root] = samples.json("tree", WINDOW)["roots"]
    assert (root["missing"], root["title"], root["updated"]) == (True, None, None)


def test_several_children_are_drawn_in_order(shell: Shell) -> None:
    sample = shell.session(1, age=8.5)
    points: list[str] = []
    for number in range(3):
        sample.prompt(f"prompt {number}")
        points.append(sample.answer("Done."))
    sample.write(shell.home.claude)
    late = sample.branch_off("00000002-0000-4000-8000-000000000002", points[2])
    early = sample.branch_off("00000003-0000-4000-8000-000000000003", points[0])
    for fork in (late, early):
        fork.prompt("own")
        at = fork.answer("Done.")
        fork.write(shell.home.claude)
    grandchild = early.branch_off("00000004-0000-4000-8000-000000000004", at)
    grandchild.prompt("again")
    grandchild.write(shell.home.claude)
    drawn = [line.partition("  +")[0] for line in shell.ok("tree").splitlines()]
    assert drawn == [
        "claude:00000001  prompt 0  8h ago",
        "├─ @1 claude:00000003",
        "│  └─ @2 claude:00000004",
        "└─ @3 claude:00000002",
    ]


def loop(shell: Shell, *parents: tuple[int, int]) -> None:
    """Sessions whose lines claim to come from each other, which only a damaged file can."""
    for own, parent in parents:
        sample = shell.session(own)
        sample.prompt(f"prompt of {own}")
        sample.answer("Done.")
        claimed: dict[str, Any] = {"sessionId": shell.session(parent).id, "messageUuid": "x"}
        sample.lines[0]["forkedFrom"] = claimed
        sample.prompt("own")
        sample.answer("Done.")
        sample.write(shell.home.claude)


def test_loops_end(shell: Shell) -> None:
    loop(shell, (1, 2), (2, 3), (3, 1))
    text = shell.ok("tree", "--all")
    assert [f"claude:0000000{n}" in text for n in (1, 2, 3)] == [True, True, True]
    assert "@" not in text
    assert len(shell.ok("tree", "claude:00000001").splitlines()) == 1
    assert len(shell.json("tree", "--all")["roots"]) == 3


def test_a_session_that_claims_to_be_its_own_parent(shell: Shell) -> None:
    loop(shell, (1, 1))
    assert len(shell.ok("tree", "--all").splitlines()) == 1


def test_a_branch_that_ends_in_a_loop(shell: Shell) -> None:
    loop(shell, (1, 2), (2, 1), (3, 1))
    text = shell.ok("tree", "claude:00000003")
    assert [line.split("  ")[0] for line in text.splitlines()] == [
        "claude:00000001",
        "└─ @1 claude:00000003",
    ]


def codex_session(shell: Shell, prompt: str, **meta: Any) -> None:
    start = NOW - timedelta(minutes=90)
    sample = CodexSample(CODEX, str(shell.home.projects / "shop"), start, **meta)
    sample.turn(prompt, "Ready.")
    sample.turn("Go on", "Done.")
    sample.write(shell.home.codex)


def test_a_seed_stands_at_the_turn_it_was_made_of(samples: Shell) -> None:
    header = SeedHeader(ForkPoint(SessionRef("claude", API), 3), "ab" * 32)
    codex_session(samples, f"{header}\nContext only.")
    root, copy, seed = samples.ok("tree", API).splitlines()
    assert root.startswith("claude:60309e1e")
    assert copy.startswith("├─ @2 claude:7d1c44a2")
    assert seed.startswith("└─ @3 codex:01a1e9c0")
    # Nothing of it is a copy of the parent's turns.
    assert "  +2 turns  1h ago" in seed


def test_a_fork_for_another_agent(samples: Shell) -> None:
    """Its file may name no more than an id."""
    codex_session(samples, "Hello", forked_from_id=API)
    lines = samples.ok("tree", f"codex:{CODEX}").splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("claude:60309e1e")
    assert any("codex:01a1e9c0" in line and line.endswith(" *") for line in lines)
    [root] = samples.json("tree", API)["roots"]
    assert {child["ref"] for child in root["children"]} == {f"claude:{WINDOW}", f"codex:{CODEX}"}


def recorded(child: SessionRef, parent: SessionRef, turn: int) -> Fork:
    point = ForkPoint(parent, turn, "some-turn")
    return Fork(f"fork of {child}", point, None, child, Method.COPY, NOW, tokens=1)


def test_the_same_without_what_was_recorded(samples: Shell) -> None:
    families = samples.ok("tree"), samples.json("tree", "--all")
    state = paths.state_dir() / "state.db"
    api, parser = SessionRef("claude", API), SessionRef("codex", PARSER)
    ForkRecords(state).add(
        recorded(SessionRef("claude", WINDOW), api, 2),
        recorded(SessionRef("codex", SNIFFER), parser, 1),
        recorded(SessionRef("claude", "not-started"), api, 1),
        recorded(SessionRef("claude", SEARCH), api, 0),
    )
    assert (samples.ok("tree"), samples.json("tree", "--all")) == families
    state.unlink()
    assert (samples.ok("tree"), samples.json("tree", "--all")) == families
