"""JSON schemas of tool arguments, and validation of arguments.

Both come from records, so a call is checked with the schema that the client sees. Schemas are
inlined, because not every agent follows `$ref`. Optional arguments have no `null` type, because
some agents accept only one type per argument; a `null` value still counts as omitted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, TypeVar, cast

import msgspec

from prong.errors import UsageError
from prong.model.record import Record
from prong.redaction.visible import in_texts

_NULL = {"type": "null"}


class Arguments(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of tool arguments. Unknown arguments are errors, never ignored."""


A = TypeVar("A", bound=Record)


def schema_of(type_: type[Record], *, nullable: bool = False) -> dict[str, Any]:
    """Return the schema of a record without references; `nullable` for one of results."""
    (root,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    return _inlined(root, parts, nullable=nullable)


def checked(type_: type[A], given: dict[str, Any] | None, tool: str) -> A:
    """Validate arguments. Raises `UsageError` if they do not fit."""
    lists = {field.name for field in msgspec.structs.fields(type_) if _is_list(field.type)}
    try:
        arguments = {
            name: _list(value) if name in lists and isinstance(value, str) else value
            for name, value in (given or {}).items()
        }
        # No program accepts a NUL character in its arguments.
        in_texts(arguments, lambda text: _without_nul(text, tool))
        return msgspec.convert(_without_none(arguments), type_, strict=False)
    except msgspec.ValidationError as error:
        fields = ", ".join(type_.__struct_fields__)
        raise UsageError(
            f"{tool} was not called: {_words(error)}", hint=f"it takes: {fields}"
        ) from None
    except RecursionError:
        raise UsageError(f"{tool} was not called: its arguments are nested too deep") from None


def shaped(type_: type[A], view: Mapping[str, Any]) -> A:
    """Build a result from a JSON view; fields that the result lacks are dropped."""
    return msgspec.convert(view, type_)


def _without_nul(text: str, tool: str) -> str:
    if "\0" in text:
        message = f"{tool} was not called: a text has a NUL character in it"
        raise UsageError(message, hint="take it out")
    return text


def _without_none(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value).items()
        return {name: _without_none(item) for name, item in fields if item is not None}
    if isinstance(value, list):
        return [_without_none(item) for item in cast(list[Any], value)]
    return value


def _is_list(type_: Any) -> bool:
    return getattr(type_, "__origin__", None) in (list, tuple) or any(
        _is_list(argument) for argument in getattr(type_, "__args__", ())
    )


def _list(text: str) -> Any:
    """Parse a list that an agent wrote as JSON text."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return cast(Any, parsed) if isinstance(parsed, list) else text


def _words(error: msgspec.ValidationError) -> str:
    """Reword an error: `limit: expected int >= 1` instead of `Expected int >= 1 - at $.limit`."""
    problem, _, place = str(error).replace("`", "").partition(" - at $")
    problem = problem.replace("Object contains unknown", "there is no").replace("Object ", "")
    problem = f"{problem[:1].lower()}{problem[1:]}"
    return f"{place.removeprefix('.')}: {problem}" if place else problem


def _inlined(value: Any, parts: dict[str, Any], *, nullable: bool) -> Any:
    if isinstance(value, list):
        return [_inlined(item, parts, nullable=nullable) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    schema = cast(dict[str, Any], value)
    if not nullable:
        schema = _without_null_type(schema)
    if "$ref" in schema:
        schema = {**parts[schema["$ref"]], **schema}
        del schema["$ref"]
    if "enum" in schema:
        schema = {"type": "string", **schema}  # all enums are strings
    return {
        name: _inlined(item, parts, nullable=nullable)
        for name, item in schema.items()
        # A title that is an object is the schema of an argument of that name.
        if name != "title" or isinstance(item, dict)
    }


def _without_null_type(schema: dict[str, Any]) -> dict[str, Any]:
    choices: list[dict[str, Any]] = schema.get("anyOf", [])
    if _NULL not in choices:
        return schema
    remaining = [item for item in choices if item != _NULL]
    rest = {name: item for name, item in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **remaining[0]} if len(remaining) == 1 else {**rest, "anyOf": remaining}
