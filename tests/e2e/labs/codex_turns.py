"""Codex threads of plain turns: tools, failures, interrupts, crashes, sub-agents, the shell."""

from __future__ import annotations

import sys
import threading

from prong.testing.script import (
    Fail,
    Hold,
    RedactedThinking,
    Reply,
    Text,
    Thinking,
    ToolCall,
    say,
)
from prong.testing.server import RequestKind
from tests.e2e.fidelity.pictures import BLUE, RED
from tests.e2e.labs.codex_lab import CodexLab, command, scenario
from tests.e2e.scenario import ROOT, TINY_MCP

# -- plain turns and tools ----------------------------------------------------------------------


@scenario
def tool_calls(lab: CodexLab) -> str:
    """Three exec turns; the second writes a file, reads it, and a command fails."""
    thread = lab.turns("alpha one")
    lab.server.enqueue(
        Reply(Text("I write it."), command("echo hi > a.txt")),
        Reply(command("cat a.txt")),
        Reply(command("exit 3")),
        say("written and read"),
    )
    lab.cli.resume(thread, "beta two", lab.cwd)
    lab.cli.resume(thread, "gamma three", lab.cwd)
    return thread


@scenario
def parallel_tools(lab: CodexLab) -> str:
    """Three tools in one reply, one of them fails."""
    lab.server.enqueue(
        Reply(
            Thinking("all at once"),
            Text("Three things."),
            command("echo one"),
            command("echo two >&2; exit 3"),
            command("echo three"),
        ),
        say("all done"),
    )
    return lab.turns("alpha one", "beta two")


@scenario
def patch(lab: CodexLab) -> str:
    """A file change by a patch that runs through the shell tool."""
    body = "*** Begin Patch\n*** Add File: made.txt\n+hello\n*** End Patch"
    lab.server.enqueue(Reply(command(f"apply_patch <<'EOF'\n{body}\nEOF")), say("patched"))
    return lab.turns("alpha one", "beta two")


@scenario
def reasoning(lab: CodexLab) -> str:
    """Reasoning items before text and before a tool call."""
    lab.server.enqueue(
        Reply(Thinking("first thought"), Text("first answer")),
        Reply(Thinking("second thought"), command("echo hi")),
        Reply(Thinking("third thought"), Text("third answer")),
    )
    return lab.turns("alpha one", "beta two", "gamma three")


@scenario
def reasoning_encrypted(lab: CodexLab) -> str:
    """Reasoning without a summary, before text and before a tool call."""
    lab.server.enqueue(
        Reply(RedactedThinking("c2VjcmV0IG9uZQ=="), Text("first answer")),
        Reply(RedactedThinking("c2VjcmV0IHR3bw=="), command("echo hi")),
        say("second answer"),
    )
    return lab.turns("alpha one", "beta two", "gamma three")


@scenario
def model_switch(lab: CodexLab) -> str:
    """Another model from turn to turn, each with reasoning that it encrypted."""
    lab.server.enqueue(
        Reply(Thinking("thought of the first"), Text("first answer")),
        Reply(Thinking("thought of the second"), command("echo hi")),
        say("second answer"),
    )
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        server.turn(thread, "beta two", model="other-model")
        server.turn(thread, "gamma three")
    return thread


@scenario
def own_id(lab: CodexLab) -> str:
    """The thread's own id in a prompt, in a call, in its output and in an answer."""
    thread = lab.turns("alpha one")
    lab.server.enqueue(Reply(command(f"echo {thread}")), say(f"this is {thread}"))
    lab.cli.resume(thread, f"beta two of {thread}", lab.cwd)
    lab.cli.resume(thread, "gamma three", lab.cwd)
    return thread


@scenario
def image_prompt(lab: CodexLab) -> str:
    """A picture in each of two prompts."""
    with lab.app_server() as server:
        thread = server.start_thread()
        for text, picture in (("alpha one", RED), ("beta two", BLUE)):
            image = {"type": "localImage", "path": str(picture.save(lab.cwd))}
            server.turn(thread, text, input=[{"type": "text", "text": text}, image])
        server.turn(thread, "gamma three")
    return thread


@scenario
def image_result(lab: CodexLab) -> str:
    """Two pictures that were looked at in one reply."""
    looks = [
        ToolCall("view_image", {"path": str(picture.save(lab.cwd))}) for picture in (RED, BLUE)
    ]
    lab.server.enqueue(Reply(*looks), say("red and blue"))
    return lab.turns("alpha one", "beta two")


@scenario
def mcp_tools(lab: CodexLab) -> str:
    """Two tools of an MCP server in one reply; one of them gives a picture."""
    server = f'{{command = "{sys.executable}", args = ["-m", "{TINY_MCP}"], required = true'
    lab.cli.configure(f'mcp_servers.tiny = {server}, env = {{PYTHONPATH = "{ROOT}"}}}}')
    lab.server.enqueue(
        say("first answer"),
        Reply(
            ToolCall("lookup", {}, namespace="mcp__tiny"),
            ToolCall("picture", {}, namespace="mcp__tiny"),
        ),
        say("looked"),
    )
    return lab.turns("alpha one", "beta two", "gamma three")


@scenario
def line_separators(lab: CodexLab) -> str:
    """U+2028, U+2029 and U+0085 in prompts and answers."""
    lab.server.enqueue(say("answer\u2028with\u2029all\u0085three"))
    return lab.turns("alpha\u2028one\u0085end", "beta\u2029two")


@scenario
def terminal_turns(lab: CodexLab) -> str:
    """A thread made in the terminal UI; the title request is no part of it."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("look"), command("echo hi")), say("looked"))
        terminal.prompt("beta two")
        return terminal.thread_id()


@scenario
def failed_turn(lab: CodexLab) -> str:
    """A turn that fails at the API, then a good one."""
    thread = lab.turns("alpha one")
    lab.server.enqueue(Fail(400))
    lab.cli.resume(thread, "beta two fails", lab.cwd)
    lab.cli.resume(thread, "gamma three", lab.cwd)
    return thread


@scenario
def failed_after_tool(lab: CodexLab) -> str:
    """The last turn fails after a tool call."""
    thread = lab.turns("alpha one")
    lab.server.enqueue(Reply(command("echo hi")), Fail(400))
    lab.cli.resume(thread, "beta two fails", lab.cwd)
    return thread


@scenario
def changed_cwd(lab: CodexLab) -> str:
    """Resumed in another folder: a second environment context."""
    thread = lab.turns("alpha one")
    lab.cli.resume(thread, "beta two", lab.home.project("elsewhere"))
    return thread


# -- interrupts, sub-agents, shell ----------------------------------------------------------------


@scenario
def interrupt(lab: CodexLab) -> str:
    """turn/interrupt while the answer is on its way, then a good turn."""
    gate = threading.Event()
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        lab.server.enqueue(Reply(Text("half "), Hold(gate), Text("answer")))
        turn = server.start_turn(thread, "beta two")
        lab.server.wait_for_prompt("beta two")
        server.interrupt(thread, turn)
        gate.set()
        server.turn(thread, "gamma three")
    return thread


@scenario
def interrupt_last(lab: CodexLab) -> str:
    """turn/interrupt while a tool runs, and nothing after it."""
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        lab.server.enqueue(Reply(Text("I wait."), command("touch started; sleep 300")))
        turn = server.start_turn(thread, "beta two")
        server.wait_path(lab.cwd / "started")
        server.interrupt(thread, turn)
    return thread


@scenario
def interrupt_terminal(lab: CodexLab) -> str:
    """Esc in the terminal UI while the answer is on its way, then a good turn."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("half an answer\n"), Hold(gate), Text("the rest")))
        terminal.submit("beta two")
        terminal.tmux.wait_for("half an answer")
        terminal.interrupt()
        gate.set()
        terminal.prompt("gamma three")
        return terminal.thread_id()


@scenario
def killed_in_tool(lab: CodexLab) -> str:
    """Killed while a tool runs: a call without an output, a turn without an end."""
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        lab.server.enqueue(Reply(Text("I wait."), command("touch started; sleep 5")))
        server.start_turn(thread, "beta two")
        server.wait_path(lab.cwd / "started")
        server.kill()
    return thread


@scenario
def steered(lab: CodexLab) -> str:
    """turn/steer: a second user message inside a running turn."""
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        wait = "touch started; while [ ! -e go ]; do sleep 0.05; done"
        lab.server.enqueue(Reply(Text("working"), command(wait)))
        turn = server.start_turn(thread, "beta two")
        server.wait_path(lab.cwd / "started")
        server.steer(thread, turn, "gamma while busy")
        (lab.cwd / "go").touch()
        server.finish_turn(turn)
        server.turn(thread, "delta four")
    return thread


@scenario
def subagent(lab: CodexLab) -> str:
    """multi_agent_v1/spawn_agent; the child's thread is not this one. It ends within the turn."""
    gate = threading.Event()
    lab.server.enqueue(say("one two three"), kind=RequestKind.SUBAGENT)
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        lab.server.enqueue(SPAWN, Reply(Hold(gate), Text("it was started")))
        turn = server.start_turn(thread, "beta two")
        server.wait_event("turn/completed", lambda params: params["threadId"] != thread)
        gate.set()
        server.finish_turn(turn)
        server.turn(thread, "gamma three")
    return thread


@scenario
def subagent_late(lab: CodexLab) -> str:
    """The child ends when the turn that started it is over: its notice is between two turns."""
    gate = threading.Event()
    lab.server.enqueue(Reply(Hold(gate), Text("one two three")), kind=RequestKind.SUBAGENT)
    with lab.app_server() as server:
        thread = server.start_thread()
        server.turn(thread, "alpha one")
        lab.server.enqueue(SPAWN, say("it was started"))
        server.turn(thread, "beta two")
        since = server.seen()
        gate.set()
        server.wait_event(
            "turn/completed", lambda params: params["threadId"] != thread, since=since
        )
        server.turn(thread, "gamma three")
    return thread


SPAWN = Reply(
    Text("I ask."),
    ToolCall("spawn_agent", {"message": "SUBTASK count to three"}, namespace="multi_agent_v1"),
)


@scenario
def user_shell(lab: CodexLab) -> str:
    """`!command` in the terminal UI between two prompts."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.shell("echo hi$((1+1))")
        terminal.prompt("beta two")
        return terminal.thread_id()


@scenario
def queued(lab: CodexLab) -> str:
    """A prompt typed in the terminal UI while the answer is on its way."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("slow answer\n"), Hold(gate), Text("the rest")))
        terminal.submit("beta two")
        lab.server.wait_for_prompt("beta two")
        terminal.tmux.wait_for("slow answer")
        terminal.submit("gamma while busy")
        gate.set()
        lab.server.wait_for_prompt("gamma while busy")
        terminal.wait_quiet()
        terminal.prompt("delta four")
        return terminal.thread_id()
