"""How these tests call tools: with the client of the SDK, from a thread without a loop."""

import json
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp.client import Client
from mcp.client.stdio import StdioServerParameters
from mcp.types import CallToolResult, TextContent, Tool

from prong.app import App
from prong.mcp.server import build
from tests.cli.shell import prong

FENCE = ("<quoted-data>\n", "\n</quoted-data>")


@dataclass
class Agent:
    """Calls tools, and looks at each answer as a client and as a model do."""

    portal: BlockingPortal
    client: Client
    progress: list[str | None] = field(default_factory=list[str | None])

    def tools(self) -> dict[str, Tool]:
        found = self.portal.call(self.client.list_tools)
        return {tool.name: tool for tool in found.tools}

    def ok(
        self, name: str, meta: dict[str, Any] | None = None, /, **arguments: Any
    ) -> dict[str, Any]:
        """What a call that works answers."""
        result = self.result(name, meta, **arguments)
        assert not result.is_error, result.content
        return _with_nulls(checked(result))

    def problem(self, name: str, /, **arguments: Any) -> dict[str, Any]:
        """What a call that fails answers."""
        result = self.result(name, **arguments)
        assert result.is_error, result.content
        found = checked(result)
        assert {"code", "message", "hint", "details"} <= set(found)
        assert "Traceback" not in text_of(result)
        return found

    def result(
        self, name: str, meta: dict[str, Any] | None = None, /, **arguments: Any
    ) -> CallToolResult:
        return self._started(name, meta, arguments).result(60)

    def started(self, name: str, /, **arguments: Any) -> "Future[CallToolResult]":
        """A call that is not waited for."""
        return self._started(name, None, arguments)

    def _started(
        self, name: str, meta: dict[str, Any] | None, arguments: dict[str, Any]
    ) -> "Future[CallToolResult]":
        call = partial(
            self.client.call_tool,
            name,
            arguments,
            progress_callback=self._told,
            meta=cast(Any, meta),
        )
        return self.portal.start_task_soon(call)

    async def _told(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append(message)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


def checked(result: CallToolResult) -> dict[str, Any]:
    """The structured answer, which the text has, too, in one fence."""
    found = cast(dict[str, Any], result.structured_content)
    head, _, rest = text_of(result).partition(FENCE[0])
    body, _, tail = rest.partition(FENCE[1])
    assert tail == ""
    assert "untrusted data" in head
    assert "<" not in body
    told = json.loads(body)
    assert told == {name: value for name, value in found.items() if name != "notice"}
    return found


class _Fields(dict[str, Any]):
    """A field that says nothing is left out of an answer; tests may ask for it all the same."""

    def __missing__(self, _: str) -> None:
        return None


def _with_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return _Fields({name: _with_nulls(one) for name, one in cast(Any, value).items()})
    return [_with_nulls(one) for one in cast(Any, value)] if isinstance(value, list) else value


@contextmanager
def in_memory(*, read_only: bool = False, opened: Callable[[], App] = App) -> Generator[Agent]:
    with _connected(partial(Client, build(opened, read_only=read_only))) as made:
        yield made


@contextmanager
def over_stdio(env: dict[str, str], *words: str, cwd: Path | None = None) -> Generator[Agent]:
    """A client of `prong mcp`, as agents start it."""
    command, *arguments = prong("mcp", *words)
    server = StdioServerParameters(command=command, args=arguments, env=env, cwd=cwd)
    with _connected(partial(Client, server)) as made:
        yield made


@contextmanager
def _connected(make: Callable[[], Client]) -> Generator[Agent]:
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(portal.call(_made, make)) as client,
    ):
        yield Agent(portal, client)


async def _made(make: Callable[[], Client]) -> Client:
    return make()
