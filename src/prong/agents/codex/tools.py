"""Commands, exit codes and files, from the several shapes that Codex gave them over time."""

import re

import msgspec
from msgspec import Raw, Struct

from prong.agents import jsonl
from prong.agents.tool_summary import as_words

SHELLS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
PATCH = "apply_patch"

_EXIT_AT_START = re.compile(rb"(?:Process exited with code|Exit code:) (-?\d+)")
_EXIT_AT_END = re.compile(rb'\\?"exit_code\\?"\s*:\s*(-?\d+)')
_PATCHED = ("*** Add File: ", "*** Update File: ", "*** Delete File: ")


class _Arguments(Struct, gc=False):
    cmd: str | None = None
    command: str | list[str] | None = None
    input: str | None = None


_arguments = msgspec.json.Decoder(_Arguments).decode
_string = msgspec.json.Decoder(str).decode
_words = msgspec.json.Decoder(str | list[str]).decode


def string_of(raw: Raw) -> str:
    return jsonl.decoded(_string, raw) or ""


def command_of_call(arguments: Raw) -> str:
    """The command line in the arguments of a shell tool, which are JSON inside a JSON string."""
    given = jsonl.decoded(_arguments, string_of(arguments).encode()) or _Arguments()
    return given.cmd or as_words(given.command or "")


def command_of_event(raw: Raw) -> str:
    return as_words(jsonl.decoded(_words, raw) or "")


def exit_code_of(output: Raw) -> int | None:
    """The exit code that a shell tool told: in the first lines, or as JSON at the end."""
    view = memoryview(output)
    found = _EXIT_AT_START.search(bytes(view[:400]))
    if found is None:
        at_end = list(_EXIT_AT_END.finditer(bytes(view[-300:])))
        found = at_end[-1] if at_end else None
    return int(found[1]) if found else None


def patch_of_call(given: Raw, arguments: Raw) -> str:
    """The patch that is the input of the tool itself, or in its arguments."""
    text = string_of(given) or string_of(arguments)
    found = jsonl.decoded(_arguments, text.encode())
    return found.input or "" if found else text


def patched_files(text: str) -> list[str]:
    """The files named in a patch, which may stand in a command line."""
    if "*** Begin Patch" not in text:
        return []
    named = (line.partition(": ")[2] for line in text.split("\n") if line.startswith(_PATCHED))
    return [name.strip() for name in named if name]
