"""Base of the fake model servers: HTTP on 127.0.0.1, a request log and scripted answers."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self, cast

from prong.testing.script import Answer, Delay, Fail, Hold, Reply, say
from prong.testing.wait import PATIENCE

# The default answer to a compaction request.
SUMMARY = "SUMMARY: the story so far."


class RequestKind(StrEnum):
    """Purpose of a request. Only MAIN requests belong to the user's conversation."""

    MAIN = "main"
    SUBAGENT = "subagent"
    COMPACT = "compact"
    TITLE = "title"
    OTHER = "other"


@dataclass(frozen=True)
class Request:
    """A received request. `number` counts all requests of the server from 1."""

    number: int
    kind: RequestKind
    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    prompt: str = field(default="")
    """The text of the last user message; "" if the last message carries tool results."""


Responder = Callable[[Request], Answer | None]
"""Answers a request, or returns None to fall back to the queue and then to the default."""


class FakeModelServer:
    """A fake model server that listens inside its `with` block; each protocol is a subclass.

    The answer comes from the first of these that has one: `respond` (a function), the queue of the
    request's kind (`enqueue`), `default_answer`. Requests are logged in order of arrival, before
    they are answered, so `wait_for` returns while a reply is still held.
    """

    path: str
    """The path of model requests, all of which are POST."""

    def __init__(self) -> None:
        self.respond: Responder | None = None
        self._queues: dict[RequestKind, deque[Answer]] = {kind: deque() for kind in RequestKind}
        self._log: list[Request] = []
        self._arrived = threading.Condition()
        self._closing = threading.Event()
        handler = type("Handler", (_Handler,), {"model": self})
        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._httpd.daemon_threads = True
        # How often serve_forever checks for shutdown; the default (0.5 s) would delay every test
        # that closes a server.
        self._thread = threading.Thread(
            target=self._httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    # -- life ---------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and release every held reply."""
        self._closing.set()
        self._httpd.shutdown()
        self._httpd.server_close()

    @property
    def port(self) -> int:
        return int(self._httpd.server_address[1])

    @property
    def url(self) -> str:
        """The base address, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    # -- script -------------------------------------------------------------------------------

    def enqueue(self, *answers: Answer, kind: RequestKind = RequestKind.MAIN) -> None:
        """Queue answers for the next requests of this kind, in order."""
        self._queues[kind].extend(answers)

    def clear_queue(self) -> None:
        for queue in self._queues.values():
            queue.clear()

    def answer(self, request: Request) -> Answer:
        answer = self.respond(request) if self.respond is not None else None
        if answer is not None:
            return answer
        queue = self._queues[request.kind]
        return queue.popleft() if queue else self.default_answer(request)

    def default_answer(self, request: Request) -> Answer:
        """Echo the prompt; after tool results, report completion."""
        if request.kind is RequestKind.COMPACT:
            return say(SUMMARY)
        return say(f"ECHO: {request.prompt}" if request.prompt else f"DONE {request.number}")

    # -- log ----------------------------------------------------------------------------------

    def requests(self, kind: RequestKind | None = None) -> list[Request]:
        with self._arrived:
            return [item for item in self._log if kind is None or item.kind is kind]

    def conversation_requests(self) -> list[Request]:
        """Return requests of the main conversation: no titles, summaries or sub-agents."""
        return self.requests(RequestKind.MAIN)

    def last_prompted(self, prompt: str) -> Request:
        """Return the newest main request whose last user message contains `prompt`."""
        for request in reversed(self.conversation_requests()):
            if prompt in request.prompt:
                return request
        raise AssertionError(f"no request for the prompt {prompt!r} arrived")

    def wait_for(
        self, wanted: Callable[[Request], bool], *, since: int = 0, timeout: float = PATIENCE
    ) -> Request:
        """Wait for a request with `number > since` that satisfies `wanted`, and return it."""
        deadline = time.monotonic() + timeout
        with self._arrived:
            while True:
                for request in self._log[since:]:
                    if wanted(request):
                        return request
                remaining = deadline - time.monotonic()
                if remaining <= 0:
                    seen = [(item.kind.value, item.prompt[:60]) for item in self._log]
                    raise TimeoutError(f"the request did not arrive in {timeout} s; seen: {seen}")
                self._arrived.wait(remaining)

    def wait_for_prompt(self, prompt: str, *, since: int = 0, timeout: float = PATIENCE) -> Request:
        """Wait for a main request whose last user message contains `prompt`, and return it."""
        return self.wait_for(
            lambda request: request.kind is RequestKind.MAIN and prompt in request.prompt,
            since=since,
            timeout=timeout,
        )

    # -- for the protocols ----------------------------------------------------------------------

    def classify(self, headers: Mapping[str, str], body: dict[str, Any]) -> RequestKind:
        """Return the purpose of a request, which each protocol marks in its own way."""
        raise NotImplementedError

    def prompt_of(self, body: dict[str, Any]) -> str:
        raise NotImplementedError

    def accepts(self, method: str, path: str) -> bool:
        return method == "POST" and path.partition("?")[0] == self.path

    def events(self, request: Request, reply: Reply) -> Iterator[dict[str, Any] | Hold | Delay]:
        """Yield a reply as server-sent events, each named by its `type`, and the pauses in it."""
        raise NotImplementedError

    def document(self, request: Request, reply: Reply) -> dict[str, Any]:
        """Return the same reply as one JSON document."""
        raise NotImplementedError

    def error(self, fail: Fail) -> dict[str, Any]:
        return {"type": "error", "error": {"type": "fake_error", "message": fail.message}}

    def pause(self, block: Hold | Delay) -> None:
        """Wait as scripted, or until the server closes."""
        if isinstance(block, Delay):
            self._closing.wait(block.seconds)
            return
        while not block.release.wait(0.02) and not self._closing.is_set():
            pass

    def log(
        self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any]
    ) -> Request:
        is_accepted = self.accepts(method, path)
        kind = self.classify(headers, body) if is_accepted else RequestKind.OTHER
        with self._arrived:
            request = Request(
                number=len(self._log) + 1,
                kind=kind,
                method=method,
                path=path,
                headers=headers,
                body=body,
                prompt=self.prompt_of(body) if is_accepted else "",
            )
            self._log.append(request)
            self._arrived.notify_all()
            return request


class _Handler(BaseHTTPRequestHandler):
    """The request handler. HTTP/1.0 ends a stream by closing the connection, without chunks."""

    model: FakeModelServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base
        """Print nothing on stderr; requests are logged in memory."""

    def do_POST(self) -> None:
        try:
            self._answer()
        except (BrokenPipeError, ConnectionResetError):
            # The agent closed the connection: an interrupt looks like this.
            self.close_connection = True

    do_GET = do_HEAD = do_POST  # noqa: N815 -- the names of the base

    def _answer(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {key.lower(): value for key, value in self.headers.items()}
        request = self.model.log(self.command, self.path, headers, _json_object(raw))
        if not self.model.accepts(self.command, self.path):
            self._send_json(404, self.model.error(Fail(404, "not a model request")))
            return
        answer = self.model.answer(request)
        if isinstance(answer, Fail):
            self._send_json(answer.status, self.model.error(answer))
        elif request.body.get("stream"):
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            for event in self.model.events(request, answer):
                if isinstance(event, Hold | Delay):
                    self.model.pause(event)
                else:
                    data = json.dumps(event)
                    self.wfile.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
                    self.wfile.flush()
        else:
            for block in answer.blocks:
                if isinstance(block, Hold | Delay):
                    self.model.pause(block)
            self._send_json(200, self.model.document(request, answer))

    def _send_json(self, status: int, document: Mapping[str, Any]) -> None:
        raw = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(raw)


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        document: Any = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}
