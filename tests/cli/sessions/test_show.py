"""`prong show`: a transcript for reading, or the bytes behind it."""

import json
from typing import Any

import pytest

from tests.cli.shell import API, PARSER, SNIFFER, Shell
from tests.samples.claude import ClaudeSample

TURN_2 = """\
── turn 2 ──────────────────────────────────────────────────────────────────────

> Keep the counters in Redis, so that all workers share them

* Edit shop/limit.py
* Bash pytest -q tests/test_limit.py  exit 1

Done with INCR and EXPIRE. One test needs a running Redis.
"""


def written(shell: Shell, sample: ClaudeSample) -> str:
    sample.write(shell.home.claude)
    return sample.id


def test_one_turn(samples: Shell) -> None:
    text = samples.ok("show", f"{API}@2")
    assert text.endswith(f"\n\n{TURN_2}")
    assert text.startswith(f"claude:{API}  Rate limiting for the public API\n")
    assert text.splitlines()[1] == "~/projects/shop  main  claude-opus-5-5"


def test_a_whole_session_has_all_its_turns_and_none_that_was_rewound(samples: Shell) -> None:
    text = samples.ok("show", API)
    assert TURN_2 in text
    rules = [line.split("─")[2].strip() for line in text.splitlines() if line.startswith("── turn")]
    assert rules == ["turn 1", "turn 2", "turn 3", "turn 4"]
    assert "Forget Redis" not in text
    assert "compacted: the conversation so far was replaced by" in text


def test_there_is_never_more_than_one_empty_line(samples: Shell) -> None:
    for session in samples.json("list")["sessions"]:
        for options in ([], ["--full"], ["--context"]):
            text = samples.ok("show", session["ref"], *options)
            assert "\n\n\n" not in text
            assert not text.endswith("\n\n")


def test_a_codex_fork_shows_what_it_inherited(samples: Shell) -> None:
    text = samples.ok("show", SNIFFER)
    assert "> Write a parser for the suppliers' price lists" in text
    assert "> Use the csv module's Sniffer" in text
    assert "decimal sign" not in text
    assert "pytest -q tests/test_prices.py  exit 0" in text


def test_full_has_what_tools_were_given_and_printed(samples: Shell) -> None:
    text = samples.ok("show", f"{API}@2", "--full")
    assert '  │   "command": "pytest -q tests/test_limit.py"' in text
    assert "  │ 1 failed, 2 passed" in text
    assert "1 failed, 2 passed" not in samples.ok("show", f"{API}@2")


def test_thinking_is_shown_in_full_only(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample._assistant({"type": "thinking", "thinking": "Let me see."}, "msg_1")
    sample.answer("Done.")
    id_ = written(shell, sample)
    assert "Let me see." in shell.ok("show", id_, "--full")
    assert "Let me see." not in shell.ok("show", id_)


def test_raw_is_the_bytes_of_the_file(samples: Shell) -> None:
    [path] = samples.home.claude.rglob(f"{API}.jsonl")
    lines = path.read_bytes().splitlines()
    raw = samples.run("show", f"{API}@2", "--raw").stdout_bytes.splitlines()
    assert raw
    start = lines.index(raw[0])
    assert lines[start : start + len(raw)] == raw
    everything = samples.run("show", API, "--raw").stdout_bytes.splitlines()
    assert set(everything) < set(lines)
    assert not any(b"Forget Redis" in line for line in everything)


def test_raw_keeps_what_another_writer_would_spell_differently(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample.answer("Done.")
    path = sample.write(shell.home.claude)
    odd = b'{ "type" : "user", "uuid":"u", "parentUuid":null, "x":1.0e2, "y":"\\u00e9 \xc2\x9b"'
    odd += b', "message":{"role":"user","content":"odd"}, "timestamp":"2026-01-01T00:00:00Z" }'
    path.write_bytes(odd + b"\n")
    result = shell.run("show", sample.id, "--raw")
    assert result.stdout_bytes == odd + b"\n"


def test_raw_of_a_codex_fork_has_the_lines_of_its_parent(samples: Shell) -> None:
    [parent] = samples.home.codex.rglob(f"*{PARSER}.jsonl")
    [own] = samples.home.codex.rglob(f"*{SNIFFER}.jsonl")
    lines = samples.run("show", SNIFFER, "--raw").stdout_bytes.splitlines()
    assert set(lines) & set(parent.read_bytes().splitlines())
    assert set(lines) & set(own.read_bytes().splitlines())
    assert all(json.loads(line) for line in lines)


def test_context_is_what_the_model_would_get(samples: Shell) -> None:
    text = samples.ok("show", API, "--context")
    assert "Rate limiting by key with Redis" in text
    assert "Document the limit in the README" in text
    assert "Add rate limiting to the public API, 60" not in text


@pytest.mark.parametrize(
    "words",
    [["--raw", "--json"], ["--raw", "--context"], ["--raw", "--full"]],
)
def test_raw_goes_alone(samples: Shell, words: list[str]) -> None:
    assert "--raw takes no other options" in samples.fails(2, "show", API, *words)


def test_context_of_a_turn_is_refused(samples: Shell) -> None:
    said = samples.fails(2, "show", f"{API}@2", "--context")
    assert f"prong show claude:{API} --context" in said


def test_a_tool_without_a_result_says_so(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample._assistant(
        {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "sleep 9"}}, "m1"
    )
    id_ = written(shell, sample)
    assert "* Bash sleep 9  no result\n" in shell.ok("show", id_)
    tools = [message["tool"] for message in shell.json("show", id_)["messages"] if message["tool"]]
    assert [(tool["name"], tool["output"]) for tool in tools] == [("Bash", None)]


def test_a_result_without_its_call_is_shown(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    result = {"type": "tool_result", "tool_use_id": "lost", "content": "what came out"}
    sample.chain("user", message={"role": "user", "content": [result]})
    sample.answer("Done.")
    id_ = written(shell, sample)
    assert "* tool\n" in shell.ok("show", id_)
    assert "  │ what came out\n" in shell.ok("show", id_, "--full")


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"command": ["ls", "-l", "a b"]}, "* T ls -l 'a b'"),
        ({"command": ["bash", "-lc", "ls | wc"]}, "* T ls | wc"),
        ({"command": [1, 2]}, "* T [1, 2]"),
        ({"query": {"é": 1}}, '* T {"é": 1}'),
        ({"pattern": "x", "path": ""}, "* T x"),
        ({"other": 1}, '* T {"other": 1}'),
        ({}, "* T"),
        ([1, 2], "* T [1, 2]"),
        (None, "* T null"),
        ({"command": "one\ntwo\t three"}, "* T one two three"),
    ],
)
def test_a_tool_is_one_line_with_what_tells_most(shell: Shell, given: Any, line: str) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample.tools(("T", given, "fine"))
    sample.answer("Done.")
    assert f"\n{line}\n" in shell.ok("show", written(shell, sample))


def test_a_failed_tool_says_so(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample.tools(("Edit", {"file_path": "/a"}, "not found"), failed=[0])
    sample.answer("Done.")
    assert "* Edit /a  failed\n" in shell.ok("show", written(shell, sample))


def test_parallel_tools_each_have_their_result(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    sample.tools(("A", {}, "from A"), ("B", {}, "from B"))
    sample.answer("Done.")
    messages = shell.json("show", written(shell, sample))["messages"]
    tools = {m["tool"]["name"]: m["tool"]["output"] for m in messages if m["tool"]}
    assert tools == {"A": "from A", "B": "from B"}


def test_a_turn_in_which_nothing_was_answered(shell: Shell) -> None:
    sample = shell.session(1)
    sample.prompt("Hello")
    text = shell.ok("show", f"{written(shell, sample)}@1")
    assert text.endswith("> Hello\n")
