"""`--json`: one value on stdout, with the fields that scripts rely on (DESIGN.md)."""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import pytest

from tests.cli.shell import API, PARSER, SNIFFER, Shell

SESSION = {
    "ref": str,
    "agent": str,
    "id": str,
    "title": str,
    "cwd": str,
    "branch": str,
    "model": str,
    "started": str,
    "updated": str,
    "turns": int,
    "size": int,
    "path": str,
    "parent": (str, type(None)),
}
TURN = {
    "index": (int, type(None)),
    "id": str,
    "kind": str,
    "prompt": str,
    "started": str,
    "ended": str,
    "state": str,
    "files": list,
    "commands": list,
    "snapshot": type(None),
    "diffstat": type(None),
}
MESSAGE = {"turn": (int, type(None)), "role": str, "text": str, "tool": (dict, type(None))}
NODE = {"ref": str, "turn": (int, type(None)), "children": list}
FINDING = {"topic": str, "level": str, "message": str, "hint": (str, type(None))}
RFC3339_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
TIMES = {"started", "updated", "ended", "time", "date"}


def fits(value: dict[str, Any], shape: dict[str, Any]) -> bool:
    """True when every promised field is there with a promised type; more fields are allowed."""
    return all(name in value and isinstance(value[name], kind) for name, kind in shape.items())


def times(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in cast(list[Any], value):
            yield from times(one)
    elif isinstance(value, dict):
        for name, one in cast(dict[str, Any], value).items():
            if name in TIMES and one is not None:
                yield one
            else:
                yield from times(one)


COMMANDS = [
    *(["list"], ["find", "redis"], ["show", API], ["turns", API], ["tree"]),
    *(["index"], ["doctor"]),
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_exactly_one_value_on_one_line_and_nothing_beside_it(
    samples: Shell, words: list[str]
) -> None:
    result = samples.run(*words, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.count("\n") == 1
    assert isinstance(json.loads(result.stdout), dict)


@pytest.mark.parametrize("words", COMMANDS[:-2], ids=lambda words: words[0])
def test_times_are_rfc_3339_in_utc(samples: Shell, words: list[str]) -> None:
    found = list(times(samples.json(*words, TZ="Asia/Tokyo")))
    assert found
    assert all(RFC3339_UTC.fullmatch(time) for time in found)


def test_list(samples: Shell) -> None:
    found = samples.json("list")
    assert isinstance(found["skipped"], list)
    assert len(found["sessions"]) == 5
    assert all(fits(session, SESSION) for session in found["sessions"])
    session = found["sessions"][2]
    assert session["ref"] == f"codex:{SNIFFER}"
    assert (session["agent"], session["id"]) == ("codex", SNIFFER)
    assert session["parent"] == f"codex:{PARSER}"
    assert (session["turns"], session["inherited"]) == (2, 1)
    assert session["cwd"] == str(samples.home.projects / "shop")
    assert (session["branch"], session["model"]) == ("main", "gpt-5.6")


def test_turns(samples: Shell) -> None:
    found = samples.json("turns", API)
    assert fits(found["session"], SESSION)
    assert all(fits(turn, TURN) for turn in [*found["turns"], *found["abandoned"]])
    assert [turn["index"] for turn in found["turns"]] == [1, 2, 3, 4]
    second = found["turns"][1]
    assert second["kind"] == "human"
    assert second["state"] == "finished"
    assert second["files"] == [str(samples.home.projects / "shop/shop/limit.py")]
    assert second["commands"] == [{"command": "pytest -q tests/test_limit.py", "exit_code": 1}]
    assert second["tools"] == {"Edit": 1, "Bash": 1}
    assert second["tokens"] == 34_900
    assert found["abandoned"][0]["state"] == "interrupted"
    assert found["compactions"] == [3]


def test_show(samples: Shell) -> None:
    found = samples.json("show", f"{API}@2")
    assert fits(found["session"], SESSION)
    assert all(fits(message, MESSAGE) for message in found["messages"])
    prompt, edit, bash, answer = found["messages"]
    assert {message["turn"] for message in found["messages"]} == {2}
    assert (prompt["role"], answer["role"]) == ("user", "assistant")
    assert prompt["tool"] is answer["tool"] is None
    assert (edit["role"], edit["tool"]["name"]) == ("tool", "Edit")
    # A call and its result are one message, as docs/reference/json.md shows it.
    assert json.loads(bash["tool"]["input"]) == {"command": "pytest -q tests/test_limit.py"}
    assert bash["tool"]["output"] == "Exit code 1\n1 failed, 2 passed"
    assert (bash["tool"]["exit_code"], bash["tool"]["failed"]) == (1, True)


def test_show_context(samples: Shell) -> None:
    messages = samples.json("show", API, "--context")["messages"]
    assert all(fits(message, MESSAGE) for message in messages)
    assert {message["turn"] for message in messages} == {None}


def test_tree(samples: Shell) -> None:
    def nodes(found: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for node in found:
            yield node
            yield from nodes(node["children"])

    assert all(fits(node, NODE) for node in nodes(samples.json("tree", "--all")["roots"]))


def test_doctor(samples: Shell) -> None:
    findings = samples.json("doctor")["findings"]
    assert all(fits(finding, FINDING) for finding in findings)
    assert {finding["level"] for finding in findings} <= {"ok", "note", "warning"}


def test_an_answer_does_not_depend_on_the_terminal(samples: Shell) -> None:
    assert samples.json("list") == samples.json("list", COLUMNS="20")


def test_a_file_name_that_is_no_text_is_still_json(shell: Shell) -> None:
    id_ = shell.simple(1)
    [path] = shell.home.claude.rglob(f"{id_}.jsonl")
    folder = path.parent.rename(path.parent.with_name("odd-\udcff"))
    result = shell.process("list", "--json")
    assert result.returncode == 0
    [session] = json.loads(result.stdout)["sessions"]
    assert session["path"] == f"{folder}/{id_}.jsonl"
    assert shell.process("list").returncode == 0
    assert shell.process("show", id_).returncode == 0
