"""Claude Code's agent store: list, read, fork and start sessions."""

import os
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO
from uuid import UUID, uuid4

import msgspec

from prong.agents import jsonl, versions
from prong.agents.base import ForkSource, ScanCache, TurnOver
from prong.agents.claude.folders import SUBAGENT, default_root, project_folder
from prong.agents.scan import FileScan, Reading, SessionFiles, no_conversation, recall
from prong.agents.worker import WorkerStore
from prong.errors import Corrupt, NotFound
from prong.files.regular import read_regular
from prong.model.forks import Child, Cut, Launch, Method
from prong.model.record import replace
from prong.model.sessions import (
    Activity,
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

# Readers, forks and launches are imported on use: listing cached sessions needs none of them.
if TYPE_CHECKING:
    from prong.agents.claude.facts import ClaudeFacts
    from prong.agents.claude.fork.source import ClaudeSource
    from prong.agents.claude.jobs import ClaudeJob
    from prong.agents.claude.lineage import Parent
    from prong.agents.claude.settings.hooks import ClaudeHooks
    from prong.agents.claude.settings.mcp_servers import ClaudeMcp
    from prong.agents.claude.transcript import ClaudeTranscript, TranscriptNode
    from prong.agents.claude.tree import Tree
    from prong.agents.claude.words import ClaudeListener
    from prong.agents.headless import ProgramAnswer
    from prong.files.publication import Publication
    from prong.model.turn_text import FileTexts, TextSink


def _reading() -> "Reading[ClaudeTranscript, ClaudeFacts]":
    from prong.agents.claude import transcript, words
    from prong.agents.claude.facts import ClaudeFacts, summarise
    from prong.agents.claude.transcript import ClaudeTranscript
    from prong.agents.claude.tree import Tree

    return Reading(
        state=ClaudeTranscript,
        facts=ClaudeFacts,
        read=lambda file, previous: transcript.read(file, previous=previous),
        summarise=lambda read, path, stat: summarise(
            Tree(read), SessionRef("claude", words.session_id(path)), path, stat
        ),
    )


_KIND = SessionFiles(agent="claude", version=11, reading=_reading)

_DEFAULT_RETENTION_DAYS = 30


class ClaudeStore(WorkerStore):
    """The sessions in `<root>/projects/*/*.jsonl`."""

    name = "claude"

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots: Sequence[Path] = tuple(roots) if roots else (default_root(),)

    # -- listing -----------------------------------------------------------------------------

    def scan(self, cache: ScanCache) -> Scan:
        return self._scan(FileScan(_KIND, cache, self.roots))

    def scan_texts(self, cache: ScanCache, sink: "TextSink") -> Scan:
        def listening() -> "ClaudeListener":
            from prong.agents.claude.words import ClaudeListener

            return ClaudeListener(sink)

        return self._scan(FileScan(_KIND, cache, self.roots, listening))

    def _scan(self, files: "FileScan[ClaudeTranscript, ClaudeFacts]") -> Scan:
        from prong.agents.claude import jobs

        complete = True
        background = jobs.listed(self.roots)
        for root in self.roots:
            listing = _Listing(root / "projects")
            files.visit(listing.files())
            lost = not listing.found and any(path.startswith(f"{root}/") for path in files.known)
            complete = complete and not listing.failed and not lost
        return files.finish(
            lambda: self._assemble(files, background), complete=complete, more=background
        )

    def _assemble(
        self, files: "FileScan[ClaudeTranscript, ClaudeFacts]", background: "list[ClaudeJob]"
    ) -> tuple[list[Session], list[Skipped]]:
        from prong.agents.claude import jobs, lineage

        conversations = [facts for facts in files.facts.values() if facts.conversation]
        skipped = [
            no_conversation(path) for path, facts in files.facts.items() if not facts.conversation
        ]
        sessions = {facts.session.id: facts for facts in conversations}
        parents = lineage.parents(sessions, jobs.forks(background))
        titles = _titles_by_folder(files.facts.values())
        return [_finished(facts, parents, titles) for facts in conversations], skipped

    def session_at(self, path: Path) -> Session | None:
        from prong.agents.claude.tree import Tree
        from prong.agents.common import is_uuid

        with jsonl.opened(path) as file:
            content = _read(file, path)
            stat = os.fstat(file.fileno())
        if not content.nodes:
            if content.bad or not stat.st_size:
                raise Corrupt(f"nothing in {path} can be read", path=str(path))
            return None
        # The file name is the id, unless somebody renamed the file to something else.
        ids = content.session_ids
        recorded = max(ids, key=ids.__getitem__) if ids and not is_uuid(path.stem) else None
        ref = SessionRef(self.name, recorded or path.stem)
        return _session(ref, path, Tree(content), stat)

    def file_texts(self, path: str, *, output: bool = True) -> "FileTexts | None":
        from prong.agents.claude.words import ClaudeListener
        from prong.agents.words import KeptTexts

        try:
            file = jsonl.open_named(Path(path))
        except NotFound:
            return None
        sink = KeptTexts(output=output)
        listener = ClaudeListener(sink)
        with file:
            stat = os.fstat(file.fileno())
            content = listener.read(file)
        listener.summarise(content, path, stat)
        return sink.texts

    # -- one session -------------------------------------------------------------------------

    def conversation(self, session: Session) -> Conversation:
        source = self.source(session)
        try:
            return source.conversation
        finally:
            source.close()

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        from prong.agents.claude.messages import ClaudeRenderer
        from prong.agents.claude.tree import Tree

        with jsonl.opened(session.path) as file:
            content = _read(file, session.path)
            tree = Tree(content)
            renderer = ClaudeRenderer(file, content, view, text_only=True)
            for number, nodes, absorbed in _parts(tree, view, turn):
                yield from renderer.render(nodes, number)
                for text in absorbed:
                    yield Message("user", text, number)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        from prong.agents.claude.tree import Tree

        with jsonl.opened(session.path) as file:
            tree = Tree(_read(file, session.path))
            for _, nodes, _ in _parts(tree, View.HISTORY, turn):
                for node in nodes:
                    file.seek(node.offset)
                    yield file.read(node.length).rstrip(b"\n")

    # -- forking -----------------------------------------------------------------------------

    def activity(self, session: Session) -> Activity:
        from prong.agents.claude import activity as live

        return live.activity(self.roots, session.id)

    def live_folders(self, _: Iterable[str], /) -> Iterable[Path]:
        return [root / "sessions" for root in self.roots]

    def source(self, session: Session, cache: ScanCache | None = None) -> "ClaudeSource":
        from prong.agents.claude.fork.source import ClaudeSource

        busy = self.activity(session) is Activity.BUSY
        file = jsonl.open_named(session.path)
        try:
            stat = os.fstat(file.fileno())
            recalled = recall(_KIND, cache, session.file, stat) if cache else None
            return ClaudeSource(session, file, recalled or _read(file, session.path), live=busy)
        except BaseException:
            file.close()
            raise

    writes_empty = False

    def fork_id(self, method: Method, source: ForkSource, cut: Cut, wanted: str | None) -> str:
        if wanted is None:
            return str(uuid4())
        from prong.agents.claude.fork import copy as copying
        from prong.agents.common import checked_id

        id_ = str(UUID(checked_id(wanted)))
        for root in self.roots:
            copying.check_free(root, id_)
        return id_

    def copy(
        self, source: ForkSource, cut: Cut, child: Child, publication: "Publication"
    ) -> Session:
        from prong.agents.claude import launch
        from prong.agents.claude.fork import copy as copying
        from prong.agents.claude.fork.source import ClaudeSource

        assert isinstance(source, ClaudeSource)
        root = child.root or launch.root_of(source.session.path, self.roots)
        path, tree = copying.write(source, cut, child, root, publication)
        return _session(SessionRef(self.name, path.stem), path, tree, path.stat())

    def convert(
        self, messages: Iterable[Message], child: Child, publication: "Publication"
    ) -> Session:
        from prong.agents.claude.fork import convert as conversion

        root = child.root or self.roots[0]
        return conversion.convert(messages, child, root, publication, self.session_at)

    # -- launches ----------------------------------------------------------------------------

    command = name
    longest_seed = 3_000_000

    @property
    def seed_flags(self) -> tuple[str, ...]:
        from prong.agents.claude import launch

        return launch.SEED_FLAGS

    @property
    def program(self) -> Program:
        from prong.agents.argv import executable
        from prong.agents.claude import launch

        return Program(
            name=executable(self.command, launch.PROGRAM),
            flags=launch.FLAGS,
            install="npm install -g @anthropic-ai/claude-code",
            root_variable="CLAUDE_CONFIG_DIR",
            product="Claude Code",
            tested=versions.CLAUDE,
        )

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        from prong.agents.claude import launch

        return launch.start(self.command, self.roots, child, prompt)

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        from prong.agents.claude import launch

        return launch.resume(self.command, self.roots, session, cwd, prompt)

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        from prong.agents.claude import launch

        return launch.native_fork(self.command, self.roots, session, child, prompt)

    def seed(self, child: Child) -> Launch:
        from prong.agents.claude import launch

        return launch.seed(self.command, self.roots, child)

    def seeded(self, child: Child, output: Iterable[str]) -> "ProgramAnswer":
        from prong.agents.claude.output import seed_answer

        return seed_answer(output)

    # -- workers -------------------------------------------------------------------------------

    chooses_ids = False

    @property
    def _worker(self) -> ModuleType:
        from prong.agents.claude import worker

        return worker

    @property
    def _trust(self) -> ModuleType:
        from prong.agents.claude.settings import trust

        return trust

    # -- optional capabilities -----------------------------------------------------------------

    def retention(self, root: Path) -> Retention | None:
        settings = root / "settings.json"
        try:
            days = msgspec.json.decode(read_regular(settings), type=_Settings).cleanup_period_days
        except (OSError, ValueError):
            days = None
        if days is None:
            return Retention(_DEFAULT_RETENTION_DAYS, "the default of Claude Code")
        return Retention(days, f"cleanupPeriodDays in {settings}")

    @property
    def hooks(self) -> "ClaudeHooks":
        from prong.agents.claude.settings.hooks import ClaudeHooks

        return ClaudeHooks(self.roots[0])

    @property
    def mcp_servers(self) -> "ClaudeMcp":
        from prong.agents.claude.settings.mcp_servers import ClaudeMcp

        return ClaudeMcp(self.roots[0], self.program.name)

    def write_samples(
        self, cwd: str, now: datetime, turn_over: TurnOver | None = None, /
    ) -> SessionRef:
        from prong.agents.samples import Samples, write_sample

        samples = Samples("prong.agents.claude", cwd, now, versions.CLAUDE[-1])
        if turn_over is not None:
            samples.replay(self.name, turn_over)
        folder = self.roots[0] / "projects" / project_folder(cwd)
        sessions = dict(samples.sessions())
        for id_, text in sessions.items():
            write_sample(folder / f"{id_}.jsonl", text)
        return SessionRef(self.name, next(iter(sessions)))


class _Settings(msgspec.Struct, rename="camel"):
    cleanup_period_days: int | None = None


class _Listing:
    """A listing of the session files under one `projects` folder."""

    def __init__(self, projects: Path) -> None:
        self.projects = projects
        self.found = True
        self.failed = False

    def files(self) -> Iterator[tuple[str, os.stat_result]]:
        for folder in self._entries(str(self.projects), is_root=True):
            try:
                if not folder.is_dir():
                    continue
            except OSError:
                self.failed = True
                continue
            for entry in self._entries(folder.path):
                name = entry.name
                if name.endswith(".jsonl") and not name.startswith(SUBAGENT):
                    try:
                        if entry.is_file():
                            yield entry.path, entry.stat()
                    except FileNotFoundError:
                        continue
                    except OSError:
                        self.failed = True

    def _entries(self, path: str, *, is_root: bool = False) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(path) as entries:
                return list(entries)
        except FileNotFoundError:
            self.found = self.found and not is_root
        except OSError:
            self.failed = True
        return []


_Part = tuple[int | None, list["TranscriptNode"], list[str]]
"""The number of a turn, its lines, and the prompts that have none."""


def _parts(tree: "Tree", view: View, turn: str | None) -> list[_Part]:
    """Split the lines to show into turns."""
    from prong.agents.claude import turns

    if turn is None and view is View.CONTEXT:
        return [(None, tree.context(), [])]
    cut = turns.cut(tree)
    span = cut.span(turn) if turn is not None else None
    lead: list[_Part] = [(None, cut.lead, [])] if turn is None else []
    spans = cut.active if turn is None else [span] if span else []
    return lead + [(span.number, span.nodes, span.absorbed) for span in spans]


def _read(file: BinaryIO, path: Path) -> "ClaudeTranscript":
    from prong.agents.claude import transcript

    content = transcript.read(file)
    if path.name.startswith(SUBAGENT):
        # A sub-agent's file marks all lines as sidechain, but here they are the conversation.
        for node in content.nodes.values():
            node.sidechain = False
    return content


def _session(ref: SessionRef, path: Path, tree: "Tree", stat: os.stat_result) -> Session:
    """Build a session from its own file, without the rest of the store."""
    from prong.agents.claude import lineage
    from prong.agents.claude.facts import summarise

    facts = summarise(tree, ref, str(path), stat)
    return _finished(facts, lineage.parents({ref.id: facts}), _titles_by_folder([facts]))


Titles = dict[str, dict[bytes, str]]
"""Project folder -> key of the line at which a session ended -> title."""


def _titles_by_folder(files: "Iterable[ClaudeFacts]") -> Titles:
    """Collect titles from `summary` lines, which may be in another file of the project."""
    from prong.agents.claude.facts import key_of

    titles: Titles = {}
    for facts in files:
        for leaf, title in facts.summaries.items():
            titles.setdefault(os.path.dirname(facts.session.file), {})[key_of(leaf)] = title
    return titles


def _finished(facts: "ClaudeFacts", parents: "dict[str, Parent]", titles: Titles) -> Session:
    """Add the parent and title that are recorded in other files."""
    from prong.agents.claude.facts import keys_in

    session = facts.session
    parent = parents.get(session.id)
    if parent:
        ref = SessionRef(session.agent, parent.id)
        session = replace(session, parent=ref, inherited=parent.inherited, forked_at=None)
    if titles and not facts.titled:
        folder_titles = titles.get(os.path.dirname(session.file), {})
        # The title of the latest end: earlier ends may have older titles.
        ends = reversed(keys_in(facts.ends)) if folder_titles else ()
        title = next((folder_titles[end] for end in ends if end in folder_titles), None)
        session = replace(session, title=title) if title else session
    return session
