"""JSON schemas of tool arguments and results, and validation of arguments.

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

_NULL = {"type": "null"}
_ASKED_FOR = ("results", "sessions", "turns", "messages", "workers", "workers_awaiting_task")


class Arguments(Record, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of tool arguments. Unknown arguments are errors, never ignored."""


A = TypeVar("A", bound=Record)


def input_schema(type_: type[Record]) -> dict[str, Any]:
    return _schema(type_, nullable=False)


def output_schema(type_: type[Record]) -> dict[str, Any]:
    return _schema(type_, nullable=True)


def checked(type_: type[A], given: dict[str, Any] | None, tool: str) -> A:
    """Validate arguments. Raises `UsageError` if they do not fit."""
    try:
        arguments = _plain(type_, given or {})
        _refuse_nul(arguments, tool)
        return msgspec.convert(arguments, type_, strict=False)
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


def plain(value: Record) -> dict[str, Any]:
    """Convert a result to JSON data without null and empty fields.

    Empty lists of results are kept. Unpaired surrogates become `?`.
    """
    fields = cast(dict[str, Any], msgspec.to_builtins(value))
    empty = {name: fields[name] for name in _ASKED_FOR if fields.get(name) in ([], ())}
    return writable({**_told(fields), **empty})


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        fields = {name: _told(item) for name, item in cast(dict[str, Any], value).items()}
        return {name: item for name, item in fields.items() if item not in (None, "", [], {})}
    if isinstance(value, list | tuple):
        return [_told(item) for item in cast(list[Any], value)]
    return value


def writable(value: Any) -> Any:
    """Replace unpaired surrogates, which JSON cannot contain."""
    try:
        msgspec.json.encode(value)
    except UnicodeEncodeError:
        return _replaced(value)
    return value


def as_text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _replaced(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {_replaced(key): _replaced(item) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        return [_replaced(item) for item in cast(list[Any], value)]
    return value


def _words(error: msgspec.ValidationError) -> str:
    """Reword an error: `limit: expected int >= 1` instead of `Expected int >= 1 - at $.limit`."""
    problem, _, place = str(error).replace("`", "").partition(" - at $")
    problem = problem.replace("Object contains unknown", "there is no").replace("Object ", "")
    problem = f"{problem[:1].lower()}{problem[1:]}"
    return f"{place.removeprefix('.')}: {problem}" if place else problem


def _plain(type_: type[Record], given: dict[str, Any]) -> dict[str, Any]:
    """Drop null arguments, and parse lists that some agents write as JSON text."""
    lists = {field.name for field in msgspec.structs.fields(type_) if _is_list(field.type)}
    return {
        name: _list(value) if name in lists and isinstance(value, str) else _given(value)
        for name, value in given.items()
        if value is not None
    }


def _is_list(type_: Any) -> bool:
    return getattr(type_, "__origin__", None) in (list, tuple) or any(
        _is_list(argument) for argument in getattr(type_, "__args__", ())
    )


def _list(text: str) -> Any:
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _given(parsed) if isinstance(parsed, list) else text


def _given(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {name: _given(item) for name, item in fields.items() if item is not None}
    if isinstance(value, list):
        return [_given(item) for item in cast(list[Any], value)]
    return value


def _refuse_nul(value: Any, tool: str) -> None:
    """Refuse NUL characters, which no program accepts in its arguments."""
    if isinstance(value, str):
        if "\0" in value:
            message = f"{tool} was not called: a text has a NUL character in it"
            raise UsageError(message, hint="take it out")
    elif isinstance(value, dict):
        for item in cast(dict[str, Any], value).values():
            _refuse_nul(item, tool)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            _refuse_nul(item, tool)


def _schema(type_: type[Record], *, nullable: bool) -> dict[str, Any]:
    (root,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    return cast(dict[str, Any], _inlined(root, parts, nullable=nullable))


def _inlined(value: Any, parts: dict[str, Any], *, nullable: bool) -> Any:
    if isinstance(value, list):
        return [_inlined(item, parts, nullable=nullable) for item in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    schema = cast(dict[str, Any], value)
    if not nullable:
        schema = _without_null(schema)
    if "$ref" in schema:
        schema = {**parts[schema["$ref"]], **schema}
        del schema["$ref"]
    if "enum" in schema:
        schema = {"type": "string", **schema}  # all enums are strings
    return {
        name: _properties(item, parts, nullable=nullable)
        if name == "properties"
        else _inlined(item, parts, nullable=nullable)
        for name, item in schema.items()
        if name != "title"
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices: list[dict[str, Any]] = schema.get("anyOf", [])
    if _NULL not in choices:
        return schema
    remaining = [item for item in choices if item != _NULL]
    rest = {name: item for name, item in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **remaining[0]} if len(remaining) == 1 else {**rest, "anyOf": remaining}


def _properties(value: Any, parts: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """Inline each property by name: an argument may be called `title`, too."""
    return {name: _inlined(item, parts, nullable=nullable) for name, item in value.items()}
