"""The daemon, as everybody else sees it: is one there, ask it, listen to it, wait with it.

Nothing needs it. Where one runs, waiting is by events instead of by looking again and again. What
it answers is in docs/internals/daemon.md.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from prong import errors
from prong.errors import External, ProngError, Unavailable

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from prong.workers.daemon_socket import Connection

SOCKET = "daemon.sock"
_PATIENCE = 2.0
"""So many seconds are enough for a daemon that lives to answer what takes no time."""
_SLOW = 120.0
"""Starting an agent takes long, and so does copying a workspace."""


class Daemon:
    """The one whose socket lies in a folder, whether it runs or not."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / SOCKET

    @property
    def path(self) -> Path:
        """Its socket."""
        return self._path

    def running(self) -> bool:
        """True when somebody answers there; a socket that a killed one left behind does not."""
        if not os.path.lexists(self._path):
            return False
        try:
            with self._connection(_PATIENCE) as connection:
                connection.connect()
        except (OSError, ProngError):
            return False
        return True

    def call(
        self,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        timeout: float | None = _SLOW,
    ) -> dict[str, Any]:
        """Ask it. An error that it answers is raised here as if it had happened here.

        Raises `Unavailable` when there is none, or it ended before it answered.
        """
        from http.client import HTTPException

        with self._connection(timeout) as connection:
            response = self._asked(connection, method, path, body)
            try:
                content = response.read()
            except (OSError, HTTPException) as error:  # nothing, or half of an answer
                raise _ended(error) from error
        return _answer(response.status, content)

    def events(self, timeout: float | None = None) -> Iterator[dict[str, Any]]:
        """What happens to workers, as it happens. The first one tells how things are.

        Ends when the daemon does. Raises `Unavailable` when there is none, `TimeoutError` when
        for so many seconds there is nothing to hear, not even that it still lives.
        """
        import json

        with self._connection(timeout) as connection:
            response = self._asked(connection, "GET", "/events", None)
            if response.status != 200:
                _answer(response.status, response.read())
            while line := response.readline():
                if line.strip():
                    yield json.loads(line)

    def wait(
        self,
        names: Iterable[str],
        until: Collection[str],
        timeout: float = inf,
        *,
        any_: bool = False,
    ) -> dict[str, str]:
        """The states of workers, as soon as all (or any) are in one of those, or the time is up.

        A worker that is gone is waited for no longer. Raises `Unavailable` when the daemon ends
        meanwhile: whoever waits then goes on by looking.
        """
        seconds = None if timeout == inf else max(timeout, 0.0)
        body = {"names": list(names), "until": list(until), "any": any_, "timeout": seconds}
        patience = None if seconds is None else seconds + _SLOW
        answer = self.call("POST", "/wait", body, patience)
        return {str(one["worker"]): str(one["state"]) for one in answer["workers"]}

    def _connection(self, timeout: float | None) -> Connection:
        from prong.workers.daemon_socket import Connection

        return Connection(self._path, timeout)

    def _asked(
        self, connection: Connection, method: str, path: str, body: Mapping[str, Any] | None
    ) -> HTTPResponse:
        import json
        from http.client import HTTPException

        content = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            connection.request(method, path, content, headers)
            return connection.getresponse()
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise Unavailable("the daemon is not running", hint="prong serve") from error
        except TimeoutError as error:
            raise Unavailable("the daemon does not answer", hint="prong serve") from error
        except (OSError, HTTPException) as error:
            raise _ended(error) from error


def _ended(error: Exception) -> Unavailable:
    return Unavailable(f"the daemon ended before it answered: {error}", hint="try again")


def _answer(status: int, content: bytes) -> dict[str, Any]:
    import json

    try:
        answer: Any = json.loads(content)
    except ValueError:
        raise External(f"the daemon answered what is not JSON ({status})") from None
    if not isinstance(answer, dict):
        raise External(f"the daemon sent something that is not an object ({status})")
    found = cast(dict[str, Any], answer)
    if status < 400:
        return found
    details = found.get("details")
    raise _kinds().get(str(found.get("code")), ProngError)(
        str(found.get("message")),
        hint=found.get("hint"),
        **(cast(dict[str, Any], details) if isinstance(details, dict) else {}),
    )


def _kinds() -> dict[str, type[ProngError]]:
    """Each error by its code."""
    kinds = [one for one in vars(errors).values() if isinstance(one, type)]
    return {one.code: one for one in kinds if issubclass(one, ProngError)}
