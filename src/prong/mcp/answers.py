"""Results and errors as MCP answers.

The text of an answer is JSON in a fence, so that agents can tell quoted session text from
instructions. Every `<` in the JSON is escaped, which decodes to the same, so no text from a session
can look like the end of the fence.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from mcp.types import CallToolResult, TextContent

from prong.errors import ProngError, out_of_memory
from prong.mcp.hints import for_agent, in_answer
from prong.mcp.shapes import NOTICE
from prong.mcp.tool import McpTool
from prong.model.record import Record
from prong.paths import state_dir
from prong.redaction.visible import in_texts, safe, safe_value
from prong.setup.database import notices

log = logging.getLogger(__name__)

_KEPT = ("results", "sessions", "turns", "messages", "workers", "workers_awaiting_task")
"""Lists of results, which are part of an answer even if they are empty."""
_LIFTED = ("error", "next_steps", "fallback_sessions")
"""Details to put next to the message if no search engine works, as other servers do."""
_LONGEST_TEXT = 2_000
"""Maximum length of a text: a megabyte of input must not be sent back."""
_EMPTY: tuple[Any, ...] = (None, "", [], {})


def answer(result: Record, tool: McpTool) -> CallToolResult:
    """Convert a result without its null and empty fields."""
    fields = cast(dict[str, Any], msgspec.to_builtins(result))
    kept = {name: fields[name] for name in _KEPT if fields.get(name) in ([], ())}
    content = safe_value(_writable({**_without_empty(fields), **kept}))
    if not tool.for_user:
        content = in_answer(content, tool.name)
    notes = [safe(for_agent(note, tool.name)) for note in notices(state_dir())]
    texts = [_fenced(content), *(f"prong: {note}" for note in notes)]
    return CallToolResult(
        content=[TextContent(type="text", text=text) for text in texts], structured_content=content
    )


def problem_of(error: Exception, tool: str) -> CallToolResult:
    """Convert an exception: the same problem as on the command line, never a traceback."""
    if isinstance(error, MemoryError):
        error = out_of_memory()
    if not isinstance(error, ProngError):
        log.error("a tool failed", exc_info=error)
        error = ProngError(
            f"{type(error).__name__}: {error}", hint="this is a bug in prong; see its log"
        )
    problem = in_answer(error.problem(), tool)
    problem["hint"] = problem["hint"] or None
    details = problem["details"]
    lifted = {name: details.pop(name) for name in _LIFTED if name in details}
    # Masked before it is cut: half a key would not be recognized.
    plain = msgspec.to_builtins({**lifted, **problem}, enc_hook=str, str_keys=True)
    content = {"notice": NOTICE, **in_texts(safe_value(_writable(plain)), _short)}
    text = f"prong: {error.code}\n{_fenced(content)}"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=content, is_error=True
    )


def _fenced(content: Mapping[str, Any]) -> str:
    # The notice precedes the fence, because it is not data.
    data = {name: value for name, value in content.items() if name != "notice"}
    json = msgspec.json.encode(data).decode()
    json = json.replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{NOTICE}\n<quoted-data>\n{json}\n</quoted-data>"


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        full = {name: _without_empty(item) for name, item in fields}
        return {name: item for name, item in full.items() if item not in _EMPTY}
    if isinstance(value, list | tuple):
        return [_without_empty(item) for item in cast(list[Any], value)]
    return value


def _writable(value: Any) -> Any:
    """Replace unpaired surrogates, which JSON cannot contain, with `?`."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return in_texts(value, lambda text: text.encode("utf-8", "replace").decode())
    return value


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} ..."
