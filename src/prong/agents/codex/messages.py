"""Rollout lines as messages: what a person reads (history), or the model would get (context)."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, cast

from prong.agents import jsonl
from prong.agents.codex import prompts
from prong.agents.codex.history import OpenFiles, Segment
from prong.agents.codex.rollout import PROMPTS, Entry, Kind
from prong.agents.codex.turns import Span
from prong.agents.gist import gist
from prong.agents.times import parse_time
from prong.model import Message, Role, Tool, View
from prong.record import replace

Content = tuple[Role, str, Tool | None]


class Renderer:
    """Turns entries into messages."""

    def __init__(self, view: View, files: OpenFiles, *, replaced: bool = False) -> None:
        """`replaced`: of a compaction, all that took the place of the past, not the summary only.

        That is said in no turn, so it has no number.
        """
        self.view = view
        self.files = files
        self.replaced = replaced
        self.names: dict[str, str] = {}

    def render(self, span: Span, number: int | None) -> Iterator[Message]:
        exit_codes = {
            entry.call: entry.exit_code for entry in span.entries if entry.exit_code is not None
        }
        for segment, entry in span.pieces:
            if not self._is_wanted(segment, entry):
                continue
            time = parse_time(entry.time)
            turn = None if self.replaced and entry.kind is Kind.COMPACTED else number
            for role, text, tool in self._contents(segment, entry):
                known = tool is not None and role == "tool" and tool.id in exit_codes
                outcome = _with_exit_code(tool, exit_codes[tool.id]) if tool and known else tool
                yield Message(role, text, turn, outcome, time)

    def _is_wanted(self, segment: Segment, entry: Entry) -> bool:
        if entry.kind is Kind.COMPACTED or entry.kind is Kind.ITEM:
            return True
        if self.view is View.CONTEXT:
            return entry.kind is Kind.USER_TEXT
        if entry.kind in PROMPTS:
            return entry.kind is segment.prompt_kind
        # Events repeat what the response items say, where there are such items.
        return entry.kind in (Kind.SAID, Kind.THOUGHT) and not segment.has_items

    def line(self, segment: Segment, entry: Entry) -> bytes:
        file = self.files.file(segment.path)
        file.seek(entry.place.offset)
        return file.read(entry.place.length).rstrip(b"\n")

    def _contents(self, segment: Segment, entry: Entry) -> Iterator[Content]:
        if self.view is View.HISTORY and entry.kind in PROMPTS:
            yield "user", entry.text, None
            return
        line = jsonl.read_at(self.files.file(segment.path), entry.place)
        if line is None:
            return
        payload = as_dict(line.get("payload")) or line
        match entry.kind:
            case Kind.COMPACTED if self.view is View.CONTEXT and not entry.replaced:
                yield "user", str(payload.get("message") or ""), None
            case Kind.COMPACTED if self.view is View.CONTEXT:
                for item in as_dicts(payload.get("replacement_history")):
                    yield from self._item(item)
            case Kind.COMPACTED if self.replaced and entry.replaced:
                summary = str(payload.get("message") or "")
                for item in as_dicts(payload.get("replacement_history")):
                    for role, text, tool in self._item(item):
                        yield ("summary" if summary and text == summary else role), text, tool
            case Kind.COMPACTED:
                yield "summary", str(payload.get("message") or "") or _last_text(payload), None
            case Kind.SAID:
                item = as_dict(payload.get("item")) or payload
                yield (
                    "assistant",
                    str(item.get("message") or "") or as_text(item.get("content")),
                    None,
                )
            case Kind.THOUGHT:
                yield "thinking", str(payload.get("text") or ""), None
            case _:
                yield from self._item(payload)

    def _item(self, item: dict[str, Any]) -> Iterator[Content]:
        call = str(item.get("call_id") or item.get("id") or "")
        match item.get("type"):
            case "message":
                yield from self._message(item)
            case "reasoning":
                text = as_text(item.get("summary")) or as_text(item.get("content"))
                if text or self.view is View.CONTEXT:
                    yield "thinking", text, None
            case "function_call" | "custom_tool_call" | "local_shell_call" | "web_search_call":
                given: Any = next(
                    (item[key] for key in ("arguments", "input", "action") if item.get(key)), ""
                )
                names = (item.get("namespace"), item.get("name") or str(item["type"]))
                name = "/".join(str(name) for name in names if name)
                self.names[call] = name
                told = gist(_parsed(given))
                yield "assistant", "", Tool(call, name, _as_json(given), gist=told)
            case "function_call_output" | "custom_tool_call_output":
                output = as_text(item.get("output"))
                yield "tool", "", Tool(call, self.names.get(call, ""), output=output)
            case _:
                pass

    def _message(self, item: dict[str, Any]) -> Iterator[Content]:
        role = item.get("role")
        if role not in ("user", "assistant"):
            return
        for part in as_dicts(item.get("content")):
            text = str(part.get("text") or "")
            if not text and "image" in str(part.get("type")):
                text = "[image]"
            injected = role == "user" and prompts.is_injected(text)
            if text and not (injected and self.view is View.HISTORY):
                yield ("user" if role == "user" else "assistant"), text, None


def _with_exit_code(tool: Tool, code: int) -> Tool:
    return replace(tool, failed=code != 0, exit_code=code)


def context_spans(spans: Iterable[Span]) -> list[Span]:
    """From the last compaction on: the entries that the model would get."""
    kept: list[Span] = []
    for span in spans:
        at = [i for i, entry in enumerate(span.entries) if entry.kind is Kind.COMPACTED]
        if not at:
            kept.append(span)
            continue
        last = span.pieces[at[-1]][1]
        # Where a compaction does not say what replaces the past, it is what people wrote in it.
        past = [] if last.replaced else [_written(one, at[-1]) for one in (*kept, span)]
        kept = [*past, Span(span.id, span.prompt, span.pieces[at[-1] :])]
    return kept


def _written(span: Span, before: int) -> Span:
    has_boundary = any(entry.kind is Kind.COMPACTED for entry in span.entries)
    pieces = span.pieces[:before] if has_boundary else span.pieces
    return Span(span.id, span.prompt, [piece for piece in pieces if piece[1].kind in PROMPTS])


def as_dict(value: Any) -> dict[str, Any]:
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def as_dicts(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        for element in cast(list[Any], value):
            if isinstance(element, dict):
                yield cast(dict[str, Any], element)


def as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "\n".join(str(part.get("text") or "") for part in as_dicts(value))


def _parsed(given: Any) -> Any:
    """Arguments are often JSON inside a string."""
    try:
        return json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given


def _as_json(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _last_text(payload: dict[str, Any]) -> str:
    """The summary stands last in the history that replaced the old one."""
    items = list(as_dicts(payload.get("replacement_history")))
    return as_text(items[-1].get("content")) if items else ""
