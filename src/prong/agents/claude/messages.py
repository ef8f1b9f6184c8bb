"""Lines as messages: what a person reads (history), or what the model would get (context)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

from prong.agents import jsonl
from prong.agents.claude.prompts import DOCUMENT, IMAGE, readable, unwrapped
from prong.agents.claude.transcript import Node, Result, Transcript
from prong.agents.gist import gist
from prong.agents.times import parse_time
from prong.model import Message, Role, Tool, View


class Renderer:
    """Turns the nodes of one file into messages, reading each line when it is asked for."""

    def __init__(self, file: BinaryIO, transcript: Transcript, view: View) -> None:
        self.file = file
        self.view = view
        self.names = {
            call.id: call.name for node in transcript.nodes.values() for call in node.calls
        }

    def render(self, nodes: Iterable[Node], turn: int | None) -> Iterator[Message]:
        for node in nodes:
            if self._is_left_out(node):
                continue
            line = jsonl.read_at(self.file, node.place)
            if line is None:
                continue
            time = parse_time(node.time)
            for role, text, tool in self._pieces(node, line):
                yield Message(role, text, turn, tool, time)

    def _is_left_out(self, node: Node) -> bool:
        if node.type in ("progress", "system"):
            return not (node.local and self.view is View.CONTEXT)
        if node.type == "attachment":
            return node.queued is None
        if self.view is View.CONTEXT:
            return node.error
        return node.meta

    def _pieces(self, node: Node, line: dict[str, Any]) -> Iterator[tuple[Role, str, Tool | None]]:
        if node.type == "attachment":
            yield "user", node.queued or "", None
            return
        # A local command has its text on the line itself.
        body = line if node.local else line.get("message")
        content: Any = cast(dict[str, Any], body).get("content") if isinstance(body, dict) else None
        blocks = cast(list[Any], content) if isinstance(content, list) else [content]
        results = {result.id: result for result in node.results}
        for block in blocks:
            if isinstance(block, str):
                yield from self._block(node, {"type": "text", "text": block}, results)
            elif isinstance(block, dict):
                yield from self._block(node, cast(dict[str, Any], block), results)

    def _block(
        self, node: Node, block: dict[str, Any], results: dict[str, Result]
    ) -> Iterator[tuple[Role, str, Tool | None]]:
        match block.get("type"):
            case "text":
                text = str(block.get("text") or "")
                if node.type == "assistant":
                    yield "assistant", text, None
                else:
                    yield from self._user_text(node, text)
            case "thinking":
                yield "thinking", str(block.get("thinking") or ""), None
            case "tool_use" | "server_tool_use":
                name = str(block.get("name") or "")
                given = json.dumps(block.get("input"), ensure_ascii=False)
                id_ = str(block.get("id") or "")
                yield "assistant", "", Tool(id_, name, given, gist=gist(block.get("input")))
            case "tool_result":
                id_ = str(block.get("tool_use_id") or "")
                known = results.get(id_)
                yield (
                    "tool",
                    "",
                    Tool(
                        id_,
                        self.names.get(id_, ""),
                        output=result_text(block.get("content")),
                        failed=bool(block.get("is_error")),
                        exit_code=known.exit_code if known else None,
                    ),
                )
            case "image":
                yield "user", IMAGE, None
            case "document":
                yield "user", DOCUMENT, None
            case _:
                pass

    def _user_text(self, node: Node, text: str) -> Iterator[tuple[Role, str, Tool | None]]:
        if self.view is View.CONTEXT:
            yield "user", text, None
            return
        text = readable(unwrapped(text))
        if text:
            yield ("summary" if node.summary else "user"), text, None


def result_text(content: Any) -> str:
    """The text of a tool result, which is a string, a list of blocks, or an object."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return json.dumps(content, ensure_ascii=False)
    parts: list[str] = []
    for block in cast(list[Any], content):
        if not isinstance(block, dict):
            parts.append(str(block))
            continue
        fields = cast(dict[str, Any], block)
        match fields.get("type"):
            case "text":
                parts.append(str(fields.get("text") or ""))
            case "image":
                parts.append(IMAGE)
            case other:
                parts.append(f"[{other}]")
    return "\n".join(parts)
