"""Written forks of Codex threads: what their tests share."""

import hashlib
import json
from contextlib import closing
from pathlib import Path
from typing import Any

from prong.files.publication import Publication
from prong.model.forks import Child, Cut, ForkPoint
from prong.model.sessions import Session, View
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import Codex, uuid

ID, OTHER, NEW, SEGMENT = uuid(1), uuid(2), uuid(9), uuid(8)


class Forks:
    """Forks threads of one store into a folder."""

    def __init__(self, codex: Codex, folder: Path) -> None:
        self.codex = codex
        self.store = codex.store
        self.into = folder / "into"
        self.into.mkdir()
        self.journal = folder / "journal"

    def make(
        self,
        path: Path,
        turn: int | str,
        *,
        full: bool = False,
        id_: str = NEW,
        title: str | None = None,
        into: Path | None = None,
    ) -> Session:
        before = hashlib.sha256(path.read_bytes()).hexdigest()
        session = self.store.session_at(path)
        assert session
        with closing(self.store.source(session)) as source, self.publication() as publication:
            turns = source.conversation.turns
            number = turn if isinstance(turn, int) else None
            chosen = turn if isinstance(turn, str) else turns[turn - 1].id if turn else None
            point = ForkPoint(session.ref, number, chosen)
            child = Child(id_, into or self.into, point, title)
            made = self.store.copy(source, Cut(chosen, full), child, publication)
        assert hashlib.sha256(path.read_bytes()).hexdigest() == before
        return made

    def publication(self) -> Publication:
        return Publication(self.journal)

    def prompts(self, session: Session) -> list[str]:
        return [turn.prompt for turn in self.store.conversation(session).turns]

    def context(self, session: Session) -> list[str]:
        return [m.text for m in self.store.messages(session, view=View.CONTEXT) if not m.tool]


def thread(codex: Codex, *prompts: str, number: int = 1, **meta: Any) -> CodexSample:
    sample = codex.new(number, **meta)
    for prompt in prompts:
        sample.turn(prompt, f"answer to {prompt}", commands=[("make", 0)])
    return sample


def write(codex: Codex, sample: CodexSample, **place: Any) -> Path:
    return codex.write(sample.id, sample.lines, **place)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
