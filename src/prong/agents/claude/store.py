"""Claude Code's agent store: list, read, fork and start sessions."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import msgspec

from prong.agents import jsonl, versions
from prong.agents.base import ForkSource, ScanCache
from prong.agents.claude.folders import SUBAGENT, project_folder
from prong.agents.common import checked_id
from prong.agents.scan import FileScan, SessionFiles
from prong.agents.worker import WorkerStore, lazy_modules
from prong.files.regular import read_regular
from prong.model.forks import Child, Cut, Method
from prong.model.sessions import Activity, Message, Retention, Scan, Session, Skipped

# Readers and forks are imported on use: listing cached sessions needs none of them.
if TYPE_CHECKING:
    from prong.agents.claude import activity as live
    from prong.agents.claude import jobs, sessions, words
    from prong.agents.claude.fork import convert as conversion
    from prong.agents.claude.fork import copy as copying
    from prong.agents.claude.fork import source as sources
    from prong.files.publication import Publication
    from prong.model.turn_text import FileTexts, TextSink
else:
    live, jobs, sessions, words, conversion, copying, sources = lazy_modules(
        "prong.agents.claude",
        *("activity", "jobs", "sessions", "words", "fork.convert", "fork.copy", "fork.source"),
    )

_KIND = SessionFiles(agent="claude", version=12, reader=lambda: sessions.ClaudeReader())
_DEFAULT_RETENTION_DAYS = 30


class ClaudeStore(WorkerStore):
    """The sessions in `<root>/projects/*/*.jsonl`."""

    name = command = "claude"
    package = "prong.agents.claude"
    product = "Claude Code"
    install = "npm install -g @anthropic-ai/claude-code"
    tested = versions.CLAUDE
    root_variable = "CLAUDE_CONFIG_DIR"
    home = ".claude"
    longest_seed = 3_000_000

    def _scan(self, cache: ScanCache, sink: TextSink | None) -> Scan:
        def assemble() -> tuple[list[Session], list[Skipped]]:
            return sessions.assemble(files.facts, background)

        files = FileScan(_KIND, cache, self.roots, sink, lambda sink: words.ClaudeListener(sink))
        background = jobs.listed(self.roots)
        listed = [_visit(root, files) for root in self.roots]
        return files.finish(assemble, complete=all(listed), more=background)

    def session_at(self, path: Path) -> Session | None:
        return sessions.session_at(path)

    def file_texts(self, path: str, *, output: bool = True) -> FileTexts | None:
        return words.file_texts(path, output=output)

    def activity(self, session: Session) -> Activity:
        return live.activity(self.roots, session.id)

    def live_folders(self, _: Iterable[str], /) -> Iterable[Path]:
        return [root / "sessions" for root in self.roots]

    def source(self, session: Session, cache: ScanCache | None = None) -> sources.ClaudeSource:
        busy = self.activity(session) is Activity.BUSY
        file = jsonl.open_named(session.path)
        try:
            stat = os.fstat(file.fileno())
            recalled = _KIND.recall(cache, session.file, stat) if cache else None
            content = recalled or sessions.read(file, session.path)
            return sources.ClaudeSource(session, file, content, live=busy)
        except BaseException:
            file.close()
            raise

    def fork_id(self, method: Method, source: ForkSource, cut: Cut, wanted: str | None) -> str:
        if wanted is None:
            return str(uuid4())
        id_ = str(UUID(checked_id(wanted)))
        for root in self.roots:
            copying.check_free(root, id_)
        return id_

    def copy(self, source: ForkSource, cut: Cut, child: Child, publication: Publication) -> Session:
        assert isinstance(source, sources.ClaudeSource)
        root = child.root or self.root_of(source.session)
        path, tree = copying.write(source, cut, child, root, publication)
        return sessions.session_of(tree, path, path.stat())

    def convert(
        self, messages: Iterable[Message], child: Child, publication: Publication
    ) -> Session:
        root = child.root or self.roots[0]
        return conversion.convert(messages, child, root, publication, self.session_at)

    def retention(self, root: Path) -> Retention | None:
        settings = root / "settings.json"
        try:
            days = msgspec.json.decode(read_regular(settings), type=_Settings).cleanup_period_days
        except (OSError, ValueError):
            days = None
        if days is None:
            return Retention(_DEFAULT_RETENTION_DAYS, "the default of Claude Code")
        return Retention(days, f"cleanupPeriodDays in {settings}")

    def _sample_path(self, cwd: str, id_: str, text: str) -> Path:
        return self.roots[0] / "projects" / project_folder(cwd) / f"{id_}.jsonl"


class _Settings(msgspec.Struct, rename="camel"):
    cleanup_period_days: int | None = None


def _visit(root: Path, files: FileScan[Any, Any]) -> bool:
    """List the session files under a root; return whether nothing may be missing."""
    complete = True

    def entries(path: str) -> list[os.DirEntry[str]]:
        nonlocal complete
        try:
            with os.scandir(path) as listing:
                return list(listing)
        except FileNotFoundError:
            if path == projects:
                complete = not any(known.startswith(f"{root}/") for known in files.known)
        except NotADirectoryError:
            complete = complete and path != projects
        except OSError:
            complete = False
        return []

    projects = str(root / "projects")
    for folder in entries(projects):
        for entry in entries(folder.path):
            name = entry.name
            if name.endswith(".jsonl") and not name.startswith(SUBAGENT):
                try:
                    if entry.is_file():
                        files.stats[entry.path] = entry.stat()
                except FileNotFoundError:
                    continue
                except OSError:
                    complete = False
    return complete
