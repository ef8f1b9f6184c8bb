"""HTTP over the daemon's unix socket, whose path may have any length."""

import os
import socket
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Self

from prong.errors import Unavailable

LONGEST = 103 if sys.platform == "darwin" else 107
"""Maximum bytes of a socket path on this system."""


class Connection(HTTPConnection):
    """HTTP connection to a unix socket. Leaving the block closes it."""

    def __init__(self, path: Path, timeout: float | None) -> None:
        super().__init__("prong", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        with address(self._path) as target:
            self.sock.connect(target)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@contextmanager
def address(path: Path) -> Generator[str]:
    """Return an address for a socket path of any length.

    A path that is too long is reached through a link in a short folder, which exists only while the
    socket is bound or connected.
    """
    if len(os.fsencode(path)) <= LONGEST:
        yield str(path)
        return
    import tempfile

    for place in _short_places():
        try:
            folder = tempfile.mkdtemp(prefix="prong-", dir=place)
        except OSError:
            continue
        link = Path(folder) / "d"
        try:
            link.symlink_to(path.parent.absolute())
            yield str(link / path.name)
        finally:
            with suppress(OSError):
                link.unlink()
                link.parent.rmdir()
        return
    raise Unavailable(
        f"{path} is too long for a socket", hint="set XDG_STATE_HOME to a shorter folder"
    )


def _short_places() -> Iterator[str]:
    """Iterate over folders in which the link's path is short enough."""
    import tempfile

    for place in (os.environ.get("XDG_RUNTIME_DIR"), tempfile.gettempdir(), "/tmp"):  # noqa: S108
        if place and len(os.fsencode(place)) + len("/prong-xxxxxxxx/d/daemon.sock") <= LONGEST:
            yield place
