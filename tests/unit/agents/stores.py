"""Stores to write sessions into and to read them back from: what the reader tests share."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar

from prong.agents.base import AgentStore
from prong.agents.claude.folders import project_folder
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.sessions import Conversation, Scan, Session, View
from prong.storage.scan_cache import NoCache
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample

START = datetime(2026, 11, 1, 12, tzinfo=UTC)
CWD = "/w/shop"

RawLine = bytes | Mapping[str, Any]


def uuid(number: int) -> str:
    """A different id for every number."""
    return f"{number:08x}-0000-4000-8000-{number:012x}"


def as_bytes(lines: Iterable[RawLine]) -> bytes:
    """Lines as an agent writes them; bytes stay what they are."""
    return b"".join(
        line
        if isinstance(line, bytes)
        else json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        for line in lines
    )


S = TypeVar("S", bound=AgentStore)


class Sessions(Generic[S]):
    """What can be asked of the sessions below one root."""

    def __init__(self, root: Path, store: S) -> None:
        self.root = root
        self.store = store

    def scan(self) -> Scan:
        return self.store.scan(NoCache())

    def ids(self) -> set[str]:
        return {session.id for session in self.scan().sessions}

    def session(self, id_: str) -> Session:
        (found,) = [session for session in self.scan().sessions if session.id == id_]
        return found

    def conversation(self, id_: str) -> Conversation:
        return self.store.conversation(self.session(id_))

    def prompts(self, id_: str) -> list[str]:
        return [turn.prompt for turn in self.conversation(id_).turns]

    def abandoned(self, id_: str) -> list[str]:
        return [turn.prompt for turn in self.conversation(id_).abandoned]

    def said(
        self, id_: str, view: View = View.HISTORY, turn: str | None = None
    ) -> list[tuple[str, str]]:
        """Role and text of the messages; for tools `name` of a call, the output of a result."""
        return [
            (message.role, message.text if not message.tool else message.tool.output or "call")
            for message in self.store.messages(self.session(id_), view=view, turn=turn)
        ]


class Claude(Sessions[ClaudeStore]):
    def __init__(self, root: Path) -> None:
        super().__init__(root, ClaudeStore([root]))

    def new(self, number: int = 1, *, cwd: str = CWD) -> ClaudeSample:
        return ClaudeSample(uuid(number), cwd, START)

    def path(self, id_: str, cwd: str = CWD) -> Path:
        return self.root / "projects" / project_folder(cwd) / f"{id_}.jsonl"

    def write(self, id_: str, lines: Iterable[RawLine], *, cwd: str = CWD) -> Path:
        path = self.path(id_, cwd)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(lines))
        return path


class Codex(Sessions[CodexStore]):
    def __init__(self, root: Path) -> None:
        super().__init__(root, CodexStore([root]))

    def new(self, number: int = 1, *, source: str = "cli", **meta: Any) -> CodexSample:
        return CodexSample(uuid(number), CWD, START, source=source, **meta)

    def path(self, id_: str, *, time: datetime = START, segment: str = "") -> Path:
        name = f"rollout-{time:%Y-%m-%dT%H-%M-%S}-{id_}{'_' if segment else ''}{segment}.jsonl"
        return self.root / "sessions" / name

    def write(
        self, id_: str, lines: Iterable[RawLine], *, time: datetime = START, segment: str = ""
    ) -> Path:
        path = self.path(id_, time=time, segment=segment)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_bytes(lines))
        return path
