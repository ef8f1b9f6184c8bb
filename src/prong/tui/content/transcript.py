"""Transcripts as lines: prompts, answers, tool calls and their output."""

import json
from collections.abc import Iterator
from typing import Any, cast

from prong.model.amounts import counted
from prong.model.sessions import Message, Tool
from prong.search.passages import Highlighter
from prong.tui.widgets.lines import Line, Mark, diff, line, prose
from prong.views.text import clean

_PROMPT = "> "
_TOOL = "● "
_INDENT = "  "
_SHOWN = 8
"""Maximum lines of a tool's output, unless all are requested."""
_AROUND = 2
"""Context lines around a match in tool output."""
_MATCHES = 3
"""Maximum number of matches shown in tool output."""
_EDITS = (("old_string", "new_string"), ("old_str", "new_str"))
_PATCH = "*** Begin Patch"


class TranscriptLines:
    """Renderer of messages.

    Without `everything`, tool output is cut to its beginning and its matches.
    """

    def __init__(self, highlight: Highlighter | None = None, *, everything: bool = False) -> None:
        self._highlight = highlight
        self._everything = everything

    def message(self, message: Message) -> Iterator[Line]:
        text = clean(message.text, lines=True).strip("\n")
        match message.role:
            case "user":
                yield from prompt(text)
            case "assistant" if message.tool is None:
                yield from prose(text)
            case "thinking" if text:
                yield from (Line(row.text, "dim", is_prose=True) for row in prose(text))
            case "summary":
                yield rule("compacted: the model sees this summary")
                yield from prose(text, "dim")
            case _ if message.tool is not None:
                yield from self._tool(message.tool)
            case _:
                return
        yield Line()

    def _tool(self, tool: Tool) -> Iterator[Line]:
        code = f" ({tool.exit_code})" if tool.exit_code else ""
        failed = f"  failed{code}" if tool.failed or code else ""
        yield line(
            (_TOOL, "failed" if failed else "name"),
            (clean(tool.name), "bold"),
            (f" {clean(tool.gist or tool.input)}", "tool"),
            (failed, "failed"),
        )
        for row in _change(tool):
            yield row._replace(text=_INDENT + row.text)
        if tool.output:
            output = clean(tool.output, lines=True).strip("\n").split("\n")
            yield from (Line(_INDENT + text.expandtabs(4), "dim") for text in self._shown(output))

    def _shown(self, output: list[str]) -> Iterator[str]:
        """Yield the beginning of a tool's output, and its matches with context."""
        if self._everything or len(output) <= _SHOWN:
            yield from output
            return
        visible = set(range(_SHOWN // 2))
        if self._highlight is not None:
            matching = (n for n, text in enumerate(output) if self._highlight(text))
            for _, i in zip(range(_MATCHES), matching, strict=False):
                visible |= set(range(max(i - _AROUND, 0), min(i + _AROUND + 1, len(output))))
        before = -1
        for i in (*sorted(visible), len(output)):
            if i - before > 1:
                yield f"… {counted(i - before - 1, 'line')}"
            if i < len(output):
                yield output[i]
            before = i


def prompt(text: str) -> Iterator[Line]:
    """Render a prompt."""
    for number, row in enumerate(text.split("\n")):
        lead = _PROMPT if number == 0 else _INDENT
        yield Line(lead + row.expandtabs(4), "prompt")


def rule(text: str) -> Line:
    """Draw a separator with a heading."""
    drawn = f"── {text} ──"
    return Line(drawn, marks=(Mark(0, len(drawn), "rule"), Mark(3, 3 + len(text), "heading")))


def _change(tool: Tool) -> Iterator[Line]:
    """Render the file edit in a tool call as a diff."""
    if _PATCH in tool.input:
        patch = clean(_patch_in(tool.input), lines=True)
        yield from diff(row.expandtabs(4) for row in patch.split("\n"))
        return
    arguments = _arguments(tool.input)
    for old, new in _EDITS:
        for sign, text in (("-", arguments.get(old)), ("+", arguments.get(new))):
            if isinstance(text, str) and text:
                lines = clean(text, lines=True).split("\n")
                yield from diff(f"{sign}{row.expandtabs(4)}" for row in lines)


def _patch_in(text: str) -> str:
    """Find the patch in a Codex tool call: the whole input, or one of its arguments."""
    for value in _arguments(text).values():
        values = cast(list[Any], value) if isinstance(value, list) else [value]
        for item in values:
            if isinstance(item, str) and _PATCH in item:
                return item
    return text


def _arguments(text: str) -> dict[str, Any]:
    """Parse a tool call's named arguments; empty if they are not a JSON object."""
    if not text.startswith("{"):
        return {}
    try:
        return cast(dict[str, Any], json.loads(text))
    except (ValueError, RecursionError):
        return {}
