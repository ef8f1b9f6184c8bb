"""Writes small Claude sessions, line for line as the CLI would."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from prong.agents import versions
from prong.agents.claude.folders import project_folder
from tests.samples.lines import write_lines

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
            "version": versions.CLAUDE[-1],
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
