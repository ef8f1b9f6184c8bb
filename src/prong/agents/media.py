"""Images and documents of a session, read from the file on demand."""

import re
from collections.abc import Callable
from typing import Any, BinaryIO, cast

from prong.agents import jsonl
from prong.model.sessions import Media

IMAGE = "[image]"
DOCUMENT = "[document]"

_DATA_URL = re.compile(r"data:([a-z]+/[\w.+-]+)(?:;[\w=-]+)*;base64,", re.IGNORECASE)

Key = str | int


def stored(
    open_file: Callable[[], BinaryIO],
    place: jsonl.Location,
    path: tuple[Key, ...],
    value: Any,
    type_: str | None = None,
) -> Media:
    """Describe the media at `path` in a line: base64 of a given type, or a data URL."""
    text = value if isinstance(value, str) else ""
    url = _DATA_URL.match(text) if type_ is None else None
    start = 0 if type_ is not None else url.end() if url else len(text)

    def read() -> str:
        node: Any = jsonl.read_at(open_file(), place)
        for key in path:
            node = _at(node, key)
        return node[start:] if isinstance(node, str) else ""

    return Media(type_ or (url[1].lower() if url else ""), len(text) - start, read)


def _at(value: Any, key: Key) -> Any:
    if isinstance(value, dict):
        return cast(dict[Key, Any], value).get(key)
    if isinstance(value, list) and isinstance(key, int):
        return cast(list[Any], value)[key]
    return None
