"""Client of the daemon: check, request, wait.

The daemon is optional. When it runs, waiting uses events instead of polling. Its protocol is
described in docs/internals/daemon.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterable, Mapping
from math import inf
from pathlib import Path
from typing import Any, cast

from prong import errors
from prong.errors import External, ProngError, Unavailable

SOCKET = "daemon.sock"
_PATIENCE = 2.0
"""Seconds for a live daemon to answer a trivial request."""
_SLOW = 120.0
"""Seconds for slow requests, such as starting an agent or copying a workspace."""


class Daemon:
    """Daemon with its socket in a folder, whether it runs or not."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / SOCKET

    def running(self) -> bool:
        """Return whether the daemon accepts connections, unlike a stale socket."""
        if not os.path.lexists(self.path):
            return False
        from prong.workers.daemon_socket import Connection

        try:
            with Connection(self.path, _PATIENCE) as connection:
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
        """Send a request; return the answer or raise its error, `Unavailable` without a daemon."""
        from http.client import HTTPException

        from prong.workers.daemon_socket import Connection

        content = json.dumps(body).encode() if body is not None else None
        headers = {"Content-Type": "application/json"} if content is not None else {}
        try:
            with Connection(self.path, timeout) as connection:
                connection.request(method, path, content, headers)
                response = connection.getresponse()
                return _answer(response.status, response.read())
        except (ConnectionRefusedError, FileNotFoundError) as error:
            raise Unavailable("the daemon is not running", hint="prong serve") from error
        except TimeoutError as error:
            raise Unavailable("the daemon does not answer", hint="prong serve") from error
        except (OSError, HTTPException) as error:  # no answer, or half of one
            message = f"the daemon ended before it answered: {error}"
            raise Unavailable(message, hint="try again") from error

    def wait(
        self,
        names: Iterable[str],
        until: Collection[str],
        timeout: float = inf,
        *,
        any_: bool = False,
    ) -> dict[str, str]:
        """Wait until all workers, or any, are in one of these states, or until the timeout.

        A worker that is gone always counts. Raises `Unavailable` when the daemon ends meanwhile:
        the caller then polls.
        """
        seconds = None if timeout == inf else max(timeout, 0.0)
        body = {"names": list(names), "until": list(until), "any": any_, "timeout": seconds}
        answer = self.call("POST", "/wait", body, None if seconds is None else seconds + _SLOW)
        return {str(worker["worker"]): str(worker["state"]) for worker in answer["workers"]}


def _answer(status: int, content: bytes) -> dict[str, Any]:
    try:
        answer: Any = json.loads(content)
    except ValueError:
        raise External(f"the daemon answered what is not JSON ({status})") from None
    if not isinstance(answer, dict):
        raise External(f"the daemon sent something that is not an object ({status})")
    fields = cast(dict[str, Any], answer)
    if status < 400:
        return fields
    details = fields.get("details")
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    kinds = {kind.code: kind for kind in classes if issubclass(kind, ProngError)}
    raise kinds.get(str(fields.get("code")), ProngError)(
        str(fields.get("message")),
        hint=fields.get("hint"),
        **(cast(dict[str, Any], details) if isinstance(details, dict) else {}),
    )
