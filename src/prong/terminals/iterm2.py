"""iTerm2, through its Python API; needs the optional package `iterm2`.

iTerm2 parses a command line much like a shell, so it only gets the launcher's command.
"""

import asyncio
import importlib
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from prong.errors import External, NotFound, ProngError, Unavailable
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals import keys
from prong.terminals.base import PaneTerminal, title_of, trimmed
from prong.terminals.handover import handed_over

T = TypeVar("T")
Task = Callable[[Any], Awaitable[T]]
"""A function of the application object, which has the windows, tabs and sessions."""

_INSTALL = f"{sys.executable} -m pip install iterm2"
_ALLOW = "iTerm2 > Settings > General > Magic > Enable Python API"


class ITerm2(PaneTerminal):
    name = "iterm2"

    def problem(self) -> str | None:
        try:
            self._asked(_nothing)
        except ProngError as error:
            return f"{error.message}; {error.hint}" if error.hint else error.message
        return None

    def open(self, launch: Launch, place: Placement) -> Pane:
        with handed_over(launch) as argv:
            line = shlex.join(argv)

            async def opened(iterm: Any) -> str:
                session = await self._new_session(iterm, line, place)
                with suppress(Exception):  # the program may have ended already
                    await session.async_set_name(title_of(launch))
                return str(session.session_id)

            return Pane(self.name, self._asked(opened))

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        async def living(iterm: Any) -> dict[Pane, LivePane]:
            alive: dict[Pane, LivePane] = {}
            for pane in panes:
                session = iterm.get_session_by_id(pane.id)
                if session is not None:
                    with suppress(Exception):  # it ended meanwhile
                        pid = await session.async_get_variable("pid")
                        alive[pane] = LivePane(int(pid) if pid else None)
            return alive

        if not panes:
            return {}
        try:
            return self._asked(living)
        except Unavailable:
            return {}

    def close(self, pane: Pane) -> None:
        async def closed(iterm: Any) -> None:
            session = iterm.get_session_by_id(pane.id)
            if session is not None:
                await session.async_close(force=True)

        try:
            self._asked(closed)
        except (External, Unavailable):
            if pane in self.alive([pane]):
                raise

    def send(self, pane: Pane, text: str) -> None:
        self._typed(pane, keys.pasted(text))

    def key(self, pane: Pane, *names: str) -> None:
        self._typed(pane, "".join(map(keys.typed, names)))

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        async def read(iterm: Any) -> list[str]:
            session = _session(iterm, pane)
            if not history:
                screen = await session.async_get_screen_contents()
                return [screen.line(number).string for number in range(screen.number_of_lines)]
            info = await session.async_get_line_info()
            count = info.scrollback_buffer_height + info.mutable_area_height
            lines = await session.async_get_contents(info.overflow, count)
            return [line.string for line in lines]

        # iTerm2 reports an empty cell as NUL.
        return trimmed("\n".join(self._asked(read)).replace("\0", " "))

    def focus(self, pane: Pane) -> None:
        async def focused(iterm: Any) -> None:
            await _session(iterm, pane).async_activate()
            await iterm.async_activate()

        self._asked(focused)

    def _typed(self, pane: Pane, text: str) -> None:
        async def typed(iterm: Any) -> None:
            await _session(iterm, pane).async_send_text(text, suppress_broadcast=True)

        if text:
            self._asked(typed)

    async def _new_session(self, iterm: Any, line: str, place: Placement) -> Any:
        api = _api()
        here = iterm.get_session_by_id(self._environ.get("ITERM_SESSION_ID", "").rpartition(":")[2])
        if place is Placement.SPLIT and here is not None:
            profile = api.LocalWriteOnlyProfile()
            profile.set_use_custom_command("Yes")
            profile.set_command(line)
            return await here.async_split_pane(vertical=True, profile_customizations=profile)
        window = here.window if here is not None else iterm.current_terminal_window
        if place is not Placement.WINDOW and window is not None:
            tab = await window.async_create_tab(command=line, select=False)
            return tab.current_session
        window = await api.Window.async_create(iterm.connection, command=line)
        return window.current_tab.current_session

    def _asked(self, task: Task[T]) -> T:
        api = _api()

        async def asked() -> T:
            connection = await api.Connection.async_create()
            # The cached application belongs to a connection that is closed.
            api.app.invalidate_app()
            return await task(await api.async_get_app(connection))

        try:
            return asyncio.run(asked())
        except ProngError:
            raise
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unavailable(f"no iTerm2 answers: {reason}", hint=f"switch on: {_ALLOW}") from None
        except Exception as error:  # noqa: BLE001 -- the package may raise anything
            message = f"iTerm2 failed: {type(error).__name__}: {error}"
            raise External(message, hint=f"look at: {_ALLOW}") from None


async def _nothing(_: Any) -> None:
    """Do nothing; connecting is the test."""


def _session(iterm: Any, pane: Pane) -> Any:
    session = iterm.get_session_by_id(pane.id)
    if session is None:
        raise NotFound(f"pane {pane} no longer exists", hint="prong ps")
    return session


def _api() -> Any:
    try:
        return importlib.import_module("iterm2")
    except ImportError:
        message = "the Python package `iterm2` is not installed"
        raise Unavailable(message, hint=f"{_INSTALL}, and switch on: {_ALLOW}") from None
