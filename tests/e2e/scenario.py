"""What a scenario builder hands over: a session on disk, and what the agent makes of it."""

from __future__ import annotations

import json
import shutil
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prong.agents.base import AgentStore
from prong.app import App
from prong.forks.request import ForkRequest
from prong.testing.anthropic import FakeAnthropic
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Answer, Reply
from prong.testing.server import FakeModelServer, Request

ROOT = Path(__file__).parents[2]
TINY_MCP = "tests.e2e.workers.tiny_mcp_server"
PROBE = "PROBE: what did we do so far?"


@dataclass(frozen=True)
class Scenario:
    """A built session.

    `root` is a copy of the config root's sessions, taken before the probe; `path` lies in it.
    `resume_request` is the body that the agent sent to the model when the session was resumed
    with the prompt `probe`. `native_requests` are the bodies of the main conversation while the
    session was built, in order: what the agent itself sent at each step; `native_answers` are the
    documents that the fake model gave to each of them, {} where it refused.
    """

    agent: str
    name: str
    root: Path
    session_id: str
    path: Path
    cwd: Path
    probe: str
    resume_request: dict[str, Any] = field(repr=False)
    native_requests: list[dict[str, Any]] = field(repr=False)
    native_answers: list[dict[str, Any]] = field(repr=False)

    def save(self, folder: Path) -> None:
        """Write everything to a folder, for looking at it outside a test."""
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.root, folder / "root")
        (folder / "request.json").write_text(json.dumps(self.resume_request, indent=1))
        (folder / "probe.txt").write_text(self.probe)
        about = {
            "session_id": self.session_id,
            "path": str(self.path.relative_to(self.root)),
            "cwd": str(self.cwd),
        }
        (folder / "about.json").write_text(json.dumps(about, indent=1))
        native = folder / "native"
        native.mkdir()
        for number, body in enumerate(self.native_requests, 1):
            (native / f"{number:02d}.json").write_text(json.dumps(body, indent=1))


def prong_fork(store: AgentStore, session_id: str, turn: int, into: Path, id_: str) -> str:
    """Fork a session with prong, in the middle of a scenario; the id of the fork.

    With an id of its own it is prong that writes the file, whatever the agent could do itself.
    """
    app = App(stores={store.name: store}, remember=False, needs_programs=False)
    with closing(app):
        options = ForkRequest(into=into, id=id_)
        return app.forks.make(app.forks.plan(f"{store.name}:{session_id}@{turn}", options)).child.id


class _Remembering(FakeModelServer):
    """A fake model that also remembers what it said."""

    def __init__(self) -> None:
        super().__init__()
        self._given: dict[int, Answer] = {}

    def answer(self, request: Request) -> Answer:
        self._given[request.number] = super().answer(request)
        return self._given[request.number]

    def exchanges(self) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        """The main conversation so far: the bodies of the requests, and the answers to them."""
        requests = self.conversation_requests()
        given = [self._given.get(request.number) for request in requests]
        return [request.body for request in requests], [
            self.document(request, answer) if isinstance(answer, Reply) else {}
            for request, answer in zip(requests, given, strict=True)
        ]


class RememberingAnthropic(_Remembering, FakeAnthropic):
    """The fake Anthropic API of a scenario."""


class RememberingOpenAI(_Remembering, FakeOpenAI):
    """The fake OpenAI API of a scenario."""
