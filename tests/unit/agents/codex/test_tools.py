"""Commands, exit codes and files, in all the shapes that Codex gave them."""

import json
from typing import Any

import pytest

from prong.model.sessions import Command, Turn
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import Codex, uuid

ID = uuid(1)


class Job:
    """One turn, with lines put in by hand."""

    def __init__(self, codex: Codex) -> None:
        self.codex = codex
        self.sample: CodexSample = codex.new()
        self.sample.add("event_msg", type="task_started", turn_id="t1")
        self.item(type="UserMessage", content=[{"type": "text", "text": "work"}])

    def item(self, **item: Any) -> None:
        self.sample.add("event_msg", type="item_completed", turn_id="t1", item=item)

    def response(self, type_: str, **fields: Any) -> None:
        self.sample.add("response_item", type=type_, **fields)

    def event(self, type_: str, **fields: Any) -> None:
        self.sample.add("event_msg", type=type_, **fields)

    def turn(self) -> Turn:
        self.codex.write(ID, self.sample.lines)
        (turn,) = self.codex.conversation(ID).turns
        return turn


@pytest.fixture
def job(codex: Codex) -> Job:
    return Job(codex)


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["/bin/bash", "-lc", "make test"], "make test"),
        (["bash", "-c", "make test"], "make test"),
        (["zsh", "-lc", "make test"], "make test"),
        (["sh", "-c", "make test"], "make test"),
        (["git", "commit", "-m", "a b"], "git commit -m 'a b'"),
        (["python", "-c", "x"], "python -c x"),
        ("make test", "make test"),
        ([], ""),
        (None, ""),
        (7, ""),
    ],
)
def test_a_command_as_a_person_would_type_it(job: Job, command: Any, text: str) -> None:
    job.item(type="CommandExecution", id="c", command=command, status="failed", exit_code=3)
    assert job.turn().commands == (Command(text, 3),)


def test_a_call_with_its_structured_result_is_one_command(job: Job) -> None:
    job.response("function_call", name="exec_command", arguments='{"cmd":"make"}', call_id="c")
    job.item(type="CommandExecution", id="c", command=["bash", "-lc", "make"], exit_code=1)
    job.response("function_call_output", call_id="c", output="Process exited with code 1\n")
    assert job.turn().commands == (Command("make", 1),)
    assert job.turn().tools == {"exec_command": 1}


def test_legacy_exec_command_end(job: Job) -> None:
    job.response(
        "function_call", name="shell", arguments='{"command":["bash","-lc","make"]}', call_id="c"
    )
    job.event("exec_command_end", call_id="c", command=["bash", "-lc", "make"], exit_code=0)
    assert job.turn().commands == (Command("make", 0),)


def test_an_event_without_the_command_takes_the_call_s(job: Job) -> None:
    job.response("function_call", name="shell", arguments='{"command":"make"}', call_id="c")
    job.event("exec_command_end", call_id="c", exit_code=5)
    assert job.turn().commands == (Command("make", 5),)


@pytest.mark.parametrize(
    ("output", "code"),
    [
        ("Chunk ID: 1\nWall time: 0.1\nProcess exited with code 3\nOutput:\n", 3),
        ("Exit code: 4\nWall time: 1 seconds\nOutput:\nx", 4),
        ("Exit code: -1\n", -1),
        (json.dumps({"output": "x" * 3000, "metadata": {"exit_code": 6, "duration": 1}}), 6),
        ([{"type": "input_text", "text": "Process exited with code 7"}], 7),
        ("Process running with session ID 5", None),
        ("x" * 1000 + "Process exited with code 3", None),
        (None, None),
    ],
)
def test_exit_codes_in_outputs(job: Job, output: Any, code: int | None) -> None:
    job.response("function_call", name="exec_command", arguments='{"cmd":"make"}', call_id="c")
    job.response("function_call_output", call_id="c", output=output)
    assert job.turn().commands == (Command("make", code),)


def test_the_exit_code_is_told_with_the_output(job: Job) -> None:
    job.response("function_call", name="exec_command", arguments='{"cmd":"make"}', call_id="c")
    job.item(type="CommandExecution", id="c", command="make", exit_code=2)
    job.response("function_call_output", call_id="c", output="boom")
    job.turn()
    tools = [m.tool for m in job.codex.store.messages(job.codex.session(ID)) if m.role == "tool"]
    assert [(t.name, t.output, t.exit_code, t.failed) for t in tools if t] == [
        ("exec_command", "boom", 2, True)
    ]


def test_a_number_in_another_tool_s_output_is_no_exit_code(job: Job) -> None:
    job.response("function_call", name="search", arguments="{}", call_id="c")
    job.response("function_call_output", call_id="c", output="Process exited with code 3")
    turn = job.turn()
    assert (turn.commands, turn.tools) == ((), {"search": 1})


@pytest.mark.parametrize("arguments", ["", "no json", '{"cmd":5}', "[]", 7, None, "[" * 100_000])
def test_arguments_that_cannot_be_read(job: Job, arguments: Any) -> None:
    job.response("function_call", name="exec_command", arguments=arguments, call_id="c")
    turn = job.turn()
    assert turn.tools == {"exec_command": 1}
    assert all(command.command == "" for command in turn.commands)


def test_a_wrong_byte_in_a_command(job: Job) -> None:
    job.item(type="CommandExecution", id="c", command=["bash", "-lc", "cat caf@"], exit_code=0)
    path = job.codex.write(ID, job.sample.lines)
    path.write_bytes(path.read_bytes().replace(b"caf@", b"caf\xe9"))
    (turn,) = job.codex.conversation(ID).turns
    assert [command.command[:7] for command in turn.commands] == ["cat caf"]


def test_files_of_file_changes_that_were_made(job: Job) -> None:
    job.item(type="FileChange", id="a", changes={"/w/a": {"type": "add"}}, status="completed")
    job.item(type="FileChange", id="b", changes={"/w/b": {"type": "add"}}, status="failed")
    job.item(type="FileChange", id="c", changes={"/w/c": {}, "/w/a": {}}, status="completed")
    job.item(type="FileChange", id="d", changes=None, status="completed")
    assert job.turn().files == ("/w/a", "/w/c")


def test_files_of_a_change_with_half_a_character_in_it(job: Job) -> None:
    change = {"type": "add", "content": "\ud83c"}
    job.item(type="FileChange", id="a", changes={"/w/a": change}, status="completed")
    path = job.codex.path(ID)
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in job.sample.lines), encoding="ascii")
    (turn,) = job.codex.conversation(ID).turns
    assert turn.files == ("/w/a",)


def test_files_of_legacy_patches(job: Job) -> None:
    job.event("patch_apply_end", call_id="a", success=True, changes={"/w/a": {"update": {}}})
    job.event("patch_apply_end", call_id="b", success=False, changes={"/w/b": {"update": {}}})
    assert job.turn().files == ("/w/a",)


PATCH = """*** Begin Patch
*** Add File: new.py
+x
*** Update File: src/old name.py
@@
-a
+b
*** Delete File: gone.py
*** End Patch"""


PATCH_CALLS: list[dict[str, Any]] = [
    {"type_": "custom_tool_call", "name": "apply_patch", "input": PATCH},
    {"type_": "function_call", "name": "apply_patch", "arguments": PATCH},
    {"type_": "function_call", "name": "apply_patch", "arguments": json.dumps({"input": PATCH})},
    {
        "type_": "function_call",
        "name": "shell",
        "arguments": json.dumps({"command": ["apply_patch", PATCH]}),
    },
    {
        "type_": "function_call",
        "name": "shell",
        "arguments": json.dumps({"command": ["bash", "-lc", f"apply_patch <<'E'\n{PATCH}\nE"]}),
    },
]


@pytest.mark.parametrize("call", PATCH_CALLS)
@pytest.mark.parametrize(
    ("output", "made"),
    [
        ('{"output":"Success.","metadata":{"exit_code":0}}', True),
        ("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.", True),
        ('{"output":"no","metadata":{"exit_code":1}}', False),
        ("apply_patch verification failed: Failed to find expected lines", False),
        (None, False),
    ],
)
def test_files_named_in_a_patch_that_was_applied(
    job: Job, call: dict[str, Any], output: str | None, made: bool
) -> None:
    job.response(**call, call_id="c")
    if output is not None:
        job.response(call["type_"] + "_output", call_id="c", output=output)
    turn = job.turn()
    assert turn.files == (("new.py", "src/old name.py", "gone.py") if made else ())
    assert turn.tools == {call["name"]: 1}


def test_a_structured_change_counts_more_than_the_patch(job: Job) -> None:
    job.response("custom_tool_call", name="apply_patch", call_id="c", input=PATCH)
    job.item(type="FileChange", id="c", changes={"/w/new.py": {}}, status="completed")
    assert job.turn().files == ("/w/new.py",)


def test_tools_of_servers_and_the_web(job: Job) -> None:
    job.response(
        "function_call", namespace="mcp__finder", name="find", arguments='{"q":1}', call_id="c"
    )
    output = [{"type": "input_text", "text": "found"}]
    job.response("function_call_output", call_id="c", output=output)
    job.response("web_search_call", id="w", action={"type": "search", "query": "q"})
    job.turn()
    found = [m.tool for m in job.codex.store.messages(job.codex.session(ID)) if m.tool]
    assert [(t.name, t.input, t.output) for t in found] == [
        ("mcp__finder/find", '{"q":1}', None),
        ("mcp__finder/find", "", "found"),
        ("web_search_call", '{"type": "search", "query": "q"}', None),
    ]


def test_a_local_shell_call(job: Job) -> None:
    action = {"type": "exec", "command": ["bash", "-lc", "ls"]}
    job.response("local_shell_call", call_id="c", status="completed", action=action)
    assert job.turn().tools == {"local_shell_call": 1}


def test_tokens_are_those_of_the_last_answer(job: Job) -> None:
    for total in (100, 2500, None):
        job.event("token_count", info={"last_token_usage": {"total_tokens": total}})
    job.event("token_count", info=None)
    assert job.turn().tokens == 2500
