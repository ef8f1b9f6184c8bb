"""JSON schemas of arguments and results, and arguments checked by them.

Both are records, so the schema that a client sees is the one that a call is checked with. A schema
stands for itself, without `$ref`: no agent has to follow one. What need not be given has no `null`
in the schema, though `null` counts as not given: some agents know one type for each argument only.
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
    """What a tool is called with. A word that nobody knows is a mistake, not to be passed over."""


A = TypeVar("A", bound=Record)


def input_schema(type_: type[Record]) -> dict[str, Any]:
    return _schema(type_, nullable=False)


def output_schema(type_: type[Record]) -> dict[str, Any]:
    return _schema(type_, nullable=True)


def checked(type_: type[A], given: dict[str, Any] | None, tool: str) -> A:
    """The arguments. Raises `UsageError` for what does not fit."""
    try:
        said = _plain(type_, given or {})
        _refuse_nul(said, tool)
        return msgspec.convert(said, type_, strict=False)
    except msgspec.ValidationError as error:
        known = ", ".join(type_.__struct_fields__)
        raise UsageError(
            f"{tool} was not called: {_words(error)}", hint=f"it takes: {known}"
        ) from None
    except RecursionError:
        raise UsageError(f"{tool} was not called: its arguments are nested too deep") from None


def shaped(type_: type[A], view: Mapping[str, Any]) -> A:
    """A result made of what a view of `app` has; the rest of the view is left out."""
    return msgspec.convert(view, type_)


def plain(value: Record) -> dict[str, Any]:
    """A result as JSON knows it, without fields that say nothing: null, and what is empty.

    Only the lists that were asked for are there when they are empty, too. What is no text (half of
    a character) is replaced by `?`.
    """
    made = cast(dict[str, Any], msgspec.to_builtins(value))
    asked = {name: made[name] for name in _ASKED_FOR if made.get(name) in ([], ())}
    return writable({**_told(made), **asked})


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        fields = {name: _told(one) for name, one in cast(dict[str, Any], value).items()}
        return {name: one for name, one in fields.items() if one not in (None, "", [], {})}
    if isinstance(value, list | tuple):
        return [_told(one) for one in cast(list[Any], value)]
    return value


def writable(value: Any) -> Any:
    """The same without half characters, which no JSON can hold."""
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
        made = cast(dict[str, Any], value)
        return {_replaced(key): _replaced(one) for key, one in made.items()}
    if isinstance(value, list | tuple):
        return [_replaced(one) for one in cast(list[Any], value)]
    return value


def _words(error: msgspec.ValidationError) -> str:
    """`limit: expected int >= 1` instead of `Expected int >= 1 - at $.limit`."""
    what, _, place = str(error).replace("`", "").partition(" - at $")
    what = what.replace("Object contains unknown", "there is no").replace("Object ", "")
    what = f"{what[:1].lower()}{what[1:]}"
    return f"{place.removeprefix('.')}: {what}" if place else what


def _plain(type_: type[Record], given: dict[str, Any]) -> dict[str, Any]:
    """Without what was not given; some agents write a list as a text with JSON in it."""
    lists = {one.name for one in msgspec.structs.fields(type_) if _is_list(one.type)}
    return {
        name: _list(value) if name in lists and isinstance(value, str) else _given(value)
        for name, value in given.items()
        if value is not None
    }


def _is_list(type_: Any) -> bool:
    return getattr(type_, "__origin__", None) in (list, tuple) or any(
        _is_list(one) for one in getattr(type_, "__args__", ())
    )


def _list(text: str) -> Any:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return _given(found) if isinstance(found, list) else text


def _given(value: Any) -> Any:
    if isinstance(value, dict):
        made = cast(dict[str, Any], value)
        return {name: _given(one) for name, one in made.items() if one is not None}
    if isinstance(value, list):
        return [_given(one) for one in cast(list[Any], value)]
    return value


def _refuse_nul(value: Any, tool: str) -> None:
    """No program can be given such a character: not as a prompt, a branch or a model."""
    if isinstance(value, str):
        if "\0" in value:
            message = f"{tool} was not called: a text has a NUL character in it"
            raise UsageError(message, hint="take it out")
    elif isinstance(value, dict):
        for one in cast(dict[str, Any], value).values():
            _refuse_nul(one, tool)
    elif isinstance(value, list):
        for one in cast(list[Any], value):
            _refuse_nul(one, tool)


def _schema(type_: type[Record], *, nullable: bool) -> dict[str, Any]:
    (root,), parts = msgspec.json.schema_components([type_], ref_template="{name}")
    return cast(dict[str, Any], _inlined(root, parts, nullable=nullable))


def _inlined(value: Any, parts: dict[str, Any], *, nullable: bool) -> Any:
    if isinstance(value, list):
        return [_inlined(one, parts, nullable=nullable) for one in cast(list[Any], value)]
    if not isinstance(value, dict):
        return value
    schema = cast(dict[str, Any], value)
    if not nullable:
        schema = _without_null(schema)
    if "$ref" in schema:
        schema = {**parts[schema["$ref"]], **schema}
        del schema["$ref"]
    if "enum" in schema:
        schema = {"type": "string", **schema}  # there are no other ones
    return {
        name: _properties(one, parts, nullable=nullable)
        if name == "properties"
        else _inlined(one, parts, nullable=nullable)
        for name, one in schema.items()
        if name != "title"
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    choices: list[dict[str, Any]] = schema.get("anyOf", [])
    if _NULL not in choices:
        return schema
    left = [one for one in choices if one != _NULL]
    rest = {name: one for name, one in schema.items() if name not in ("anyOf", "default")}
    return {**rest, **left[0]} if len(left) == 1 else {**rest, "anyOf": left}


def _properties(value: Any, parts: dict[str, Any], *, nullable: bool) -> dict[str, Any]:
    """By name: an argument may be called `title`, too."""
    return {name: _inlined(one, parts, nullable=nullable) for name, one in value.items()}
