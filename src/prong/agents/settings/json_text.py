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
    before = parent.children[-1] if parent.children else None
    if before is not None:
        indent = _indent_before(text, before.start)
        if indent is None:
            return _inserted(text, before.value.end, f",{_gap(text)}{_compact(text, content, key)}")
        new = _spread(text, content, key, indent, break_)
        return _inserted(text, before.value.end, f",{break_}{indent}{new}")
    inside = slice(parent.start + 1, parent.end - 1)
    if "\n" not in text.strip() and _is_inside(text, parent):
        return text[: inside.start] + _compact(text, content, key) + text[inside.stop :]
    outer = _line_indent(text, parent.start)
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


def _inserted(text: str, at: int, new: str) -> str:
    return text[:at] + new + text[at:]


def _is_inside(text: str, value: Value) -> bool:
    """Return whether the value has text around it, whose style applies."""
    return bool((text[: value.start] + text[value.end :]).strip())


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


def _indent_before(text: str, at: int) -> str | None:
    """Return the indentation of the first element on its line; None for others."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line if "\n" in text[:at] and not line.strip() else None


def _line_indent(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t"))]
