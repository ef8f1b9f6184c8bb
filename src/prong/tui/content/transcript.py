"""What was said, as lines to read: prompts, answers, tools and what they printed."""

import json
from collections.abc import Iterator
from typing import Any, cast

from prong.model.amounts import counted
from prong.model.sessions import Message, Tool
from prong.search.passages import Highlighter
from prong.tui.widgets.lines import Line, Mark, line
from prong.tui.widgets.markup import diff, prose
from prong.views.text import clean

_PROMPT = "> "
_TOOL = "● "
_INDENT = "  "
_SHOWN = 8
"""Lines of what a tool printed, unless all are wanted."""
_AROUND = 2
"""Lines before and behind a match in it."""
_MATCHES = 3
"""How many matches in it are shown."""
_EDITS = (("old_string", "new_string"), ("old_str", "new_str"))
_PATCH = "*** Begin Patch"


class TranscriptLines:
    """Makes lines of messages.

    Of what tools printed, without `everything`, a few lines are shown: the first, and what matches.
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
                yield from (Line(one.text, "dim", is_prose=True) for one in prose(text))
            case "summary":
                yield rule("compacted: the model sees this summary")
                yield from prose(text, "dim")
            case _ if message.tool is not None:
                yield from self._tool(message.tool)
            case _:
                return
        yield Line()

    def _tool(self, tool: Tool) -> Iterator[Line]:
        failed = f"  failed ({tool.exit_code})" if tool.exit_code else "  failed"
        if not (tool.failed or tool.exit_code):
            failed = ""
        yield line(
            (_TOOL, "failed" if failed else "name"),
            (clean(tool.name), "bold"),
            (f" {clean(tool.gist or tool.input)}", "tool"),
            (failed, "failed"),
        )
        for one in _change(tool):
            yield one._replace(text=_INDENT + one.text)
        if tool.output:
            output = clean(tool.output, lines=True).strip("\n").split("\n")
            yield from (Line(_INDENT + text.expandtabs(4), "dim") for text in self._shown(output))

    def _shown(self, output: list[str]) -> Iterator[str]:
        """A few lines of what a tool printed: the first, and what matches."""
        if self._everything or len(output) <= _SHOWN:
            yield from output
            return
        wanted = set(range(_SHOWN // 2))
        if self._highlight is not None:
            matching = (n for n, text in enumerate(output) if self._highlight(text))
            for _, at in zip(range(_MATCHES), matching, strict=False):
                wanted |= set(range(max(at - _AROUND, 0), min(at + _AROUND + 1, len(output))))
        before = -1
        for at in (*sorted(wanted), len(output)):
            if at - before > 1:
                yield f"… {counted(at - before - 1, 'line')}"
            if at < len(output):
                yield output[at]
            before = at


def prompt(text: str) -> Iterator[Line]:
    """A prompt as it was typed."""
    for number, one in enumerate(text.split("\n")):
        lead = _PROMPT if number == 0 else _INDENT
        yield Line(lead + one.expandtabs(4), "prompt")


def rule(text: str) -> Line:
    """A line between two parts."""
    whole = f"── {text} ──"
    return Line(whole, marks=(Mark(0, len(whole), "rule"), Mark(3, 3 + len(text), "heading")))


def _change(tool: Tool) -> Iterator[Line]:
    """What a tool was to change in a file, as a diff."""
    if _PATCH in tool.input:
        patch = clean(_patch_in(tool.input), lines=True)
        yield from diff(one.expandtabs(4) for one in patch.split("\n"))
        return
    given = _arguments(tool.input)
    for old, new in _EDITS:
        for sign, text in (("-", given.get(old)), ("+", given.get(new))):
            if isinstance(text, str) and text:
                lines = clean(text, lines=True).split("\n")
                yield from diff(f"{sign}{one.expandtabs(4)}" for one in lines)


def _patch_in(text: str) -> str:
    """A patch as Codex writes it: alone, or among the arguments of a call."""
    for value in _arguments(text).values():
        values = cast(list[Any], value) if isinstance(value, list) else [value]
        for one in values:
            if isinstance(one, str) and _PATCH in one:
                return one
    return text


def _arguments(text: str) -> dict[str, Any]:
    """The arguments of a call by name; none when they have no names."""
    if not text.startswith("{"):
        return {}
    try:
        return cast(dict[str, Any], json.loads(text))
    except (ValueError, RecursionError):
        return {}
