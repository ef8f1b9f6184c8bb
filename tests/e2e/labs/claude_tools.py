"""Claude Code sessions with special tools: staggered calls, pictures, MCP, plans, background."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from typing import Any

from prong.testing.script import Hold, Reply, Text, ToolCall, say
from prong.testing.server import Request
from prong.testing.wait import wait_until
from tests.drivers.claude_terminal import TURN_ENDS
from tests.e2e.fidelity.pictures import BLUE, RED
from tests.e2e.labs.claude_lab import ClaudeLab, ClaudeStream, bash, scenario
from tests.e2e.scenario import ROOT, TINY_MCP

# -- tools that end out of order -------------------------------------------------------------------


class Pipe:
    """A command that ends when the test says so. Reading is all it does, so it runs in parallel."""

    def __init__(self, lab: ClaudeLab, name: str) -> None:
        self._path = lab.cwd / name
        os.mkfifo(self._path)
        self.command = f"cat {name}"

    def wait_reader(self) -> None:
        """Wait until the command runs."""
        wait_until(self._is_read, what=self.command)

    def _is_read(self) -> bool:
        try:
            self._end = os.open(self._path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # the reader is gone
            return False
        return True

    def write(self, text: str) -> None:
        """Let the command end with this output."""
        os.write(self._end, text.encode())
        os.close(self._end)


@scenario
def staggered_tools(lab: ClaudeLab) -> str:
    """Three calls streamed one by one: results between calls, and in another order than these."""
    second, third = threading.Event(), threading.Event()
    pipe = Pipe(lab, "slow")
    lab.server.enqueue(
        Reply(
            Text("One by one."),
            bash("echo quick"),
            Hold(second),
            bash(pipe.command),
            Hold(third),
            bash("echo last"),
        ),
        say("all three done"),
    )
    with ClaudeStream(lab) as stream:
        stream.submit("alpha one")
        stream.wait_result()
        second.set()
        pipe.wait_reader()
        third.set()
        stream.wait_result()
        pipe.write("slow\n")
        stream.finish()
        stream.prompt("beta two")
        stream.prompt("gamma three")
        return stream.session_id


@scenario
def background_bash(lab: ClaudeLab) -> str:
    """A command in the background that outlives its turn; its end is a notification."""
    pipe = Pipe(lab, "slow")
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        start = {"command": pipe.command, "description": "test", "run_in_background": True}
        lab.server.enqueue(Reply(Text("I start it."), ToolCall("Bash", start)), say("it runs"))
        terminal.submit("beta two")
        terminal.wait_written(TURN_ENDS[0])
        pipe.wait_reader()
        pipe.write("done at last\n")
        terminal.wait_turns(2)
        terminal.prompt("gamma three")
        return terminal.session_id()


# -- pictures --------------------------------------------------------------------------------------


@scenario
def image_prompt(lab: ClaudeLab) -> str:
    """A picture in each of two prompts, as an editor's plug-in sends it."""
    with ClaudeStream(lab) as stream:
        for text, picture in (("alpha one", RED), ("beta two", BLUE)):
            source = {"type": "base64", "media_type": "image/png", "data": picture.base64}
            stream.prompt([{"type": "text", "text": text}, {"type": "image", "source": source}])
        stream.prompt("gamma three")
        return stream.session_id


@scenario
def image_result(lab: ClaudeLab) -> str:
    """Two pictures that were read at once, and one more in the next turn."""
    red, blue = str(RED.save(lab.cwd)), str(BLUE.save(lab.cwd))
    lab.server.enqueue(
        Reply(ToolCall("Read", {"file_path": red}), ToolCall("Read", {"file_path": blue})),
        say("red and blue"),
        Reply(ToolCall("Read", {"file_path": red})),
        say("red"),
    )
    first = lab.cli.run("alpha one", lab.cwd)
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


# -- MCP and plans ---------------------------------------------------------------------------------


@scenario
def mcp_tools(lab: ClaudeLab) -> str:
    """Two tools of an MCP server in one reply; one of them gives a picture."""
    server: dict[str, Any] = {
        "command": sys.executable,
        "args": ["-m", TINY_MCP],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    config = ["--mcp-config", json.dumps({"mcpServers": {"tiny": server}})]
    env = {"MCP_CONNECTION_NONBLOCKING": "false"}
    first = lab.cli.run("alpha one", lab.cwd, arguments=config, env=env)
    lab.server.enqueue(
        Reply(ToolCall("mcp__tiny__lookup", {}), ToolCall("mcp__tiny__picture", {})),
        say("looked"),
    )
    lab.cli.run("beta two", lab.cwd, resume=first.session_id, arguments=config, env=env)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def plan_mode(lab: ClaudeLab) -> str:
    """A plan that is written, shown and approved, and the work on it in the same turn."""

    def write_plan(request: Request) -> Reply | None:
        if request.prompt != "beta two":
            return None
        found = re.search(r"/[^\s\"]+/plans/[\w-]+\.md", json.dumps(request.body["messages"]))
        assert found, "Claude Code named no file for the plan"
        plan = {"file_path": found[0], "content": "1. say hello\n"}
        return Reply(Text("My plan."), ToolCall("Write", plan))

    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.choose_mode("plan mode on")
        lab.server.respond = write_plan
        lab.server.enqueue(
            Reply(ToolCall("ExitPlanMode", {})),
            Reply(bash("echo hello")),
            say("the plan is done"),
        )
        terminal.submit("beta two")
        terminal.accept("1. Yes")
        terminal.wait_idle()
        terminal.prompt("gamma three")
        return terminal.session_id()
