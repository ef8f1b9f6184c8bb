"""Real sessions of Claude Code: the truth, the forks, and what is sent for each."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Self, cast
from uuid import uuid4

from prong.agents.claude.store import ClaudeStore
from prong.app import App
from prong.errors import ProngError
from prong.forks.request import ForkRequest
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.server import RequestKind
from tests.drivers.claude_cli import ClaudeCli, ClaudeRun
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
REMINDER = re.compile(
    r"\s*<system-reminder>(?:(?!</?system-reminder>).)*</system-reminder>\s*", re.DOTALL
)
ZERO = "00000000-0000-0000-0000-000000000000"
CHAIN = ("user", "assistant", "attachment", "system", "progress")

# In a process of its own: it finds the sessions by HOME.
SDK_FORK = """
import sys
from claude_agent_sdk import fork_session
id_, up_to = sys.argv[1:]
print(fork_session(id_, up_to_message_id=up_to or None).session_id)
"""


def sessions(corpus: Path) -> Iterator[RealSession]:
    """The Claude Code sessions among the unpacked files of the corpus."""
    found = (session_at(path, corpus) for path in sorted(corpus.rglob("*.jsonl")))
    return (session for session in found if session is not None)


def session_at(path: Path, corpus: Path) -> RealSession | None:
    """The session in a file; None for what is none, or a sub-agent's, which its parent resumes."""
    lines = list(read_lines(path))
    chain = [line for line in lines if line.get("uuid") and line.get("type") in CHAIN]
    if not any(line["type"] in ("user", "assistant") for line in chain):
        return None
    if all(line.get("isSidechain") for line in chain):
        return None
    ids = [str(line["sessionId"]) for line in chain if line.get("sessionId")]
    is_id = len(path.stem) == len(ZERO) and path.stem.count("-") == ZERO.count("-")
    return RealSession(
        path,
        str(path.relative_to(corpus)),
        path.stem if is_id else max(ids, key=ids.count, default=str(uuid4())),
        path.stat().st_size,
        next((str(line["version"]) for line in chain if line.get("version")), ""),
        frozenset(_classes(lines, chain)),
    )


def _classes(lines: list[dict[str, Any]], chain: list[dict[str, Any]]) -> Iterator[str]:
    known = {line["uuid"] for line in chain}
    main = [line for line in chain if not line.get("isSidechain")]
    for line in main:
        yield from _classes_of(line)
        if line.get("parentUuid") and line["parentUuid"] not in known:
            yield "missing parent"
    ids = [_message(line).get("id") for line in main if line["type"] != "progress"]
    if _returns([id_ for id_, _ in groupby(ids)]):
        yield "interleaved message"
    kinds = [_is_result(line) for line in main]
    if any(both == (True, True) for both in pairwise(kinds)):
        yield "parallel results"
    if len(main) < len(chain):
        yield "inline sub-agent"
    if any(line.get("type") == "last-prompt" for line in lines):
        yield "last-prompt"


def _returns(ids: list[Any]) -> bool:
    """True when a message goes on after something else."""
    named = [id_ for id_ in ids if id_]
    return len(set(named)) < len(named)


def _classes_of(line: dict[str, Any]) -> Iterator[str]:
    content: Any = _message(line).get("content")
    for block in records(content):
        if block.get("type") == "thinking" and not block.get("thinking"):
            yield "signature-only thinking"
        if block.get("type") == "image":
            yield "image"
    if line["type"] in ("progress", "attachment"):
        yield line["type"]
    if line.get("subtype") in ("compact_boundary", "local_command"):
        yield str(line["subtype"])
    if line.get("isApiErrorMessage"):
        yield "API error"
    if line["type"] == "user":
        text = json.dumps(content)
        yield from (name for mark, name in MARKS.items() if mark in text)


MARKS = {
    "<teammate-message": "teammate",
    "<bash-input>": "bash mode",
    "[Request interrupted": "interrupt",
}


def _message(line: dict[str, Any]) -> dict[str, Any]:
    message: Any = line.get("message")
    return cast(dict[str, Any], message) if isinstance(message, dict) else {}


class ClaudeJudge:
    """A home with one real session and a running fake model."""

    def __init__(self, session: RealSession, folder: Path, program: Path | None = None) -> None:
        self.session = session
        self.home = IsolatedHome.create(folder)
        project = self.home.claude / "projects" / "-real"
        project.mkdir(parents=True)
        self.path = project / f"{session.id}.jsonl"
        shutil.copyfile(session.path, self.path)
        beside = session.path.with_suffix("")
        if beside.is_dir():
            shutil.copytree(beside, project / session.id)
        self.before = self.path.read_bytes()
        self.cwd = self.home.project("forks")
        self.server = FakeAnthropic()
        self.cli = ClaudeCli(self.home, self.server.url, program)
        store = ClaudeStore([self.home.claude])
        self.app = App(stores={store.name: store}, remember=False, needs_programs=False)
        found = store.session_at(self.path)
        self.turn_ids = [turn.id for turn in store.conversation(found).turns] if found else []
        self._chain = list(_chain(read_lines(self.path)))
        self._main = [line for line in read_lines(self.path) if _is_main(line)]
        self._answered = {
            block.get("tool_use_id")
            for line in self._main
            for block in _blocks_of(line, "tool_result")
        }

    def __enter__(self) -> Self:
        self.server.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self.app.close()
        self.server.close()
        shutil.rmtree(self.home.root, ignore_errors=True)

    def points(self) -> list[Point]:
        """Every turn that prong finds, or one point that stands for none at all."""
        turns = len(self.turn_ids)
        return [Point(self.session, number, turns) for number in range(1, turns + 1)] or [
            Point(self.session, 0, 0)
        ]

    # -- the truth ---------------------------------------------------------------------------

    def truth(self, point: Point) -> Sent:
        """What Claude Code itself sends when it forks the session at a turn."""
        target = self._end_of(point)
        arguments = ["--resume-session-at", target] if target else []
        return self._sent(
            lambda probe: self.cli.run(
                probe,
                self.cwd,
                resume=self.session.id,
                fork=True,
                persist=False,
                arguments=arguments,
            ),
            self.session.id,
        )

    def _end_of(self, point: Point) -> str | None:
        """The last main-chain line of a turn that was said; None at the end of the session."""
        if point.is_last:
            return None
        opener, following = self.turn_ids[point.turn - 1 : point.turn + 1]
        # Before a compaction that preserved messages the walk misses lines that the file has.
        own = _between(self._chain, opener, following) or _between(self._main, opener, following)
        own = [line for line in own if not self._is_lost(line)]
        said = [line for line in own if _is_said(line)] or own
        return str(said[-1]["uuid"]) if said else ZERO

    def _is_lost(self, line: dict[str, Any]) -> bool:
        """True for a call without a result, which Claude Code leaves out and so cannot name."""
        called = {block["id"] for block in _blocks_of(line, "tool_use")}
        return bool(called) and not called & self._answered

    # -- the forks ---------------------------------------------------------------------------

    def judge(self, point: Point, maker: str, truth: Sent) -> Verdict:
        try:
            fork = self.forked(point) if maker == "prong" else self.forked_by_sdk(point)
        except ProngError as error:
            return Verdict(point, maker, Outcome.REFUSED, f"{error.code}: {error.message}")
        except subprocess.CalledProcessError as error:
            return Verdict(point, maker, Outcome.REFUSED, str(error.stderr).strip()[-300:])
        try:
            sent = self.sent_by(fork)
            if sent.model != truth.model:
                # A fork of Claude Code's own does not keep a model that a refusal fell back to.
                sent = self.sent_by(fork, model=truth.model)
        except NotResumable as error:
            return Verdict(point, maker, Outcome.NOT_RESUMABLE, str(error))
        outcome, detail = compare(truth.history, sent.history)
        if self.path.read_bytes() != self.before:
            outcome, detail = Outcome.CONTENT, "the source changed"
        return Verdict(point, maker, outcome, detail)

    def forked(self, point: Point) -> str:
        """The id of prong's fork."""
        turn = f"@{self.turn_ids[point.turn - 1]}" if point.turn else ""
        options = ForkRequest(into=self.cwd)
        plan = self.app.forks.plan(f"claude:{self.session.id}{turn}", options)
        return self.app.forks.make(plan).child.id

    def forked_by_sdk(self, point: Point) -> str:
        """The id of the fork that claude-agent-sdk makes."""
        program = [sys.executable, "-c", SDK_FORK, self.session.id, self._end_of(point) or ""]
        done = subprocess.run(
            program, env=self.cli.env(), capture_output=True, text=True, timeout=120, check=True
        )
        return done.stdout.strip()

    # -- what is sent ------------------------------------------------------------------------

    def sent_by(self, fork: str, model: str | None = None) -> Sent:
        """What the model gets when a fork is resumed."""
        arguments = ["--model", model] if model else []
        return self._sent(
            lambda probe: self.cli.run(
                probe, self.cwd, resume=fork, persist=False, arguments=arguments
            ),
            fork,
        )

    def _sent(self, run: Callable[[str], ClaudeRun], session_id: str) -> Sent:
        probe = f"{PROBE} {uuid4()}"
        done = run(probe)
        for request in self.server.requests():
            if request.kind is RequestKind.MAIN and request.prompt == probe:
                history = self._normalised(request.body, probe, session_id)
                return Sent(str(request.body.get("model")), history)
        raise NotResumable((done.stderr or done.result).strip()[:300])

    def _normalised(self, body: dict[str, Any], probe: str, session_id: str) -> list[Any]:
        """One entry for each block, with its message's number and role: nothing else is equal."""
        text = json.dumps(body.get("messages"), ensure_ascii=False)
        for name, stand_in in (
            (probe, PROBE),
            (session_id, "SESSION"),
            (self.session.id, "SESSION"),
            (self.cli.project_folder(self.cwd).name, "PROJECT"),
            (self.path.parent.name, "PROJECT"),
            (str(self.home.root), "HOME"),
        ):
            text = text.replace(name, stand_in)
        messages: list[Any] = json.loads(text)
        entries: list[Any] = []
        number = 0
        for message in messages:
            if message["role"] == "system":
                continue
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            kept = [_without_cache(block) for block in blocks if not _is_reminder(block)]
            entries += [[number, message["role"], block] for block in kept]
            number += bool(kept)
        return entries


def _between(lines: list[dict[str, Any]], first: str, end: str) -> list[dict[str, Any]]:
    """The lines from one uuid up to another; none where either is missing."""
    uuids = [str(line["uuid"]) for line in lines]
    if first not in uuids or end not in uuids:
        return []
    return lines[uuids.index(first) : uuids.index(end)]


def _is_main(line: dict[str, Any]) -> bool:
    return bool(line.get("uuid") and line.get("type") in CHAIN and not line.get("isSidechain"))


def _is_said(line: dict[str, Any]) -> bool:
    """True for an answer, a tool's result, and the note that a person interrupted the turn."""
    interrupted = "[Request interrupted" in json.dumps(_message(line).get("content"))
    return line["type"] == "assistant" or _is_result(line) or interrupted


def _is_result(line: dict[str, Any]) -> bool:
    return bool(_blocks_of(line, "tool_result"))


def _blocks_of(line: dict[str, Any], type_: str) -> list[dict[str, Any]]:
    content: Any = _message(line).get("content")
    return [block for block in records(content) if block.get("type") == type_]


def _is_reminder(block: dict[str, Any]) -> bool:
    return block.get("type") == "text" and bool(REMINDER.fullmatch(str(block.get("text"))))


def _without_cache(value: Any) -> Any:
    if isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        return {key: _without_cache(own) for key, own in fields.items() if key != "cache_control"}
    if isinstance(value, list):
        return [_without_cache(own) for own in cast(list[Any], value)]
    return value


def _chain(lines: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The main chain, by the rule of facts/claude-code.md, section 5."""
    nodes: dict[str, dict[str, Any]] = {}
    named: dict[str, Any] = {}
    for line in lines:
        if line.get("type") == "last-prompt":
            named = line
        elif _is_main(line):
            nodes[line["uuid"]] = line
    spoken = [uuid for uuid, line in nodes.items() if line["type"] in ("user", "assistant")]
    found = {str(line["uuid"]): line for line in _walk(nodes, spoken[-1] if spoken else None)}
    leaf = named.get("leafUuid")
    if leaf in nodes and leaf not in found:
        found = {str(line["uuid"]): line for line in _walk(nodes, leaf)}
    yield from reversed(found.values())


def _walk(nodes: dict[str, dict[str, Any]], leaf: str | None) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    while leaf in nodes and leaf not in seen:
        seen.add(leaf)
        yield nodes[leaf]
        leaf = nodes[leaf].get("parentUuid") or nodes[leaf].get("logicalParentUuid")
