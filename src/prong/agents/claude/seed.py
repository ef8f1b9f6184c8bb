"""A seed for Claude Code: a first prompt on standard input, without tools, and its answer.

Measured: a prompt of any length arrives, without the blank space around it. The
session is one of `claude -p`, so the picker of Claude Code does not list it; its id opens it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from prong.agents import argv
from prong.agents.argv import Command, flags
from prong.agents.claude.launch import GRAMMAR, PROGRAM, environment
from prong.agents.claude.printed import ClaudeEvent
from prong.agents.headless import NOTHING_SAID, ProgramAnswer, events
from prong.agents.shell import Word
from prong.model.forks import Child, Launch

FLAGS = (
    *("--print", "--session-id", "--name", "--output-format", "--verbose", "--tools"),
    *("--strict-mcp-config", "--permission-mode", "--system-prompt-snapshot", "--settings"),
)
"""What the launch below uses."""

_KEPT = flags(
    """
    --add-dir --append-system-prompt --append-system-prompt-file --autocompact --betas --effort
    --fallback-model --model --setting-sources --settings --system-prompt --system-prompt-file
    """
)
"""What the base command says about the model. Permissions, tools and plug-ins stay out."""
_SYNTHETIC = "<synthetic>"
"""The model that Claude Code names when it speaks itself, of an error."""


def launch(command: Command, roots: Sequence[Path], child: Child) -> Launch:
    own = ["--print", *(["--session-id", child.id] if child.id else [])]
    own += ["--name", child.title] if child.title else []
    own += ["--output-format", "stream-json", "--verbose"]
    own += ["--tools", "", "--strict-mcp-config", "--permission-mode", "dontAsk"]
    # Else the system prompt of this run, which knows no tools, would be kept for all later ones.
    own += ["--system-prompt-snapshot", "off"]
    words = argv.rebuilt(command, PROGRAM, lambda given: _changed(given, own))
    # `@name` in the transcript would attach that file as it is now, wherever it lies.
    env = {**environment(child.root or roots[0]), "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
    return argv.launch(words, child.cwd, env, argv.fork_title(child.parent))


def _changed(words: Sequence[Word], own: Sequence[str]) -> Sequence[Word]:
    kept = [argument for argument in GRAMMAR.arguments(words) if argument.flag in _KEPT]
    # A hook may run anything, and a Stop hook may make the model go on. Only one file or text of
    # settings can be given, and the user's may hold what the program cannot do without.
    hooked = any(argument.flag == "--settings" for argument in kept)
    quiet = [] if hooked else ["--settings", '{"disableAllHooks":true}']
    return argv.with_prompt(kept, [*own, *quiet], None)


def answer(output: Iterable[str]) -> ProgramAnswer:
    """What the lines of `--output-format stream-json` say."""
    session_id: str | None = None
    end: ClaudeEvent | None = None
    messages: dict[str | None, str] = {}
    for event in events(output, ClaudeEvent):
        session_id = session_id or event.session_id
        if event.type == "result":
            end = event
        message = event.message if event.type == "assistant" else None
        if message and message.model != _SYNTHETIC and not event.parent_tool_use_id:
            # A line for each block: the blocks of one message belong together.
            said = "".join(block.text for block in message.content if block.type == "text")
            messages[message.id] = messages.get(message.id, "") + said
    text = "\n".join(filter(None, messages.values()))
    return ProgramAnswer(session_id, text, _error(end, text))


def _error(end: ClaudeEvent | None, text: str) -> str | None:
    if end is None:
        return NOTHING_SAID
    if end.is_error:
        return end.result or "; ".join(end.errors) or end.subtype or NOTHING_SAID
    return None if text else NOTHING_SAID
