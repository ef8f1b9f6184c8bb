"""A conversation of another agent as a rollout file of Codex.

Only what Codex cannot do without: it adds its own instructions, environment and settings when the
thread is resumed. No model is named, so it goes on with the configured one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.agents import converting
from prong.agents.codex import new_thread
from prong.agents.codex.uuid7 import uuid7
from prong.agents.converting import Piece, PlainTurn, plain_turns
from prong.agents.ids import checked_id, is_uuid
from prong.model import Child, ForkPoint, Message, Session
from prong.publication import Publication

_VERSION = "0.166.0"
"""The CLI whose format this is."""


def convert(
    messages: Iterable[Message],
    child: Child,
    root: Path,
    publication: Publication,
    session_at: Callable[[Path], Session | None],
) -> Session:
    """Write a thread below a configuration root, read it back and publish it."""
    id_ = checked_id(child.id) if child.id else uuid7()
    new_thread.check_free(root, id_)
    now = datetime.now(UTC)
    target = new_thread.file_of(root, id_, now)
    staged = publication.stage(target)
    script = _Script(id_, child.cwd, child.parent)
    turns = plain_turns(messages, child.parent.session.agent)
    converting.write(staged, script.thread(turns, child.title, now))
    with new_thread.claimed(root, id_):
        return converting.publish(staged, target, script.turns, publication, session_at)


@dataclass
class _Script:
    """The lines of one thread, in the order in which they are written."""

    id: str
    cwd: Path
    parent: ForkPoint
    turns: int = 0
    _ordinal: int = 0

    def thread(
        self, turns: Iterable[PlainTurn], title: str | None, now: datetime
    ) -> Iterator[dict[str, Any]]:
        last: datetime | None = None
        for turn in turns:
            if last is None:
                yield self._header((turn.context or turn.pieces)[0].time)
            yield from self._turn(turn)
            last = turn.pieces[-1].time
        if last is None:
            if self.parent.turn_id is not None:
                raise converting.nothing_to_convert()
            # Before the first turn: a thread to begin anew.
            last = now
            yield self._header(now)
        if title:
            yield self._event(last, "thread_name_updated", thread_id=self.id, thread_name=title)

    def _header(self, time: datetime) -> dict[str, Any]:
        source = self.parent.session
        return self._line(
            "session_meta",
            time,
            session_id=self.id,
            id=self.id,
            # Codex reads this as an id of its own kind, or not at all.
            forked_from_id=source.id if is_uuid(source.id) else None,
            forked_from_agent=source.agent,
            forked_from_turn=self.parent.turn,
            timestamp=converting.timestamp(time),
            cwd=str(self.cwd),
            originator="prong",
            cli_version=_VERSION,
            source="cli",
            thread_source="user",
            history_mode="paginated",
        )

    def _turn(self, turn: PlainTurn) -> Iterator[dict[str, Any]]:
        self.turns += 1
        id_ = uuid7()
        begun, ended = turn.pieces[0].time, turn.pieces[-1].time
        yield self._event(begun, "task_started", turn_id=id_, started_at=int(begun.timestamp()))
        for piece in turn.context:
            yield self._said_by_user(piece)
        for piece in turn.pieces:
            if piece.role == "assistant":
                yield self._item(id_, piece, type="AgentMessage", content=[_part("Text", piece)])
                yield self._message("assistant", "output_text", piece)
                continue
            yield self._said_by_user(piece)
            if piece.role != "interrupt":
                # What has such an event is shown, and counts as a prompt.
                yield self._item(id_, piece, type="UserMessage", content=[_part("text", piece)])
        times = {
            "started_at": int(begun.timestamp()),
            "completed_at": int(ended.timestamp()),
            "duration_ms": int((ended - begun).total_seconds() * 1000),
        }
        if turn.is_answered:
            # Codex repeats the answer here; in ours all that the tools printed stands, too.
            yield self._event(ended, "task_complete", turn_id=id_, last_agent_message=None, **times)
        else:
            yield self._event(ended, "turn_aborted", turn_id=id_, reason="interrupted", **times)

    def _said_by_user(self, piece: Piece) -> dict[str, Any]:
        return self._message("user", "input_text", piece)

    def _message(self, role: str, kind: str, piece: Piece) -> dict[str, Any]:
        content = [_part(kind, piece)]
        return self._line("response_item", piece.time, type="message", role=role, content=content)

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


def _part(kind: str, piece: Piece) -> dict[str, Any]:
    return {"type": kind, "text": piece.text}
