"""A double of the Python package `iterm2`: the documented API, done by a private tmux.

iTerm2 runs on macOS only. The names and parameters are those of the package's version 2.30. This
shows that prong uses the documented API; it does not show how iTerm2 behaves.
"""

from __future__ import annotations

import shlex
import subprocess
from types import SimpleNamespace
from typing import Any

socket: str | None = None
"""Where the private tmux listens. None: no iTerm2 runs."""


def _tmux(*arguments: str, given: str = "", check: bool = True) -> str:
    argv = ["tmux", "-u", "-S", str(socket), *arguments]
    done = subprocess.run(argv, input=given.encode(), capture_output=True, check=False)
    if check and done.returncode:
        raise RPCException(done.stderr.decode())
    return done.stdout.decode()


class RPCException(Exception):
    """What the package raises."""


class Connection:
    @staticmethod
    async def async_create() -> Connection:
        if socket is None:
            raise ConnectionRefusedError("Problem connecting to iTerm2")
        return Connection()


class LocalWriteOnlyProfile:
    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def set_use_custom_command(self, value: str) -> None:
        self.values["Custom Command"] = value

    def set_command(self, value: str) -> None:
        self.values["Command"] = value


class Session:
    def __init__(self, pane: str) -> None:
        self._pane = pane

    @property
    def session_id(self) -> str:
        return f"00000000-0000-0000-0000-{self._pane[1:]:0>12}"

    @property
    def window(self) -> Window:
        return Window(self)

    async def async_set_name(self, name: str) -> None:
        _tmux("select-pane", "-t", self._pane, "-T", name.replace("#", "##") + " ")

    async def async_send_text(self, text: str, suppress_broadcast: bool = False) -> None:
        _tmux("load-buffer", "-b", "x", "-", given=text)
        _tmux("paste-buffer", "-r", "-d", "-b", "x", "-t", self._pane)

    async def async_split_pane(
        self,
        vertical: bool = False,
        before: bool = False,
        profile: str | None = None,
        profile_customizations: LocalWriteOnlyProfile | None = None,
    ) -> Session:
        assert profile_customizations is not None
        assert profile_customizations.values["Custom Command"] == "Yes"
        words = shlex.split(profile_customizations.values["Command"])
        return _opened("split-window", "-h", "-t", self._pane, words=words)

    async def async_get_screen_contents(self) -> Any:
        lines = [_line(text) for text in self._lines()]
        return SimpleNamespace(number_of_lines=len(lines), line=lines.__getitem__)

    async def async_get_line_info(self) -> Any:
        told = "#{history_size} #{pane_height}"
        history, height = _tmux("display-message", "-p", "-t", self._pane, told).split()
        return SimpleNamespace(
            scrollback_buffer_height=int(history),
            mutable_area_height=int(height),
            overflow=0,
            first_visible_line_number=int(history),
        )

    async def async_get_contents(self, first_line: int, number_of_lines: int) -> list[Any]:
        lines = self._lines("-S", "-")[first_line : first_line + number_of_lines]
        return [_line(text) for text in lines]

    async def async_activate(
        self, select_tab: bool = True, order_window_front: bool = True
    ) -> None:
        _tmux("select-window", "-t", self._pane)

    async def async_get_variable(self, name: str) -> Any:
        assert name == "pid"
        return int(_tmux("display-message", "-p", "-t", self._pane, "#{pane_pid}"))

    async def async_close(self, force: bool = False) -> None:
        assert force, "iTerm2 would ask the person"
        _tmux("kill-pane", "-t", self._pane)

    def _lines(self, *more: str) -> list[str]:
        return _tmux("capture-pane", "-p", *more, "-t", self._pane).rstrip("\n").split("\n")


class Tab:
    def __init__(self, session: Session) -> None:
        self.current_session = session


class Window:
    def __init__(self, session: Session) -> None:
        self.current_tab = Tab(session)

    @staticmethod
    async def async_create(
        connection: Connection,
        profile: str | None = None,
        command: str | None = None,
        profile_customizations: LocalWriteOnlyProfile | None = None,
    ) -> Window:
        assert isinstance(connection, Connection)
        assert command
        assert (profile, profile_customizations) == (None, None)
        return Window(_opened("new-window", words=shlex.split(command)))

    async def async_create_tab(
        self,
        profile: str | None = None,
        command: str | None = None,
        index: int | None = None,
        profile_customizations: LocalWriteOnlyProfile | None = None,
        select: bool = True,
    ) -> Tab:
        assert command
        return Tab(_opened("new-window", words=shlex.split(command)))


class App:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection

    @property
    def current_terminal_window(self) -> Window:
        return Window(Session("%0"))

    def get_session_by_id(
        self, session_id: str | None, include_buried: bool = True
    ) -> Session | None:
        panes = _tmux("list-panes", "-a", "-F", "#{pane_id}").split()
        sessions = map(Session, panes)
        return next((one for one in sessions if one.session_id == session_id), None)

    async def async_activate(
        self, raise_all_windows: bool = True, ignoring_other_apps: bool = False
    ) -> None:
        """There is but one application here."""


async def async_get_app(connection: Connection, create_if_needed: bool = True) -> App:
    return App(connection)


app = SimpleNamespace(invalidate_app=lambda: None)
"""The module of that name."""


def _line(text: str) -> Any:
    return SimpleNamespace(string=text)


def _opened(*verb: str, words: list[str]) -> Session:
    return Session(_tmux(*verb, "-d", "-P", "-F", "#{pane_id}", *words).strip())
