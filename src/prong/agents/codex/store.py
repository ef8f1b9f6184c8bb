"""The sessions of Codex, behind the `AgentStore` port. Its sqlite files are never opened."""

import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from prong.agents import jsonl
from prong.agents.codex import history, live, rollout, sample, turns
from prong.agents.codex.assembly import Assembly, names
from prong.agents.codex.facts import Facts, summarise
from prong.agents.codex.history import FileName, Library, Segment
from prong.agents.codex.messages import Renderer, context_spans
from prong.agents.codex.rollout import Kind, Rollout
from prong.agents.codex.turns import Span
from prong.agents.scanning import FileScan
from prong.agents.scanning import Kind as FileKind
from prong.errors import Corrupt
from prong.model import (
    Conversation,
    Message,
    Program,
    Scan,
    Session,
    SessionRef,
    Skipped,
    SubAgent,
    View,
)
from prong.ports import ScanCache

_FILE_KIND = FileKind(
    agent="codex",
    version=2,
    state=Rollout,
    facts=Facts,
    read=lambda file, previous: rollout.read(file, previous=previous),
    summarise=lambda read, _path, _stat: summarise(read),
)


def default_root() -> Path:
    configured = os.environ.get("CODEX_HOME")
    return Path(configured) if configured else Path.home() / ".codex"


class CodexStore:
    """Reads `<root>/sessions/**` and `<root>/archived_sessions/`."""

    name = "codex"
    program = Program(
        name="codex",
        flags=("resume", "fork", "exec", "app-server"),
        install="npm install -g @openai/codex",
        root_variable="CODEX_HOME",
    )

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots: Sequence[Path] = tuple(roots) if roots else (default_root(),)

    # -- listing -----------------------------------------------------------------------------

    def scan(self, cache: ScanCache) -> Scan:
        files = FileScan(_FILE_KIND, cache, self.roots)
        library = Library(self.roots)
        files.visit(library.files())
        lost = any(
            path.startswith(f"{root}/")
            for root, shelf in library.shelves.items()
            if not shelf.found
            for path in files.known
        )
        complete = library.complete and not lost
        given = names(self.roots)

        def assemble() -> tuple[list[Session], list[Skipped]]:
            assembly = Assembly(self.name, library, files.facts, given)
            return list(assembly.sessions()), assembly.skipped

        return files.finish(assemble, complete=complete, more=given)

    def session_at(self, path: Path) -> Session | None:
        own = _load(path)
        if own.header is None and not own.entries:
            if own.bad:
                raise Corrupt(f"nothing in {path} can be read", path=str(path))
            return None
        library = self._library(path)
        stat = path.stat()
        name = FileName.parse(path.name)
        if name is None:
            id_ = (own.header.id if own.header else None) or path.stem
            name = FileName("", id_, id_, packed=path.suffix == ".zst")
        facts = {str(path): summarise(own)}
        base = own.header.base if own.header else None
        while base is not None:
            inherited = library.find(base, beside=str(path))
            if inherited is None or inherited in facts:
                break
            facts[inherited] = summarise(_load(Path(inherited)))
            base = facts[inherited].header.base
        assembly = Assembly(self.name, library, facts, names(self.roots))
        return assembly.session(name.thread, str(path), stat)

    def _library(self, path: Path) -> Library:
        """The roots, and the one that the file itself lies in when it is another."""
        roots = list(self.roots)
        for parent in path.absolute().parents:
            if parent.name in ("sessions", "archived_sessions") and parent.parent not in roots:
                roots.append(parent.parent)
        return Library(roots)

    # -- one session -------------------------------------------------------------------------

    def conversation(self, session: Session) -> Conversation:
        skipped: list[Skipped] = []
        library = self._library(session.path)
        chain = _segments(session.path, library, skipped)
        cut = turns.cut(chain)
        active = turns.build(cut.active, live=self._is_open(session))
        dead = self._left_behind(session, chain, cut, library, skipped)
        return Conversation(
            session=session,
            turns=tuple(active),
            abandoned=tuple(turns.build(dead, numbered=False)),
            compactions=turns.compactions(cut.active),
            subagents=tuple(_subagents(session, chain, library)),
            skipped=tuple(skipped),
        )

    def _is_open(self, session: Session) -> bool:
        return any(live.is_open(root, session.id) for root in self.roots)

    def _left_behind(
        self,
        session: Session,
        chain: list[Segment],
        cut: turns.Cut,
        library: Library,
        skipped: list[Skipped],
    ) -> list[Span]:
        """Turns that were rolled back, or that rewinds left in the thread's earlier files."""
        own = chain[-1].rollout.header
        kept = {span.id for span in cut.active}
        found = {span.id: span for span in cut.rolled_back}
        for path in library.thread(session.id, beside=session.file):
            if path == session.file:
                continue
            other = _segments(Path(path), library, skipped)
            header = other[-1].rollout.header
            if own and header and header.id != own.id:
                # A sub-agent's file may bear its parent's name.
                continue
            for span in turns.cut(other).active:
                if span.prompt is not None and span.id not in kept:
                    found.setdefault(span.id, span)
        return list(found.values())

    def _parts(
        self, session: Session, view: View, turn: str | None
    ) -> Iterator[tuple[int | None, Span]]:
        skipped: list[Skipped] = []
        library = self._library(session.path)
        chain = _segments(session.path, library, skipped)
        cut = turns.cut(chain)
        if turn is None:
            if view is View.CONTEXT:
                yield from ((None, span) for span in context_spans(cut.active))
            else:
                yield from ((number or None, span) for number, span in enumerate(cut.active))
            return
        for number, span in enumerate(cut.active):
            if span.id == turn and span.prompt is not None:
                yield number, span
                return
        for span in self._left_behind(session, chain, cut, library, skipped):
            if span.id == turn:
                yield None, span
                return

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        with Renderer(view) as renderer:
            for number, span in self._parts(session, view, turn):
                yield from renderer.render(span, number)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        with Renderer(View.HISTORY) as renderer:
            for _, span in self._parts(session, View.HISTORY, turn):
                for segment, entry in span.pieces:
                    yield renderer.line(segment, entry)

    def write_samples(self, cwd: str, now: datetime) -> SessionRef:
        return SessionRef(self.name, sample.write_samples(self.roots[0], cwd, now))


def _subagents(session: Session, chain: list[Segment], library: Library) -> Iterator[SubAgent]:
    seen: set[str] = set()
    for _, entry in history.pieces(chain):
        if entry.kind is not Kind.SUBAGENT:
            continue
        for id_ in entry.agents:
            paths = library.thread(id_, beside=session.file)
            if paths and id_ not in seen:
                seen.add(id_)
                yield SubAgent(id_, Path(paths[-1]), None, entry.call)


def _load(path: Path) -> Rollout:
    with jsonl.opened(path) as file:
        return rollout.read(file)


def _segments(path: Path, library: Library, skipped: list[Skipped]) -> list[Segment]:
    own = _load(path)
    if own.header is None and not own.entries and own.bad:
        raise Corrupt(f"nothing in {path} can be read", path=str(path))
    return history.segments(path, own, library, skipped)
