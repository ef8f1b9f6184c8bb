"""Extract prompts, commands, exit codes and file names from the formats of all versions."""

import re

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.agents.media import IMAGE
from prong.agents.tool_summary import as_words

SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
PATCH = "apply_patch"

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
_EXIT_AT_START = re.compile(rb"(?:Process exited with code|Exit code:) (-?\d+)")
_EXIT_AT_END = re.compile(rb'\\?"exit_code\\?"\s*:\s*(-?\d+)')
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")


class _Part(Struct, gc=False):
    type: str = ""
    text: str | None = None


class _Arguments(Struct, gc=False):
    cmd: str | None = None
    command: str | list[str] | None = None
    input: str | None = None


_parts = msgspec.json.Decoder(str | list[_Part]).decode
_arguments = msgspec.json.Decoder(_Arguments).decode
_string = msgspec.json.Decoder(str).decode
_words = msgspec.json.Decoder(str | list[str]).decode


def text_of(raw: Raw) -> str:
    """Return the text of a JSON value that is a string or a list of parts."""
    value = jsonl.decoded(_parts, raw) or ""
    if isinstance(value, str):
        return value
    return "\n".join(
        part.text if part.text is not None else IMAGE if "image" in part.type.lower() else ""
        for part in value
    )


def typed(text: str) -> str:
    """Return a prompt without the context that an editor added."""
    if text.startswith(_IDE_CONTEXT):
        text = _IDE_REQUEST.split(text, maxsplit=1)[-1]
    return text.strip()


def is_injected(text: str) -> bool:
    return text.lstrip().startswith(_INJECTED)


def string_of(raw: Raw) -> str:
    return jsonl.decoded(_string, raw) or ""


def command_of_call(arguments: Raw) -> str:
    """Return the command line in a shell tool's arguments, which are JSON in a JSON string."""
    decoded = jsonl.decoded(_arguments, string_of(arguments).encode()) or _Arguments()
    return decoded.cmd or as_words(decoded.command or "")


def command_of_event(raw: Raw) -> str:
    return as_words(jsonl.decoded(_words, raw) or "")


def exit_code_of(output: Raw) -> int | None:
    """Return the exit code in a shell tool's output: in its first lines, or as JSON at the end."""
    view = memoryview(output)
    match = _EXIT_AT_START.search(bytes(view[:400]))
    if match is None:
        at_end = list(_EXIT_AT_END.finditer(bytes(view[-300:])))
        match = at_end[-1] if at_end else None
    return int(match[1]) if match else None


def patch_of_call(given: Raw, arguments: Raw) -> str:
    """Return the patch, which is the tool's input or part of its arguments."""
    text = string_of(given) or string_of(arguments)
    decoded = jsonl.decoded(_arguments, text.encode())
    return decoded.input or "" if decoded else text


def patched_files(text: str) -> list[str]:
    """Return the files named in a patch, which may be inside a command line."""
    if "*** Begin Patch" not in text:
        return []
    names = (line.partition(": ")[2] for line in text.split("\n") if line.startswith(_PATCHED))
    return [name.strip() for name in names if name]
