"""Convert another agent's conversation into a Codex rollout file.

Only required lines are written: on resume, Codex adds its own instructions, environment and
settings. No model is named, so the configured one is used.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.agents import convert as converting
from prong.agents import versions
from prong.agents.codex.fork.copy import check_free, claimed, file_of, uuid7
from prong.agents.common import checked_id, is_uuid
from prong.agents.convert import Part, Piece, PlainTurn, plain_turns
from prong.files.publication import Publication
from prong.model.forks import Child, ForkPoint
from prong.model.sessions import Media, Message, Session

_BYTES_PER_TOKEN = 4
_IMAGE_BYTES = 7_400
"""The model's cost of an image of common size, as bytes of text."""

_USAGE = (
    "input_tokens",
    "cached_input_tokens",
    "cache_write_input_tokens",
    "output_tokens",
    "reasoning_output_tokens",
)


def convert(
    messages: Iterable[Message],
    child: Child,
    root: Path,
    publication: Publication,
    session_at: Callable[[Path], Session | None],
    *,
    provider: str | None,
) -> Session:
    """Write a thread below a configuration root, read it back and publish it.

    `provider` is the model provider that it will be resumed with.
    """
    id_ = checked_id(child.id) if child.id else uuid7()
    check_free(root, id_)
    now = datetime.now(UTC)
    target = file_of(root, id_, now)
    staged = publication.stage(target)
    script = _Script(id_, child.cwd, child.parent, provider)
    turns = plain_turns(messages, child.parent.session.agent)
    converting.write(staged, script.thread(turns, child.title, now))
    with claimed(root, id_):
        return converting.publish(staged, target, script.turns, publication, session_at)


@dataclass
class _Script:
    id: str
    cwd: Path
    parent: ForkPoint
    provider: str | None
    turns: int = 0
    _ordinal: int = 0
    _bytes: int = 0
    """Size of the model's input so far; an image counts as `_IMAGE_BYTES`."""

    def thread(
        self, turns: Iterable[PlainTurn], title: str | None, now: datetime
    ) -> Iterator[dict[str, Any]]:
        time: datetime | None = None
        for turn in turns:
            if time is None:
                yield self._header((turn.context or turn.pieces)[0].time)
            yield from self._turn(turn)
            time = turn.pieces[-1].time
        if time is None:
            if self.parent.turn_id is not None:
                raise converting.nothing_to_convert()
            # A fork before the first turn is an empty thread.
            time = now
            yield self._header(now)
        if title:
            yield self._event(time, "thread_name_updated", thread_id=self.id, thread_name=title)

    def _header(self, time: datetime) -> dict[str, Any]:
        source = self.parent.session
        return self._line(
            "session_meta",
            time,
            session_id=self.id,
            id=self.id,
            # Codex accepts only a UUID here.
            forked_from_id=source.id if is_uuid(source.id) else None,
            forked_from_agent=source.agent,
            forked_from_turn=self.parent.turn,
            timestamp=converting.timestamp(time),
            cwd=str(self.cwd),
            originator="prong",
            cli_version=versions.CODEX[-1],
            source="cli",
            thread_source="user",
            **({"model_provider": self.provider} if self.provider else {}),
            history_mode="paginated",
        )

    def _turn(self, turn: PlainTurn) -> Iterator[dict[str, Any]]:
        self.turns += 1
        id_ = uuid7()
        begun, ended = turn.pieces[0].time, turn.pieces[-1].time
        yield self._event(begun, "task_started", turn_id=id_, started_at=int(begun.timestamp()))
        for piece in turn.context:
            yield self._message("user", piece, *map(_sent, piece.parts))
        for piece in turn.pieces:
            if piece.role == "assistant":
                content = {"type": "Text", "text": piece.text}
                yield self._item(id_, piece, type="AgentMessage", content=[content])
                yield self._message("assistant", piece, {"type": "output_text", "text": piece.text})
                continue
            yield self._message("user", piece, *map(_sent, piece.parts))
            if piece.role in ("user", "summary"):
                # Only messages with such an event are shown and count as prompts.
                shown = [_shown(part) for part in piece.parts]
                yield self._item(id_, piece, type="UserMessage", content=shown)
        yield self._tokens(ended)
        times = {
            "started_at": int(begun.timestamp()),
            "completed_at": int(ended.timestamp()),
            "duration_ms": int((ended - begun).total_seconds() * 1000),
        }
        # Codex repeats the answer at the end; ours also contains the tools' output.
        end = {"last_agent_message": None} if turn.is_answered else {"reason": "interrupted"}
        type_ = "task_complete" if turn.is_answered else "turn_aborted"
        yield self._event(ended, type_, turn_id=id_, **end, **times)

    def _message(self, role: str, piece: Piece, *content: dict[str, Any]) -> dict[str, Any]:
        for part in piece.parts:
            is_text = isinstance(part, str)
            self._bytes += len(part.encode(errors="replace")) if is_text else _IMAGE_BYTES
        return self._line("response_item", piece.time, type="message", role=role, content=content)

    def _tokens(self, time: datetime) -> dict[str, Any]:
        """Report the context's size: Codex compacts a thread that its model cannot take whole.

        Codex's own importer writes such an estimate, too.
        """
        usage = dict.fromkeys(_USAGE, 0) | {"total_tokens": self._bytes // _BYTES_PER_TOKEN}
        info = {
            "total_token_usage": usage,
            "last_token_usage": usage,
            "model_context_window": None,
        }
        return self._event(time, "token_count", info=info, rate_limits=None)

    def _item(self, turn: str, piece: Piece, **item: Any) -> dict[str, Any]:
        item["id"] = uuid7()
        return self._event(piece.time, "item_completed", thread_id=self.id, turn_id=turn, item=item)

    def _event(self, time: datetime, type_: str, **payload: Any) -> dict[str, Any]:
        return self._line("event_msg", time, type=type_, **payload)

    def _line(self, line_type: str, time: datetime, **payload: Any) -> dict[str, Any]:
        line = {
            "timestamp": converting.timestamp(time),
            "ordinal": self._ordinal,
            "type": line_type,
            "payload": payload,
        }
        self._ordinal += 1
        return line


def _sent(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "input_text", "text": part}
    return {"type": "input_image", "image_url": _data_url(part), "detail": "high"}


def _shown(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part, "text_elements": []}
    return {"type": "image", "image_url": _data_url(part)}


def _data_url(image: Media) -> str:
    return f"data:{image.type};base64,{image.read()}"
