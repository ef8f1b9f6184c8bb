"""JSON responses, errors as problem details (RFC 9457), and endpoints that run in a thread."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ExceptionHandler

from prong.errors import NotFound, ProngError, Unavailable, UsageError
from prong.serve.requests import JsonRequest
from prong.threads import run_in_thread

Json = Mapping[str, Any]
PROBLEM = "application/problem+json"


class NotAllowed(UsageError):
    code = "not_allowed"
    http_status = 405


def json_line(value: object) -> bytes:
    """Encode a JSON line. Bytes of file names that are not UTF-8 become question marks."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


class JsonResponse(JSONResponse):
    def render(self, content: Any) -> bytes:
        return json_line(content)


def in_thread(
    answer: Callable[[JsonRequest], Json], status: int = 200
) -> Callable[[Request], Awaitable[Response]]:
    """Turn a blocking function into an endpoint."""

    async def endpoint(request: Request) -> Response:
        json_request = await JsonRequest.read(request)
        try:
            content = await run_in_thread(partial(answer, json_request), daemon=True)
            return JsonResponse(content, status)
        except asyncio.CancelledError:  # cancelled by uvicorn, which is shutting down
            raise Unavailable("the daemon is ending", hint="try again") from None

    return endpoint


async def _problem(_: Request, error: Exception) -> Response:
    if not isinstance(error, ProngError):
        hint = "what the daemon wrote to its standard error tells more"
        error = ProngError(f"{type(error).__name__}: {error}", hint=hint)
    return JsonResponse(error.problem(), error.http_status, media_type=PROBLEM)


async def _routing_problem(request: Request, error: Exception) -> Response:
    """Describe a 404 or 405 from the router."""
    path = str(request.scope["path"])
    if isinstance(error, HTTPException) and error.status_code == 405:
        methods = sorted((error.headers or {})["Allow"].split(", "))
        return await _problem(request, NotAllowed(f"{path} is asked with {' or '.join(methods)}"))
    routes = [route.path for route in request.app.routes if isinstance(route, Route)]
    return await _problem(request, NotFound(f"no such path: {path[:80]}", hint=", ".join(routes)))


async def _no_response(_: Request, __: Exception) -> Response:
    """Answer a client that has disconnected."""
    return Response(status_code=499)


EXCEPTION_HANDLERS: dict[type[Exception], ExceptionHandler] = {
    ProngError: _problem,
    HTTPException: _routing_problem,
    ClientDisconnect: _no_response,
    Exception: _problem,  # a bug in prong or a plug-in: uvicorn logs the traceback
}
