"""No key, and no character that nobody sees, gets out: not in any field of any answer or file."""

import inspect
import json
import sqlite3
from contextlib import closing, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast, get_args, get_origin

import msgspec
import pytest
from mcp.types import CallToolRequestParams, CallToolResult, TextContent

from prong import paths
from prong.errors import NotFound
from prong.mcp import server
from prong.mcp.call import Call
from prong.mcp.tool import McpTool
from prong.mcp.tools import TOOLS
from prong.model.record import Record, replace
from prong.storage import connection
from tests.cli.shell import Shell
from tests.cli.worker_lab import WorkerLab
from tests.keys import KEYS, leaked
from tests.mcp.agent import Agent, text_of

UNSEEN = {
    "control": "\x00\x01\x07\x08\x0e\x1b\x1f\x7f",
    "C1": "\x80\x85\x90\x9b\x9d\x9f",
    "direction": "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069",
    "width": "\u00ad\u034f\u115f\u1160\u180e\u200b\u2060\u2061\u2064\u206a\u206f\u3164\ufeff\uffa0",
    "tags": "".join(map(chr, (0xE0001, *range(0xE0020, 0xE0080)))),
    "selectors": "".join(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))),
    "joiners": "\u200c\u200d\u200c\u200d",
    "lines": "\u2028\u2029",
}
HIDDEN = "".join(f"a{characters}b" for characters in UNSEEN.values())
ALL_KEYS = "\n".join(key.text for key in KEYS)
PLANTED = f"{ALL_KEYS}\n{HIDDEN}"
IN_PATHS = "\n".join(key.text for key in KEYS if "//" not in key.text)
"""A path has no two slashes in a row."""


def refuse(text: str) -> None:
    assert leaked(text) == []
    said = set(json.dumps(text, ensure_ascii=False)) | set(text)
    got = {name for name, some in UNSEEN.items() if said & set(some)}
    assert got == set()


def texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return [one for pair in fields.items() for part in pair for one in texts(part)]
    return (
        [one for part in cast(list[Any], value) for one in texts(part)]
        if value is not None and isinstance(value, list)
        else []
    )


def look(result: CallToolResult) -> None:
    refuse(text_of(result).replace("\\n", "\n"))
    for one in texts(result.structured_content):
        refuse(one)


def filled(type_: Any) -> Any:
    """A value of a type, each text of which has all keys and all unseen characters in it."""
    if inspect.isclass(type_) and issubclass(type_, Record):
        return {one.encode_name: filled(one.type) for one in msgspec.structs.fields(type_)}
    arguments = get_args(type_)
    if get_origin(type_) in (list, tuple):
        return [filled(arguments[0])]
    if arguments:
        return filled(next(one for one in arguments if one is not type(None)))
    values: dict[Any, Any] = {int: 1, float: 1.0, bool: True}
    return values.get(type_, PLANTED)


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_every_field_of_every_answer(tool: McpTool) -> None:
    """The tool answers with keys in each field that it has; the boundary is the real one."""

    def run(_: Call, __: Record) -> Record:
        return msgspec.convert(filled(tool.result), tool.result)

    look(answered(replace(tool, run=run)))


@pytest.mark.parametrize("tool", TOOLS, ids=[tool.name for tool in TOOLS])
def test_every_field_of_every_problem(tool: McpTool) -> None:
    def run(_: Call, __: Record) -> Record:
        details = {PLANTED: PLANTED, "list": [PLANTED, {"path": Path(IN_PATHS)}]}
        raise NotFound(PLANTED, hint=PLANTED, **details)

    look(answered(replace(tool, run=run)))

    def fail(_: Call, __: Record) -> Record:
        raise ValueError(PLANTED)

    look(answered(replace(tool, run=fail)))


def answered(tool: McpTool) -> CallToolResult:
    needed: dict[str, Any] = {
        "intent": "x",
        "session": "x",
        "name": "x",
        "names": ["x"],
        "text": "x",
        "workers": [{"prompt": "x"}],
    }
    known = tool.arguments.__struct_fields__
    given = {name: value for name, value in needed.items() if name in known}
    params = CallToolRequestParams(name=tool.name, arguments=given)
    call = cast(Call, SimpleNamespace(opened=nullcontext))
    return server.answered(call, {tool.name: tool}, params)


def planted(shell: Shell, folder: str) -> str:
    """A real session that has all of it in every field that a session has."""
    sample = shell.session(1, cwd=folder)
    for number in range(2):
        sample.prompt(f"rate limiting {number} {PLANTED}")
        sample.lines[-1]["gitBranch"] = f"fix/{PLANTED}"
        given = {"command": PLANTED, "file_path": f"/x/{PLANTED}"}
        sample.tools((f"Tool_{PLANTED}", given, PLANTED), ("Write", given, PLANTED))
        sample.answer(f"limiting {PLANTED}")
    sample.side("custom-title", customTitle=f"rate limiting {PLANTED}")
    sample.write(shell.home.claude)
    return sample.id


def test_a_session_full_of_keys_through_every_tool_that_reads_or_plans(
    lab: WorkerLab, agent: Agent
) -> None:
    id_ = planted(lab.shell, str(lab.project))
    gone = lab.shell.session(2, cwd=f"/gone/{IN_PATHS}")
    gone.prompt("rate limiting elsewhere")
    gone.answer("done")
    gone.write(lab.shell.home.claude)
    into = {"project_path": str(lab.project)}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("find_sessions", {}),
        ("find_sessions", {"intent": "rate limiting"}),
        ("smart_fork", {"intent": f"rate limiting {PLANTED[:500]}".replace("\0", "")}),
        ("smart_fork", {"intent": "rate limiting", "include_snippets": False}),
        ("smart_fork", {"intent": "rate limiting", "auto_fork": True, "dry_run": True}),
        ("list_turns", {"session": id_}),
        ("read_session", {"session": id_, "tool_output": True, "max_tokens": 50_000}),
        ("read_session", {"session": id_, "max_tokens": 200}),
        ("fork_session", {"session": id_, "run": False, "dry_run": True}),
        ("fork_session", {"session": id_, "run": False, "prompt": ALL_KEYS}),
        ("fork_session", {"session": gone.id, "run": False}),
        ("fork_session", {"session": gone.id, "run": False, **into}),
        ("spawn_workers", {"workers": [{"fork_from": id_, "prompt": ALL_KEYS}], "dry_run": True}),
        ("spawn_workers", {"workers": [{"fork_from": gone.id}], "dry_run": True}),
        ("worker_status", {"name": KEYS[20].text}),
        ("read_session", {"session": KEYS[20].text}),
        ("list_workers", {}),
    ]
    for name, arguments in calls:
        look(agent.result(name, **arguments))


def test_what_sqlite_quotes_of_a_damaged_file(lab: WorkerLab, agent: Agent) -> None:
    agent.ok("list_workers")
    state = paths.state_dir() / "state.db"
    connection.write(state, lambda _: None)
    connection.close_all()
    name = f"{KEYS[20].text}{HIDDEN}".replace("\0", "")
    with closing(sqlite3.connect(state)) as opened, opened:
        opened.execute("PRAGMA writable_schema = ON")
        row = ("table", name, "x", 0, "CREATE nonsense")
        opened.execute("INSERT INTO sqlite_schema VALUES (?, ?, ?, ?, ?)", row)
    result = agent.result("list_workers")
    told = "\n".join(cast(TextContent, content).text for content in result.content)
    assert "state.db was damaged (malformed database schema" in told
    refuse(told)


def test_exports_titles_and_the_title_of_a_fork(lab: WorkerLab) -> None:
    shell = lab.shell
    id_ = planted(shell, str(lab.project))
    out = shell.home.root / "out"
    shell.ok("export", str(out))
    files = list(out.rglob("*.md"))
    assert files
    for file in files:
        refuse(str(file))
        refuse(file.read_text())
    for words in (("list", "--json"), ("turns", id_, "--json")):
        for title in titles(json.loads(shell.ok(*words))):
            refuse(title)
    made = shell.json("fork", id_, "--code", "none", "--json")
    child = Path(made["fork"]["path"])
    lines = [json.loads(line) for line in child.read_bytes().split(b"\n") if line]
    own = [line["customTitle"] for line in lines if line["type"] == "custom-title"]
    assert "rate limiting" in own[-1]
    refuse(own[-1])


def titles(value: Any) -> list[str]:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        own = [fields["title"]] if isinstance(fields.get("title"), str) else []
        return own + [one for part in fields.values() for one in titles(part)]
    return (
        [one for part in cast(list[Any], value) for one in titles(part)]
        if isinstance(value, list)
        else []
    )
