"""Recognize prompts among user lines, and extract their text as a person would write it.

New files mark the opener of a turn (`turnPosition`). In older ones the text decides, by a rule
measured on 114,196 user lines of real sessions (docs/internals/session-formats.md).
"""

import re

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.agents.claude.last_turn import INTERRUPTED, MACHINE_TEXT, NOTICES, unwrapped
from prong.agents.claude.records import ContentBlock, SessionLine
from prong.agents.media import DOCUMENT, IMAGE
from prong.model.sessions import TurnKind

MEDIA = {"image": IMAGE, "document": DOCUMENT}
_TOOL_LOADED = "Tool loaded."
_NOTICE = re.compile(
    r"<(teammate-message|observed_from_primary_session|ci-monitor-event)[^>]*>(.*?)</\1>",
    re.DOTALL,
)


class Prompt(Struct, array_like=True, gc=False):
    """A user line with text rather than tool results."""

    text: str
    kind: TurnKind
    position: bytes = b""
    """The CLI's mark for the opener of a turn, as written; empty without one."""
    worded: bool = False
    """Its text looks like a prompt; decides if the CLI did not yet mark openers."""
    interrupt: bool = False
    shell: bool = False
    """Bash mode input; the turn opens with the output, one line later."""
    id: str | None = None
    """promptId, which `--fork-session` overwrites in all copied lines."""
    version: str | None = None


def prompt_of(line: SessionLine) -> Prompt | None:
    """Return the prompt in a user line, or None."""
    if line.message is None or line.is_meta:
        return None
    if line.is_compact_summary or line.is_visible_in_transcript_only:
        return None
    content = line.message.content
    if isinstance(content, list) and any(block.type == "tool_result" for block in content):
        return None
    text = _prompt_text(content, line.entrypoint)
    stripped = _prompt_text(content) if "<system-reminder>" in text else text
    is_result = line.tool_use_result is not None or line.source_tool_use_id is not None
    worded = not is_result and (text.startswith(NOTICES) or _is_typed(line, stripped))
    return Prompt(
        readable(text),
        _kind_of(line, text),
        bytes(line.turn_position),
        worded,
        text.startswith(INTERRUPTED),
        text.startswith("<bash-input>"),
        line.prompt_id,
        line.version,
    )


def _is_typed(line: SessionLine, text: str) -> bool:
    if line.origin is not None and line.origin.kind not in (None, "human"):
        return False
    return bool(text) and not text.startswith(MACHINE_TEXT)


def _kind_of(line: SessionLine, text: str) -> TurnKind:
    is_notice = text.startswith(("<task-notification>", *NOTICES))
    if is_notice or line.turn_origin == "task_notification":
        return TurnKind.NOTIFICATION
    if text.startswith(("<command-", "<bash-")):
        return TurnKind.COMMAND
    # The desktop app and editors use the SDK too, but a person types there: the entrypoint
    # decides if it is known.
    if line.entrypoint:
        return TurnKind.SDK if is_program(line.entrypoint) else TurnKind.HUMAN
    return TurnKind.SDK if "sdk" in (line.turn_origin, line.prompt_source) else TurnKind.HUMAN


def is_program(entrypoint: str) -> bool:
    """Match `sdk-cli` (which is `claude -p`), `sdk-ts` and `sdk-py`."""
    return entrypoint.startswith("sdk")


def _element(text: str, name: str) -> str:
    match = re.search(rf"<{name}>(.*?)</{name}>", text, re.DOTALL)
    return match[1].strip() if match else ""


def readable(text: str) -> str:
    """Convert tags to what a person would write: `/name args`, `!command`, a summary."""
    if text.startswith("<command-"):
        name = _element(text, "command-name") or "/" + _element(text, "command-message")
        return f"{name} {_element(text, 'command-args')}".strip()
    if text.startswith("<bash-input>"):
        return "!" + _element(text, "bash-input")
    if text.startswith("<task-notification>"):
        return _element(text, "summary") or text
    if text.startswith(NOTICES):
        return _NOTICE.sub(r"\2", text).strip() or text
    return text


def steering(blocks: list[ContentBlock]) -> str | None:
    """Return text that a person sent with tool results, in CLIs before `queued_command`."""
    text = _prompt_text([block for block in blocks if block.type == "text"])
    if not text or text == _TOOL_LOADED or text.startswith((*MACHINE_TEXT, *NOTICES)):
        return None
    return text


def _prompt_text(content: str | list[ContentBlock], entrypoint: str | None = None) -> str:
    if isinstance(content, str):
        return unwrapped(content, entrypoint).strip()
    parts = (
        unwrapped(text_of(block.text), entrypoint)
        if block.type == "text"
        else MEDIA.get(block.type, "")
        for block in content
    )
    return "\n".join(part for part in parts if part).strip()


class _TextBlock(Struct, gc=False):
    type: str = ""
    text: str = ""


_text = msgspec.json.Decoder(str | list[_TextBlock]).decode


def text_of(raw: Raw) -> str:
    """Return the text of a JSON string or list of content blocks."""
    if not bytes(raw):
        return ""
    value = jsonl.decoded(_text, raw)
    if value is None or isinstance(value, str):
        return value or ""
    return "\n".join(block.text if block.type == "text" else IMAGE for block in value)
