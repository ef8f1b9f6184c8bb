"""kitty, by its remote control protocol, spoken directly: its own client takes half a second.

kitty must listen on a socket, which it does not by itself; it tells the programs in it where
(KITTY_LISTEN_ON). A socket that is named in kitty.conf gets the pid of that kitty at its end.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from prong.errors import External, NotFound, Unavailable
from prong.model.forks import Launch
from prong.model.workers import LivePane, Pane, Placement
from prong.terminals import detect, keys
from prong.terminals.handover import handed_over
from prong.terminals.programs import PATIENCE

SOCKET = "PRONG_KITTY_SOCKET"
SETTINGS = "allow_remote_control socket-only\nlisten_on unix:/tmp/kitty"
_HINT = f"write into kitty.conf, then restart kitty: {SETTINGS.replace(chr(10), '; ')}"
_BEGIN, _END = b"\x1bP@kitty-cmd", b"\x1b\\"
_VERSION = (0, 26, 0)
"""Of the protocol as it is used here. Every kitty from there on understands it."""
_KINDS = {Placement.SPLIT: "window", Placement.TAB: "tab", Placement.WINDOW: "os-window"}
_PIECE = 36 * 1024
"""How much text goes into one message: kitty hangs up when it is sent much more at once."""


class Kitty:
    name = "kitty"

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._listens = environ.get(SOCKET) or environ.get("KITTY_LISTEN_ON") or None

    @property
    def is_here(self) -> bool:
        return self.name in detect.inside(self._environ)

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
        title = launch.title or Path(launch.argv[0]).name
        with handed_over(launch) as words:
            wanted: dict[str, Any] = {
                "args": list(words),
                "cwd": str(launch.cwd),
                "type": _KINDS[place],
                "window_title": title,
                "keep_focus": True,
            }
            if place is Placement.TAB:
                wanted["tab_title"] = title
            if place is Placement.SPLIT:
                wanted["location"] = "vsplit"
            if self.is_here and place is not Placement.WINDOW:
                wanted["match"] = f"window_id:{self._environ['KITTY_WINDOW_ID']}"
            return Pane(self.name, str(_asked(server, "launch", wanted)), server)

    def alive(self, panes: Sequence[Pane]) -> Mapping[Pane, LivePane]:
        found: dict[Pane, LivePane] = {}
        for server in dict.fromkeys(pane.server for pane in panes):
            living = _living(server)
            here = (pane for pane in panes if pane.server == server and pane.id in living)
            found.update((pane, LivePane(living[pane.id])) for pane in here)
        return found

    def close(self, pane: Pane) -> None:
        with suppress(NotFound, Unavailable):
            _asked(pane.server, "close-window", _match(pane))

    def send(self, pane: Pane, text: str) -> None:
        data = keys.pasted(text).encode("utf-8", "surrogateescape")
        # Versions that do not know `bracketed_paste` pass over it.
        _sent(pane, data, {"bracketed_paste": "auto"})

    def key(self, pane: Pane, *names: str) -> None:
        _sent(pane, "".join(map(keys.typed, names)).encode(), {})

    def capture(self, pane: Pane, *, history: bool = False) -> str:
        extent = "all" if history else "screen"
        text = str(_asked(pane.server, "get-text", {**_match(pane), "extent": extent}))
        return "\n".join(line.rstrip() for line in text.split("\n")).rstrip("\n")

    def focus(self, pane: Pane) -> None:
        _asked(pane.server, "focus-window", _match(pane))


def _match(pane: Pane) -> dict[str, Any]:
    return {"match": f"id:{pane.id}"}


def _sent(pane: Pane, data: bytes, how: Mapping[str, Any]) -> None:
    for start in range(0, len(data), _PIECE):
        piece = base64.b64encode(data[start : start + _PIECE]).decode()
        text = _message("send-text", {**_match(pane), **how, "data": f"base64:{piece}"})
        # kitty never answers to a text, but all on one connection goes in order: after the
        # question for the window, which fails when it is not there, the text has been taken.
        _asked(pane.server, "get-text", {**_match(pane), "extent": "selection"}, before=text)


def _living(server: str | None) -> dict[str, int]:
    """The windows of a kitty, each with the pid of its program; none when kitty is gone."""
    try:
        answer = json.loads(_asked(server, "ls", {}))
    except Unavailable:
        return {}
    windows = (window for screen in answer for tab in screen["tabs"] for window in tab["windows"])
    return {str(window["id"]): int(window["pid"]) for window in windows}


# -- the protocol ----------------------------------------------------------------------------------


def _message(command: str, payload: Mapping[str, Any], *, answered: bool = False) -> bytes:
    version, payload = _VERSION, dict(payload)
    message = {"cmd": command, "version": version, "no_response": not answered, "payload": payload}
    return _BEGIN + json.dumps(message).encode() + _END


def _asked(
    server: str | None, command: str, payload: Mapping[str, Any], before: bytes = b""
) -> Any:
    """What kitty answers. Raises `NotFound` when it does not have the window."""
    try:
        with _connected(server or "") as connection:
            connection.sendall(before + _message(command, payload, answered=True))
            answer = cast(dict[str, Any], json.loads(_read(connection)))
    except TimeoutError:
        message = f"kitty did not answer in {PATIENCE} s"
        raise External(message, hint="check whether kitty still responds") from None
    except OSError as error:
        message = f"no kitty answers at {server}: {error.strerror or error}"
        raise Unavailable(message, hint=_HINT) from None
    except ValueError:
        raise External(f"kitty gave no answer to {command}", hint=_HINT) from None
    if answer.get("ok"):
        return answer.get("data")
    said = str(answer.get("error", ""))
    if "No matching" in said:
        raise NotFound(f"kitty has no such window: {said}", hint="prong ps")
    raise External(f"kitty failed to {command}: {said}", hint=_HINT, command=command)


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
    """The address with the pid at its end, when that is the one there is: the newest of them."""
    kind, _, place = listens.partition(":")
    if kind != "unix" or place.startswith("@") or Path(place).exists():
        return listens
    newest = max(_numbered(Path(place)), default=None)
    return f"unix:{newest[1]}" if newest else listens


def _numbered(path: Path) -> Iterator[tuple[float, str]]:
    """The sockets of kitties that run, by age."""
    with suppress(OSError):
        for file in path.parent.glob(f"{path.name}-*"):
            number = file.name.removeprefix(f"{path.name}-")
            status = file.stat()
            if number.isdigit() and stat.S_ISSOCK(status.st_mode) and _runs(int(number)):
                yield status.st_mtime, str(file)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
