"""A transcript as blocks: messages, and tool calls paired with their results."""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from prong.model.record import Record, replace
from prong.model.sessions import Message, Role, Tool

BlockRole = Role | Literal["system", "error", "note"]
"""`note` is a remark by prong about the transcript."""

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
    """One block of a transcript. It may have a role that no stored message has."""

    role: BlockRole
    text: str = ""
    turn: int | None = None
    tool: Tool | None = None
    """For the role `tool`: the call and its result, without an id."""

    @property
    def size(self) -> int:
        """Number of characters when written."""
        return sum(map(len, self.written("0" * NONCE_LENGTH)))

    def written(self, nonce: str) -> Iterator[str]:
        """Yield the text in pieces. The nonce makes the tags distinct from any content."""
        for number, part in enumerate(self.parts()):
            if number:
                yield "\n"
            yield f"[{nonce} {part.tag}]"
            if part.content is not None:
                yield "\n"
                yield part.content

    def parts(self) -> "Iterator[Part]":
        """Yield the tags and the content below each."""
        attributes = [f"role={self.role}"]
        if self.turn is not None:
            attributes.append(f"turn={self.turn}")
        tool = self.tool
        if tool is None:
            yield Part(" ".join(attributes), self.text)
            return
        attributes.append(f"name={_quoted(tool.name)}")
        if tool.exit_code is not None:
            attributes.append(f"exit={tool.exit_code}")
        if tool.failed:
            attributes.append("failed=yes")
        # Without arguments, or the call was lost; without a result, the tool never finished.
        if not tool.input:
            attributes.append("arguments=none")
        if tool.output is None:
            attributes.append("result=none")
        yield Part(" ".join(attributes), None)
        if tool.input:
            yield Part("arguments", tool.input)
        if tool.output is not None:
            yield Part("output", tool.output)


class Part(NamedTuple):
    """A tag, without nonce and brackets, and the text below it."""

    tag: str
    content: str | None


def collect(messages: Iterable[Message | Block]) -> list[Block]:
    """Return the blocks of a conversation, without thinking.

    Calls and results may come separately or paired. A message without a turn belongs to the
    previous one's turn.
    """
    blocks: list[Block] = []
    waiting: dict[tuple[int | None, str], list[int]] = {}
    turn: int | None = None
    for message in messages:
        turn = turn if message.turn is None else message.turn
        if message.role == "thinking":
            continue
        tool = message.tool
        role = "assistant" if tool and message.role == "tool" else message.role
        if message.role == "tool" and tool is None:
            tool = Tool("", "", output=message.text)
        elif message.text.strip():
            blocks.append(Block(role, clean(message.text), turn))
        if tool is None:
            continue
        calls = waiting.get((turn, tool.id))
        if message.role == "tool" and calls:
            index = calls.pop(0)
            blocks[index] = replace(blocks[index], tool=_joined(blocks[index].tool, tool))
            continue
        if message.role != "tool" and tool.output is None:
            waiting.setdefault((turn, tool.id), []).append(len(blocks))
        blocks.append(Block("tool", "", turn, _cleaned(tool)))
    return blocks


def clean(text: str) -> str:
    """Make control characters visible, so that a program can take the text as input.

    Newlines and tabs stay; others become their Unicode picture, such as `␀` or `␛`.
    """
    text = text.replace("\r\n", "\n")
    if _CONTROL.search(text):
        # `replace` per character is faster than a regex when an output is full of them.
        for control, picture in _PICTURES.items():
            text = text.replace(control, picture)
    return _SURROGATES.sub(_characters, text)


def _characters(found: re.Match[str]) -> str:
    """Combine surrogate pairs into characters; replace unpaired surrogates."""
    return found[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _cleaned(tool: Tool) -> Tool:
    output = None if tool.output is None else clean(tool.output)
    name = clean(tool.name)
    return Tool("", name, clean(tool.input), output, failed=tool.failed, exit_code=tool.exit_code)


def _joined(call: Tool | None, result: Tool) -> Tool:
    first = call or Tool("", "")
    result = _cleaned(result)
    return replace(result, name=first.name or result.name, input=first.input or result.input)


def _quoted(text: str) -> str:
    """Quote as JSON on one line, escaping brackets that could be taken for a tag's."""
    return json.dumps(text, ensure_ascii=False).translate(_BRACKETS)
