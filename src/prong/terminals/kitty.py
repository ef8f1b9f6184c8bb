"""kitty, through its remote control protocol; starting its own client would take half a second.

kitty must be configured to listen on a socket, whose address programs in it find in
KITTY_LISTEN_ON. kitty appends its pid to the path of a socket named in kitty.conf.
"""

import base64
import json
import socket
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.errors import External, NotFound, Unavailable
from prong.model.forks import Launch
from prong.model.workers import Pane, Placement
from prong.terminals import keys
from prong.terminals.base import PaneTerminal, title_of, trimmed
from prong.terminals.handover import handed_over
from prong.terminals.programs import PATIENCE

SOCKET = "PRONG_KITTY_SOCKET"
SETTINGS = "allow_remote_control socket-only\nlisten_on unix:/tmp/kitty"
_HINT = f"write into kitty.conf, then restart kitty: {SETTINGS.replace(chr(10), '; ')}"
_BEGIN, _END = b"\x1bP@kitty-cmd", b"\x1b\\"
_VERSION = (0, 26, 0)
"""Protocol version of our messages, understood by this and every later kitty."""
_KINDS = {Placement.SPLIT: "window", Placement.TAB: "tab", Placement.WINDOW: "os-window"}
_PIECE = 36 * 1024
"""Bytes per message: kitty closes the connection when it gets much more at once."""


class Kitty(PaneTerminal):
    name = "kitty"

    def __init__(self, environ: Mapping[str, str]) -> None:
        super().__init__(environ)
        self._listens = environ.get(SOCKET) or environ.get("KITTY_LISTEN_ON") or None

    def problem(self) -> str | None:
        if self._listens is None:
            return f"kitty does not listen on a socket; {_HINT}"
        try:
            _connected(_found(self._listens)).close()
        except OSError as error:
            return f"no kitty answers at {self._listens}: {error.strerror or error}"
        return None

    def open(self, launch: Launch, place: Placement) -> Pane:
        if self._listens is None:
            raise Unavailable("kitty does not listen on a socket", hint=_HINT)
        server = _found(self._listens)
        title = title_of(launch)
        with handed_over(launch) as argv:
            options: dict[str, Any] = {
                "args": list(argv),
                "cwd": str(launch.cwd),
                "type": _KINDS[place],
                "window_title": title,
                "keep_focus": True,
            }
            if place is Placement.TAB:
                options["tab_title"] = title
            if place is Placement.SPLIT:
                options["location"] = "vsplit"
            if self.is_here and place is not Placement.WINDOW:
                options["match"] = f"window_id:{self._environ['KITTY_WINDOW_ID']}"
            return Pane(self.name, str(_asked(server, "launch", options)), server)

    def close(self, pane: Pane) -> None:
        with suppress(NotFound, Unavailable):
            _asked(pane.server, "close-window", _match(pane))

    def send(self, pane: Pane, text: str) -> None:
        data = keys.pasted(text).encode("utf-8", "surrogateescape")
        # Versions without `bracketed_paste` ignore it.
        _sent(pane, data, {"bracketed_paste": "auto"})

    def key(self, pane: Pane, *names: str) -> None:
        _sent(pane, "".join(map(keys.typed, names)).encode(), {})

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        extent = "all" if history else "screen"
        return trimmed(str(_asked(pane.server, "get-text", {**_match(pane), "extent": extent})))

    def focus(self, pane: Pane) -> None:
        _asked(pane.server, "focus-window", _match(pane))

    def _pids(self, server: str | None) -> Mapping[str, int | None]:
        try:
            screens = json.loads(_asked(server, "ls", {}))
        except Unavailable:  # kitty is gone
            return {}
        windows = (item for screen in screens for tab in screen["tabs"] for item in tab["windows"])
        return {str(window["id"]): int(window["pid"]) for window in windows}


def _match(pane: Pane) -> dict[str, Any]:
    return {"match": f"id:{pane.id}"}


def _sent(pane: Pane, data: bytes, how: Mapping[str, Any]) -> None:
    for start in range(0, len(data), _PIECE):
        piece = base64.b64encode(data[start : start + _PIECE]).decode()
        text = _message("send-text", {**_match(pane), **how, "data": f"base64:{piece}"})
        # kitty sends no reply to send-text. A query on the same connection does get one, fails
        # if the window is gone, and is answered only after the text was processed.
        _asked(pane.server, "get-text", {**_match(pane), "extent": "selection"}, before=text)


# -- the protocol ----------------------------------------------------------------------------------


def _message(command: str, payload: Mapping[str, Any], *, answered: bool = False) -> bytes:
    version, payload = _VERSION, dict(payload)
    message = {"cmd": command, "version": version, "no_response": not answered, "payload": payload}
    return _BEGIN + json.dumps(message).encode() + _END


def _asked(
    server: str | None, command: str, payload: Mapping[str, Any], before: bytes = b""
) -> Any:
    """Send a command and return kitty's reply. Raises `NotFound` when the window is gone."""
    try:
        with _connected(server or "") as connection:
            connection.sendall(before + _message(command, payload, answered=True))
            reply = cast(dict[str, Any], json.loads(_read(connection)))
    except TimeoutError:
        message = f"kitty did not answer in {PATIENCE} s"
        raise External(message, hint="check whether kitty still responds") from None
    except OSError as error:
        message = f"no kitty answers at {server}: {error.strerror or error}"
        raise Unavailable(message, hint=_HINT) from None
    except ValueError:
        raise External(f"kitty gave no answer to {command}", hint=_HINT) from None
    if reply.get("ok"):
        return reply.get("data")
    error_text = str(reply.get("error", ""))
    if "No matching" in error_text:
        raise NotFound(f"kitty has no such window: {error_text}", hint="prong ps")
    raise External(f"kitty failed to {command}: {error_text}", hint=_HINT, command=command)


def _read(connection: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(_END):
        piece = connection.recv(1 << 16)
        if not piece:
            break
        received += piece
    return bytes(received.removeprefix(_BEGIN).removesuffix(_END))


def _connected(server: str) -> socket.socket:
    kind, _, place = server.partition(":")
    if kind == "tcp":
        host, _, port = place.rpartition(":")
        return socket.create_connection((host, int(port)), timeout=PATIENCE)
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(PATIENCE)
    try:
        connection.connect(f"\0{place[1:]}" if place.startswith("@") else place)
    except BaseException:
        connection.close()
        raise
    return connection


def _found(listens: str) -> str:
    """Return the address, with the pid of the newest running kitty appended if there is one."""
    kind, _, place = listens.partition(":")
    if kind != "unix" or place.startswith("@") or Path(place).exists():
        return listens
    newest = max(_numbered(Path(place)), default=None)
    return f"unix:{newest[1]}" if newest else listens


def _numbered(path: Path) -> Iterator[tuple[float, str]]:
    """Yield the sockets of running kitties, each after its modification time."""
    import psutil

    with suppress(OSError):
        for file in path.parent.glob(f"{path.name}-*"):
            pid = file.name.removeprefix(f"{path.name}-")
            status = file.stat()
            if pid.isdigit() and stat.S_ISSOCK(status.st_mode) and psutil.pid_exists(int(pid)):
                yield status.st_mtime, str(file)
