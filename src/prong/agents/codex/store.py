"""The session store of Codex, an `AgentStore`. It never opens Codex's sqlite files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from prong.agents import jsonl, versions
from prong.agents.base import ForkSource, ScanCache
from prong.agents.codex.library import Library, RolloutName, names
from prong.agents.common import checked_id
from prong.agents.scan import FileScan, SessionFiles
from prong.agents.words import KeptTexts
from prong.agents.worker import WorkerStore, lazy_modules
from prong.errors import Corrupt, NotFound, ProngError, UsageError
from prong.model.forks import Child, Cut, Launch, Method
from prong.model.record import replace
from prong.model.sessions import Activity, Message, Scan, Session, Skipped, TurnState

# Parsing, forking and launching are imported on use: listing sessions needs none of them.
if TYPE_CHECKING:
    from prong.agents.codex import activity as live
    from prong.agents.codex import facts, history, launch, words
    from prong.agents.codex.fork import convert as conversion
    from prong.agents.codex.fork import copy as copying
    from prong.agents.codex.fork import native
    from prong.agents.codex.fork import source as sources
    from prong.agents.codex.rollout import Rollout
    from prong.agents.headless import ProgramAnswer
    from prong.files.publication import Publication
    from prong.model.turn_text import FileTexts, TextSink
else:
    live, facts, history, launch, words, conversion, copying, native, sources = lazy_modules(
        "prong.agents.codex",
        *("activity", "facts", "history", "launch", "words"),
        *("fork.convert", "fork.copy", "fork.native", "fork.source"),
    )

_KIND = SessionFiles(agent="codex", version=5, reader=lambda: facts.RolloutReader())


class CodexStore(WorkerStore):
    """Sessions in `<root>/sessions/**` and `<root>/archived_sessions/`."""

    name = command = "codex"
    package = "prong.agents.codex"
    product = "Codex"
    install = "npm install -g @openai/codex"
    tested = versions.CODEX
    root_variable = "CODEX_HOME"
    home = ".codex"
    longest_seed = 1 << 20
    writes_empty = True
    chooses_ids = True
    _listed: Library | None = None

    def _scan(self, cache: ScanCache, sink: TextSink | None) -> Scan:
        library = self._listed = Library(self.roots)
        listeners: list[words.CodexListener] = []

        def listening(sink: TextSink) -> words.CodexListener:
            listeners.append(words.CodexListener(sink, library))
            return listeners[0]

        files = FileScan(_KIND, cache, self.roots, sink, listening)
        files.stats.update(library.stats)
        is_root_missing = any(
            path.startswith(f"{root}/") for root in library.missing for path in files.known
        )
        complete = library.complete and not is_root_missing
        titles = names(self.roots)

        def assemble() -> tuple[list[Session], list[Skipped]]:
            assembly = facts.Assembly(self.name, library, files.facts.get, titles)
            sessions = list(assembly.sessions())
            for listener in listeners:
                listener.finish(assembly)
                for path in listener.unread(files.known):
                    # A file that cannot be read any more keeps what was indexed.
                    with suppress(Corrupt):
                        if texts := self.file_texts(path, output=listener.sink.output):
                            listener.sink.take(texts)
            return sessions, assembly.skipped

        return files.finish(assemble, complete=complete, more=titles)

    def file_texts(self, path: str, *, output: bool = True) -> FileTexts | None:
        sink = KeptTexts(output=output)
        file = Path(path)
        # The list from the last scan suffices: callers only ask for files that it saw.
        last_library = self._listed if self._listed and self._listed.root_of(path) else None
        library = last_library or self._library(file)
        listener = words.CodexListener(sink, library)
        with closing(history.OpenFiles()) as files:
            try:
                stat = file.stat()
                with jsonl.open_named(file) as opened:
                    read = listener.read(opened)
            except (NotFound, FileNotFoundError):
                return None
            listener.summarise(read, path, stat)
            if listener.waiting:
                files.remember(file, read)
                listener.finish(facts.Assembly(self.name, library, _facts_in(files), {}))
        return sink.texts

    def session_at(self, path: Path) -> Session | None:
        with closing(history.OpenFiles()) as files:
            return self._session(path, files)

    def _session(self, path: Path, files: history.OpenFiles) -> Session | None:
        own = files.named(path)
        if own.header is None and not own.entries:
            if own.bad:
                raise Corrupt(f"nothing in {path} can be read", path=str(path))
            return None
        library = self._library(path)
        stat = path.stat()
        name = RolloutName.parse(path.name)
        thread = name.thread if name else (own.header and own.header.id) or path.stem
        assembly = facts.Assembly(self.name, library, _facts_in(files), names(self.roots))
        return assembly.session(thread, str(path), stat)

    def _library(self, path: Path) -> Library:
        """Build the library of the roots, plus the file's own root if it is another one."""
        roots = list(self.roots)
        for parent in path.absolute().parents:
            if parent.name in ("sessions", "archived_sessions") and parent.parent not in roots:
                roots.append(parent.parent)
        return Library(roots)

    def activity(self, session: Session) -> Activity:
        if not self._is_open(session):
            return Activity.CLOSED
        # After a rewind, the session may have continued in another file since it was listed.
        library = self._library(session.path)
        paths = library.thread(session.id, beside=session.file) or [session.file]
        newest = max(
            paths, key=lambda path: library.stats[path].st_mtime_ns if path in library.stats else 0
        )
        return live.last_mark(Path(newest))[0]

    def _is_open(self, session: Session) -> bool:
        return any(live.is_open(root, session.id) for root in self.roots)

    def live_folders(self, sessions: Iterable[str]) -> Iterable[Path]:
        return live.folders(self.roots, sessions)

    def source(self, session: Session, cache: ScanCache | None = None) -> sources.CodexSource:
        # Checked before reading, or a turn that ends meanwhile would seem interrupted.
        is_open = self._is_open(session)
        files = history.OpenFiles(partial(_recalled, cache) if cache else None)
        return sources.CodexSource(session, self._library(session.path), files, live=is_open)

    def fork_id(
        self, method: Method, source: ForkSource, cut: Cut, wanted: str | None
    ) -> str | None:
        if method is not Method.COPY:
            if wanted is not None:
                message = f"Codex chooses the id of a {method} fork"
                raise UsageError(message, hint="leave --id out, or use --method copy")
            return None
        if wanted is not None:
            return checked_id(wanted).lower()
        if (
            isinstance(source, sources.CodexSource)
            and self._own_root(source)
            and self._codex()
            and native.can_fork(source, cut)
        ):
            return None
        return copying.uuid7()

    def copy(self, source: ForkSource, cut: Cut, child: Child, publication: Publication) -> Session:
        assert isinstance(source, sources.CodexSource)
        running = [t.id for t in source.conversation.turns if t.state is TurnState.RUNNING]
        if cut.turn in running:
            raise native.busy(source.session)
        own_root = self._own_root(source)
        root = child.root or own_root or self.roots[0]
        path: Path | None = None
        if child.id is None and root == own_root and self._codex():
            publication.check()
            server = launch.server_argv(self.command)
            path = native.fork(source, cut, child, root, server, publication.check)
        if path is None:
            new_child = replace(child, id=child.id or copying.uuid7(), root=root)
            path = copying.write(source, cut, new_child, root, publication)
            self._give_name(new_child.id, new_child)
        with closing(source.files.again()) as files:
            session = self._session(path, files)
        assert session is not None
        return session

    def _give_name(self, id_: str | None, child: Child) -> None:
        if id_ and child.title and self._codex():
            root = child.root or self.roots[0]
            native.give_name(id_, child.title, root, launch.server_argv(self.command))

    def _codex(self) -> str | None:
        import shutil

        return shutil.which(self.program.name)

    def _own_root(self, source: sources.CodexSource) -> Path | None:
        root = source.library.root_of(source.session.file)
        return root if root in self.roots else None

    def convert(
        self, messages: Iterable[Message], child: Child, publication: Publication
    ) -> Session:
        root = child.root or self.roots[0]
        provider = launch.model_provider(self.command, root)
        session = conversion.convert(
            messages, child, root, publication, self.session_at, provider=provider
        )
        self._give_name(session.id, child)
        return session

    def native_fork(self, session: Session, child: Child, prompt: str | None = None) -> Launch:
        if child.id is None:
            self._check_unpacked(session)
        return super().native_fork(session, child, prompt)

    def fork_natively(self, session: Session, child: Child) -> str:
        root = self._native_root(session, child)
        self._check_unpacked(session)
        id_ = launch.fork_natively(self.command, session, child, self.environment(root))
        self._give_name(id_, replace(child, root=root))
        return id_

    def _native_root(self, session: Session, child: Child) -> Path:
        """Return the root for a native fork. Codex only forks threads in its own root."""
        root = child.root or self.root_of(session)
        path = session.path
        if path.is_relative_to(root) or path.parent.resolve().is_relative_to(root.resolve()):
            return root
        raise UsageError(
            f"Codex forks only what lies in {root}, and {session.ref} does not",
            hint=launch.COPY_INSTEAD,
        )

    def _check_unpacked(self, session: Session) -> None:
        """Raise `UsageError` if Codex would change the source's files to fork it."""
        with closing(self.source(session)) as source:
            packed = [segment.path for segment in source.chain if segment.path.suffix == ".zst"]
        if packed or session.archived:
            action = f"unpack {packed[0]}" if packed else f"take {session.path} out of the archive"
            message = f"Codex would {action} to fork {session.ref}"
            raise UsageError(message, hint=launch.COPY_INSTEAD)

    def seeded(self, child: Child, output: Iterable[str]) -> ProgramAnswer:
        answer = super().seeded(child, output)
        if answer.error is None:
            self._give_name(answer.session_id, child)
        return answer

    shown_sample = -1

    def _sample_path(self, cwd: str, id_: str, text: str) -> Path:
        started = json.loads(text.partition("\n")[0])["payload"]["timestamp"]
        day, time = started[:10], started[11:19].replace(":", "-")
        folder = self.roots[0] / "sessions" / day.replace("-", "/")
        return folder / f"rollout-{day}T{time}-{id_}.jsonl"


def _recalled(cache: ScanCache, path: Path, file: BinaryIO) -> Rollout | None:
    if path.suffix == ".zst":
        return None
    return _KIND.recall(cache, str(path), os.fstat(file.fileno()))


def _facts_in(files: history.OpenFiles) -> Callable[[str], facts.CodexFacts | None]:
    """Return a function that reads the facts of a file when they are first needed."""

    @cache
    def facts_of(path: str) -> facts.CodexFacts | None:
        with suppress(ProngError):  # it was deleted, or is unreadable
            return facts.summarise(files.named(Path(path)))
        return None

    return facts_of
