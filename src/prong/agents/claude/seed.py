"""Seed a Claude Code session: send a first prompt on standard input, without tools.

Measured: a prompt of any length arrives, stripped of surrounding space. The session is one of
`claude -p`, so Claude Code's picker does not list it, but its id opens it.
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
"""Flags that the launch below uses."""

_KEPT = flags(
    """
    --add-dir --append-system-prompt --append-system-prompt-file --autocompact --betas --effort
    --fallback-model --model --setting-sources --settings --system-prompt --system-prompt-file
    """
)
"""Flags of the base command to keep: about the model, not permissions, tools and plug-ins."""
_SYNTHETIC = "<synthetic>"
"""Model name of messages from Claude Code itself, such as errors."""


def launch(command: Command, roots: Sequence[Path], child: Child) -> Launch:
    own = ["--print", *(["--session-id", child.id] if child.id else [])]
    own += ["--name", child.title] if child.title else []
    own += ["--output-format", "stream-json", "--verbose"]
    own += ["--tools", "", "--strict-mcp-config", "--permission-mode", "dontAsk"]
    # Otherwise later runs would keep this run's system prompt, which has no tools.
    own += ["--system-prompt-snapshot", "off"]
    words = argv.rebuilt(command, PROGRAM, lambda given: _changed(given, own))
    # `@name` in the transcript would attach the current version of any such file.
    env = {**environment(child.root or roots[0]), "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1"}
    return argv.launch(words, child.cwd, env, argv.fork_title(child.parent))


def _changed(words: Sequence[Word], own: Sequence[str]) -> Sequence[Word]:
    kept = [argument for argument in GRAMMAR.arguments(words) if argument.flag in _KEPT]
    # Hooks may run anything, and a Stop hook may make the model continue. Only one `--settings`
    # is possible, and the program may depend on the user's.
    has_settings = any(argument.flag == "--settings" for argument in kept)
    quiet = [] if has_settings else ["--settings", '{"disableAllHooks":true}']
    return argv.with_prompt(kept, [*own, *quiet], None)


def answer(output: Iterable[str]) -> ProgramAnswer:
    """Parse the answer in `--output-format stream-json`."""
    session_id: str | None = None
    end: ClaudeEvent | None = None
    messages: dict[str | None, str] = {}
    for event in events(output, ClaudeEvent):
        session_id = session_id or event.session_id
        if event.type == "result":
            end = event
        message = event.message if event.type == "assistant" else None
        if message and message.model != _SYNTHETIC and not event.parent_tool_use_id:
            # Each block has its own line: join the blocks of a message.
            text_part = "".join(block.text for block in message.content if block.type == "text")
            messages[message.id] = messages.get(message.id, "") + text_part
    text = "\n".join(filter(None, messages.values()))
    return ProgramAnswer(session_id, text, _error(end, text))


def _error(end: ClaudeEvent | None, text: str) -> str | None:
    if end is None:
        return NOTHING_SAID
    if end.is_error:
        return end.result or "; ".join(end.errors) or end.subtype or NOTHING_SAID
    return None if text else NOTHING_SAID
