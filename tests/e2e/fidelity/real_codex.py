"""Real sessions of Codex: the truth, the forks, and what is sent for each."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self, cast
from uuid import uuid4

from prong.agents.codex.fork.copy import uuid7
from prong.agents.codex.store import CodexStore
from prong.app import App
from prong.errors import ProngError
from prong.forks.request import ForkRequest
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.server import RequestKind
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_server import CodexServer, RpcError
from tests.drivers.requests import records
from tests.e2e.fidelity.real_sessions import (
    NotResumable,
    Outcome,
    Point,
    RealSession,
    Sent,
    Verdict,
    compare,
    read_lines,
)

PROBE = "PROBE"
PROVIDER = re.compile(rb'("model_provider(?:_id)?"\s*:\s*)"[^"]*"')


def sessions(corpus: Path) -> Iterator[RealSession]:
    """The Codex sessions among the unpacked files of the corpus."""
    found = (session_at(path, corpus) for path in sorted(corpus.rglob("*.jsonl")))
    return (session for session in found if session is not None)


def session_at(path: Path, corpus: Path) -> RealSession | None:
    """The session in a file; None for what is none, or a sub-agent's, which its parent resumes."""
    lines = list(read_lines(path))
    if not lines or not ("payload" in lines[0] or "instructions" in lines[0]):
        return None
    meta = _payload(lines[0]) or lines[0]
    if not meta.get("id") or isinstance(meta.get("source"), dict):
        return None
    return RealSession(
        path,
        str(path.relative_to(corpus)),
        str(meta["id"]),
        path.stat().st_size,
        str(meta.get("cli_version", "")),
        frozenset(_classes(lines)),
    )


def _payload(line: dict[str, Any]) -> dict[str, Any]:
    payload: Any = line.get("payload")
    return cast(dict[str, Any], payload) if isinstance(payload, dict) else {}


def _classes(lines: list[dict[str, Any]]) -> Iterator[str]:
    meta = _payload(lines[0])
    yield str(meta.get("history_mode", "legacy")) if meta else "before the wrapper"
    for line in lines:
        payload = _payload(line) or line
        match payload.get("type") or line.get("type"):
            case "compacted" | "context_compacted":
                yield "compaction"
            case "turn_aborted":
                yield "interrupt"
            case "reasoning":
                yield "reasoning"
            case "custom_tool_call":
                yield "custom tool"
            case _:
                if line.get("type") == "compacted":
                    yield "compaction"


class CodexJudge:
    """Two homes with the same real session, one for Codex itself and one for prong."""

    def __init__(self, session: RealSession, folder: Path, program: Path | None = None) -> None:
        self.session = session
        self.folder = folder
        self.server = FakeOpenAI()
        self.native = self._home(folder / "native", program)
        self.ours = self._home(folder / "prong", program)
        store = CodexStore([self.ours.home.codex])
        self.app = App(stores={store.name: store}, remember=False, needs_programs=False)
        found = store.session_at(self._file(self.ours.home))
        turns = store.conversation(found).turns if found else ()
        self.turn_ids = [turn.id for turn in turns]
        self.before = self._file(self.ours.home).read_bytes()

    def _home(self, folder: Path, program: Path | None) -> CodexCli:
        home = IsolatedHome.create(folder)
        path = self._file(home)
        path.parent.mkdir(parents=True)
        # A thread cannot be resumed with another provider than its own, and ours is the fake one.
        path.write_bytes(PROVIDER.sub(rb'\1"fake"', self.session.path.read_bytes()))
        cli = CodexCli(home, self.server.url, program)
        cli.trust(home.project("forks"))
        return cli

    def _file(self, home: IsolatedHome) -> Path:
        name = f"rollout-2026-01-01T00-00-00-{self.session.id}.jsonl"
        return home.codex / "sessions/2026/01/01" / name

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.app.close()
        self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def points(self) -> list[Point]:
        """Every turn that prong finds, or one point that stands for none at all."""
        turns = len(self.turn_ids)
        numbers = range(1, turns + 1) if turns else [0]
        return [Point(self.session, number, turns) for number in numbers]

    def truth(self, point: Point) -> Sent:
        """What Codex itself sends when it goes on from a turn."""
        cwd = self.native.home.project("forks")
        thread = self.session.id
        if not point.is_last:
            try:
                with CodexServer(self.native, cwd) as server:
                    thread = self._native_fork(server, point, cwd)
            except RpcError as error:
                raise NotResumable(str(error)[:300]) from error
        sent = self._sent(self.native, thread)
        said = any(item.get("role") == "assistant" for item in sent.history)
        if not point.turns and not said:
            raise NotResumable("no messages in it")
        return sent

    def _native_fork(self, server: CodexServer, point: Point, cwd: Path) -> str:
        turns: list[dict[str, Any]] = []
        cursor: str | None = None
        while True:
            page = server.call(
                "thread/turns/list",
                threadId=self.session.id,
                sortDirection="asc",
                itemsView="full",
                cursor=cursor,
            )
            turns += page["data"]
            cursor = page.get("nextCursor")
            if not cursor:
                break
        asked = [turn for turn in turns if _is_asked(turn)]
        if len(asked) != point.turns:
            raise NotResumable(f"Codex counts {len(asked)} turns")
        # A compaction that was asked for behind a turn is a turn of its own to Codex.
        last = turns[turns.index(asked[point.turn]) - 1]
        answer = server.call(
            "thread/fork",
            threadId=self.session.id,
            lastTurnId=last["id"],
            cwd=str(cwd),
            excludeTurns=True,
        )
        return str(answer["thread"]["id"])

    def judge(self, point: Point, maker: str, truth: Sent) -> Verdict:
        cwd = self.ours.home.project("forks")
        turn = f"@{self.turn_ids[point.turn - 1]}" if point.turn else ""
        try:
            # With an id prong writes the file itself, also where Codex would make the fork.
            options = ForkRequest(into=cwd, id=uuid7())
            plan = self.app.forks.plan(f"codex:{self.session.id}{turn}", options)
            fork = self.app.forks.make(plan).child.id
        except ProngError as error:
            return Verdict(point, maker, Outcome.REFUSED, f"{error.code}: {error.message}")
        try:
            sent = self._sent(self.ours, fork)
        except NotResumable as error:
            return Verdict(point, maker, Outcome.NOT_RESUMABLE, str(error))
        outcome, detail = compare(truth.history, sent.history)
        if self._file(self.ours.home).read_bytes() != self.before:
            outcome, detail = Outcome.CONTENT, "the source changed"
        return Verdict(point, maker, outcome, detail)

    def _sent(self, cli: CodexCli, thread: str) -> Sent:
        probe = f"{PROBE} {uuid4()}"
        done = cli.resume(thread, probe, cli.home.project("forks"))
        for request in self.server.requests():
            if request.kind is RequestKind.MAIN and request.prompt == probe:
                if done.thread_id != thread:
                    raise NotResumable(f"Codex began another thread: {done.stderr[:200]}")
                text = json.dumps(request.body.get("input"), ensure_ascii=False)
                for name, stand_in in (
                    (probe, PROBE),
                    (thread, "THREAD"),
                    (self.session.id, "THREAD"),
                    (str(cli.home.root), "HOME"),
                ):
                    text = text.replace(name, stand_in)
                items = [
                    self._without_made_id(item)
                    for item in json.loads(text)
                    if item.get("role") != "developer"
                ]
                return Sent(str(request.body.get("model")), items)
        errors = [str(event) for event in done.events if "error" in json.dumps(event)]
        raise NotResumable("; ".join([*errors, done.stderr])[-300:])

    def _without_made_id(self, item: dict[str, Any]) -> dict[str, Any]:
        """Codex makes ids from that of the thread for messages that were stored without one."""
        if str(item.get("id")).encode() in self.before:
            return item
        return {key: value for key, value in item.items() if key != "id"}


def _is_asked(turn: dict[str, Any]) -> bool:
    return any(item.get("type") == "userMessage" for item in records(turn.get("items")))
