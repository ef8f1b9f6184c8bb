"""HTTP to a unix socket."""

import socket
from http.client import HTTPConnection
from pathlib import Path
from typing import Self

from prong.app.socket_address import address


class Connection(HTTPConnection):
    """To the daemon whose socket is at a path. Leaving the block closes it."""

    def __init__(self, path: Path, timeout: float | None) -> None:
        super().__init__("prong", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with address(self._path) as where:
            self.sock.connect(where)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
