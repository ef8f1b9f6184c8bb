"""Convert lines to messages: those a person reads (history) or the model gets (context)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO, cast

from prong.agents import jsonl, media
from prong.agents.claude.last_turn import unwrapped
from prong.agents.claude.prompts import MEDIA, readable
from prong.agents.claude.transcript import ClaudeTranscript, TranscriptNode
from prong.agents.common import as_dict, parse_time
from prong.agents.media import IMAGE, Key
from prong.agents.tool_summary import gist
from prong.model.record import replace
from prong.model.sessions import Media, Message, Tool, View


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
            line = None if self._is_left_out(node) else jsonl.read_at(self.file, node.place)
            if line is None:
                continue
            time = parse_time(node.time)
            for message in self._messages(node, line):
                images = () if self.text_only else message.media
                yield replace(message, turn=turn, time=time, media=images)

    def _is_left_out(self, node: TranscriptNode) -> bool:
        if node.type in ("progress", "system"):
            return not (node.local and self.view is View.CONTEXT)
        if node.type == "attachment":
            return node.queued is None
        if self.view is View.CONTEXT:
            return node.error or (node.meta and node.synthetic)
        return node.meta

    def _messages(self, node: TranscriptNode, line: dict[str, Any]) -> Iterator[Message]:
        is_said, is_queued = node.type == "assistant", node.type == "attachment"
        path: tuple[Key, ...] = ("message", "content")
        if is_queued:
            path = ("attachment", "prompt")
        elif node.local:
            path = ("content",)
        content: Any = line
        for key in path:
            content = as_dict(content).get(key)
        if is_queued and (self.text_only or not any(self._images(node, content, ()))):
            yield Message("user", node.queued or "")
            return
        # Beside a tool result, the CLI adds reminders, whatever the entrypoint.
        entrypoint = None if node.results else line.get("entrypoint")
        blocks = cast(list[Any], content) if isinstance(content, list) else [content]
        for number, block in enumerate(blocks):
            fields = {"type": "text", "text": block} if isinstance(block, str) else as_dict(block)
            if fields.get("type") != "text":
                yield from self._block(node, fields, (*path, number))
                continue
            text = str(fields.get("text") or "")
            if is_said or is_queued or self.view is View.CONTEXT:
                yield Message("assistant" if is_said else "user", text)
            elif text := readable(unwrapped(text, entrypoint).strip()):
                yield Message("summary" if node.summary else "user", text)

    def _block(
        self, node: TranscriptNode, block: dict[str, Any], path: tuple[Key, ...]
    ) -> Iterator[Message]:
        match block.get("type"):
            case "thinking":
                yield Message("thinking", str(block.get("thinking") or ""))
            case "tool_use" | "server_tool_use":
                name, id_ = str(block.get("name") or ""), str(block.get("id") or "")
                args = json.dumps(block.get("input"), ensure_ascii=False)
                tool = Tool(id_, name, args, gist=gist(block.get("input")))
                yield Message("assistant", "", tool=tool)
            case "tool_result":
                id_, content = str(block.get("tool_use_id") or ""), block.get("content")
                codes = {result.id: result.exit_code for result in node.results}
                tool = Tool(
                    id_,
                    self.names.get(id_, ""),
                    output=_result_text(content),
                    failed=bool(block.get("is_error")),
                    exit_code=codes.get(id_),
                )
                images = tuple(self._images(node, content, (*path, "content")))
                yield Message("tool", "", tool=tool, media=images)
            case "image" | "document" as kind:
                yield Message("user", MEDIA[kind], media=(self._media(node, block, path),))
            case _:
                pass

    def _images(self, node: TranscriptNode, blocks: Any, path: tuple[Key, ...]) -> Iterator[Media]:
        if isinstance(blocks, list):
            for number, block in enumerate(cast(list[Any], blocks)):
                if as_dict(block).get("type") in MEDIA:
                    yield self._media(node, block, (*path, number))

    def _media(self, node: TranscriptNode, block: dict[str, Any], path: tuple[Key, ...]) -> Media:
        source = as_dict(block.get("source"))
        type_ = str(source.get("media_type") or "")
        if source.get("type") != "base64":
            # A link, or a file id of this agent's API.
            type_ = "" if block.get("type") == "image" else "application/pdf"
        return media.stored(
            lambda: self.file, node.place, (*path, "source", "data"), source.get("data"), type_
        )


def _result_text(content: Any) -> str:
    if content is None:
        return ""
    if not isinstance(content, list):
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    parts: list[str] = []
    for block in cast(list[Any], content):
        kind = as_dict(block).get("type")
        if not isinstance(block, dict):
            parts.append(str(block))
        elif kind == "text":
            parts.append(str(as_dict(block).get("text") or ""))
        else:
            parts.append(IMAGE if kind == "image" else f"[{kind}]")
    return "\n".join(parts)
