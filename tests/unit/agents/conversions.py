"""Converts messages into a session of either agent and reads it back: what these tests share."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from prong.agents.base import AgentStore
from prong.agents.claude.fork import convert as claude_conversion
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.fork import convert as codex_conversion
from prong.agents.codex.launch import model_provider
from prong.agents.codex.store import CodexStore
from prong.files.publication import Publication
from prong.model.forks import Child, ForkPoint
from prong.model.sessions import Conversation, Message, Role, Session, SessionRef, Tool, View
from tests.unit.agents.stores import CWD, START, uuid

AGENTS = ("claude", "codex")
SOURCE = uuid(99)


def other(agent: str) -> str:
    return "codex" if agent == "claude" else "claude"


def store_of(agent: str, root: Path) -> AgentStore:
    return ClaudeStore([root]) if agent == "claude" else CodexStore([root])


@dataclass(frozen=True)
class Converted:
    """A session that was converted, as our own store reads it."""

    store: AgentStore
    session: Session

    @property
    def conversation(self) -> Conversation:
        return self.store.conversation(self.session)

    @property
    def prompts(self) -> list[str]:
        return [turn.prompt for turn in self.conversation.turns]

    @property
    def states(self) -> list[str]:
        return [str(turn.state) for turn in self.conversation.turns]

    def said(self, view: View = View.CONTEXT) -> list[tuple[str, str]]:
        """Who said what; what the model would get, unless another view is asked for."""
        return [
            (message.role, message.text) for message in self.store.messages(self.session, view=view)
        ]

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.session.path.read_bytes().split(b"\n") if line]


def convert(
    messages: Iterable[Message],
    agent: str,
    root: Path,
    *,
    source: str = SOURCE,
    id_: str | None = None,
    title: str | None = None,
    cwd: Path = Path(CWD),
) -> Converted:
    """Write the messages of the other agent as a session of this one."""
    store = store_of(agent, root)
    point = ForkPoint(SessionRef(other(agent), source), 2, uuid(2))
    child = Child(id_, cwd, point, title)
    with Publication(root.parent / "journal") as publication:
        made = _converted(messages, agent, child, root, publication)
    # What the store finds later must be what was handed over.
    found = store.session_at(made.path)
    assert found is not None
    assert (found.ref, found.turn_count, found.title) == (made.ref, made.turn_count, made.title)
    return Converted(store, made)


def _converted(
    messages: Iterable[Message], agent: str, child: Child, root: Path, publication: Publication
) -> Session:
    """As the store does it, but without asking the real program to name the session."""
    session_at = store_of(agent, root).session_at
    if agent == "claude":
        return claude_conversion.convert(messages, child, root, publication, session_at)
    provider = model_provider("codex", root)
    return codex_conversion.convert(
        messages, child, root, publication, session_at, provider=provider
    )


def message(role: Role, text: str, turn: int | None = None, second: float | None = None) -> Message:
    time = None if second is None else START + timedelta(seconds=second)
    return Message(role, text, turn, None, time)


def call(id_: str, name: str, given: Any, turn: int | None = 1, gist: str = "") -> Message:
    text = given if isinstance(given, str) else json.dumps(given)
    return Message("assistant", "", turn, Tool(id_, name, text, gist=gist))


def result(
    id_: str,
    output: str,
    turn: int | None = 1,
    *,
    failed: bool = False,
    exit_code: int | None = None,
) -> Message:
    tool = Tool(id_, "", output=output, failed=failed, exit_code=exit_code)
    return Message("tool", "", turn, tool)
