"""Writes small Claude sessions, line for line as the CLI would: for `prong demo` and for tests."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from prong.agents import tested
from prong.agents.claude import sample_code as code
from prong.agents.claude.folders import project_folder
from prong.agents.common import write_lines
from prong.model import TurnKey
from prong.ports import TurnOver

_SECOND = timedelta(seconds=1)

Call = tuple[str, Mapping[str, Any], str]
"""A tool's name, its input and its output."""


class ClaudeSample:
    """A session in the making. Ids follow from the session's id, so a sample is always the same."""

    def __init__(self, session_id: str, cwd: str, start: datetime, *, branch: str = "main") -> None:
        self.id = session_id
        self.cwd = cwd
        self.branch = branch
        self.now = start
        self.lines: list[dict[str, Any]] = []
        self.leaf: str | None = None
        self.entrypoint = "cli"
        self._count = 0
        self._turns = 0

    def uuid(self) -> str:
        self._count += 1
        return str(uuid5(UUID(self.id), str(self._count)))

    def chain(self, type_: str, **fields: Any) -> str:
        """Add a line that hangs off the last one."""
        self.now += _SECOND
        uuid = self.uuid()
        line: dict[str, Any] = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "type": type_,
            **fields,
            "uuid": uuid,
            "timestamp": self.timestamp(),
            "userType": "external",
            "entrypoint": self.entrypoint,
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": tested.CLAUDE[-1],
            "gitBranch": self.branch,
        }
        self.lines.append(line)
        self.leaf = uuid
        return uuid

    def side(self, type_: str, **fields: Any) -> None:
        """Add a line outside the chain."""
        self.lines.append({"type": type_, **fields, "sessionId": self.id})

    def timestamp(self) -> str:
        return self.now.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def prompt(self, text: str) -> str:
        """A person types; the turn's id comes back."""
        self._turns += 1
        return self.chain(
            "user",
            promptId=self.uuid(),
            message={"role": "user", "content": text},
            origin={"kind": "human"},
            promptSource="typed",
            turnOrigin="human",
            turnPosition={"promptIndex": self._turns, "turnIndex": self._turns},
        )

    def answer(self, text: str, *, tokens: int = 0) -> str:
        """The model speaks, and the turn is over."""
        self._assistant({"type": "text", "text": text}, f"msg_{self.uuid()}", tokens)
        return self.chain("system", subtype="turn_duration", durationMs=1000, isMeta=False)

    def tools(self, *calls: Call, failed: Sequence[int] = ()) -> None:
        """The model calls tools, several at once if several are given."""
        message_id = f"msg_{self.uuid()}"
        asked = [
            (
                self._assistant(
                    {
                        "type": "tool_use",
                        "id": f"toolu_{self.uuid()}",
                        "name": name,
                        "input": given,
                    },
                    message_id,
                ),
                output,
            )
            for name, given, output in calls
        ]
        # As the CLI does it: each result hangs off its own call, so parallel ones are siblings.
        for number, ((uuid, call_id), output) in enumerate(asked):
            self.leaf = uuid
            self.chain(
                "user",
                message={
                    "role": "user",
                    "content": [
                        {
                            "tool_use_id": call_id,
                            "type": "tool_result",
                            "content": output,
                            "is_error": number in failed,
                        }
                    ],
                },
                toolUseResult={"stdout": output, "stderr": "", "interrupted": False},
                sourceToolAssistantUUID=uuid,
            )

    def _assistant(
        self, block: Mapping[str, Any], message_id: str, tokens: int = 0
    ) -> tuple[str, str]:
        uuid = self.chain(
            "assistant",
            message={
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "model": "claude-opus-5-5",
                "content": [block],
                "stop_reason": "end_turn" if block["type"] == "text" else "tool_use",
                "usage": {"input_tokens": tokens, "output_tokens": 0},
            },
        )
        return uuid, str(block.get("id", ""))

    def interrupt(self) -> None:
        """The person presses Esc."""
        text = "[Request interrupted by user]"
        self.chain("user", message={"role": "user", "content": [{"type": "text", "text": text}]})

    def compact(self, summary: str) -> None:
        """What was said is replaced by a summary."""
        logical = self.leaf
        self.leaf = None
        self.chain(
            "system",
            subtype="compact_boundary",
            content="Conversation compacted",
            logicalParentUuid=logical,
            compactMetadata={"trigger": "manual", "preTokens": 1},
        )
        self.chain(
            "user",
            message={"role": "user", "content": summary},
            isCompactSummary=True,
            isVisibleInTranscriptOnly=True,
        )

    def branch_off(self, session_id: str, at: str) -> "ClaudeSample":
        """A fork as `/branch` makes it: the lines up to one of them, each naming its source."""
        child = ClaudeSample(session_id, self.cwd, self.now, branch=self.branch)
        for line in self.lines:
            if "uuid" not in line:
                continue
            source = {"sessionId": self.id, "messageUuid": line["uuid"]}
            child.lines.append({**line, "sessionId": session_id, "forkedFrom": source})
            child.leaf = str(line["uuid"])
            child._turns += "turnPosition" in line
            if line["uuid"] == at:
                break
        return child

    def write(self, root: Path) -> Path:
        folder = root / "projects" / project_folder(self.cwd)
        return write_lines(folder / f"{self.id}.jsonl", self.lines)


class _Work:
    """The files of the folder. To change one is the call of a tool."""

    def __init__(self, cwd: str, files: Mapping[str, str]) -> None:
        self.cwd = cwd
        self.files = dict(files)

    def write(self, name: str, text: str) -> Call:
        self.files[name] = text
        return "Write", {"file_path": f"{self.cwd}/{name}", "content": text}, "File created"

    def edit(self, name: str, text: str) -> Call:
        change = {"old_string": self.files[name], "new_string": text}
        self.files[name] = text
        return "Edit", {"file_path": f"{self.cwd}/{name}", **change}, "File updated"


def write_samples(root: Path, cwd: str, now: datetime, turn_over: TurnOver | None = None) -> str:
    """Sessions worth a look: tools, a rewind, a compaction, a fork. The best one's id is given."""
    api = ClaudeSample("60309e1e-8f4b-4b8e-9c55-1f0d2c7a9b01", cwd, now - timedelta(hours=5))
    work = _Work(cwd, code.START)

    def over(session: ClaudeSample, turn: str) -> None:
        if turn_over is not None:
            turn_over(TurnKey("claude", session.id, turn), session.now, dict(work.files))

    over(api, TurnKey.BASELINE)
    turn = api.prompt("Add rate limiting to the public API, 60 requests a minute for each key")
    api.tools(
        ("Read", {"file_path": f"{cwd}/shop/api.py"}, code.API),
        ("Grep", {"pattern": "api_key"}, 'shop/keys.py:5:    return request.get("api_key", ...'),
    )
    api.tools(work.edit("shop/limit.py", code.BUCKET))
    api.tools(("Bash", {"command": "pytest -q tests/test_limit.py"}, "3 passed"))
    api.answer("A token bucket for each key, in `shop/limit.py`. Tests pass.", tokens=21_400)
    over(api, turn)
    turn = api.prompt("Keep the counters in Redis, so that all workers share them")
    api.tools(work.edit("shop/limit.py", code.REDIS))
    api.tools(
        ("Bash", {"command": "pytest -q tests/test_limit.py"}, "Exit code 1\n1 failed, 2 passed"),
        failed=[0],
    )
    shared = api.answer("Done with INCR and EXPIRE. One test needs a running Redis.", tokens=34_900)
    over(api, turn)
    dead_end, before = api.leaf, dict(work.files)
    turn = api.prompt("Forget Redis, use the database instead")
    api.tools(work.edit("shop/limit.py", code.DATABASE))
    api.interrupt()
    over(api, turn)
    api.leaf, work.files = dead_end, dict(before)
    turn = api.prompt("Start a Redis in the tests instead of mocking it")
    api.tools(work.write("tests/conftest.py", code.CONFTEST))
    api.tools(("Bash", {"command": "pytest -q"}, "3 passed"))
    api.answer("A fixture starts Redis on a free port. All tests pass.", tokens=48_300)
    over(api, turn)
    api.compact("Rate limiting by key with Redis, tested against a real server.")
    turn = api.prompt("Document the limit in the README")
    api.tools(work.edit("README.md", code.README + code.LIMIT_IN_README))
    api.answer("Added a section with the headers that a client sees.", tokens=9_800)
    over(api, turn)
    api.side("custom-title", customTitle="Rate limiting for the public API")
    api.write(root)

    other = api.branch_off("7d1c44a2-3c1b-4c0e-8f63-6a1e7b0d5c02", shared)
    other.now = now - timedelta(hours=2)
    work.files = dict(before)
    turn = other.prompt("Try a sliding window instead of the token bucket")
    other.tools(work.edit("shop/limit.py", code.SLIDING_WINDOW))
    other.answer("The window is exact, at the price of one sorted set for each key.", tokens=41_000)
    over(other, turn)
    other.side("custom-title", customTitle="Rate limiting with a sliding window")
    other.write(root)

    _write_search(root, cwd, now - timedelta(days=3))
    return api.id


def _write_search(root: Path, cwd: str, start: datetime) -> None:
    search = ClaudeSample("b54c2f90-0d0a-4f0e-a1d7-93c5e8f20a03", cwd, start)
    search.prompt("Why is the product search slow for short words?")
    search.tools(("Bash", {"command": "python -m shop.explain 'tea'"}, "Seq Scan on products"))
    search.answer(
        "The index is not used below three letters. A trigram index helps.", tokens=12_700
    )
    search.write(root)
