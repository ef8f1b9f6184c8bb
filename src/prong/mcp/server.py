"""MCP server on stdin and stdout.

stdout belongs to the protocol: while the server runs, the SDK redirects everything else to stderr.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import (
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
)

import prong
from prong.app import App
from prong.errors import NotFound
from prong.mcp.answers import answer, problem_of
from prong.mcp.call import Call
from prong.mcp.schemas import checked
from prong.mcp.tool import McpTool
from prong.mcp.tools import TOOLS
from prong.threads import Lane

_AT_ONCE = 64
"""Number of concurrent calls, most of which wait for workers."""
_REST_EVERY = 60.0
"""Seconds between checks whether the sentence model is still needed."""
_INSTRUCTIONS = (
    "prong finds past coding-agent sessions (Claude Code, Codex) and forks them at a turn, "
    "together with the code as of that turn. Before work that may have been done or discussed "
    "before, call smart_fork with what you want to do; it only searches unless you ask for a "
    "fork. A fork runs as a worker in a terminal pane: wait for it with wait_workers, prompt it "
    "with send_to_worker."
)
_READING = (
    "prong finds past coding-agent sessions (Claude Code, Codex). Before work that may have been "
    "done or discussed before, call find_sessions with what you want to do."
)


def build(opened: Callable[[], App] = App, *, read_only: bool = False) -> Server[Any]:
    """Create the server. With `read_only`, it has no tools that write."""
    tools = {tool.name: tool for tool in TOOLS if not (read_only and tool.writes)}
    searches = Lane("search", opened)
    room = asyncio.Semaphore(_AT_ONCE)

    @asynccontextmanager
    async def life(_: Server[Any]) -> AsyncGenerator[None]:
        cleanup = asyncio.create_task(_rest(searches))
        try:
            yield
        finally:
            cleanup.cancel()
            with suppress(asyncio.CancelledError):
                await cleanup
            searches.close()

    async def listed(_: Any, __: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=[tool.described for tool in tools.values()])

    async def called(context: Any, params: CallToolRequestParams) -> CallToolResult:
        meta = cast(Mapping[str, Any], context.meta or {})
        call = Call(opened, searches, meta, context.session)
        async with room:
            return await call.run(partial(answered, call, tools, params))

    return Server(
        "prong",
        version=prong.__version__,
        title="prong",
        instructions=_READING if read_only else _INSTRUCTIONS,
        lifespan=life,
        on_list_tools=listed,
        on_call_tool=called,
    )


def answered(
    call: Call, tools: Mapping[str, McpTool], params: CallToolRequestParams
) -> CallToolResult:
    """Check the arguments of a call, run its tool, and convert what that returns or raises."""
    try:
        tool = _named(tools, params.name)
        arguments = checked(tool.arguments, params.arguments, tool.name)
        with call.opened():
            result = tool.run(call, arguments)
        return answer(result, tool)
    except Exception as error:  # noqa: BLE001 -- whatever it is, the agent gets an answer
        return problem_of(error, params.name)


def _named(tools: Mapping[str, McpTool], name: str) -> McpTool:
    if name not in tools:
        raise NotFound(f"unknown tool {name}", hint=f"one of {', '.join(tools)}")
    return tools[name]


async def _rest(searches: Lane) -> None:
    """Free the sentence model after a while without searches."""
    while True:
        await asyncio.sleep(_REST_EVERY)
        if searches.is_open:
            await searches.do(lambda app: app.search.rest())


def run(*, read_only: bool = False) -> None:
    """Serve until the client closes stdin."""
    logging.basicConfig(level=logging.WARNING)  # to stderr
    # A thread blocks on stdin and cannot be woken, and Python would wait for it at exit.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = build(read_only=read_only)

    async def serve() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(serve())
