"""The base of the fake model servers: HTTP on 127.0.0.1, a log, a script."""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Protocol, Self, cast

from prong.testing.script import Answer, Delay, Fail, Hold, Reply, say
from prong.testing.wait import PATIENCE

# What a compaction is answered with unless the script says otherwise.
SUMMARY = "SUMMARY: the story so far."


class RequestKind(StrEnum):
    """Who asked. Only MAIN requests belong to the conversation that a person sees."""

    MAIN = "main"
    SUBAGENT = "subagent"
    COMPACT = "compact"
    TITLE = "title"
    OTHER = "other"


@dataclass(frozen=True)
class Request:
    """One request as it arrived. `number` counts all requests of the server from 1."""

    number: int
    kind: RequestKind
    method: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]
    prompt: str = field(default="")
    """The text of the last user message, "" when the last message carries tool results."""


Responder = Callable[[Request], Answer | None]
"""Answers a request, or gives None to leave it to the queue and then to the default."""


class Sink(Protocol):
    """Where a reply is written, event by event."""

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        """Write one server-sent event."""
        ...


class FakeModelServer:
    """Listens while the `with` block runs.

    An answer is looked for in this order: `respond` (a function), the queue of the request's kind
    (`enqueue`), `default_answer`. Every request is logged in order of arrival, before it is
    answered, so `wait_for_requests` returns while a held reply is still on its way.
    """

    def __init__(self) -> None:
        self.respond: Responder | None = None
        self._queues: dict[RequestKind, deque[Answer]] = {kind: deque() for kind in RequestKind}
        self._log: list[Request] = []
        self._arrived = threading.Condition()
        self._closing = threading.Event()
        handler = type("Handler", (_Handler,), {"model": self})
        self._httpd = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._httpd.daemon_threads = True
        # serve_forever looks for the stop signal this often; the default (0.5 s) would be paid by
        # every test that closes a server.
        self._thread = threading.Thread(
            target=self._httpd.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    # -- life ---------------------------------------------------------------------------------

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and let go of every held reply."""
        self._closing.set()
        self._httpd.shutdown()
        self._httpd.server_close()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._httpd.server_address[1])

    @property
    def url(self) -> str:
        """The base address, without a trailing slash."""
        return f"http://127.0.0.1:{self.port}"

    # -- script -------------------------------------------------------------------------------

    def enqueue(self, *answers: Answer, kind: RequestKind = RequestKind.MAIN) -> None:
        """Give these answers, in this order, to the next requests of this kind."""
        self._queues[kind].extend(answers)

    def clear_queue(self) -> None:
        """Forget the answers that nobody asked for."""
        for queue in self._queues.values():
            queue.clear()

    def answer(self, request: Request) -> Answer:
        """The scripted answer, else the default one."""
        answer = self.respond(request) if self.respond is not None else None
        if answer is not None:
            return answer
        queue = self._queues[request.kind]
        return queue.popleft() if queue else self.default_answer(request)

    def default_answer(self, request: Request) -> Answer:
        """Echo the prompt; after tool results, say that the work is done."""
        if request.kind is RequestKind.COMPACT:
            return say(SUMMARY)
        return say(f"ECHO: {request.prompt}" if request.prompt else f"DONE {request.number}")

    # -- log ----------------------------------------------------------------------------------

    def requests(self, kind: RequestKind | None = None) -> list[Request]:
        """The logged requests, all or of one kind, in order of arrival."""
        with self._arrived:
            return [item for item in self._log if kind is None or item.kind is kind]

    def conversation_requests(self) -> list[Request]:
        """The requests of the main conversation only: no titles, summaries or sub-agents."""
        return self.requests(RequestKind.MAIN)

    def last_prompted(self, prompt: str) -> Request:
        """The newest main request whose last user message contains `prompt`."""
        for request in reversed(self.conversation_requests()):
            if prompt in request.prompt:
                return request
        raise AssertionError(f"no request for the prompt {prompt!r} arrived")

    def wait_for(
        self, wanted: Callable[[Request], bool], *, since: int = 0, timeout: float = PATIENCE
    ) -> Request:
        """The first request with `number > since` that is `wanted`; waits until it arrives."""
        deadline = time.monotonic() + timeout
        with self._arrived:
            while True:
                for request in self._log[since:]:
                    if wanted(request):
                        return request
                left = deadline - time.monotonic()
                if left <= 0:
                    seen = [(item.kind.value, item.prompt[:60]) for item in self._log]
                    raise TimeoutError(f"the request did not arrive in {timeout} s; seen: {seen}")
                self._arrived.wait(left)

    def wait_for_prompt(self, prompt: str, *, since: int = 0, timeout: float = PATIENCE) -> Request:
        """Wait until a main request ends with a user message that contains `prompt`."""
        return self.wait_for(
            lambda request: request.kind is RequestKind.MAIN and prompt in request.prompt,
            since=since,
            timeout=timeout,
        )

    # -- for the protocols ----------------------------------------------------------------------

    def classify(self, headers: Mapping[str, str], body: dict[str, Any]) -> RequestKind:
        """Who asked. Each protocol knows its own signs."""
        raise NotImplementedError

    def prompt_of(self, body: dict[str, Any]) -> str:
        """The text of the last user message."""
        raise NotImplementedError

    def accepts(self, method: str, path: str) -> bool:
        """Whether this is a request for the model at all."""
        raise NotImplementedError

    def stream(self, sink: Sink, request: Request, reply: Reply) -> None:
        """Write a reply as server-sent events."""
        raise NotImplementedError

    def document(self, request: Request, reply: Reply) -> dict[str, Any]:
        """The same reply as one JSON document."""
        raise NotImplementedError

    def error(self, fail: Fail) -> dict[str, Any]:
        """The body of an HTTP error."""
        return {"type": "error", "error": {"type": "fake_error", "message": fail.message}}

    def pause(self, block: Hold | Delay) -> None:
        """Wait as the script says; a server that closes ends every wait."""
        if isinstance(block, Delay):
            self._closing.wait(block.seconds)
            return
        while not block.release.wait(0.02) and not self._closing.is_set():
            pass

    def log(
        self, method: str, path: str, headers: Mapping[str, str], body: dict[str, Any]
    ) -> Request:
        """Note a request and wake up who waits for it."""
        wanted = self.accepts(method, path)
        kind = self.classify(headers, body) if wanted else RequestKind.OTHER
        with self._arrived:
            request = Request(
                number=len(self._log) + 1,
                kind=kind,
                method=method,
                path=path,
                headers=headers,
                body=body,
                prompt=self.prompt_of(body) if wanted else "",
            )
            self._log.append(request)
            self._arrived.notify_all()
            return request


class _Handler(BaseHTTPRequestHandler):
    """Answers for `model`. HTTP/1.0: the end of the connection ends a stream, no chunks needed."""

    model: FakeModelServer

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base
        """Say nothing on stderr; the log is in memory."""

    def do_HEAD(self) -> None:
        self._handle()

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def _handle(self) -> None:
        try:
            self._answer()
        except (BrokenPipeError, ConnectionResetError):
            # The agent hung up: that is what an interrupt looks like from here.
            self.close_connection = True

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
            self.model.stream(self, request, answer)
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

    def send(self, event: str, data: Mapping[str, Any]) -> None:
        """Write one server-sent event."""
        self.wfile.write(f"event: {event}\ndata: {json.dumps(data)}\n\n".encode())
        self.wfile.flush()


def _json_object(raw: bytes) -> dict[str, Any]:
    try:
        document: Any = json.loads(raw)
    except ValueError:
        return {}
    return cast("dict[str, Any]", document) if isinstance(document, dict) else {}
