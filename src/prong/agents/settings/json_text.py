"""Edit JSON text in place and keep its formatting.

The text must be valid JSON: call `json.loads` first. Positions refer to one text, so `parse` again
after each change.
"""

import json
import re
from dataclasses import dataclass, field
from typing import Any

_BLANK = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_OTHER = re.compile(r"[^\s,\]}]+")
_DEFAULT_INDENT = "  "


@dataclass
class Value:
    """A value and its position in the text."""

    start: int
    end: int = 0
    children: list["JsonMember"] = field(default_factory=list["JsonMember"])
    """The members of an object, or the items of an array."""

    def get(self, key: str) -> "Value | None":
        """Return a member by key; the last of duplicates, as JSON parsers do."""
        values = [child.value for child in self.children if child.key == key]
        return values[-1] if values else None

    def plain(self, text: str) -> Any:
        """Decode the value."""
        return json.loads(text[self.start : self.end])


@dataclass
class JsonMember:
    """A member of an object, or an item of an array, which has no key."""

    start: int
    key: str | None
    value: Value


def parse(text: str) -> Value:
    """Parse the outermost value."""
    return _value(text, _skip(text, 0))


def _value(text: str, at: int) -> Value:
    value = Value(at)
    if text[at] not in "{[":
        match = (_STRING if text[at] == '"' else _OTHER).match(text, at)
        assert match is not None
        value.end = match.end()
        return value
    is_object = text[at] == "{"
    at = _skip(text, at + 1)
    while text[at] not in "}]":
        start, key = at, None
        if is_object:
            match = _STRING.match(text, at)
            assert match is not None
            key = json.loads(match[0])
            at = _skip(text, _skip(text, match.end()) + 1)
        inner = _value(text, at)
        value.children.append(JsonMember(start, key, inner))
        at = _skip(text, inner.end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    value.end = at + 1
    return value


def _skip(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    assert match is not None
    return match.end()


def appended(text: str, parent: Value, content: Any, key: str | None = None) -> str:
    """Append a member or item, in the style of the existing text."""
    break_ = "\r\n" if "\r\n" in text else "\n"
    inside = slice(parent.start + 1, parent.end - 1)
    if parent.children:
        at = parent.children[-1].value.end
        indent = _before(text, parent.children[-1].start)
        if indent.strip():
            new = _gap(text) + _compact(text, content, key)
        else:
            new = break_ + indent + _spread(text, content, key, indent, break_)
        return f"{text[:at]},{new}{text[at:]}"
    # A value with text around it has the style of that text.
    if "\n" not in text.strip() and (text[: parent.start] + text[parent.end :]).strip():
        return text[: inside.start] + _compact(text, content, key) + text[inside.stop :]
    line = _before(text, parent.start)
    outer = line[: len(line) - len(line.lstrip(" \t"))]
    indent = outer + _unit(text)
    new = _spread(text, content, key, indent, break_)
    return f"{text[: inside.start]}{break_}{indent}{new}{break_}{outer}{text[inside.stop :]}"


def removed(text: str, parent: Value, child: JsonMember) -> str:
    """Remove a member or item and its comma."""
    index = parent.children.index(child)
    if len(parent.children) == 1:
        return text[: parent.start + 1] + text[parent.end - 1 :]
    if index:
        return text[: parent.children[index - 1].value.end] + text[child.value.end :]
    return text[: child.start] + text[parent.children[1].start :]


def _compact(text: str, content: Any, key: str | None) -> str:
    gap = _gap(text)
    words = json.dumps(content, ensure_ascii=False, separators=(f",{gap}", f":{gap}"))
    return words if key is None else f"{json.dumps(key)}:{gap}{words}"


def _gap(text: str) -> str:
    """Return the space that the text puts after colons, if any."""
    match = re.search(r'"\s*:(\s?)', text)
    return " " if match is None or match[1] else ""


def _spread(text: str, content: Any, key: str | None, indent: str, break_: str) -> str:
    unit = _unit(text)
    words = json.dumps(content, ensure_ascii=False, indent=unit)
    # Line breaks in strings are escaped: the rest come from the indentation.
    words = words.replace("\n", f"{break_}{indent}")
    return words if key is None else f"{json.dumps(key)}: {words}"


def _unit(text: str) -> str:
    """Return one level of indentation: that of the first indented line."""
    match = re.search(r"\n([ \t]+)\S", text)
    return match[1] if match else _DEFAULT_INDENT


def _before(text: str, at: int) -> str:
    return text[text.rfind("\n", 0, at) + 1 : at]
