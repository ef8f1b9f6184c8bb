"""One call of a tool: the `App` of its thread, who calls, progress and waiting."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from prong.agents.stores import AgentStores
from prong.app import App
from prong.errors import Busy, memory_checked
from prong.model.sessions import SessionRef
from prong.redaction.visible import safe
from prong.session import own_session
from prong.threads import Lane, run_in_thread

if TYPE_CHECKING:
    from prong.mcp.permissions import Permissions

T = TypeVar("T")

_REPORT_EVERY = 0.5
"""Seconds between progress reports."""
_SLICE = 2.0
"""Seconds per step of a wait; between steps, the client can cancel."""


class ProgressClient(Protocol):
    """A client that accepts progress reports."""

    async def report_progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None: ...


class Cancelled(Exception):
    """The client has cancelled the call."""


class Call:
    """A call of a tool. Its work runs in a thread with an `App` of its own."""

    app: App

    def __init__(
        self,
        open_app: Callable[[], App],
        searches: Lane,
        meta: Mapping[str, Any],
        client: ProgressClient,
    ) -> None:
        """`searches` is the thread that keeps the index open; `meta` came with the call."""
        self._open = open_app
        self._searches = searches
        self.meta = meta
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._message: str | None = None
        self._is_cancelled = False

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in its thread, and report progress meanwhile."""
        task = asyncio.ensure_future(run_in_thread(work))
        begun, reported = time.monotonic(), None
        try:
            while not (await asyncio.wait({task}, timeout=_REPORT_EVERY))[0]:
                if self._message != reported:
                    reported = self._message
                    # Progress must grow, so it is the time.
                    seconds = round(time.monotonic() - begun, 1)
                    await self._client.report_progress(seconds, None, reported)
            return task.result()
        finally:
            self._is_cancelled = True
            task.cancel()

    @contextmanager
    def opened(self) -> Generator[None]:
        """Open the `App` for the time of a block."""
        with memory_checked(), self._open() as self.app:
            yield

    def say(self, message: str) -> None:
        """Set the progress message. Only the latest is sent."""
        self._message = safe(message)

    def search(self, act: Callable[[App], T]) -> T:
        """Run a search in the one thread that keeps the index open."""
        return asyncio.run_coroutine_threadsafe(self._searches.do(act), self._loop).result()

    @cached_property
    def own(self) -> SessionRef | None:
        """The calling session; None if it is unknown."""
        return calling_session(self.meta, self.app.stores)

    @cached_property
    def permissions(self) -> Permissions:
        from prong.mcp.permissions import Permissions

        return Permissions(self.app.settings.mcp, self.app.stores, self.app.terminals)

    def wait(
        self,
        wait: Callable[[float], T],
        end: float,
        doing: Callable[[Busy], str] = lambda busy: busy.message.rpartition(" after ")[0],
    ) -> T:
        """Wait in steps, telling the client what for. Raises the last `Busy` on timeout."""
        while True:
            left = max(end - time.monotonic(), 0.0)
            try:
                result = wait(min(left, _SLICE))
            except Busy as busy:
                if left <= _SLICE:
                    raise
                self.say(f"{doing(busy)} ({left:.0f} s left)")
                self._check()
            else:
                self._check()
                return result

    def _check(self) -> None:
        if self._is_cancelled:
            raise Cancelled


def calling_session(meta: Mapping[str, Any], stores: AgentStores) -> SessionRef | None:
    """Return the session that calls a tool.

    Codex sends it with each call. Claude Code sets it in the environment when the server starts,
    and writes it to a file per process, which stays correct after `/clear` or `/resume`.
    """
    metadata: Any = meta.get("x-codex-turn-metadata")
    if isinstance(metadata, dict):
        facts = cast(dict[str, Any], metadata)
        # A thread is what is stored; a session may have several.
        thread: Any = facts.get("thread_id") or facts.get("session_id")
        if isinstance(thread, str) and thread:
            return SessionRef("codex", thread)
    pid = os.environ.get("CLAUDE_PID", "")
    pids = [int(pid)] if pid.isdecimal() else []
    chain = own_session.ancestors(os.getpid())
    # Outside an agent, an ancestor may be a shell that runs other agents too.
    chain = chain if "CLAUDECODE" in os.environ else chain[:1]
    opened = own_session.of(stores, [*pids, *chain])
    id_ = os.environ.get("CLAUDE_CODE_SESSION_ID")
    return opened or (SessionRef("claude", id_) if id_ else None)
