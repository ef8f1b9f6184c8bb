"""A third agent, as a plug-in would bring it: `notes` keeps one JSON line for each turn.

`program.py` is its program, `last_turn.py` is what `prong-hook` reads its sessions with.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

from prong.agents.base import AgentHooks, AgentStore, ForkSource, HookedFiles, HookScope, ScanCache
from prong.agents.common import checked_id, parse_time
from prong.agents.headless import TurnOutput
from prong.agents.settings import mcp_base
from prong.agents.settings.mcp_base import AgentMcp, McpChange, McpEntry, McpScope, McpServer
from prong.errors import Corrupt, NotFound, Taken
from prong.files.publication import Publication
from prong.model.forks import Child, Cut, Extent, Launch, Method
from prong.model.sessions import (
    Conversation,
    KnownFile,
    Message,
    Program,
    Scan,
    Session,
    SessionRef,
    Turn,
    TurnKind,
    View,
)
from prong.model.workers import NewSession, RunOptions


class NotesStore(AgentStore):
    name = "notes"
    command = name

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        home = Path(os.environ.get("NOTES_HOME") or Path.home() / ".notes")
        self.roots = tuple(roots or [home])

    # -- reading -------------------------------------------------------------------------------

    def scan(self, cache: ScanCache) -> Scan:
        known = cache.known(self.name)
        files = [path for root in self.roots for path in sorted(root.glob("*.jsonl"))]
        stats = {str(path): path.stat() for path in files}
        now = {
            path: KnownFile(stat.st_size, stat.st_mtime_ns, stat.st_ino, b"")
            for path, stat in stats.items()
        }
        changed = {path: file for path, file in now.items() if known.get(path) != file}
        complete = all(root.is_dir() for root in self.roots)
        gone = frozenset(known) - now.keys() if complete else frozenset[str]()
        sessions = tuple(filter(None, map(self.session_at, files)))
        return Scan(sessions, (), changed, gone, complete)

    def session_at(self, path: Path) -> Session | None:
        head, *turns = lines(path)
        if "notes" not in head:
            return None
        return Session(
            SessionRef(self.name, path.stem),
            str(path),
            head.get("title") or (turns[0]["prompt"] if turns else "empty"),
            cwd=head["cwd"],
            updated=parse_time(turns[-1]["time"] if turns else head["time"]),
            turn_count=len(turns),
            parent=SessionRef(self.name, head["parent"]) if head.get("parent") else None,
            inherited=head.get("inherited", 0),
        )

    def conversation(self, session: Session) -> Conversation:
        turns = [
            Turn(number, line["turn"], TurnKind.HUMAN, line["prompt"])
            for number, line in enumerate(lines(session.path)[1:], start=1)
        ]
        return Conversation(session, tuple(turns))

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        for number, line in enumerate(lines(session.path)[1:], start=1):
            if turn in (None, line["turn"]):
                yield Message("user", line["prompt"], number)
                yield Message("assistant", line["answer"], number)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        for line in session.path.read_bytes().splitlines()[1:]:
            if turn in (None, json.loads(line)["turn"]):
                yield line

    # -- forks and launches --------------------------------------------------------------------

    def source(self, session: Session, cache: ScanCache | None = None) -> ForkSource:
        return NotesSource(self, session)

    def fork_id(
        self, method: Method, source: ForkSource, cut: Cut, wanted: str | None
    ) -> str | None:
        id_ = checked_id(wanted or str(uuid4()))
        if (self.roots[0] / f"{id_}.jsonl").exists():
            raise Taken(f"there is a session {self.name}:{id_} already")
        return id_

    def copy(self, source: ForkSource, cut: Cut, child: Child, publication: Publication) -> Session:
        session = source.conversation.session
        turns = lines(session.path)[1 : before(source.conversation, cut) + 1]
        return self._write(
            child, turns, {"parent": session.id, "inherited": len(turns)}, publication
        )

    def convert(
        self, messages: Iterable[Message], child: Child, publication: Publication
    ) -> Session:
        turns: list[dict[str, Any]] = []
        for message in messages:
            if message.role == "user":
                line = {"turn": str(uuid4()), "prompt": message.text, "answer": "", "time": TIME}
                turns.append(line)
            elif message.role == "assistant" and turns:
                turns[-1]["answer"] += message.text
        return self._write(child, turns, {}, publication)

    def _write(
        self,
        child: Child,
        turns: list[dict[str, Any]],
        facts: Mapping[str, Any],
        publication: Publication,
    ) -> Session:
        path = (child.root or self.roots[0]) / f"{child.id}.jsonl"
        head = {"notes": 1, "cwd": str(child.cwd), "title": child.title, "time": TIME, **facts}
        text = "".join(f"{json.dumps(line)}\n" for line in (head, *turns))
        staged = publication.stage(path)
        staged.write_text(text, encoding="utf-8")
        staged.chmod(0o600)
        publication.publish(path)
        session = self.session_at(path)
        assert session is not None
        return session

    @property
    def program(self) -> Program:
        install = "pipx install notes"
        return Program("notes", ("--session",), install, "NOTES_HOME", product="Notes")

    def start(self, child: Child, prompt: str | None = None) -> Launch:
        return self._launch(child.cwd, "--session", child.id or "", prompt=prompt)

    def resume(self, session: Session, cwd: Path, prompt: str | None = None) -> Launch:
        return self._launch(cwd, "--session", session.id, prompt=prompt)

    def _launch(self, cwd: Path, *words: str, prompt: str | None = None) -> Launch:
        command = (self.command,) if isinstance(self.command, str) else self.command
        return Launch((*command, *words, *([prompt] if prompt else [])), cwd)

    # -- workers -------------------------------------------------------------------------------

    def command_with(self, options: RunOptions) -> str | tuple[str, ...]:
        return self.command

    def begin(self, new: NewSession, prompt: str | None = None) -> Launch:
        return self._launch(new.cwd, "--session", new.id or "", prompt=prompt)

    def headless(self, session: NewSession, *, resume: bool) -> Launch:
        return self._launch(session.cwd, "--session", session.id or "", "--headless")

    def headless_events(self, output: Iterable[str]) -> TurnOutput:
        for line in output:
            if line.startswith("{"):
                event = json.loads(line)
                return TurnOutput(event["session"], is_over=True, reply=event["answer"])
        return TurnOutput()

    # -- settings ------------------------------------------------------------------------------

    @property
    def hooks(self) -> AgentHooks:
        return NotesHooks(self.roots[0])

    @property
    def mcp_servers(self) -> AgentMcp:
        return NotesMcp(self.roots[0])


class NotesSource:
    """A session to fork from."""

    def __init__(self, store: NotesStore, session: Session) -> None:
        self.conversation = store.conversation(session)
        self._messages = list(store.messages(session))

    def extent(self, cut: Cut) -> Extent:
        return Extent(
            before(self.conversation, cut), sum(len(message.text) for message in self.messages(cut))
        )

    def messages(self, cut: Cut) -> Iterator[Message]:
        last = before(self.conversation, cut)
        return (message for message in self._messages if (message.turn or 0) <= last)

    def close(self) -> None:
        pass


class NotesHooks(AgentHooks):
    """The file `hook.json` holds the command that the program calls."""

    def __init__(self, root: Path) -> None:
        self._file = root / "hook.json"

    def files(self, scope: HookScope, folder: Path) -> Sequence[Path]:
        return [self._file]

    def added(self, contents: Mapping[Path, bytes | None], command: Sequence[str]) -> HookedFiles:
        return HookedFiles({self._file: json.dumps([*command, "notes"]).encode()})

    def taken_out(self, contents: Mapping[Path, bytes | None]) -> Mapping[Path, bytes | None]:
        return {self._file: None}

    def found(self, contents: Mapping[Path, bytes | None]) -> Mapping[str, str]:
        content = contents[self._file]
        return {"turn": " ".join(json.loads(content))} if content else {}


class NotesMcp(AgentMcp):
    """The file `mcp.json` holds the servers; `notes mcp add` and `notes mcp remove` change it."""

    scopes = ("user",)
    hands_on_all = True

    def __init__(self, root: Path) -> None:
        self._file = root / "mcp.json"

    def entry(self, name: str, scope: McpScope, folder: Path) -> McpEntry | None:
        content = self._file.read_bytes() if self._file.exists() else b"{}"
        servers: dict[str, list[str]] = json.loads(content)
        return self._entry(scope, McpServer(tuple(servers[name]))) if name in servers else None

    def planned(self, name: str, scope: McpScope, folder: Path, server: McpServer) -> McpEntry:
        return self._entry(scope, McpServer(server.command))

    def _entry(self, scope: McpScope, server: McpServer) -> McpEntry:
        words = list(server.command)
        return McpEntry(scope, self._file, server, {"command": words}, json.dumps(words))

    def commands(self, change: McpChange) -> Sequence[Sequence[str]]:
        if change.after is None or change.after.server is None:
            return [["notes", "mcp", "remove", change.name]]
        return [["notes", "mcp", "add", change.name, *change.after.server.command]]

    def carry_out(self, change: McpChange) -> None:
        for argv in self.commands(change):
            mcp_base.run(argv, change.folder, {})


TIME = "2026-11-12T12:00:00Z"


def lines(path: Path) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    except FileNotFoundError:
        raise NotFound(f"{path} is gone") from None
    except ValueError:
        raise Corrupt(f"{path} is damaged") from None


def before(conversation: Conversation, cut: Cut) -> int:
    """Count the turns up to a cut."""
    ids = [turn.id for turn in conversation.turns]
    return ids.index(cut.turn) + 1 if cut.turn is not None else 0
