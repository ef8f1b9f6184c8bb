"""How much of a model's context a message takes, counted without decoding it."""

import re

from msgspec import Raw

from prong.agents.claude.records import Block

_PICTURE = re.compile(rb'"data"\s*:\s*"(?=[A-Za-z0-9+/=]{1000})')
_PICTURE_SIZE = 6_000
"""What a picture costs the model, in characters; its file may have a million."""


def size_of(content: str | list[Block]) -> int:
    """The characters of a message, where each picture counts as much as it costs the model."""
    if isinstance(content, str):
        return len(content)
    size = 0
    for block in content:
        # Most have one of these, and their kind tells which.
        kind = block.type
        if kind == "tool_use":
            size += len(block.input)
        elif kind == "tool_result":
            size += len(block.content)
        else:
            size += len(block.text) + len(block.thinking) + len(block.input) + len(block.content)
    return size if 0 < size < _PICTURE_SIZE else _size_with_pictures(content, size)


def _size_with_pictures(content: list[Block], size: int) -> int:
    for block in content:
        if block.type in ("image", "document"):
            size += _PICTURE_SIZE
        elif _is_list(block.content) and b'"base64"' in (raw := bytes(block.content)):
            for picture in _PICTURE.finditer(raw):
                size += _PICTURE_SIZE - (raw.find(b'"', picture.end()) - picture.start())
    return size


def _is_list(raw: Raw) -> bool:
    """True when the JSON is a list; most results are one long string, not worth a copy."""
    return bytes(memoryview(raw)[:1]) == b"["
