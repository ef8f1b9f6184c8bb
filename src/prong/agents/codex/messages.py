"""Render rollout entries as messages, for a person (history) or for the model (context)."""

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from prong.agents import media
from prong.agents.codex.fields import is_injected, typed
from prong.agents.codex.history import OpenFiles, Piece, Segment
from prong.agents.codex.rollout import PROMPTS, EntryKind, RolloutEntry
from prong.agents.codex.turns import CodexSpan
from prong.agents.common import as_dict, as_list, parse_time
from prong.agents.media import IMAGE, Key
from prong.agents.tool_summary import gist
from prong.model.record import replace
from prong.model.sessions import Media, Message, Tool, View

_REPLACEMENT = "replacement_history"


class _Place(NamedTuple):
    """The position of an item: its file, its line and the path within the line's JSON."""

    segment: Segment
    entry: RolloutEntry
    path: tuple[Key, ...]

    def below(self, *keys: Key) -> "_Place":
        return self._replace(path=(*self.path, *keys))


class CodexRenderer:
    def __init__(
        self, view: View, files: OpenFiles, *, replaced: bool = False, text_only: bool = False
    ) -> None:
        """`replaced`: show the whole history that replaced a compacted one, not only its summary.

        It belongs to no turn, so its messages have no number. `text_only`: omit images, for
        callers that close the files before they use the messages.
        """
        self.view = view
        self.files = files
        self.replaced = replaced
        self.text_only = text_only
        self.names: dict[str, str] = {}

    def render(self, span: CodexSpan, number: int | None) -> Iterator[Message]:
        exit_codes = {
            entry.call: entry.exit_code for entry in span.entries if entry.exit_code is not None
        }
        with_images = {} if self.text_only else self._prompts_with_images(span)
        for segment, entry in span.pieces:
            contents = with_images.get(id(entry))
            if contents is None:
                if not self._is_wanted(segment, entry):
                    continue
                contents = self._contents((segment, entry))
            time = parse_time(entry.time)
            turn = None if self.replaced and entry.kind is EntryKind.COMPACTED else number
            for message in contents:
                tool = message.tool
                code = exit_codes.get(tool.id) if tool and message.role == "tool" else None
                if tool and code is not None:
                    tool = replace(tool, failed=code != 0, exit_code=code)
                images = () if self.text_only else message.media
                yield replace(message, turn=turn, tool=tool, time=time, media=images)

    def _prompts_with_images(self, span: CodexSpan) -> dict[int, list[Message]]:
        """Map the entry that represents a prompt to its contents, for prompts with images.

        Codex records a prompt first as an item for the model, which has the images, and then as an
        event for the user, which may have only a file's path. Without an event, the item itself is
        used: it has an image that a tool returned.
        """
        if self.view is not View.HISTORY:
            return {}
        contents: dict[int, list[Message]] = {}
        texts = [
            (segment, entry)
            for segment, entry in span.pieces
            if entry.kind in (EntryKind.USER_TEXT, segment.prompt_kind)
        ]
        for piece, (_, following) in zip(texts, [*texts[1:], *texts[-1:]], strict=True):
            entry = piece[1]
            if entry.kind is not EntryKind.USER_TEXT:
                continue
            parts = [
                replace(part, text=typed(part.text))
                for part in self._message(*self._item_at(piece))
                if not _is_image_tag(part.text)
            ]
            if any(part.media for part in parts):
                has_event = following.kind is not EntryKind.USER_TEXT
                contents[id(following if has_event else entry)] = parts
        return contents

    def _is_wanted(self, segment: Segment, entry: RolloutEntry) -> bool:
        if entry.kind is EntryKind.COMPACTED or entry.kind is EntryKind.ITEM:
            return True
        if self.view is View.CONTEXT:
            return entry.kind is EntryKind.USER_TEXT
        if entry.kind in PROMPTS:
            return entry.kind is segment.prompt_kind
        # Events only repeat the response items of a file that has them.
        return entry.kind in (EntryKind.SAID, EntryKind.THOUGHT) and not segment.has_items

    def _item_at(self, piece: Piece) -> tuple[dict[str, Any], _Place]:
        line = self.files.record(piece)
        path: tuple[Key, ...] = ("payload",) if "payload" in line else ()
        return payload_of(line), _Place(*piece, path)

    def _contents(self, piece: Piece) -> Iterator[Message]:
        entry = piece[1]
        if self.view is View.HISTORY and entry.kind in PROMPTS:
            yield Message("user", entry.text)
            return
        payload, place = self._item_at(piece)
        if not payload:
            return
        message = str(payload.get("message") or "")
        match entry.kind:
            case EntryKind.COMPACTED if self.view is View.CONTEXT and not entry.replaced:
                yield Message("user", message)
            case EntryKind.COMPACTED if self.view is View.CONTEXT:
                yield from self._replacement(payload, place)
            case EntryKind.COMPACTED if self.replaced and entry.replaced:
                for content in self._replacement(payload, place):
                    is_summary = message and content.text == message
                    yield replace(content, role="summary") if is_summary else content
            case EntryKind.COMPACTED:
                # A compaction by the API has its summary only as the last item.
                last = [item for _, item in numbered_dicts(payload.get(_REPLACEMENT))][-1:]
                yield Message(
                    "summary", message or "".join(as_text(item.get("content")) for item in last)
                )
            case EntryKind.SAID:
                item = as_dict(payload.get("item")) or payload
                text = str(item.get("message") or "") or as_text(item.get("content"))
                yield Message("assistant", text)
            case EntryKind.THOUGHT:
                yield Message("thinking", str(payload.get("text") or ""))
            case _:
                yield from self._item(payload, place)

    def _replacement(self, payload: dict[str, Any], place: _Place) -> Iterator[Message]:
        for number, item in numbered_dicts(payload.get(_REPLACEMENT)):
            yield from self._item(item, place.below(_REPLACEMENT, number))

    def _item(self, item: dict[str, Any], place: _Place) -> Iterator[Message]:
        call = str(item.get("call_id") or item.get("id") or "")
        match item.get("type"):
            case "message":
                yield from self._message(item, place)
            case "reasoning":
                text = as_text(item.get("summary")) or as_text(item.get("content"))
                if text or self.view is View.CONTEXT:
                    yield Message("thinking", text)
            case "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call":
                args: Any = next(
                    (item[key] for key in ("arguments", "input", "action") if item.get(key)), ""
                )
                names = (item.get("namespace"), item.get("name") or str(item["type"]))
                name = "/".join(str(name) for name in names if name)
                self.names[call] = name
                text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
                tool = Tool(call, name, text, gist=gist(_parsed(args)))
                yield Message("assistant", "", tool=tool)
            case "function_call_output" | "custom_tool_call_output":
                tool = Tool(call, self.names.get(call, ""), output=as_text(item.get("output")))
                images = [
                    self._media(part, place.below("output", number))
                    for number, part in numbered_dicts(item.get("output"))
                    if _is_image(part)
                ]
                yield Message("tool", "", tool=tool, media=tuple(images))
            case _:
                pass

    def _message(self, item: dict[str, Any], place: _Place) -> Iterator[Message]:
        role = item.get("role")
        if role not in ("user", "assistant"):
            return
        for number, part in numbered_dicts(item.get("content")):
            text = _part_text(part)
            injected = role == "user" and is_injected(text)
            if text and not (injected and self.view is View.HISTORY):
                is_image = _is_image(part)
                images = (self._media(part, place.below("content", number)),) if is_image else ()
                yield Message("user" if role == "user" else "assistant", text, media=images)

    def _media(self, part: dict[str, Any], place: _Place) -> Media:
        open_file = partial(self.files.file, place.segment.path)
        path = (*place.path, "image_url")
        return media.stored(open_file, place.entry.place, path, part.get("image_url"))


def context_spans(spans: Iterable[CodexSpan]) -> list[CodexSpan]:
    """Return the entries that the model would get: those from the last compaction on."""
    context: list[CodexSpan] = []
    for span in spans:
        marks = [i for i, entry in enumerate(span.entries) if entry.kind is EntryKind.COMPACTED]
        if not marks:
            context.append(span)
            continue
        last = span.pieces[marks[-1]][1]
        # A compaction without a replacement history keeps the user's prompts.
        past = [] if last.replaced else [_written(prior, marks[-1]) for prior in (*context, span)]
        context = [*past, span.with_pieces(span.pieces[marks[-1] :])]
    return context


def _written(span: CodexSpan, before: int) -> CodexSpan:
    is_compacted = any(entry.kind is EntryKind.COMPACTED for entry in span.entries)
    pieces = span.pieces[:before] if is_compacted else span.pieces
    return span.with_pieces([piece for piece in pieces if piece[1].kind in PROMPTS])


def payload_of(line: dict[str, Any]) -> dict[str, Any]:
    """Return what a line wraps; lines of old files are not wrapped."""
    return as_dict(line.get("payload")) or line


def numbered_dicts(value: Any) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON list, each with its index."""
    return ((i, as_dict(item)) for i, item in enumerate(as_list(value)) if isinstance(item, dict))


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(_part_text(part) for _, part in numbered_dicts(value))


def _part_text(part: dict[str, Any]) -> str:
    return str(part.get("text") or "") or (IMAGE if _is_image(part) else "")


def _is_image(part: dict[str, Any]) -> bool:
    return "image" in str(part.get("type"))


def _is_image_tag(text: str) -> bool:
    """Check for the tags that Codex writes around an image from a file."""
    return text == "</image>" or (text.startswith("<image name=") and text.endswith(">"))


def _parsed(given: Any) -> Any:
    """Decode arguments, which are often JSON in a string."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given
