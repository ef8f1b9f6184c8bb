"""Hand-made sessions of Claude Code with content that no session of the shared corpus has.

Sessions of other people contain it (docs/internals/session-formats.md): messages of teammates,
answers without words, documents, images in queued prompts, tools of the server, two lines in one.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from tests.e2e.fidelity.image_lab import encoded, png

Block = Mapping[str, Any]
Build = Callable[["OddSession"], None]

SIGNATURE = {"type": "thinking", "thinking": "", "signature": "c2ln"}
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
IMAGE = {
    "type": "image",
    "source": {"type": "base64", "media_type": "image/png", "data": encoded(png(255, 0, 0))},
}
DOCUMENT = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0xLjQK"},
}
BUILDERS: dict[str, Build] = {}


def odd(build: Build) -> Build:
    BUILDERS[build.__name__] = build
    return build


class OddSession:
    """A session file in the making, in the format of CLIs without `turnPosition`."""

    def __init__(self, name: str, version: str = "2.1.70") -> None:
        self.id = str(uuid5(NAMESPACE_URL, name))
        self.version = version
        self.lines: list[str] = []
        self.leaf: str | None = None
        self._now = datetime(2026, 2, 1, tzinfo=UTC)
        self._count = 0

    def line(self, type_: str, **fields: Any) -> str:
        """Add a line that hangs off the last one, and return its uuid."""
        self._now += timedelta(seconds=8)
        uuid = self._uuid()
        line = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "userType": "external",
            "cwd": "/home/ada/shop",
            "sessionId": self.id,
            "version": self.version,
            "type": type_,
            **fields,
            "uuid": uuid,
            "timestamp": self._now.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        }
        # The CLI looks for raw text, so there is no space between keys and values.
        self.lines.append(json.dumps(line, separators=(",", ":")))
        self.leaf = uuid
        return uuid

    def _uuid(self) -> str:
        self._count += 1
        return str(uuid5(UUID(self.id), str(self._count)))

    def user(self, content: str | list[Block], **fields: Any) -> str:
        return self.line("user", message={"role": "user", "content": content}, **fields)

    def answer(self, *blocks: str | Block, **fields: Any) -> None:
        """A message of the model: one line for each block."""
        message_id = f"msg_{self._uuid()}"
        for block in blocks:
            message = {
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-4-6",
                "content": [{"type": "text", "text": block} if isinstance(block, str) else block],
                "usage": {"input_tokens": 10, "output_tokens": 5},
            }
            self.line("assistant", message=message, **fields)

    def calls(self, count: int, *before: str | Block) -> list[str]:
        """One message with several calls; returns their ids."""
        ids = [f"toolu_{self._uuid()}" for _ in range(count)]
        asked: list[Block] = [
            {"type": "tool_use", "id": id_, "name": "Bash", "input": {}} for id_ in ids
        ]
        self.answer(*before, *asked)
        return ids

    def result(self, call: str, content: str | list[Block], *beside: Block) -> None:
        block = {"type": "tool_result", "tool_use_id": call, "content": content}
        self.user([block, *beside], toolUseResult={"stdout": ""})

    def tool(self, result: str | list[Block], *beside: Block, name: str = "Bash") -> None:
        """A call of a tool and its result, with more blocks in the line of the result."""
        call = f"toolu_{self._uuid()}"
        self.answer({"type": "tool_use", "id": call, "name": name, "input": {"command": "ls"}})
        self.result(call, result, *beside)

    def turn(self, number: int) -> None:
        self.user(f"question {number}")
        self.answer(f"answer {number}")

    def write(self, folder: Path) -> Path:
        path = folder / f"{self.id}.jsonl"
        path.write_text("\n".join(self.lines) + "\n", encoding="utf-8")
        return path


@odd
def teammates(session: OddSession) -> None:
    """A session that only other agents speak to."""
    message = '<teammate-message teammate_id="team-lead" summary="{0}">\n{0}\n</teammate-message>'
    session.user(message.format("build the parser"))
    session.tool("ok")
    session.answer("built")
    session.user(message.format("test it") + "\n\n" + message.format("and again"))
    session.answer("tested")
    session.user(message.format('{"type":"shutdown_request"}'))
    session.tool("sent", name="SendMessage")


@odd
def notices(session: OddSession) -> None:
    """A session that programs speak to."""
    observed = "<observed_from_primary_session>\n{}\n</observed_from_primary_session>"
    session.user(observed.format("<user_request>go</user_request>"))
    session.answer("noted")
    session.user(observed.format("<what_happened>went</what_happened>"))
    session.answer("noted too")
    session.user("<ci-monitor-event>\nred\n</ci-monitor-event>")
    session.answer("mended")


@odd
def without_words(session: OddSession) -> None:
    """Turns that end with an answer that is not sent."""
    for number, blocks in enumerate(
        ((THOUGHT,), (SIGNATURE,), ("(no content)",), (THOUGHT, "\n\n")), start=1
    ):
        session.user(f"question {number}")
        session.answer(*blocks)
    session.user("tools")
    session.tool("ok")
    session.answer(THOUGHT)
    session.turn(6)


@odd
def documents(session: OddSession) -> None:
    session.user([DOCUMENT, {"type": "text", "text": "read it"}])
    session.answer("read")
    session.user([IMAGE])
    session.answer("seen")
    session.turn(3)


@odd
def server_tools(session: OddSession) -> None:
    """Tools that the model's server runs, and a result that loads tools."""
    session.user("search")
    search: Block = {
        "type": "server_tool_use",
        "id": "srvtoolu_1",
        "name": "web_search",
        "input": {},
    }
    result: Block = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    session.answer(search, result, "found")
    session.user("load")
    loaded = {"type": "tool_reference", "tool_name": "TaskCreate"}
    session.tool([loaded], {"type": "text", "text": "Tool loaded."}, name="ToolSearch")
    session.answer("loaded")
    session.turn(3)


@odd
def microcompacted(session: OddSession) -> None:
    session.turn(1)
    metadata = {"trigger": "auto", "preTokens": 60_000, "tokensSaved": 20_000}
    session.line("system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    session.turn(2)
    session.turn(3)


@odd
def sub_agent_between(session: OddSession) -> None:
    """An old CLI: the lines of a sub-agent stand in the file of the session."""
    session.user("send somebody")
    parent = session.leaf
    session.leaf = None
    session.user("the task", isSidechain=True)
    session.answer("the report", isSidechain=True)
    session.leaf = parent
    session.tool([{"type": "text", "text": "the report"}], name="Task")
    session.answer("sent")
    session.turn(2)


@odd
def queued_image(session: OddSession) -> None:
    session.user("go")
    session.tool("ok")
    queued = {"type": "queued_command", "commandMode": "prompt"}
    prompt = [{"type": "text", "text": "look"}, IMAGE]
    session.line("attachment", attachment={**queued, "prompt": prompt})
    session.answer("seen")
    session.turn(2)


@odd
def glued_lines(session: OddSession) -> None:
    """The line break after a line is missing."""
    session.turn(1)
    title = json.dumps({"type": "summary", "summary": "questions", "leafUuid": session.leaf})
    session.turn(2)
    session.lines[-1] += title
    session.turn(3)


@odd
def lost_calls(session: OddSession) -> None:
    """Turns in which the program was killed while tools ran, and then continued."""
    session.turn(1)
    for number, (calls, lost, beside) in enumerate(
        ((2, (1,), ()), (3, (0, 2), ("now",)), (1, (0,), (THOUGHT, "now")), (1, (0,), ())), start=2
    ):
        session.user(f"question {number}")
        ids = session.calls(calls, *beside)
        for at, call in enumerate(ids):
            if at not in lost:
                session.result(call, "ok")
    session.user("question 6")
    first, _ = session.calls(2)
    session.result(first, "ok")
    session.answer("one is enough")
    session.turn(7)


@odd
def expanded_commands(session: OddSession) -> None:
    """Commands without any answer: their text stays with them."""
    name = "<command-name>/review</command-name>"
    command = f"<command-message>review is running…</command-message>\n{name}"
    for number in range(1, 4):
        session.user(command)
        session.user([{"type": "text", "text": f"Review part {number}"}], isMeta=True)
    session.answer("reviewed")
    session.user(command)
    session.user("Review the rest", isMeta=True)
    session.turn(5)


@odd
def blank_prompts(session: OddSession) -> None:
    session.turn(1)
    session.user("   \n")
    session.turn(2)
    session.user([{"type": "text", "text": "\n"}])
    session.answer("well?")
    session.turn(3)


CAVEAT = "Caveat: The messages below were generated by the user while running local commands."
MODEL = "<command-name>/model</command-name>\n<command-message>model</command-message>"


@odd
def only_shell(session: OddSession) -> None:
    """A session without a message, which the CLI resumes, like those below."""
    session.user(CAVEAT, isMeta=True)
    session.user("<bash-input>ls</bash-input>")
    session.user("<bash-stdout>x</bash-stdout><bash-stderr></bash-stderr>")


@odd
def only_commands(session: OddSession) -> None:
    session.user(CAVEAT, isMeta=True)
    session.user(MODEL)
    session.user("<local-command-stdout>Set model</local-command-stdout>")


@odd
def only_summary(session: OddSession) -> None:
    session.line("system", subtype="compact_boundary", compactMetadata={"trigger": "manual"})
    summary = "This session is being continued from a previous conversation. It was about x."
    session.user(summary, isCompactSummary=True, isVisibleInTranscriptOnly=True)
