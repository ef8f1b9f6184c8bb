"""Errors as an agent gets them: the same problem that the command line prints, never a trace."""

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
"""What stands beside the message when no engine can search, as clients of other servers know it."""
_LONGEST_TEXT = 2_000
"""A name of five megabytes is not sent back."""


def problem_of(error: Exception, tool: str) -> CallToolResult:
    """An answer of a tool that says what was wrong."""
    if isinstance(error, MemoryError):
        error = out_of_memory()
    if not isinstance(error, ProngError):
        log.error("a tool failed", exc_info=error)
        error = ProngError(
            f"{type(error).__name__}: {error}", hint="this is a bug in prong; see its log"
        )
    told = in_answer(error.problem(), tool)
    told["hint"] = told["hint"] or None
    lifted = {name: told["details"][name] for name in _LIFTED if name in told["details"]}
    details = {name: one for name, one in told["details"].items() if name not in lifted}
    # Masked before it is cut: half a key is not known to be one.
    found = _short(safe_value(writable(_plain({**lifted, **told, "details": details}))))
    found = {"notice": NOTICE, **found}
    text = f"prong: {error.code}\n{fenced(found)}"
    return CallToolResult(
        content=[TextContent(type="text", text=text)], structured_content=found, is_error=True
    )


def _plain(value: Any) -> Any:
    """A value of the details as JSON knows it."""
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in cast(dict[Any, Any], value).items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in cast(list[Any], value)]
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _short(value: Any) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else f"{value[:_LONGEST_TEXT]} ..."
    if isinstance(value, dict):
        return {_short(name): _short(one) for name, one in cast(dict[Any, Any], value).items()}
    return [_short(one) for one in cast(list[Any], value)] if isinstance(value, list) else value
