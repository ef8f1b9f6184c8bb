"""A transcript as blocks: what was said, and each tool call together with its result."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from prong.model.record import Record, replace
from prong.model.sessions import Message, Role, Tool

BlockRole = Role | Literal["system", "error", "note"]
"""A note is prong's own word about the transcript."""

NONCE_LENGTH = 8
_PICTURES = (
    {chr(code): chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {"\x7f": "\u2421"}
    | {chr(code): "\ufffd" for code in range(0x80, 0xA0)}
)
_CONTROL = re.compile(f"[{''.join(_PICTURES)}]")
_SURROGATES = re.compile("[\ud800-\udfff]+")
_BRACKETS = {ord("["): "\\u005b", ord("]"): "\\u005d"}


class Block(Record, frozen=True):
    """One block of a transcript. Unlike a message it can be of the roles that no store has."""

    role: BlockRole
    text: str = ""
    turn: int | None = None
    tool: Tool | None = None
    """For the role `tool`: the call and its result, without their id."""

    @property
    def size(self) -> int:
        """How many characters it takes when it is written."""
        parts = list(self.parts())
        contents = sum(1 + len(part.content) for part in parts if part.content is not None)
        return sum(NONCE_LENGTH + len(part.tag) + 3 for part in parts) + contents + len(parts) - 1

    def written(self, nonce: str) -> Iterator[str]:
        """The pieces of its text. The nonce makes tags that no content can contain."""
        for number, part in enumerate(self.parts()):
            if number:
                yield "\n"
            yield f"[{nonce} {part.tag}]"
            if part.content is not None:
                yield "\n"
                yield part.content

    def parts(self) -> "Iterator[Part]":
        """Its tags and what stands below them."""
        words = [f"role={self.role}"]
        if self.turn is not None:
            words.append(f"turn={self.turn}")
        tool = self.tool
        if tool is None:
            yield Part(" ".join(words), self.text)
            return
        words.append(f"name={_quoted(tool.name)}")
        if tool.exit_code is not None:
            words.append(f"exit={tool.exit_code}")
        if tool.failed:
            words.append("failed=yes")
        # The call was lost, or it had none; the result never came.
        if not tool.input:
            words.append("arguments=none")
        if tool.output is None:
            words.append("result=none")
        yield Part(" ".join(words), None)
        if tool.input:
            yield Part("arguments", tool.input)
        if tool.output is not None:
            yield Part("output", tool.output)


class Part(NamedTuple):
    """A tag, without the nonce and the brackets, and the text below it."""

    tag: str
    content: str | None


def collect(messages: Iterable[Message | Block], *, thinking: bool = False) -> list[Block]:
    """The blocks of a conversation. Calls and results may come apart or already paired.

    A message without a turn belongs to the turn before. Thoughts only when asked for.
    """
    found: list[Block] = []
    waiting: dict[tuple[int | None, str], list[int]] = {}
    turn: int | None = None
    for message in messages:
        turn = turn if message.turn is None else message.turn
        if message.role == "thinking" and not thinking:
            continue
        tool = message.tool
        role = "assistant" if tool and message.role == "tool" else message.role
        if message.role == "tool" and tool is None:
            tool = Tool("", "", output=message.text)
        elif message.text.strip():
            found.append(Block(role, clean(message.text), turn))
        if tool is None:
            continue
        calls = waiting.get((turn, tool.id))
        if message.role == "tool" and calls:
            place = calls.pop(0)
            found[place] = replace(found[place], tool=_joined(found[place].tool, tool))
            continue
        if message.role != "tool" and tool.output is None:
            waiting.setdefault((turn, tool.id), []).append(len(found))
        found.append(Block("tool", "", turn, _cleaned(tool)))
    return found


def clean(text: str) -> str:
    """The text with control characters made visible, so that a program can take it as input.

    Newlines and tabs stay. It is the picture of each that is written: `␀`, `␛`.
    """
    text = text.replace("\r\n", "\n")
    if _CONTROL.search(text):
        # One at a time: an output may be full of them.
        for control, picture in _PICTURES.items():
            text = text.replace(control, picture)
    return _SURROGATES.sub(_characters, text)


def _characters(found: re.Match[str]) -> str:
    """Two surrogates that belong together are a character; one alone is none."""
    return found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cleaned(tool: Tool) -> Tool:
    output = None if tool.output is None else clean(tool.output)
    name = clean(tool.name)
    return Tool("", name, clean(tool.input), output, failed=tool.failed, exit_code=tool.exit_code)


def _joined(call: Tool | None, result: Tool) -> Tool:
    known = call or Tool("", "")
    result = _cleaned(result)
    return replace(result, name=known.name or result.name, input=known.input or result.input)


def _quoted(text: str) -> str:
    """In quotes, on one line, and without a bracket that could be taken for the tag's."""
    return json.dumps(text, ensure_ascii=False).translate(_BRACKETS)
