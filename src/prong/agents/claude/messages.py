"""Convert lines to messages: those a person reads (history) or the model gets (context)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple, cast

from prong.agents import jsonl, media
from prong.agents.claude.prompts import readable
from prong.agents.claude.transcript import ClaudeTranscript, ToolResult, TranscriptNode
from prong.agents.common import parse_time
from prong.agents.last_turn import unwrapped
from prong.agents.media import DOCUMENT, IMAGE, Key
from prong.agents.tool_summary import gist
from prong.model.sessions import Media, Message, Role, Tool, View


class _Piece(NamedTuple):
    role: Role
    text: str
    tool: Tool | None = None
    media: tuple[Media, ...] = ()


class ClaudeRenderer:
    """Converter of a file's nodes to messages; each line is read on demand."""

    def __init__(
        self, file: BinaryIO, transcript: ClaudeTranscript, view: View, *, text_only: bool = False
    ) -> None:
        """`text_only` leaves out images, so that messages can be used after the file is closed."""
        self.file = file
        self.view = view
        self.text_only = text_only
        self.names = {
            call.id: call.name for node in transcript.nodes.values() for call in node.calls
        }

    def render(self, nodes: Iterable[TranscriptNode], turn: int | None) -> Iterator[Message]:
        for node in nodes:
            if self._is_left_out(node):
                continue
            line = jsonl.read_at(self.file, node.place)
            if line is None:
                continue
            time = parse_time(node.time)
            for piece in self._pieces(node, line):
                media = () if self.text_only else piece.media
                yield Message(piece.role, piece.text, turn, piece.tool, time, media)

    def _is_left_out(self, node: TranscriptNode) -> bool:
        if node.type in ("progress", "system"):
            return not (node.local and self.view is View.CONTEXT)
        if node.type == "attachment":
            return node.queued is None
        if self.view is View.CONTEXT:
            return node.error or (node.meta and node.synthetic)
        return node.meta

    def _pieces(self, node: TranscriptNode, line: dict[str, Any]) -> Iterator[_Piece]:
        if node.type == "attachment":
            yield from self._queued(node, line)
            return
        # A local command has its text directly in the line.
        path: tuple[Key, ...] = ("content",) if node.local else ("message", "content")
        content: Any = line
        for key in path:
            content = _dict(content).get(key)
        blocks = cast(list[Any], content) if isinstance(content, list) else [content]
        results = {result.id: result for result in node.results}
        # Beside a tool result, the CLI adds reminders, whatever the entrypoint.
        entrypoint = None if results else line.get("entrypoint")
        for number, block in enumerate(blocks):
            if isinstance(block, str):
                yield from self._user_text(node, block, entrypoint)
            elif _dict(block).get("type") == "text" and node.type != "assistant":
                yield from self._user_text(node, str(block.get("text") or ""), entrypoint)
            else:
                yield from self._block(node, _dict(block), results, (*path, number))

    def _queued(self, node: TranscriptNode, line: dict[str, Any]) -> Iterator[_Piece]:
        """Render a prompt that was typed while the agent was busy."""
        prompt = _dict(line.get("attachment")).get("prompt")
        if self.text_only or not any(self._images(node, prompt, ())):
            yield _Piece("user", node.queued or "")
            return
        for number, block in enumerate(cast(list[Any], prompt)):
            if _dict(block).get("type") == "text":
                yield _Piece("user", str(block.get("text") or ""))
            else:
                yield from self._block(node, _dict(block), {}, ("attachment", "prompt", number))

    def _block(
        self,
        node: TranscriptNode,
        block: dict[str, Any],
        results: dict[str, ToolResult],
        path: tuple[Key, ...],
    ) -> Iterator[_Piece]:
        match block.get("type"):
            case "text":
                yield _Piece("assistant", str(block.get("text") or ""))
            case "thinking":
                yield _Piece("thinking", str(block.get("thinking") or ""))
            case "tool_use" | "server_tool_use":
                name = str(block.get("name") or "")
                args = json.dumps(block.get("input"), ensure_ascii=False)
                id_ = str(block.get("id") or "")
                yield _Piece("assistant", "", Tool(id_, name, args, gist=gist(block.get("input"))))
            case "tool_result":
                id_ = str(block.get("tool_use_id") or "")
                result = results.get(id_)
                content = block.get("content")
                tool = Tool(
                    id_,
                    self.names.get(id_, ""),
                    output=result_text(content),
                    failed=bool(block.get("is_error")),
                    exit_code=result.exit_code if result else None,
                )
                images = self._images(node, content, (*path, "content"))
                yield _Piece("tool", "", tool, tuple(images))
            case "image" | "document" as kind:
                text = IMAGE if kind == "image" else DOCUMENT
                yield _Piece("user", text, None, (self._media(node, block, path),))
            case _:
                pass

    def _images(self, node: TranscriptNode, blocks: Any, path: tuple[Key, ...]) -> Iterator[Media]:
        if not isinstance(blocks, list):
            return
        for number, block in enumerate(cast(list[Any], blocks)):
            if _dict(block).get("type") in ("image", "document"):
                yield self._media(node, block, (*path, number))

    def _media(self, node: TranscriptNode, block: dict[str, Any], path: tuple[Key, ...]) -> Media:
        source = _dict(block.get("source"))
        type_ = str(source.get("media_type") or "")
        if source.get("type") != "base64":
            # A link, or a file id of this agent's API.
            type_ = "" if block.get("type") == "image" else "application/pdf"
        return media.stored(
            lambda: self.file, node.place, (*path, "source", "data"), source.get("data"), type_
        )

    def _user_text(self, node: TranscriptNode, text: str, entrypoint: Any) -> Iterator[_Piece]:
        if self.view is View.CONTEXT or node.type == "assistant":
            yield _Piece("assistant" if node.type == "assistant" else "user", text)
            return
        text = readable(unwrapped(text, entrypoint).strip())
        if text:
            yield _Piece("summary" if node.summary else "user", text)


def _dict(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def result_text(content: Any) -> str:
    """Return the text of a tool result: a string, a list of blocks, or an object."""
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
