"""Golden files: what users and scripts see, kept beside the tests and compared with.

`PRONG_UPDATE_GOLDEN=1` writes them instead. Read the diff before you commit it.
"""

import json
import os
from pathlib import Path
from typing import Any, cast

FOLDER = Path(__file__).parent
_TYPES: dict[type, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "text",
    type(None): "null",
}


def check(name: str, text: str) -> None:
    """Compare a text with the golden file of that name, or write the file."""
    path = FOLDER / name
    if os.environ.get("PRONG_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{name} is missing: run the test with PRONG_UPDATE_GOLDEN=1"
    assert text == path.read_text(encoding="utf-8")


def check_shape(name: str, value: object) -> None:
    check(name, json.dumps(shape(value), indent=1, sort_keys=True) + "\n")


def shape(value: object) -> Any:
    """The keys and types of a JSON value, without the values.

    `{"a": [{"b": 1}, {"b": null}]}` becomes `{"a": [{"b": "number | null"}]}`.
    """
    if isinstance(value, dict):
        fields = cast(dict[str, object], value)
        return {name: shape(one) for name, one in fields.items()}
    if isinstance(value, list):
        shapes = [shape(one) for one in cast(list[object], value)]
        merged = shapes[:1]
        for one in shapes[1:]:
            merged = [_merged(merged[0], one)]
        return merged
    return _TYPES[type(value)]


def _merged(one: object, other: object) -> object:
    if one == other:
        return one
    names = _joined(one, other)
    if isinstance(one, dict) and isinstance(other, dict):
        return _merged_objects(cast(dict[str, object], one), cast(dict[str, object], other))
    if isinstance(one, list) and isinstance(other, list):
        first, second = cast(list[object], one), cast(list[object], other)
        return [_merged(first[0], second[0])] if first and second else first or second
    return names


def _merged_objects(one: dict[str, object], other: dict[str, object]) -> dict[str, object]:
    both = {name: _merged(one[name], other[name]) for name in one.keys() & other.keys()}
    optional = one.keys() ^ other.keys()
    return both | {f"{name.removesuffix('?')}?": (one | other)[name] for name in optional}


def _joined(*values: object) -> str:
    return " | ".join(sorted({name for value in values for name in _names(value)}))


def _names(value: object) -> list[str]:
    if isinstance(value, str):
        return value.split(" | ")
    return ["object" if isinstance(value, dict) else "list"]
