"""An agent that asks prong: the real CLIs, told of the server by `prong mcp install`."""

from __future__ import annotations

import json
import os
from typing import Any

from prong.model.record import Record
from prong.testing.script import Answer, Reply, ToolCall, say
from prong.testing.server import Request, RequestKind
from tests.drivers.claude_cli import ClaudeCli, ClaudeRun
from tests.drivers.codex_cli import CodexRun
from tests.drivers.requests import Item, anthropic_items, openai_items, records
from tests.e2e.workers.typed_workers import WorkerLab

Call = tuple[str, dict[str, Any]]
"""The name of a tool, and what it is given."""


class Asked(Record, frozen=True):
    """A turn in which the model called tools."""

    session: str
    results: tuple[dict[str, Any], ...]
    """What reached the model, as JSON."""
    texts: tuple[str, ...]
    """The same as it was sent."""
    failed: tuple[bool, ...]


class McpLab:
    """One agent that has the server, and whose model does as it is told."""

    def __init__(self, lab: WorkerLab, *install: str) -> None:
        self.workers = lab
        self.agent = lab.agent
        self.server = lab.server
        # Coverage wants to know of the server, too.
        kept = [word for name in _coverage() for word in ("--env", name)]
        lab.ok("mcp", "install", "--agent", lab.agent, "--yes", *kept, *install)
        if lab.agent == "codex":
            # Its first request does not wait for servers otherwise; see docs/guides/mcp.md.
            config = lab.home.codex / "config.toml"
            entry = "[mcp_servers.prong]\n"
            config.write_text(config.read_text().replace(entry, f"{entry}required = true\n"))

    def past(self, prompt: str, answer: str) -> str:
        """A session of one turn that was had before; its id."""
        self.server.enqueue(say(answer))
        return _id(self.workers.cli.run(prompt, self.workers.project))

    def ask(self, prompt: str, *calls: Call, resume: str | None = None) -> Asked:
        """A turn whose model makes these calls, one after the other."""
        self.server.respond = _Script(self, prompt, calls).answer
        lab = self.workers
        # The same for Claude Code.
        env = {**lab.environment(), "MCP_CONNECTION_NONBLOCKING": "false"}
        cli = lab.cli
        if isinstance(cli, ClaudeCli):
            run = cli.run(prompt, lab.project, resume=resume, env=env)
        elif resume is not None:
            run = cli.resume(resume, prompt, lab.project, env=env)
        else:
            run = cli.run(prompt, lab.project, env=env)
        assert run.result == "that is all", f"{run}\n{lab.screens()}"
        return self._asked(_id(run), prompt, calls)

    def ask_worker(self, name: str, prompt: str, *calls: Call) -> Asked:
        """The same in the terminal of a worker."""
        self.server.respond = _Script(self, prompt, calls).answer
        said = self.workers.ok("send", name, prompt, "--wait")
        assert said == "that is all\n", self.workers.screens()
        return self._asked("", prompt, calls)

    def _asked(self, session: str, prompt: str, calls: tuple[Call, ...]) -> Asked:
        last = [one for one in self.server.conversation_requests() if self.is_of(one, prompt)][-1]
        results = self._since(last, prompt)
        assert len(results) == len(calls), results
        return Asked(
            session,
            tuple(_json(one.text) for one in results),
            tuple(one.text for one in results),
            tuple(_failed(last.body, one) for one in results),
        )

    def items(self, request: Request) -> list[Item]:
        read = anthropic_items if self.agent == "claude" else openai_items
        return read(request.body)

    def is_of(self, request: Request, prompt: str) -> bool:
        """True for a request of the turn, not for one of a worker."""
        return any(one.role == "user" and one.text == prompt for one in self.items(request))

    def call(self, name: str, given: dict[str, Any]) -> Reply:
        """How the model of this agent calls a tool of ours."""
        if self.agent == "claude":
            return Reply(ToolCall(f"mcp__prong__{name}", given))
        return Reply(ToolCall(name, given, namespace="mcp__prong"))

    def _since(self, request: Request, prompt: str) -> list[Item]:
        items = self.items(request)
        at = max(n for n, one in enumerate(items) if one.role == "user" and one.text == prompt)
        return [one for one in items[at:] if one.role == "result"]

    def results_so_far(self, request: Request, prompt: str) -> int:
        return len(self._since(request, prompt))


class _Script:
    def __init__(self, lab: McpLab, prompt: str, calls: tuple[Call, ...]) -> None:
        self._lab = lab
        self._prompt = prompt
        self._calls = calls

    def answer(self, request: Request) -> Answer | None:
        """The next call of the turn; nothing for anybody else, who gets what is usual."""
        if request.kind is not RequestKind.MAIN or not self._lab.is_of(request, self._prompt):
            return None
        done = self._lab.results_so_far(request, self._prompt)
        return self._lab.call(*self._calls[done]) if done < len(self._calls) else say("that is all")


def _id(run: ClaudeRun | CodexRun) -> str:
    id_ = run.session_id if isinstance(run, ClaudeRun) else run.thread_id
    assert id_, run
    return id_


def _json(text: str) -> dict[str, Any]:
    """The JSON in a result: agents put words around it."""
    start = text.find("{")
    return json.JSONDecoder().raw_decode(text[start:])[0] if start >= 0 else {}


def _failed(body: dict[str, Any], result: Item) -> bool:
    """Whether Claude Code told the model of an error; Codex has no mark for that."""
    blocks = [
        one for message in records(body.get("messages")) for one in records(message["content"])
    ]
    return any(one.get("is_error") for one in blocks if one.get("tool_use_id") == result.id)


def _coverage() -> list[str]:
    return [name for name in os.environ if name.startswith("COVERAGE_")]
