"""`prong tree`: who was forked from whom."""

from typing import Any

from tests.cli.shell import API, PARSER, SEARCH, SNIFFER, WINDOW, Shell


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
