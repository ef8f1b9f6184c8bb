"""The tool calls of a Claude Code session, with the sizes that real ones have."""

from dataclasses import dataclass
from typing import Any

from benchmarks.parts import Parts, Record


@dataclass(frozen=True)
class ToolUse:
    """A call, what the model gets back, and what is recorded beside it (a string: it failed)."""

    call: Record
    content: str
    result: Record | str


def tool_use(parts: Parts, cwd: str, room: int) -> ToolUse:
    """One call of a common tool; its output has at most `room` characters or so."""
    return parts.rng.choice((_bash, _bash, _read, _edit))(parts, cwd, room)


def _call(parts: Parts, name: str, **arguments: Any) -> Record:
    call_id = "toolu_01" + parts.hex(22)
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def _path(parts: Parts, cwd: str) -> str:
    return f"{cwd}/src/{parts.rng.randrange(40)}/{parts.words(1)}.py"


def _bash(parts: Parts, cwd: str, room: int) -> ToolUse:
    call = _call(parts, "Bash", command=f"cd {cwd} && {parts.words(6)}", description=parts.words(4))
    output = parts.text(parts.size(700, 1.5, min(room, 60_000)))
    if parts.chance(0.08):
        output = f"Exit code 1\n{output}"
        return ToolUse(call, output, f"Error: {output}")
    result = {"stdout": output, "stderr": "", "interrupted": False, "isImage": False}
    return ToolUse(call, output, result)


def _read(parts: Parts, cwd: str, room: int) -> ToolUse:
    path = _path(parts, cwd)
    lines = parts.text(parts.size(3_500, 1.1, min(room, 200_000))).split("\n")
    numbered = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))
    text_file = {
        "filePath": path,
        "content": "\n".join(lines),
        "numLines": len(lines),
        "startLine": 1,
        "totalLines": len(lines),
    }
    call = _call(parts, "Read", file_path=path)
    return ToolUse(call, numbered, {"type": "text", "file": text_file})


def _edit(parts: Parts, cwd: str, room: int) -> ToolUse:
    path = _path(parts, cwd)
    old, new = parts.text(parts.size(300, 0.8, 4_000)), parts.text(parts.size(420, 0.8, 5_000))
    lines = [f"-{line}" for line in old.split("\n")] + [f"+{line}" for line in new.split("\n")]
    hunk = {"oldStart": 10, "oldLines": 7, "newStart": 10, "newLines": 9, "lines": lines}
    result = {
        "filePath": path,
        "oldString": old,
        "newString": new,
        "originalFile": parts.text(parts.size(5_000, 1.0, min(room, 200_000))),
        "structuredPatch": [hunk],
        "userModified": False,
        "replaceAll": False,
    }
    call = _call(parts, "Edit", file_path=path, old_string=old, new_string=new)
    return ToolUse(call, f"The file {path} has been updated successfully.", result)
