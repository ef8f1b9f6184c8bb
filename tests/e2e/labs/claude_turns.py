"""Claude Code sessions of plain turns: tools, thinking, failures, interrupts, crashes."""

from __future__ import annotations

import threading
from uuid import uuid4

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
from prong.testing.server import Responder
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.e2e.labs.claude_lab import ClaudeLab, bash, scenario

# -- plain turns and tools ----------------------------------------------------------------------


@scenario
def tool_calls(lab: ClaudeLab) -> str:
    """Three turns; the second writes and reads a file."""
    target = str(lab.cwd / "a.txt")
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(Text("I write it."), ToolCall("Write", {"file_path": target, "content": "hi\n"})),
            Reply(ToolCall("Read", {"file_path": target})),
            say("written and read"),
        )
        terminal.prompt("beta two")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def parallel_tools(lab: ClaudeLab) -> str:
    """Three tools in one reply, one of them fails."""
    with lab.terminal() as terminal:
        lab.server.enqueue(
            Reply(
                Thinking("all at once"),
                Text("Three things."),
                bash("echo one"),
                bash("echo two >&2; exit 3"),
                bash("echo three"),
            ),
            say("all done"),
        )
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        return terminal.session_id()


@scenario
def parallel_twice(lab: ClaudeLab) -> str:
    """Two replies with parallel calls, one after the other, in one turn."""
    with lab.terminal() as terminal:
        lab.server.enqueue(
            Reply(bash("echo 1a"), bash("echo 1b")),
            Reply(Text("more"), bash("echo 2a"), bash("echo 2b")),
            say("both rounds done"),
        )
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        return terminal.session_id()


@scenario
def thinking(lab: ClaudeLab) -> str:
    """Thinking blocks before text, and before a tool call."""
    with lab.terminal() as terminal:
        lab.server.enqueue(Reply(Thinking("first thought"), Text("first answer")))
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(Thinking("second thought"), bash("echo hi")),
            Reply(Thinking("third thought"), Text("third answer")),
        )
        terminal.prompt("beta two")
        return terminal.session_id()


@scenario
def thinking_withheld(lab: ClaudeLab) -> str:
    """Thinking of which the service gave only the signature, before text and before a call."""
    lab.server.enqueue(
        Reply(Thinking(""), Text("first answer")),
        Reply(Thinking(""), Thinking("a thought"), bash("echo hi")),
        Reply(Thinking(""), Text("second answer")),
    )
    first = lab.cli.run("alpha one", lab.cwd)
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def thinking_redacted(lab: ClaudeLab) -> str:
    """Thinking that came encrypted, beside thinking in plain text."""
    lab.server.enqueue(
        Reply(RedactedThinking("c2VjcmV0IG9uZQ=="), Text("first answer")),
        Reply(Thinking("a thought"), RedactedThinking("c2VjcmV0IHR3bw=="), bash("echo hi")),
        say("second answer"),
    )
    first = lab.cli.run("alpha one", lab.cwd)
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def model_switch(lab: ClaudeLab) -> str:
    """Another model from turn to turn, each with thoughts that it signed."""
    lab.server.enqueue(
        Reply(Thinking("thought of the first"), bash("echo hi")),
        say("first answer"),
        Reply(Thinking("thought of the second"), bash("echo ho")),
        say("second answer"),
    )
    first = lab.cli.run("alpha one", lab.cwd, arguments=["--model", "sonnet"])
    for prompt, model in (("beta two", "haiku"), ("gamma three", "opus")):
        lab.cli.run(prompt, lab.cwd, resume=first.session_id, arguments=["--model", model])
    return first.session_id


@scenario
def own_id(lab: ClaudeLab) -> str:
    """The session's own id in a prompt, in a call, in its result and in an answer."""
    own = str(uuid4())
    lab.server.enqueue(Reply(bash(f"echo {own}")), say(f"this is {own}"))
    lab.cli.run(f"alpha one of {own}", lab.cwd, arguments=["--session-id", own])
    lab.cli.run(f"beta two of {own}", lab.cwd, resume=own)
    lab.cli.run("gamma three", lab.cwd, resume=own)
    return own


@scenario
def big_output(lab: ClaudeLab) -> str:
    """A tool says so much that the rest of it goes to a file beside the session."""
    first = lab.cli.run("alpha one", lab.cwd)
    lab.server.enqueue(Reply(bash("seq 1 60000")), say("counted"))
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def headless(lab: ClaudeLab) -> str:
    """A session made by -p (entrypoint sdk-cli), three turns, one with a tool."""
    first = lab.cli.run("alpha one", lab.cwd)
    lab.server.enqueue(Reply(bash("echo hi"), bash("echo ho")), say("headless tool done"))
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def line_separators(lab: ClaudeLab) -> str:
    """U+2028, U+2029 and U+0085 in prompts and answers: no line ends for JSON lines."""
    first = lab.cli.run("alpha\u2028one\u0085end", lab.cwd)
    lab.server.enqueue(say("answer\u2028with\u2029all\u0085three"))
    lab.cli.run("beta\u2029two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def api_failure(lab: ClaudeLab) -> str:
    """A turn that fails at the API, then a good one."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.respond = _fail_at("beta two fails")
        terminal.prompt("beta two fails")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def api_overloaded(lab: ClaudeLab) -> str:
    """The service is overloaded at the prompt and behind a tool; the program tries again."""
    first = lab.cli.run("alpha one", lab.cwd)
    busy = Fail(529, "Overloaded")
    lab.server.enqueue(busy, Reply(Text("look"), bash("echo hi")), busy, say("at last"))
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def api_failure_headless(lab: ClaudeLab) -> str:
    """A headless turn that the service refused, the same prompt again, and one more."""
    first = lab.cli.run("alpha one", lab.cwd)
    lab.server.respond = _fail_at("beta two")
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    lab.server.respond = None
    lab.cli.run("beta two again", lab.cwd, resume=first.session_id)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id)
    return first.session_id


@scenario
def api_failure_last(lab: ClaudeLab) -> str:
    """The session ends with a failed turn, after a tool call."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(bash("echo hi")))
        lab.server.respond = lambda request: None if request.prompt else Fail(400)
        terminal.prompt("beta two fails")
        return terminal.session_id()


def _fail_at(prompt: str) -> Responder:
    """Refuse a prompt for good: the program tries more than once."""
    return lambda request: Fail(400) if request.prompt == prompt else None


# -- interrupts and crashes --------------------------------------------------------------------


@scenario
def interrupt_text(lab: ClaudeLab) -> str:
    """Esc while the answer is on its way, then a good turn."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("half an answer"), Hold(gate), Text(" and the rest")))
        terminal.submit("beta two")
        terminal.tmux.wait_for("half an answer")
        terminal.interrupt()
        gate.set()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def interrupt_text_last(lab: ClaudeLab) -> str:
    """Esc while the answer is on its way, and nothing after it."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("half an answer"), Hold(gate), Text(" and the rest")))
        terminal.submit("beta two")
        terminal.tmux.wait_for("half an answer")
        terminal.interrupt()
        gate.set()
        return terminal.session_id()


@scenario
def interrupt_early(lab: ClaudeLab) -> str:
    """Esc before any output: the prompt comes back to the input line and is abandoned."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Hold(gate), Text("never seen")))
        terminal.submit("beta two")
        lab.server.wait_for_prompt("beta two")
        terminal.interrupt()
        gate.set()
        terminal.clear_input()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def interrupt_tool(lab: ClaudeLab) -> str:
    """Esc while a tool runs, then a good turn."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("I wait."), bash("touch started; sleep 300")))
        terminal.submit("beta two")
        terminal.wait_path(lab.cwd / "started")
        terminal.interrupt()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def interrupt_parallel(lab: ClaudeLab) -> str:
    """Esc while the second of two parallel tools runs."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(
                Text("I wait."),
                bash("echo quick"),
                bash("touch started; sleep 300"),
            )
        )
        terminal.submit("beta two")
        terminal.wait_path(lab.cwd / "started")
        terminal.interrupt()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def interrupt_early_last(lab: ClaudeLab) -> str:
    """Esc before any output, and nothing after it."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Hold(gate), Text("never seen")))
        terminal.submit("beta two")
        lab.server.wait_for_prompt("beta two")
        terminal.interrupt()
        gate.set()
        terminal.clear_input()
        return terminal.session_id()


@scenario
def killed_in_tool(lab: ClaudeLab) -> str:
    """Killed while the second of two parallel tools runs: a call without a result."""
    with ClaudeTerminal.open(lab.cli, lab.cwd) as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("two"), bash("echo quick"), bash("touch started; sleep 5")))
        terminal.submit("beta two")
        terminal.wait_path(lab.cwd / "started")
        terminal.wait_written(b"touch started", b"quick")
        session = terminal.session_id()
        terminal.kill()
    return session


@scenario
def killed_in_answer(lab: ClaudeLab) -> str:
    """The program is killed before the answer comes: a prompt without an answer."""
    gate = threading.Event()
    with ClaudeTerminal.open(lab.cli, lab.cwd) as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Hold(gate), Text("never seen")))
        terminal.submit("beta two")
        lab.server.wait_for_prompt("beta two")
        terminal.wait_written(b"beta two")
        session = terminal.session_id()
        terminal.kill()
        gate.set()
    return session
