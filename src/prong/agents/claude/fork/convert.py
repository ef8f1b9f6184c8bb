"""Convert a conversation of another agent to a session file of Claude Code.

Lines have the fields of the CLI's own lines that it reads again. No model is named: the CLI would
try to continue with that one.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from prong.agents import convert as converting
from prong.agents import versions
from prong.agents.claude.folders import project_folder
from prong.agents.claude.fork.copy import check_free
from prong.agents.claude.transcript import ZERO
from prong.agents.common import alone, checked_id
from prong.agents.convert import Part, Piece, PlainTurn, plain_turns
from prong.files.publication import Publication
from prong.model.forks import Child
from prong.model.sessions import Message, Session

_USAGE = {
    "input_tokens": 0,
    "cache_creation_input_tokens": 0,
    "cache_read_input_tokens": 0,
    "output_tokens": 0,
}


def convert(
    messages: Iterable[Message],
    child: Child,
    root: Path,
    publication: Publication,
    session_at: Callable[[Path], Session | None],
) -> Session:
    """Write a session under a configuration root, read it back and publish it."""
    id_ = checked_id(child.id) if child.id else str(uuid4())
    check_free(root, id_)
    target = root / "projects" / project_folder(child.cwd) / f"{id_}.jsonl"
    staged = publication.stage(target)
    source = child.parent.session
    script = _Script(
        {
            "userType": "external",
            "entrypoint": "cli",
            "cwd": str(child.cwd),
            "sessionId": id_,
            "version": versions.CLAUDE[-1],
            # Like a branch of the CLI, plus agent and turn.
            "forkedFrom": {
                "sessionId": source.id,
                "messageUuid": child.parent.turn_id or ZERO,
                "agent": source.agent,
                "turn": child.parent.turn,
            },
        }
    )
    converting.write(staged, script.session(plain_turns(messages, source.agent), child.title))
    with alone(root / "projects"):
        check_free(root, id_)
        return converting.publish(staged, target, script.turns, publication, session_at)


@dataclass
class _Script:
    common: dict[str, Any]
    """The fields of every line."""
    turns: int = 0
    _leaf: str | None = None

    def session(self, turns: Iterable[PlainTurn], title: str | None) -> Iterator[dict[str, Any]]:
        for turn in turns:
            yield from self._turn(turn)
        if self._leaf is None:
            raise converting.nothing_to_convert()
        self.turns = self.turns or 1  # a summary without prompts is read as one turn
        if title:
            id_ = self.common["sessionId"]
            yield {"type": "custom-title", "customTitle": title, "sessionId": id_}

    def _turn(self, turn: PlainTurn) -> Iterator[dict[str, Any]]:
        for piece in turn.context:
            yield self._said_by_user(piece, isMeta=True)
        for position, piece in enumerate(turn.pieces):
            if piece.role == "assistant":
                yield self._answer(piece)
            elif piece.role == "summary":
                yield self._said_by_user(piece, isCompactSummary=True)
            elif piece.role == "user" and (position == 0 or not self.turns):
                yield self._prompt(piece)
            else:
                # A message in the middle of the turn opens no turn.
                yield self._said_by_user(piece)

    def _prompt(self, piece: Piece) -> dict[str, Any]:
        self.turns += 1
        return self._said_by_user(
            piece,
            promptId=str(uuid4()),
            origin={"kind": "human"},
            promptSource="typed",
            turnOrigin="human",
            turnPosition={"promptIndex": self.turns, "turnIndex": self.turns},
        )

    def _said_by_user(self, piece: Piece, **fields: Any) -> dict[str, Any]:
        is_text = all(isinstance(part, str) for part in piece.parts)
        content = piece.text if is_text else [_block(part) for part in piece.parts]
        message = {"role": "user", "content": content}
        return self._line("user", piece.time, message=message, **fields)

    def _answer(self, piece: Piece) -> dict[str, Any]:
        message = {
            "id": f"msg_{uuid4().hex}",
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": piece.text}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": _USAGE,
        }
        return self._line("assistant", piece.time, message=message)

    def _line(self, type_: str, time: datetime, **fields: Any) -> dict[str, Any]:
        uuid = str(uuid4())
        line = {
            "parentUuid": self._leaf,
            "isSidechain": False,
            "type": type_,
            **fields,
            "uuid": uuid,
            "timestamp": converting.timestamp(time),
            **self.common,
        }
        self._leaf = uuid
        return line


def _block(part: Part) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    source = {"type": "base64", "media_type": part.type, "data": part.read()}
    return {"type": "image", "source": source}
