"""What may be typed behind the `@`."""

from typing import Any

import pytest

from tests.cli.shell import API, SNIFFER, Shell

PROMPTS = ["Add rate limiting", "Keep the counters", "Start a Redis", "Document the limit"]


def prompt_of(shell: Shell, text: str) -> str:
    messages: list[dict[str, Any]] = shell.json("show", text)["messages"]
    assert messages[0]["role"] == "user"
    return messages[0]["text"]


@pytest.mark.parametrize(
    ("text", "number"), [("1", 1), ("4", 4), ("+2", 2), ("-1", 4), ("-4", 1), ("02", 2)]
)
def test_a_number(samples: Shell, text: str, number: int) -> None:
    assert prompt_of(samples, f"{API}@{text}").startswith(PROMPTS[number - 1])


@pytest.mark.parametrize("text", ["5", "-5", "99999", "-99999"])
def test_a_number_out_of_range_says_how_many_there_are(samples: Shell, text: str) -> None:
    said = samples.fails(3, "show", f"{API}@{text}")
    assert f"no turn {text}: claude:{API} has 4 turns" in said
    assert f"prong turns claude:{API}" in said
    assert samples.problem(3, "show", f"{API}@{text}")["code"] == "not_found"


def test_of_one_turn_there_is_one(shell: Shell) -> None:
    assert "has 1 turn\n" in shell.fails(3, "show", f"{shell.simple(1)}@2")


@pytest.mark.parametrize("text", ["0", "-0", "00"])
def test_zero_is_before_the_first_and_shows_nothing(samples: Shell, text: str) -> None:
    assert "turn 0 is before the first prompt" in samples.fails(2, "show", f"{API}@{text}")


def test_an_id_or_a_beginning_of_it(samples: Shell) -> None:
    for turn in samples.json("turns", API)["turns"]:
        assert prompt_of(samples, f"{API}@{turn['id']}") == turn["prompt"]
        assert prompt_of(samples, f"claude:60309e1e@{turn['id'][:8]}") == turn["prompt"]


def test_an_abandoned_turn_by_its_id(samples: Shell) -> None:
    [turn] = samples.json("turns", API)["abandoned"]
    assert turn["index"] is None
    assert prompt_of(samples, f"{API}@{turn['id'][:4]}").startswith("Forget Redis")
    text = samples.ok("show", f"{API}@{turn['id'][:4]}")
    assert f"turn {turn['id']}, abandoned by a rewind" in text


def test_inherited_turns_of_a_fork(samples: Shell) -> None:
    assert prompt_of(samples, f"{SNIFFER}@1").startswith("Write a parser")
    assert prompt_of(samples, f"{SNIFFER}@-1").startswith("Use the csv module's Sniffer")


def test_an_id_that_several_turns_begin_with_lists_them(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("One")
    sample.answer("Done.")
    sample.prompt("Two\nmore")
    sample.answer("Done.")
    for line, id_ in zip(
        [line for line in sample.lines if line["type"] == "user"], ("abc1", "abc2"), strict=True
    ):
        for other in sample.lines:
            if other["parentUuid"] == line["uuid"]:
                other["parentUuid"] = id_
        line["uuid"] = id_
    sample.write(shell.home.claude)
    said = shell.fails(3, "show", f"{sample.id}@abc")
    assert "abc fits 2 turns" in said
    assert "  @abc1  One\n  @abc2  Two more\n" in said
    problem = shell.problem(3, "show", f"{sample.id}@abc")
    assert problem["code"] == "ambiguous"
    assert problem["details"] == {"candidates": ["abc1", "abc2"]}


@pytest.mark.parametrize("text", ["zzz", "1234567", "1.5", "-", "9999999999999"])
def test_no_such_turn(samples: Shell, text: str) -> None:
    said = samples.fails(3, "show", f"{API}@{text}")
    assert f"no turn '{text}'" in said
    assert "--all" in said


def test_nothing_behind_the_at(samples: Shell) -> None:
    said = samples.fails(2, "show", f"{API}@")
    assert "no turn behind the @" in said
    assert f"prong turns {API}" in said


def test_turns_checks_the_turn_too(samples: Shell) -> None:
    assert "has 4 turns" in samples.fails(3, "turns", f"{API}@9")
    assert samples.ok("turns", f"{API}@2") == samples.ok("turns", API)
