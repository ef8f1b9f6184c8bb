"""JSON requests, with fields checked one by one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, cast

import msgspec
from starlette.requests import Request

from prong.errors import UsageError

_MAX_BYTES = 8 << 20
"""Enough for a long prompt; nothing else is large."""
_MAX_SECONDS = 10**9
"""Longer than any wait, and small enough for Python's clocks."""
_NotEmpty = Annotated[str, msgspec.Meta(min_length=1)]
_Seconds = Annotated[int, msgspec.Meta(ge=0)] | Annotated[float, msgspec.Meta(ge=0)]


class TooLarge(UsageError):
    code = "too_large"
    http_status = 413


class JsonRequest:
    """Fields of a request. Each is taken once; `done` refuses the remaining ones."""

    def __init__(self, request: Request, fields: dict[str, Any]) -> None:
        self._request = request
        self._fields = fields

    @classmethod
    async def read(cls, request: Request) -> JsonRequest:
        if request.query_params:
            raise UsageError("a request has no query", hint="send the fields as a JSON object")
        content = await _content(request)
        try:
            fields: Any = json.loads(content) if content.strip() else {}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the request is not JSON: {error}") from None
        if not isinstance(fields, dict):
            raise UsageError("the request is not a JSON object", hint='{"name": "value"}')
        return cls(request, cast(dict[str, Any], fields))

    def is_gone(self) -> bool:
        """Return whether the client has disconnected."""
        return getattr(self._request.state, "hung_up", False)

    def text(self, name: str) -> str | None:
        return self._take(name, str, "a text")

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise UsageError(f"{name} is missing", hint=f'{{"{name}": "..."}}')
        return value

    def flag(self, name: str) -> bool:
        return bool(self.optional_flag(name))

    def optional_flag(self, name: str) -> bool | None:
        return self._take(name, bool, "true or false")

    def turn(self, name: str) -> int | str | None:
        """Take a turn number, or a prefix of a turn id."""
        return self._take(name, int | _NotEmpty, "a number or the id of a turn")

    def seconds(self, name: str, default: float) -> float:
        seconds: float | None = self._take(name, _Seconds, "a number of seconds")
        return default if seconds is None else float(min(seconds, _MAX_SECONDS))

    def folder(self, name: str) -> Path | None:
        """Take an absolute path: daemon and client have different working folders."""
        value = self.text(name)
        if value is not None and not value.startswith("/"):
            raise UsageError(f"{name} must begin with /")
        return Path(value) if value is not None else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        return self._take(name, tuple[str, ...], "a list of texts")

    def command(self, name: str) -> str | tuple[str, ...] | None:
        """Take a shell command line, or a list of words."""
        is_list = isinstance(self._fields.get(name), list)
        return self.texts(name) if is_list else self.text(name)

    def table(self, name: str) -> dict[str, str] | None:
        return self._take(name, dict[str, str], "an object of texts")

    def rest(self) -> dict[str, Any]:
        """Take all remaining fields unchecked."""
        rest, self._fields = self._fields, {}
        return rest

    def done(self) -> None:
        """Raise `UsageError` if a field was not taken."""
        for name in self._fields:
            raise UsageError(f"unknown field {name!r}")

    def _take(self, name: str, kind: Any, expected: str) -> Any:
        try:
            return msgspec.convert(self._fields.pop(name, None), kind | None)
        except msgspec.ValidationError:
            raise UsageError(f"{name} must be {expected}") from None


async def _content(request: Request) -> bytes:
    """Read the body. If its declared length is too large, refuse it without reading."""
    too_large = TooLarge(f"a request has at most {_MAX_BYTES} bytes")
    if int(request.headers.get("content-length", "0")) > _MAX_BYTES:
        raise too_large
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MAX_BYTES:
            raise too_large
    return bytes(content)
