"""Errors and hints as an agent gets them: tools and arguments, no commands and no options."""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import prong
from prong import errors
from prong.cli.main import COMMANDS
from prong.mcp.hints import BY_USER, for_agent
from prong.mcp.tools import TOOLS
from tests.cli.worker_lab import WorkerLab
from tests.mcp.agent import Agent

SOURCE = Path(prong.__file__).parent
FRONT_ENDS = ("cli", "tui", "serve", "testing")
ERRORS = {name for name in dir(errors) if isinstance(getattr(errors, name), type)}
BY_HAND = {
    *("attach", "diff", "doctor", "export", "hooks", "index", "key", "mcp", "restart", "run"),
    *("schedule", "serve", "snapshot", "stop", "worktrees"),
}
"""Commands without a tool, or with options that no tool has."""
_COMMAND = re.compile(rf"\bprong ({'|'.join(COMMANDS)})\b")
_USERS = re.compile(rf"{BY_USER} (?:[A-Z_]+=DIR )?prong ([a-z]+)[^,;]*")
_OTHERS = re.compile(r"\b(?:git|npm|qmd) [^,;]*")
REAL = "calm-otter@2"
"""In place of what a message has filled in."""


def leftovers(text: str) -> list[str]:
    """What is for a shell in a text that an agent got."""
    assert {found[1] for found in _USERS.finditer(text)} <= BY_HAND, text
    rest = _OTHERS.sub("", _USERS.sub("", text))
    return [found[0] for found in (_COMMAND.search(rest), re.search(r"--[a-z]+", rest)) if found]


# -- all that the source can say ------------------------------------------------------------------


@cache
def texts() -> Mapping[str, str]:
    """Messages and hints of all errors below the front ends, by where they are."""
    return dict(_texts())


def _texts() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        inside = path.relative_to(SOURCE)
        if inside.parts[0] in FRONT_ENDS or inside == Path("mcp/server.py"):
            continue
        tree = ast.parse(path.read_text())
        nodes = list(ast.walk(tree))
        hints = {
            one.value.id
            for one in nodes
            if isinstance(one, ast.keyword)
            and one.arg == "hint"
            and isinstance(one.value, ast.Name)
        }
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                said = node.func.id in ERRORS
            else:
                said = isinstance(node, ast.Assign) and any(
                    isinstance(one, ast.Name) and one.id in hints for one in node.targets
                )
            for text, line in strings(node) if said else ():
                yield f"{inside}:{line}", text


def strings(node: ast.AST) -> Iterator[tuple[str, int]]:
    """The texts in an expression; what is filled in is made up."""
    if isinstance(node, ast.JoinedStr):
        parts = (one.value if isinstance(one, ast.Constant) else REAL for one in node.values)
        yield "".join(map(str, parts)), node.lineno
    elif isinstance(node, ast.Constant):
        if isinstance(node.value, str):
            yield node.value, node.lineno
    else:
        for one in ast.iter_child_nodes(node):
            yield from strings(one)


@pytest.mark.parametrize("tool", [one.name for one in TOOLS])
def test_no_error_names_a_command_or_an_option(tool: str) -> None:
    assert len(texts()) > 500
    wrong = {
        where: (text, said)
        for where, text in texts().items()
        if leftovers(said := for_agent(text, tool))
    }
    assert wrong == {}


def test_the_errors_do_name_them_for_people() -> None:
    """Else the test above would find nothing whatever is done."""
    assert sum(bool(leftovers(text)) for text in texts().values()) > 60


@pytest.mark.parametrize(
    ("tool", "typed", "said"),
    [
        ("read_session", "prong turns claude:60309e1e", "list_turns with session: claude:60309e1e"),
        ("fork_session", "prong fork tess@2 --into DIR",
         "fork_session with session: tess@2, project_path: DIR"),
        ("fork_session", "--code now, or --no-worktree", 'code: "now", or code: "none"'),
        ("spawn_workers", "--code now, or --no-worktree",
         'fork_session with code: "now", or use_worktree: false'),
        ("spawn_workers", "leave --no-worktree out", "leave use_worktree out"),
        ("spawn_workers", "--branch and --base need a worktree",
         "worktree.branch and worktree.base need a worktree"),
        ("clone_worker", "--name NAME, or: prong ps", "new_name: NAME, or: list_workers"),
        ("clone_worker", "a longer --timeout, or: prong fork tess",
         "a longer timeout, or: fork_session with session: tess"),
        ("stop_worker", "prong stop --force tess", "stop_worker with name: tess, force: true"),
        ("send_to_worker", "prong attach tess, or: prong key tess C-u",
         f"{BY_USER} prong attach tess, or: {BY_USER} prong key tess C-u"),
        ("find_sessions", "prong doctor --fix", f"{BY_USER} prong doctor --fix"),
        ("find_sessions", "no session 'prong turns --all'", "no session 'prong turns --all'"),
        ("fork_session", "codex is missing: npm install -g @openai/codex",
         "codex is missing: npm install -g @openai/codex"),
    ],
)  # fmt: skip
def test_what_an_agent_is_told_instead(tool: str, typed: str, said: str) -> None:
    assert for_agent(typed, tool) == said


# -- errors of every tool -------------------------------------------------------------------------


def problems(lab: WorkerLab, agent: Agent) -> Iterator[dict[str, Any]]:
    """As many as can be had, of each tool."""
    here, nowhere = str(lab.project), str(lab.shell.home.root / "nowhere")
    known = lab.shell.simple(1, "Rate limits", cwd=here)
    gone = lab.shell.simple(2, "Elsewhere", cwd=nowhere)
    lab.run("--name", "tess", "--no-worktree", "hello")
    lab.until("tess", "idle")
    (lab.project / "hold").touch()
    lab.shell.json("send", "tess", "a long turn")
    lab.until("tess", "busy")
    lab.run("--name", "calm", "--headless", "--no-worktree", "hello")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("smart_fork", {"intent": " "}),
        ("smart_fork", {"intent": "Rate limits", "fork_index": 9}),
        ("smart_fork", {"intent": "Elsewhere", "fork_index": 1, "name": "tess"}),
        ("smart_fork", {"intent": "Rate limits", "fork_index": 1, "headless": True}),
        ("find_sessions", {"intent": " "}),
        ("find_sessions", {"agent": "gemini"}),
        ("find_sessions", {"intent": "x", "since": "never"}),
        ("read_session", {"session": "ffffffff"}),
        ("read_session", {"session": "claude:ffffffff"}),
        ("read_session", {"session": f"{known}@9"}),
        ("read_session", {"session": "x" * 300}),
        ("list_turns", {"session": "nobody"}),
        ("fork_session", {"session": gone}),
        ("fork_session", {"session": gone, "code": "turn"}),
        ("fork_session", {"session": known, "turn": 9}),
        ("fork_session", {"session": known, "branch": "-x"}),
        ("fork_session", {"session": known, "branch": "main"}),
        ("fork_session", {"session": known, "name": "tess"}),
        ("fork_session", {"session": known, "project_path": nowhere}),
        ("fork_session", {"session": known, "project_path": here, "branch": "x"}),
        ("fork_session", {"session": known, "code": "none", "branch": "x"}),
        ("fork_session", {"session": "tess", "turn": 2}),
        ("fork_session", {}),
        ("spawn_workers", {"workers": []}),
        ("worker_status", {"name": "nobody"}),
        ("wait_workers", {"names": ["nobody"]}),
        ("send_to_worker", {"name": "nobody", "text": "x"}),
        ("send_to_worker", {"name": "tess", "text": " "}),
        ("clone_worker", {"name": "nobody"}),
        ("clone_worker", {"name": f"{known}@1"}),
        ("clone_worker", {"name": gone}),
        ("clone_worker", {"name": "tess", "timeout": 0}),
        ("stop_worker", {"name": "nobody"}),
        ("stop_worker", {"name": "tess"}),
        ("prong_doctor", {"fix": True}),
    ]
    for tool, arguments in calls:
        yield agent.problem(tool, **arguments)
    spawn: list[dict[str, Any]] = [
        {"project_path": nowhere},
        {"name": "tess"},
        {"name": "-x"},
        {"headless": True},
        {"resume_session_id": f"{known}@1"},
        {"resume_session_id": known, "use_worktree": True},
        {"resume_session_id": gone},
        {"resume_session_id": known, "agent_type": "codex"},
        {"fork_from": known, "worktree": {"base": "main"}},
        {"fork_from": gone, "project_path": None},
        {"use_worktree": False, "worktree": {"branch": "x"}},
        {"continue_session": True, "project_path": "/"},
        {"worktree": {"branch": "main"}},
        {"project_path": "/", "use_worktree": True},
    ]
    at = {"project_path": here}
    for one in agent.ok("spawn_workers", workers=[{**at, **one} for one in spawn])["workers"]:
        assert one["problem"], one
        yield one["problem"]
    (lab.project / "hold").unlink()


def test_each_tool_says_what_an_agent_can_do(lab: WorkerLab, agent: Agent) -> None:
    said = list(problems(lab, agent))
    texts = [one[name] or "" for one in said for name in ("message", "hint")]
    assert {text: leftovers(text) for text in texts if leftovers(text)} == {}
    hints = [one["hint"] for one in said]
    for expected in (
        "list_workers",
        "stop_worker with name: tess, force: true",
        "use_worktree",
        "project_path: DIR",
    ):
        assert any(expected in (hint or "") for hint in hints), (expected, hints)


def test_a_worker_that_is_gone_is_left_to_the_user(lab: WorkerLab, agent: Agent) -> None:
    lab.run("--name", "tess", "--no-worktree")
    stopped = agent.ok("stop_worker", name="tess", force=True)
    assert stopped["hint"].endswith(f"{BY_USER} prong restart tess")
    told = agent.problem("send_to_worker", name="tess", text="x")
    assert told["hint"] == f"{BY_USER} prong restart tess"
