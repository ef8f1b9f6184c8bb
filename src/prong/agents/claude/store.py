"""The sessions of Claude Code, behind the `AgentStore` port."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO
from uuid import UUID

import msgspec

from prong.agents import jsonl
from prong.agents.claude import lineage, live, sample, subagents, transcript, turns
from prong.agents.claude.facts import Facts, key_of, keys_in, summarise
from prong.agents.claude.folders import default_root
from prong.agents.claude.messages import Renderer
from prong.agents.claude.transcript import Node, Transcript
from prong.agents.claude.tree import Tree
from prong.agents.scanning import FileScan, Kind
from prong.agents.times import parse_time
from prong.errors import Corrupt, NotFound
from prong.model import (
    Conversation,
    Message,
    Program,
    Retention,
    Scan,
    Session,
    SessionRef,
    Skipped,
    View,
)
from prong.ports import ScanCache

_KIND = Kind(
    agent="claude",
    version=1,
    state=Transcript,
    facts=Facts,
    read=lambda file, previous: transcript.read(file, previous=previous),
    summarise=summarise,
)

_DEFAULT_RETENTION_DAYS = 30


class ClaudeStore:
    """Reads `<root>/projects/*/*.jsonl`."""

    name = "claude"
    program = Program(
        name="claude",
        flags=("--resume", "--fork-session", "--session-id", "--settings"),
        install="npm install -g @anthropic-ai/claude-code",
        root_variable="CLAUDE_CONFIG_DIR",
    )

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots: Sequence[Path] = tuple(roots) if roots else (default_root(),)

    # -- listing -----------------------------------------------------------------------------

    def scan(self, cache: ScanCache) -> Scan:
        files = FileScan(_KIND, cache, self.roots)
        complete = True
        for root in self.roots:
            listing = _Listing(root / "projects")
            files.visit(listing.files())
            lost = not listing.found and any(path.startswith(f"{root}/") for path in files.known)
            complete = complete and not listing.failed and not lost
        sessions, skipped = self._assemble(files)
        return Scan(
            sessions=tuple(sessions),
            skipped=(*skipped, *files.skipped),
            changed=files.changed,
            gone=files.gone() if complete else frozenset(),
            complete=complete,
        )

    def _assemble(self, files: FileScan[Transcript, Facts]) -> tuple[list[Session], list[Skipped]]:
        talks = {path: facts for path, facts in files.facts.items() if facts.conversation}
        skipped = [
            Skipped(Path(path), "no conversation in it")
            for path, facts in files.facts.items()
            if not facts.conversation
        ]
        parents = lineage.parents({_stem(path): facts for path, facts in talks.items()})
        titles = _titles_by_leaf(files.facts)
        sessions = [
            self._session(path, _stem(path), facts, files.stats[path], parents, titles)
            for path, facts in talks.items()
        ]
        return sessions, skipped

    def _session(
        self,
        path: str,
        id_: str,
        facts: Facts,
        stat: os.stat_result,
        parents: dict[str, lineage.Parent],
        titles: dict[tuple[str, bytes], str],
    ) -> Session:
        parent = parents.get(id_)
        return Session(
            ref=SessionRef(self.name, id_),
            file=path,
            title=facts.title or _summary_title(path, facts, titles) or facts.first_prompt,
            cwd=facts.cwds[-1] if facts.cwds else None,
            cwds=tuple(facts.cwds),
            branch=facts.branch,
            model=facts.model,
            entrypoint=facts.entrypoint,
            started=parse_time(facts.started),
            updated=parse_time(facts.updated) or datetime.fromtimestamp(stat.st_mtime, UTC),
            turn_count=facts.turns,
            size=stat.st_size,
            parent=SessionRef(self.name, parent.id) if parent else None,
            inherited=parent.inherited if parent else 0,
            headless=facts.headless,
        )

    def session_at(self, path: Path) -> Session | None:
        with _opened(path) as file:
            read = transcript.read(file)
            size = jsonl.size_of(file)
        if not read.nodes:
            if read.bad or not size:
                raise Corrupt(f"nothing in {path} can be read", path=str(path))
            return None
        facts = summarise(read)
        id_ = path.stem if _is_uuid(path.stem) else facts.session_id or path.stem
        parents = lineage.parents({id_: facts})
        return self._session(str(path), id_, facts, path.stat(), parents, {})

    # -- one session -------------------------------------------------------------------------

    def conversation(self, session: Session) -> Conversation:
        with _opened(session.path) as file:
            read = transcript.read(file)
        if not read.nodes and read.bad:
            raise Corrupt(f"nothing in {session.path} can be read", path=str(session.path))
        active, abandoned, compactions = turns.build(Tree(read), live=self._is_busy(session))
        return Conversation(
            session=session,
            turns=active,
            abandoned=abandoned,
            compactions=compactions,
            subagents=subagents.find(session.path, read),
            skipped=tuple(Skipped(session.path, reason, offset) for offset, reason in read.bad),
        )

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        with _opened(session.path) as file:
            read = transcript.read(file)
            tree = Tree(read)
            renderer = Renderer(file, read, view)
            for number, nodes in _parts(tree, view, turn):
                yield from renderer.render(nodes, number)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        with _opened(session.path) as file:
            tree = Tree(transcript.read(file))
            for _, nodes in _parts(tree, View.HISTORY, turn):
                for node in nodes:
                    file.seek(node.place.offset)
                    yield file.read(node.place.length).rstrip(b"\n")

    def _is_busy(self, session: Session) -> bool:
        return any(live.is_busy(root, session.id) for root in self.roots)

    # -- what only some agents have ------------------------------------------------------------

    def retention(self, root: Path) -> Retention | None:
        settings = root / "settings.json"
        try:
            days = msgspec.json.decode(settings.read_bytes(), type=_Settings).cleanup_period_days
        except (OSError, msgspec.MsgspecError):
            days = None
        if days is None:
            return Retention(_DEFAULT_RETENTION_DAYS, "the default of Claude Code")
        return Retention(days, f"cleanupPeriodDays in {settings}")

    def write_samples(self, cwd: str, now: datetime) -> SessionRef:
        return SessionRef(self.name, sample.write_samples(self.roots[0], cwd, now))


class _Settings(msgspec.Struct, rename="camel"):
    cleanup_period_days: int | None = None


class _Listing:
    """The session files under one `projects` folder."""

    def __init__(self, projects: Path) -> None:
        self.projects = projects
        self.found = True
        self.failed = False

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        for folder in self._entries(str(self.projects), is_root=True):
            if not folder.is_dir():
                continue
            for entry in self._entries(folder.path):
                name = entry.name
                if name.endswith(".jsonl") and not name.startswith(subagents.PREFIX):
                    try:
                        if entry.is_file():
                            yield entry.path, entry.stat()
                    except FileNotFoundError:
                        continue

    def _entries(self, path: str, *, is_root: bool = False) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                return list(entries)
        except FileNotFoundError:
            self.found = self.found and not is_root
        except OSError:
            self.failed = True
        return []


def _parts(tree: Tree, view: View, turn: str | None) -> Iterator[tuple[int | None, list[Node]]]:
    """The lines to show, cut into turns with their numbers."""
    if turn is None and view is View.CONTEXT:
        yield None, tree.context()
        return
    cut = turns.spans(tree.history, tree.transcript)
    if turn is None:
        for number, span in enumerate(cut):
            yield number or None, span.nodes
        return
    for number, span in enumerate(cut):
        if span.opener and span.opener.uuid == turn:
            yield number, span.nodes
            return
    for span in turns.abandoned_spans(tree):
        if span.opener and span.opener.uuid == turn:
            yield None, span.nodes
            return


def _titles_by_leaf(files: dict[str, Facts]) -> dict[tuple[str, bytes], str]:
    """(project folder, key of leafUuid) -> title, which may stand in another file."""
    return {
        (os.path.dirname(path), key_of(leaf)): title
        for path, facts in files.items()
        for leaf, title in facts.summaries.items()
    }


def _summary_title(path: str, facts: Facts, titles: dict[tuple[str, bytes], str]) -> str | None:
    if not titles:
        return None
    folder = os.path.dirname(path)
    for end in keys_in(facts.ends):
        if (folder, end) in titles:
            return titles[folder, end]
    return None


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".jsonl")


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    try:
        file = jsonl.open_file(path)
    except FileNotFoundError:
        raise NotFound(f"{path} is gone", hint="prong list", path=str(path)) from None
    except OSError as error:
        raise Corrupt(f"cannot read {path}: {error.strerror}", path=str(path)) from None
    with file:
        yield file
