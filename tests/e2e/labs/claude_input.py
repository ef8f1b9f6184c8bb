"""Claude Code sessions with other input than plain prompts: queue, commands, agents, hooks."""

from __future__ import annotations

import threading
from typing import Any

from prong.testing.script import Hold, Reply, Text, ToolCall, say
from prong.testing.server import RequestKind
from tests.e2e.labs.claude_lab import ClaudeLab, bash, scenario

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
def builtin_commands_last(lab: ClaudeLab) -> str:
    """/context, /usage and /rename as the last things."""
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        terminal.command("/context", "Estimated usage")
        terminal.command("/usage", "Esc to cancel")
        terminal.tmux.key("Escape")
        terminal.tmux.wait_for(lambda screen: "Esc to cancel" not in screen)
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
    lab.server.enqueue(
        Reply(bash("echo from the helper")), say("one two three"), kind=RequestKind.SUBAGENT
    )
    lab.server.enqueue(
        say("hello"), Reply(Text("I ask."), _agent(background=False)), say("it counted")
    )
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    first = lab.cli.run("alpha one", lab.cwd, env=env)
    lab.cli.run("beta two", lab.cwd, resume=first.session_id, env=env)
    lab.cli.run("gamma three", lab.cwd, resume=first.session_id, env=env)
    return first.session_id


@scenario
def subagent_with_tool(lab: ClaudeLab) -> str:
    """A sub-agent in the background that runs a tool; a prompt comes in before its end."""
    gate = threading.Event()
    lab.server.enqueue(
        Reply(bash("echo from the helper")),
        Reply(Hold(gate), Text("one two three")),
        kind=RequestKind.SUBAGENT,
    )
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        lab.server.enqueue(Reply(Text("I ask."), _agent(background=True)), say("it runs"))
        terminal.submit("beta two")
        terminal.tmux.wait_for("Waiting for 1 background agent")
        terminal.submit("gamma three")
        lab.server.wait_for_prompt("gamma three")
        terminal.tmux.wait_for("ECHO: gamma three")
        gate.set()
        lab.server.wait_for(lambda request: "<task-notification>" in str(request.body["messages"]))
        terminal.wait_quiet()
        terminal.prompt("delta four")
        return terminal.session_id()


@scenario
def subagent_background(lab: ClaudeLab) -> str:
    """A sub-agent in the background: its end comes as a task notification, a turn of its own."""
    gate = threading.Event()
    lab.server.enqueue(Reply(Hold(gate), Text("one two three")), kind=RequestKind.SUBAGENT)
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
    once = 'test -e blocked || { touch blocked; echo \'{"decision":"block","reason":"go on"}\'; }'
    lab.settings({"hooks": {"Stop": [_hook(once)]}})
    with lab.terminal() as terminal:
        terminal.prompt("alpha one")
        terminal.prompt("beta two")
        return terminal.session_id()


def _hook(command: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": command}]}
