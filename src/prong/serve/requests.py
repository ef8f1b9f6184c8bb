"""JSON requests, with fields checked one by one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import EnumType
from typing import Annotated, Any, NamedTuple, cast

import msgspec
from starlette.requests import Request

from prong.errors import UsageError

_MAX_BYTES = 8 << 20
"""Enough for a long prompt; nothing else is large."""
_MAX_SECONDS = 10**9
"""Longer than any wait, and small enough for Python's clocks."""


class Kind(NamedTuple):
    """Type of a field, and what its value must do."""

    type: Any
    must: str


TEXT = Kind(str, "be a text")
FLAG = Kind(bool, "be true or false")
TEXTS = Kind(tuple[str, ...], "be a list of texts")
TABLE = Kind(dict[str, str], "be an object of texts")
COMMAND = Kind(str | tuple[str, ...], "be a text or a list of texts")
FOLDER = Kind(Annotated[str, msgspec.Meta(pattern="^/")], "begin with /")
"""Absolute: daemon and client have different working folders."""
TURN = Kind(int | Annotated[str, msgspec.Meta(min_length=1)], "be a number or the id of a turn")
SECONDS = Kind(
    Annotated[int, msgspec.Meta(ge=0)] | Annotated[float, msgspec.Meta(ge=0)],
    "be a number of seconds",
)


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

    def take(self, name: str, kind: Kind) -> Any:
        """Take a field; None if it is missing or null."""
        value = self._fields.pop(name, None)
        try:
            return msgspec.convert(value, kind.type | None)
        except msgspec.ValidationError:
            if isinstance(value, str) and isinstance(kind.type, EnumType):
                hint = ", ".join(map(str, kind.type))
                raise UsageError(f"{value!r} is not a {name}", hint=hint) from None
            raise UsageError(f"{name} must {kind.must}") from None

    def take_rest(self, kinds: Mapping[str, Kind]) -> dict[str, Any]:
        """Take the fields that are set, and refuse all others."""
        fields = {name: self.take(name, kind) for name, kind in kinds.items()}
        self.done()
        return {name: value for name, value in fields.items() if value is not None}

    def text(self, name: str) -> str | None:
        return self.take(name, TEXT)

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise UsageError(f"{name} is missing", hint=f'{{"{name}": "..."}}')
        return value

    def flag(self, name: str) -> bool:
        return bool(self.take(name, FLAG))

    def seconds(self, name: str, default: float) -> float:
        seconds: float | None = self.take(name, SECONDS)
        return default if seconds is None else float(min(seconds, _MAX_SECONDS))

    def rest(self) -> dict[str, Any]:
        """Take all remaining fields unchecked."""
        rest, self._fields = self._fields, {}
        return rest

    def done(self) -> None:
        """Raise `UsageError` if a field was not taken."""
        for name in self._fields:
            raise UsageError(f"unknown field {name!r}")


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
