"""One suite over all agents: the built-in ones, and a plug-in as an outsider would write it."""

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from prong.agents.base import AgentStore, ScanCache
from prong.errors import Corrupt, NotFound
from prong.model.sessions import (
    Conversation,
    KnownFile,
    Message,
    Scan,
    Session,
    SessionRef,
    Turn,
    TurnKind,
    View,
)
from prong.plugins import BUILT_IN, Registry
from prong.testing.contract import AgentStoreContract, TextsContract
from prong.testing.fork_contract import ForkContract

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)


class TestBuiltIn(AgentStoreContract):
    @pytest.fixture(params=BUILT_IN)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
        store = Registry().make(request.param, [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), NOON)
        return store


class TestTexts(TextsContract):
    @pytest.fixture(params=BUILT_IN)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
        store = Registry().make(request.param, [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), NOON)
        return store


class TestForks(ForkContract):
    @pytest.fixture(params=BUILT_IN)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path) -> AgentStore:
        store = Registry().make(request.param, [tmp_path / "root"])
        store.write_samples(str(tmp_path / "project"), NOON)
        return store


class NotesStore(AgentStore):
    """An agent that keeps one JSON list of prompts in each file: a plug-in fits on a screen."""

    name = "notes"

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots: Sequence[Path] = tuple(roots or ())

    def scan(self, cache: ScanCache) -> Scan:
        known = cache.known(self.name)
        files = [path for root in self.roots for path in sorted(root.glob("*.jsonl"))]
        changed: dict[str, KnownFile] = {}
        for path in files:
            stat = path.stat()
            file = KnownFile(stat.st_size, stat.st_mtime_ns, stat.st_ino, b"")
            if known.get(str(path)) != file:
                changed[str(path)] = file
        complete = all(root.is_dir() for root in self.roots)
        gone = frozenset(known) - {str(path) for path in files} if complete else frozenset[str]()
        sessions = tuple(filter(None, map(self.session_at, files)))
        return Scan(sessions, (), changed, gone, complete)

    def session_at(self, path: Path) -> Session | None:
        prompts = self._prompts(path)
        if prompts is None:
            return None
        ref = SessionRef(self.name, path.stem)
        return Session(ref, str(path), prompts[0], updated=NOON, turn_count=len(prompts))

    def _prompts(self, path: Path) -> list[str] | None:
        try:
            value = json.loads(path.read_bytes())
        except FileNotFoundError:
            raise NotFound(f"{path} is gone") from None
        except ValueError:
            raise Corrupt(f"{path} is damaged") from None
        return cast(list[str], value) if isinstance(value, list) else None

    def conversation(self, session: Session) -> Conversation:
        turns = [
            Turn(number, str(number), TurnKind.HUMAN, prompt)
            for number, prompt in enumerate(self._prompts(session.path) or (), start=1)
        ]
        return Conversation(session, tuple(turns))

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        for one in self.conversation(session).turns:
            if turn in (None, one.id):
                yield Message("user", one.prompt, one.index)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        yield session.path.read_bytes()


class TestPlugIn(AgentStoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> AgentStore:
        root = tmp_path / "notes"
        root.mkdir()
        (root / "one.jsonl").write_text(json.dumps(["buy tea", "buy milk"]))
        (root / "two.jsonl").write_text(json.dumps(["write home"]))
        return NotesStore([root])
