"""What is known of a turn: its state, files, commands, tokens, times."""

import json
import os
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from prong.model.sessions import Command, Turn, TurnState
from tests.samples.claude import ClaudeSample
from tests.unit.agents.stores import START, Claude, uuid

ID = uuid(1)


def only_turn(claude: Claude, sample: ClaudeSample) -> Turn:
    claude.write(ID, sample.lines)
    (turn,) = claude.conversation(ID).turns
    return turn


def states(claude: Claude, sample: ClaudeSample) -> list[TurnState]:
    claude.write(ID, sample.lines)
    return [turn.state for turn in claude.conversation(ID).turns]


def asked(claude: Claude) -> ClaudeSample:
    sample = claude.new()
    sample.prompt("do it")
    return sample


def test_finished(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("done")
    assert states(claude, sample) == ["finished"]


def test_interrupted_by_the_person(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Bash", {"command": "sleep 9"}, "stopped"), failed=[0])
    sample.interrupt()
    sample.prompt("go on")
    sample.answer("done")
    assert states(claude, sample) == ["interrupted", "finished"]


def test_failed(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("API Error: 400")
    line = sample.lines[-2]
    line["isApiErrorMessage"] = True
    line["message"]["model"] = "<synthetic>"
    assert states(claude, sample) == ["failed"]
    assert claude.session(ID).model is None


def test_a_failure_that_was_overcome(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("API Error: 529")
    sample.lines[-2]["isApiErrorMessage"] = True
    sample.answer("done after all")
    assert states(claude, sample) == ["finished"]


def test_no_answer_and_nobody_at_work_is_interrupted(claude: Claude) -> None:
    sample = asked(claude)
    assert states(claude, sample) == ["interrupted"]
    sample.tools(("Read", {"file_path": "/a"}, "text"))
    assert states(claude, sample) == ["interrupted"]


def test_a_call_without_its_result_is_interrupted(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Read", {"file_path": "/a"}, "text"))
    del sample.lines[-1]
    assert states(claude, sample) == ["interrupted"]


def test_the_cli_s_own_words_are_no_answer(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("No response requested.")
    sample.lines[-2]["message"]["model"] = "<synthetic>"
    assert states(claude, sample) == ["interrupted"]


def register(claude: Claude, **fields: Any) -> None:
    folder = claude.root / "sessions"
    folder.mkdir(parents=True, exist_ok=True)
    entry = {"pid": os.getpid(), "sessionId": ID, "status": "busy", **fields}
    (folder / f"{entry['pid']}.json").write_text(json.dumps(entry), encoding="utf-8")


def own_start() -> str:
    stat = Path("/proc/self/stat").read_text(encoding="utf-8")
    return stat.rpartition(")")[2].split()[19]


@pytest.mark.parametrize("proc_start", [None, own_start()], ids=["unknown", "known"])
def test_running_when_a_living_process_is_busy_with_it(
    claude: Claude, proc_start: str | None
) -> None:
    sample = asked(claude)
    register(claude, procStart=proc_start)
    assert states(claude, sample) == ["running"]
    sample.tools(("Read", {"file_path": "/a"}, "text"))
    assert states(claude, sample) == ["running"]
    sample.answer("done")
    assert states(claude, sample) == ["finished"]


@pytest.mark.parametrize(
    "fields",
    [
        {"status": "idle"},
        {"sessionId": uuid(2)},
        {"procStart": "1"},
        {"pid": 2**22 + 1},
        {"pid": 10**30},
        {"pid": "x"},
        {"pid": 0},
        {"pid": -1},
    ],
)
def test_not_running_when_the_registry_says_otherwise(
    claude: Claude, fields: dict[str, Any]
) -> None:
    sample = asked(claude)
    register(claude, **fields)
    assert states(claude, sample) == ["interrupted"]


def test_a_damaged_registry_is_no_evidence(claude: Claude) -> None:
    sample = asked(claude)
    folder = claude.root / "sessions"
    folder.mkdir(parents=True)
    (folder / "1.json").write_bytes(b'{"pid":1,"sessionId":"\xff"')
    (folder / "2.json").mkdir()
    assert states(claude, sample) == ["interrupted"]


def test_only_the_last_turn_can_be_running(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Read", {"file_path": "/a"}, "text"))
    sample.prompt("next")
    register(claude)
    assert states(claude, sample) == ["interrupted", "running"]


def test_files_come_from_edits_that_succeeded(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Write", {"file_path": "/w/new.py"}, "ok"))
    sample.tools(("Edit", {"file_path": "/w/refused.py"}, "no"), failed=[0])
    sample.tools(("MultiEdit", {"file_path": "/w/many.py"}, "ok"))
    sample.tools(("NotebookEdit", {"notebook_path": "/w/book.ipynb"}, "ok"))
    sample.tools(("Edit", {"file_path": "/w/new.py"}, "ok"))
    sample.tools(("Read", {"file_path": "/w/read.py"}, "text"))
    sample.tools(("Edit", {"file_path": "/w/unanswered.py"}, "ok"))
    del sample.lines[-1]
    turn = only_turn(claude, sample)
    assert turn.files == ("/w/new.py", "/w/many.py", "/w/book.ipynb")
    assert turn.tools == {"Write": 1, "Edit": 3, "MultiEdit": 1, "NotebookEdit": 1, "Read": 1}


@pytest.mark.parametrize(
    ("output", "failed", "code"),
    [
        ("3 passed", [], 0),
        ("Exit code 2\nboom", [0], 2),
        ("Error: Exit code 127\nnot found", [0], 127),
        ([{"type": "text", "text": "Exit code 3\nboom"}], [0], 3),
        ("The user doesn't want to proceed", [0], None),
    ],
)
def test_exit_codes(claude: Claude, output: Any, failed: list[int], code: int | None) -> None:
    sample = asked(claude)
    sample.tools(("Bash", {"command": "make test"}, output), failed=failed)
    assert only_turn(claude, sample).commands == (Command("make test", code),)
    results = [m.tool for m in claude.store.messages(claude.session(ID)) if m.role == "tool"]
    assert [(tool.exit_code, tool.failed) for tool in results if tool] == [(code, bool(failed))]


def test_a_background_command_has_no_exit_code_yet(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Bash", {"command": "serve"}, "Command running in background"))
    sample.lines[-1]["toolUseResult"]["backgroundTaskId"] = "b1"
    assert only_turn(claude, sample).commands == (Command("serve", None),)


def test_a_command_without_a_result_has_no_exit_code(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Bash", {"command": "make"}, "x"))
    del sample.lines[-1]
    assert only_turn(claude, sample).commands == (Command("make", None),)


@pytest.mark.parametrize("given", [None, 5, [], {"command": 7}, {}])
def test_tool_inputs_of_the_wrong_shape(claude: Claude, given: Any) -> None:
    sample = asked(claude)
    sample.tools(("Bash", given, "x"), ("Edit", given, "x"))
    turn = only_turn(claude, sample)
    assert (turn.commands, turn.files) == ((Command("", 0),), ())


def test_a_wrong_byte_in_a_command(claude: Claude) -> None:
    sample = asked(claude)
    sample.tools(("Bash", {"command": "cat caf@"}, "x"))
    path = claude.write(ID, sample.lines)
    path.write_bytes(path.read_bytes().replace(b"caf@", b"caf\xe9"))
    (turn,) = claude.conversation(ID).turns
    assert turn.commands == (Command("cat caf\ufffd", 0),)


def test_tokens_are_those_of_the_last_answer(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("first", tokens=100)
    sample.lines[-2]["message"]["usage"] = {
        "input_tokens": 1,
        "cache_creation_input_tokens": 20,
        "cache_read_input_tokens": 300,
        "output_tokens": 4000,
    }
    assert only_turn(claude, sample).tokens == 4321
    sample.tools(("Read", {}, "x"))
    assert only_turn(claude, sample).tokens == 4321
    sample.answer("second", tokens=5000)
    assert only_turn(claude, sample).tokens == 5000


def test_no_tokens_told(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("x")
    del sample.lines[-2]["message"]["usage"]
    assert only_turn(claude, sample).tokens is None


def test_times(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("x")
    turn = only_turn(claude, sample)
    assert (turn.started, turn.ended) == (
        START + timedelta(seconds=1),
        START + timedelta(seconds=3),
    )
    for line in sample.lines:
        line["timestamp"] = "not a time"
    turn = only_turn(claude, sample)
    assert (turn.started, turn.ended) == (None, None)


def test_numbers_count_from_one(claude: Claude) -> None:
    sample = claude.new()
    ids = [sample.prompt(str(number)) for number in range(5)]
    claude.write(ID, sample.lines)
    assert [(t.index, t.id) for t in claude.conversation(ID).turns] == list(enumerate(ids, start=1))


def test_what_comes_after_the_answer_does_not_lengthen_the_turn(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("x")
    ended = only_turn(claude, sample).ended
    sample.now += timedelta(days=1)
    sample.chain("system", subtype="local_command", content="<command-name>/exit</command-name>")
    assert only_turn(claude, sample).ended == ended


@pytest.mark.parametrize(
    ("block", "stop"),
    [
        ({"type": "thinking", "thinking": "hm"}, None),
        ({"type": "text", "text": "I will look"}, "tool_use"),
    ],
)
def test_a_message_that_broke_off_is_interrupted(
    claude: Claude, block: dict[str, str], stop: str | None
) -> None:
    sample = asked(claude)
    sample.answer("x")
    del sample.lines[-1]
    sample.lines[-1]["message"] |= {"content": [block], "stop_reason": stop}
    assert states(claude, sample) == ["interrupted"]


def test_an_answer_while_a_hook_still_runs_is_running(claude: Claude) -> None:
    sample = asked(claude)
    sample.answer("x")
    note = sample.lines.pop()
    register(claude)
    assert states(claude, sample) == ["running"]
    sample.lines.append(note)
    assert states(claude, sample) == ["finished"]
