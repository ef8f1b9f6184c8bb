"""Errors as tool results: the same problem as on the command line, never a traceback."""

from __future__ import annotations

import logging
from typing import Any, cast

from mcp.types import CallToolResult, TextContent

from prong.errors import ProngError, out_of_memory
from prong.mcp.hints import in_answer
from prong.mcp.quoted import NOTICE, fenced
from prong.mcp.schemas import writable
from prong.redaction.visible import safe_value

log = logging.getLogger(__name__)

_LIFTED = ("error", "next_steps", "fallback_sessions")
"""Details to put next to the message if no search engine works, as other servers do."""
_LONGEST_TEXT = 2_000
"""Maximum length of a text: a megabyte of input must not be sent back."""


def problem_of(error: Exception, tool: str) -> CallToolResult:
    """Convert an exception to a tool result."""
    if isinstance(error, MemoryError):
        error = out_of_memory()
    if not isinstance(error, ProngError):
        log.error("a tool failed", exc_info=error)
        error = ProngError(
            f"{type(error).__name__}: {error}", hint="this is a bug in prong; see its log"
        )
    problem = in_answer(error.problem(), tool)
    problem["hint"] = problem["hint"] or None
    lifted = {name: problem["details"][name] for name in _LIFTED if name in problem["details"]}
    details = {name: value for name, value in problem["details"].items() if name not in lifted}
    # Masked before it is cut: half a key would not be recognized.
    result = _short(safe_value(writable(_plain({**lifted, **problem, "details": details}))))
    result = {"notice": NOTICE, **result}
    text = f"prong: {error.code}\n{fenced(result)}"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=result, is_error=True
    )


def _plain(value: Any) -> Any:
    """Convert a value of the details to JSON data."""
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in cast(list[Any], value)]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]} ..."
    if isinstance(value, dict):
        return {_short(name): _short(item) for name, item in cast(dict[Any, Any], value).items()}
    return [_short(item) for item in cast(list[Any], value)] if isinstance(value, list) else value
