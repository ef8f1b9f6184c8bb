"""Send a seed to Codex: a first prompt on standard input, without tools, and its answer.

Measured: up to 1,048,576 characters arrive byte for byte. The thread belongs to `codex exec`, so
Codex's picker lists it only with `--include-non-interactive`.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from prong.agents import jsonl
from prong.agents.argv import Command
from prong.agents.codex.launch import ExecEvent, ExecFailure, exec_argv, for_child
from prong.agents.headless import NOTHING_SAID, ProgramAnswer, events
from prong.files.regular import read_regular
from prong.model.forks import Child, Launch

FLAGS = ("exec", "--sandbox")
"""The flags that are used below and listed by `codex --help`."""

_SETTINGS = (
    'approval_policy="never"',
    "features.shell_tool=false",
    "features.view_image=false",
    "features.goals=false",
    "features.apps=false",
    "features.hooks=false",
    "notify=[]",
    'web_search="disabled"',
    "tools.experimental_request_user_input.enabled=false",
    # Not `features.multi_agent`, which is stored with the thread and would stay off for good.
    "agents.max_depth=0",
)
"""Settings that disable all tools for this run. Codex ignores unknown names."""


def launch(command: Command, roots: Sequence[Path], child: Child) -> Launch:
    root = child.root or roots[0]
    flags = ["--json", "--sandbox", "read-only"]
    for setting in (*_SETTINGS, *_servers_off(root, child.cwd)):
        flags += ["-c", setting]
    return for_child(exec_argv(command, child.cwd, [*flags, "-"]), child, root)


def _servers_off(root: Path, cwd: Path) -> Iterator[str]:
    """Yield settings that disable each MCP server of the user and of the project."""
    import tomllib

    files = [root / "config.toml", *root.glob("*.config.toml")]
    files += [folder / ".codex/config.toml" for folder in (cwd, *cwd.parents)]
    names: dict[str, bool] = {}
    for file in files:
        with suppress(OSError, ValueError):
            table = tomllib.loads(read_regular(file).decode()).get("mcp_servers", {})
            servers = msgspec.convert(table, dict[str, dict[str, Any]])
            names |= {name: "url" in server for name, server in servers.items()}
    disabled = ",".join(
        # Each needs a transport, or Codex rejects the settings of a server that it does not know.
        f"{json.dumps(name, ensure_ascii=False)}={{enabled=false,"
        + ('url="http://127.0.0.1:9"}' if remote else 'command="true"}')
        for name, remote in names.items()
    )
    if disabled:
        yield f"mcp_servers={{{disabled}}}"


class _Refusal(msgspec.Struct):
    """An error of the API, which Codex passes on as JSON text."""

    error: ExecFailure


_refusal = msgspec.json.Decoder(_Refusal).decode


def answer(output: Iterable[str]) -> ProgramAnswer:
    """Parse the answer from the output of `codex exec --json`."""
    thread: str | None = None
    text = ""
    failure = ""
    ended = False
    for event in events(output, ExecEvent):
        match event.type:
            case "thread.started":
                thread = event.thread_id
            case "item.completed" if event.item and event.item.type == "agent_message":
                text += event.item.text
            case "turn.completed":
                ended = True
            case "turn.failed" if event.error:
                failure = event.error.message
            case "error":
                # Also printed before a retry: it counts only if nothing better follows.
                failure = failure or event.message
            case _:
                pass
    if ended and text:
        return ProgramAnswer(thread, text, None)
    refusal = jsonl.decoded(_refusal, failure.encode())
    reason = (refusal.error.message if refusal else "") or failure
    return ProgramAnswer(thread, text, (not ended and reason) or NOTHING_SAID)
