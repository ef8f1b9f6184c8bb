"""Extract what a person typed from user messages."""

import re

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl

_INJECTED = (
    "<environment_context>",
    "<user_instructions>",
    "<turn_aborted>",
    "<skill>",
    "<user_shell_command>",
    "<recommended_plugins>",
    "<codex_delegation>",
    "# AGENTS.md instructions",
)
"""Prefixes of user messages that Codex itself inserted."""

_IDE_CONTEXT = "# Context from my IDE setup"
_IDE_REQUEST = re.compile(r"^## My request for Codex:\s*", re.MULTILINE)


class _Part(Struct, gc=False):
    type: str = ""
    text: str | None = None


_parts = msgspec.json.Decoder(str | list[_Part]).decode


def text_of(raw: Raw) -> str:
    """Return the text of a JSON value that is a string or a list of parts."""
    if not bytes(raw):
        return ""
    value = jsonl.decoded(_parts, raw)
    if value is None or isinstance(value, str):
        return value or ""
    return "\n".join(_part_text(part) for part in value)


def _part_text(part: _Part) -> str:
    if part.text is not None:
        return part.text
    return "[image]" if "image" in part.type.lower() else ""


def typed(text: str) -> str:
    """Return a prompt without the context that an editor added."""
    if text.startswith(_IDE_CONTEXT):
        pieces = _IDE_REQUEST.split(text, maxsplit=1)
        text = pieces[1] if len(pieces) == 2 else text
    return text.strip()


def is_injected(text: str) -> bool:
    return text.lstrip().startswith(_INJECTED)
