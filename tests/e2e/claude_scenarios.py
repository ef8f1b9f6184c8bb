"""Builders of messy Claude Code sessions, each made by the real program.

A builder takes a `ClaudeLab` and returns the id of the session it is about. `build(name, folder)`
runs one and probes it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scenario import PROBE, Scenario

from prong.testing.anthropic import FakeAnthropic
from prong.testing.claude_cli import ClaudeCli
from prong.testing.claude_terminal import ClaudeTerminal
from prong.testing.home import IsolatedHome
from prong.testing.script import Fail, Hold, Reply, Text, Thinking, ToolCall, Usage, say
from prong.testing.server import Kind, Responder


@dataclass(frozen=True)
class ClaudeLab:
    """A home, a fake server and the real program, for one scenario."""

    home: IsolatedHome
    server: FakeAnthropic
    cli: ClaudeCli
    cwd: Path

    @contextmanager
    def terminal(self, *arguments: str) -> Iterator[ClaudeTerminal]:
        """An interactive session that is left properly, so that all is on disk."""
        with ClaudeTerminal.open(self.cli, self.cwd, arguments) as terminal:
            yield terminal
            terminal.exit()

    def settings(self, settings: dict[str, Any]) -> None:
        """Write the user settings of this home."""
        settings = {"skipDangerousModePermissionPrompt": True, **settings}
        (self.home.claude / "settings.json").write_text(json.dumps(settings))


Builder = Callable[[ClaudeLab], str]
BUILDERS: dict[str, Builder] = {}


def scenario(builder: Builder) -> Builder:
    """Make a builder known by its name."""
    BUILDERS[builder.__name__] = builder
    return builder


def build(name: str, folder: Path) -> Scenario:
    """Build a scenario below `folder`, then resume it once with the probe prompt."""
    home = IsolatedHome.create(folder / "home")
    with FakeAnthropic() as server:
        lab = ClaudeLab(home, server, ClaudeCli(home, server.url), home.project())
        session_id = BUILDERS[name](lab)
        server.respond = None
        server.clear_queue()
        native = [request.body for request in server.conversation_requests()]
        root = lab.cli.copy_sessions(folder / "before")
        path = root / lab.cli.session_file(session_id).relative_to(home.claude)
        run = lab.cli.run(PROBE, lab.cwd, resume=session_id, persist=False)
        assert run.code == 0, (run.raw, run.stderr)
        sent = server.last_prompted(PROBE).body
    return Scenario("claude", name, root, session_id, path, lab.cwd, PROBE, sent, native)


def probe_interactively(lab_folder: Path, session_id: str) -> dict[str, Any]:
    """Resume a built session in the terminal UI instead; the body that it sends. Changes the file."""
    home = IsolatedHome.create(lab_folder / "home")
    with FakeAnthropic() as server:
        lab = ClaudeLab(home, server, ClaudeCli(home, server.url), home.project())
        with lab.terminal("--resume", session_id) as terminal:
            terminal.prompt(PROBE)
        return server.last_prompted(PROBE).body


def bash(command: str) -> ToolCall:
    """A call of the Bash tool."""
    return ToolCall("Bash", {"command": command, "description": "test"})


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


# -- rewind and interrupt -----------------------------------------------------------------------


@scenario
def rewind(lab: ClaudeLab) -> str:
    """Esc Esc to before the second of three prompts, then two new turns."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two")
        terminal.prompt("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def rewind_to_start(lab: ClaudeLab) -> str:
    """Esc Esc to before the first prompt, then a new turn."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.rewind("alpha one")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def rewind_twice(lab: ClaudeLab) -> str:
    """Two rewinds to the same point: three siblings."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two")
        terminal.prompt("delta four")
        terminal.rewind("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def rewind_left(lab: ClaudeLab) -> str:
    """A rewind and then /exit, without a new prompt."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two")
        return terminal.session_id()


@scenario
def rewind_to_parallel(lab: ClaudeLab) -> str:
    """A rewind to just after a turn with parallel tools."""
    with lab.terminal() as terminal:
        lab.server.enqueue(Reply(bash("echo a"), bash("echo b")), say("both done"))
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.rewind("beta two")
        terminal.prompt("gamma three")
        return terminal.session_id()


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


# -- compaction -----------------------------------------------------------------------------------


@scenario
def compact(lab: ClaudeLab) -> str:
    """/compact by hand, as the last thing."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.compact()
        return terminal.session_id()


@scenario
def compact_then_turns(lab: ClaudeLab) -> str:
    """/compact, then two more turns."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.compact()
        terminal.prompt("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def compact_twice(lab: ClaudeLab) -> str:
    """Two compactions with turns between and after."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        terminal.prompt("delta four")
        terminal.compact()
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def compact_with_tools(lab: ClaudeLab) -> str:
    """A compaction of a history that ends with parallel tools."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(Text("two things"), bash("echo a"), bash("echo b")), say("tools done")
        )
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def compact_auto(lab: ClaudeLab) -> str:
    """Automatic compaction: an answer reports 990,000 used tokens."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("a long way"), usage=Usage(990_000, 10)))
        terminal.prompt("beta two")
        terminal.prompt("gamma three")
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def compact_auto_midturn(lab: ClaudeLab) -> str:
    """Automatic compaction in the middle of a turn, between two tool calls."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(bash("echo first"), usage=Usage(990_000, 10)),
            Reply(bash("echo second")),
            say("after both"),
        )
        terminal.prompt("beta two")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def summarize_from(lab: ClaudeLab) -> str:
    """Esc Esc, "Summarize from here" at the second of three prompts, then a turn."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("beta two", option="Summarize from here")
        terminal.wait_idle(written=[b'"subtype":"compact_boundary"'])
        terminal.clear_input()
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def summarize_up_to(lab: ClaudeLab) -> str:
    """Esc Esc, "Summarize up to here" at the third of three prompts, then a turn."""
    with lab.terminal() as terminal:
        for prompt in ("alpha one", "beta two", "gamma three"):
            terminal.prompt(prompt)
        terminal.rewind("gamma three", option="Summarize up to here")
        terminal.wait_idle(written=[b'"subtype":"compact_boundary"'])
        terminal.clear_input()
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def rewind_after_compact(lab: ClaudeLab) -> str:
    """/compact, two turns, then a rewind to the first prompt after the compaction."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        terminal.prompt("delta four")
        terminal.rewind("delta four")
        terminal.prompt("epsilon five")
        return terminal.session_id()


# -- branches -------------------------------------------------------------------------------------


def _branch(lab: ClaudeLab) -> tuple[str, str]:
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        parent = terminal.session_id()
        terminal.command("/branch", "Branched conversation")
        terminal.prompt("gamma in the branch")
        return parent, terminal.session_id()


@scenario
def branch_child(lab: ClaudeLab) -> str:
    """/branch after two turns, a third in the branch: the branch."""
    return _branch(lab)[1]


@scenario
def branch_parent(lab: ClaudeLab) -> str:
    """/branch after two turns: the session it came from."""
    return _branch(lab)[0]


@scenario
def fork_flag(lab: ClaudeLab) -> str:
    """--resume --fork-session of a session with parallel tools and a rewind."""
    source = rewind_to_parallel(lab)
    return lab.cli.run("delta four", lab.cwd, resume=source, fork=True).session_id


@scenario
def fork_flag_interactive(lab: ClaudeLab) -> str:
    """--resume --fork-session in the terminal UI."""
    source = tool_calls(lab)
    with lab.terminal("--resume", source, "--fork-session") as terminal:
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def resumed(lab: ClaudeLab) -> str:
    """A session that was left and resumed in the terminal UI, with another turn."""
    source = tool_calls(lab)
    with lab.terminal("--resume", source) as terminal:
        terminal.prompt("delta four")
        return terminal.session_id()


# -- input that is no plain prompt ----------------------------------------------------------------


@scenario
def queued_absorbed(lab: ClaudeLab) -> str:
    """A prompt typed while a tool runs: absorbed at the tool boundary, in the same turn."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(
            Reply(Text("working"), bash("touch started; while [ ! -e go ]; do sleep 0.05; done"))
        )
        terminal.submit("beta two")
        terminal.wait_path(lab.cwd / "started")
        terminal.queue("gamma while busy")
        (lab.cwd / "go").touch()
        terminal.wait_idle()
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def queued_own_turn(lab: ClaudeLab) -> str:
    """A prompt typed while the last answer is on its way: it becomes a turn of its own."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("slow "), Hold(gate), Text("answer")))
        terminal.submit("beta two")
        terminal.tmux.wait_for("slow")
        terminal.queue("gamma while busy")
        gate.set()
        lab.server.wait_for_prompt("gamma while busy")
        terminal.wait_turns(2)
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def queued_two(lab: ClaudeLab) -> str:
    """Two prompts typed while the last answer is on its way."""
    gate = threading.Event()
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("slow "), Hold(gate), Text("answer")))
        terminal.submit("beta two")
        terminal.tmux.wait_for("slow")
        terminal.queue("gamma while busy")
        terminal.queue("delta while busy")
        gate.set()
        lab.server.wait_for_prompt("delta while busy")
        terminal.wait_turns(2)
        terminal.prompt("epsilon five")
        return terminal.session_id()


@scenario
def bash_mode(lab: ClaudeLab) -> str:
    """`!command` between two prompts."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.bash("echo hi$((1+1))")
        terminal.prompt("beta two")
        return terminal.session_id()


@scenario
def bash_mode_last(lab: ClaudeLab) -> str:
    """`!command` as the last thing."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.bash("echo hi$((1+1)); false")
        return terminal.session_id()


@scenario
def custom_command(lab: ClaudeLab) -> str:
    """A slash command of the user's own."""
    folder = lab.home.claude / "commands"
    folder.mkdir()
    (folder / "greet.md").write_text("Say hello to $ARGUMENTS in a friendly way.\n")
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("/greet the moon")
        terminal.prompt("beta two")
        return terminal.session_id()


@scenario
def builtin_commands(lab: ClaudeLab) -> str:
    """/rename, /context and /model between prompts: local commands."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.command("/rename my name", "Session renamed")
        terminal.command("/context", "Estimated usage")
        terminal.prompt("beta two")
        terminal.command("/model sonnet", "Switch model?")
        terminal.tmux.key("Enter")
        terminal.tmux.wait_for("Set model to")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def builtin_command_last(lab: ClaudeLab) -> str:
    """/rename as the last thing."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.command("/rename my name", "Session renamed")
        return terminal.session_id()


@scenario
def clear(lab: ClaudeLab) -> str:
    """/clear: a new session in the same process."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        before = terminal.session_id()
        terminal.submit("/clear")
        terminal.wait_session_change(before)
        terminal.prompt("beta two")
        return terminal.session_id()


@scenario
def file_mention(lab: ClaudeLab) -> str:
    """An @file in a prompt: its content comes as an attachment."""
    (lab.cwd / "notes.txt").write_text("the secret is 42\n")
    first = lab.cli.run("look at @notes.txt please", lab.cwd)
    lab.cli.run("beta two", lab.cwd, resume=first.session_id)
    return first.session_id


# -- sub-agents and hooks -------------------------------------------------------------------------


def _agent(background: bool) -> ToolCall:
    return ToolCall(
        "Agent",
        {
            "description": "a helper",
            "prompt": "SUBTASK count to three",
            "subagent_type": "general-purpose",
            "run_in_background": background,
        },
    )


@scenario
def subagent_foreground(lab: ClaudeLab) -> str:
    """A sub-agent that the turn waits for; it runs a tool itself."""
    lab.server.enqueue(Reply(bash("echo from the helper")), say("one two three"), kind=Kind.SUBAGENT)
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("I ask."), _agent(background=False)), say("it counted"))
        terminal.prompt("beta two")
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def subagent_background(lab: ClaudeLab) -> str:
    """A sub-agent in the background: its end comes as a task notification, a turn of its own."""
    gate = threading.Event()
    lab.server.enqueue(Reply(Hold(gate), Text("one two three")), kind=Kind.SUBAGENT)
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("I start it."), _agent(background=True)), say("it runs"))
        terminal.submit("beta two")
        terminal.tmux.wait_for("Waiting for 1 background agent")
        gate.set()
        terminal.wait_turns(2)
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def hooks(lab: ClaudeLab) -> str:
    """SessionStart, UserPromptSubmit and Stop hooks that print something."""
    events = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop")
    lab.settings({"hooks": {event: [_hook(f"echo note from {event}")] for event in events}})
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(bash("echo a"), bash("echo b")), say("tools done"))
        terminal.prompt("beta two")
        terminal.compact()
        terminal.prompt("gamma three")
        return terminal.session_id()


@scenario
def hook_blocks_stop(lab: ClaudeLab) -> str:
    """A Stop hook that sends the agent back to work once."""
    once = "test -e blocked || { touch blocked; echo '{\"decision\":\"block\",\"reason\":\"go on\"}'; }"
    lab.settings({"hooks": {"Stop": [_hook(once)]}})
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        return terminal.session_id()


def _hook(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command}]}
