"""What a client sent, checked: each field has its type, and there are no others."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, cast

from prong.errors import UsageError

_LONGEST = 10**9
"""Seconds. Python's numbers have more digits than its clocks take."""


class Body:
    """A JSON object. What was not asked for by the end is a mistake of the sender."""

    def __init__(self, content: bytes) -> None:
        try:
            value: Any = json.loads(content) if content.strip() else {}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the request is not JSON: {error}") from None
        if not isinstance(value, dict):
            raise UsageError("the request is not a JSON object", hint='{"name": "value"}')
        self._fields = cast(dict[str, Any], value)

    def text(self, name: str) -> str | None:
        value = self._fields.pop(name, None)
        if value is not None and not isinstance(value, str):
            raise UsageError(f"{name} must be a text")
        return value

    def needed(self, name: str) -> str:
        value = self.text(name)
        if not value:
            raise UsageError(f"{name} is missing", hint=f'{{"{name}": "..."}}')
        return value

    def flag(self, name: str) -> bool | None:
        value = self._fields.pop(name, None)
        if value is not None and not isinstance(value, bool):
            raise UsageError(f"{name} must be true or false")
        return value

    def turn(self, name: str) -> int | str | None:
        """A number, or the beginning of an id."""
        value = self._fields.pop(name, None)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
            raise UsageError(f"{name} must be a number or the id of a turn")
        return value

    def seconds(self, name: str, default: float) -> float:
        value = self._fields.pop(name, None)
        if value is None:
            return default
        # Python's JSON has a NaN, which is neither less nor more than anything.
        if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
            raise UsageError(f"{name} must be a number of seconds")
        return float(min(value, _LONGEST))

    def folder(self, name: str) -> Path | None:
        """The daemon has a folder of its own: what is relative to another one says nothing here."""
        value = self.text(name)
        if value is not None and not value.startswith("/"):
            raise UsageError(f"{name} must begin with /")
        return Path(value) if value is not None else None

    def texts(self, name: str) -> tuple[str, ...] | None:
        value = self._fields.pop(name, None)
        if value is None:
            return None
        given = cast(list[Any], value) if isinstance(value, list) else [None]
        texts = tuple(one for one in given if isinstance(one, str))
        if len(texts) < len(given):
            raise UsageError(f"{name} must be a list of texts")
        return texts

    def command(self, name: str) -> str | tuple[str, ...] | None:
        """A line for a shell, or words."""
        is_list = isinstance(self._fields.get(name), list)
        return self.texts(name) if is_list else self.text(name)

    def table(self, name: str) -> dict[str, str] | None:
        value = self._fields.pop(name, None)
        if value is None:
            return None
        if not isinstance(value, dict) or not all(
            isinstance(one, str) for one in cast(dict[str, Any], value).values()
        ):
            raise UsageError(f"{name} must be an object of texts")
        return cast(dict[str, str], value)

    def rest(self) -> dict[str, Any]:
        """All other fields, as they are."""
        rest, self._fields = self._fields, {}
        return rest

    def done(self, allowed: Collection[str] = ()) -> None:
        """Raises `UsageError` when there is more."""
        unknown = [name for name in self._fields if name not in allowed]
        if unknown:
            raise UsageError(f"unknown field {unknown[0]!r}")
