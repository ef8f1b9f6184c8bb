"""One connection: HTTP in, JSON out. Whatever a client does, or does not, hurts no other."""

from __future__ import annotations

import json
import logging
import select
import socket
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any, cast

from prong.errors import NotFound, ProngError, UsageError, memory_checked
from prong.serve.body import Body
from prong.serve.monitor import ClientGone

if TYPE_CHECKING:
    from prong.serve.server import Server

LARGEST = 8 << 20
"""Bytes of a request: a prompt may be long, and nothing else is."""
_SILENCE = 30.0
"""After so many seconds a client that says nothing, or reads nothing, is let go."""
_HEARTBEAT = 5.0
"""So often an empty line says on a stream of events that the daemon lives."""
_JSON = "application/json"
_PROBLEM = "application/problem+json"

_log = logging.getLogger(__name__)


class _TooLarge(UsageError):
    code = "too_large"
    http_status = 413


class _NotAllowed(UsageError):
    code = "not_allowed"
    http_status = 405


class Handler(BaseHTTPRequestHandler):
    """Reads a request, has it answered, writes the answer."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"  # also who talks nonsense gets a status
    server_version = "prong"
    sys_version = ""
    timeout = _SILENCE
    server: Server  # pyright: ignore[reportIncompatibleVariableOverride] -- it has no other

    def do_GET(self) -> None:
        self._respond("GET")

    def do_POST(self) -> None:
        self._respond("POST")

    def _respond(self, method: str) -> None:
        try:
            content = self._content()
            if (method, self.path) == ("GET", "/events"):
                self._stream()
                return
        except ProngError as error:
            self._send(error.http_status, error.problem(), _PROBLEM)
            return
        except OSError:
            self.close_connection = True  # the client is gone, or as good as gone
            return
        try:
            with self.server.working(), memory_checked():
                status, answer = self._answer(method, content)
        except ProngError as error:
            self._send(error.http_status, error.problem(), _PROBLEM)
        except ClientGone:
            self.close_connection = True
        except Exception as error:  # noqa: BLE001 -- one failure must not end the others
            _log.exception("%s %s failed", method, self.path)
            hint = "what the daemon wrote to its standard error tells more"
            problem = ProngError(f"{type(error).__name__}: {error}", hint=hint).problem()
            self._send(500, problem, _PROBLEM)
        else:
            self._send(status, answer)

    def _answer(self, method: str, content: bytes) -> tuple[int, Mapping[str, Any]]:
        routes = self.server.routes.all
        wanted = routes.get(self.path)
        if wanted is None:
            raise NotFound(f"no such path: {self.path[:80]}", hint=", ".join(["/events", *routes]))
        if wanted.method != method:
            raise _NotAllowed(f"{self.path} is asked with {wanted.method}")
        return wanted.answer(Body(content), self._is_gone)

    def _content(self) -> bytes:
        """What was sent behind the headers. A connection on which that is not clear is closed."""
        if self.headers.get("Transfer-Encoding"):
            self.close_connection = True
            raise UsageError("send the length of the request, and no chunks")
        given = self.headers.get("Content-Length") or "0"
        if not given.isascii() or not given.isdigit():
            self.close_connection = True
            raise UsageError("the length of the request is not a number")
        # Digits without end are no number to Python, either.
        if len(given) > 12 or int(given) > LARGEST:
            self.close_connection = True
            raise _TooLarge(f"a request has at most {LARGEST} bytes")
        content = self.rfile.read(int(given))
        if len(content) < int(given):
            raise ConnectionAbortedError
        return content

    def _send(self, status: int, answer: Mapping[str, Any], kind: str = _JSON) -> None:
        content = json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
        try:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(content)))
            if self.close_connection:
                self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(content)
        except OSError:
            self.close_connection = True

    def _stream(self) -> None:
        """Events as lines, until one of the two sides has enough."""
        self.close_connection = True
        with self.server.monitor.listening() as (listener, statuses):
            self.send_response(200)
            self.send_header("Content-Type", "application/x-ndjson")
            self.send_header("Connection", "close")
            self.end_headers()
            self._line(self.server.routes.connected(statuses, listener.after))
            while True:
                try:
                    event = listener.next(_HEARTBEAT)
                except EOFError:
                    return
                self._line(event)

    def _line(self, event: Mapping[str, Any] | None) -> None:
        text = json.dumps(event, ensure_ascii=False) if event is not None else ""
        self.wfile.write(text.encode("utf-8", "replace") + b"\n")

    def _is_gone(self) -> bool:
        """True when the client has hung up. What it sent ahead stays there to be read."""
        connection = cast(socket.socket, self.connection)
        try:
            waiting = select.poll()
            waiting.register(connection, select.POLLIN)
            return bool(waiting.poll(0)) and not connection.recv(1, socket.MSG_PEEK)
        except OSError:
            return True

    # -- what http.server would say in HTML, or to the terminal --------------------------------

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        self.close_connection = True
        kind = _NotAllowed if code == HTTPStatus.NOT_IMPLEMENTED else UsageError
        said = message or HTTPStatus(code).phrase
        self._send(400 if kind is UsageError else 405, kind(said).problem(), _PROBLEM)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- its name there
        _log.debug(format, *args)

    def address_string(self) -> str:
        return "client"
