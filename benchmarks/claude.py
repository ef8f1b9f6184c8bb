"""Claude Code sessions, as versions 2.1.17 to 2.1.326 write them.

The rules are those of docs/internals/session-formats.md: one assistant line per content block,
parallel tool calls that fork the chain, progress lines beside it, rewinds, compactions that start
a new root, copies that keep the uuids.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.claude_tools import tool_use
from benchmarks.parts import Clock, Parts, Record

NOBODY: Final = "00000000-0000-0000-0000-000000000000"
_ROUNDS_PER_TURN = 11
_USAGE: Final[Record] = {
    "input_tokens": 4,
    "cache_creation_input_tokens": 2708,
    "cache_read_input_tokens": 49673,
    "cache_creation": {"ephemeral_5m_input_tokens": 2708, "ephemeral_1h_input_tokens": 0},
    "output_tokens": 163,
    "service_tier": "standard",
    "inference_geo": "not_available",
}


@dataclass(frozen=True)
class Era:
    """What a version of the CLI writes; the differences that change how a file is read."""

    version: str
    model: str
    common_first: bool = False
    """The common fields stand before `type`, not after `timestamp`."""
    progress: bool = False
    attachments: bool = False
    last_prompt: bool = False
    prompt_id: bool = False
    positions: bool = False
    """Prompts say themselves that they open a turn; last-prompt lines name the leaf."""


ERAS: Final = (
    Era("2.1.17", "claude-opus-4-5", common_first=True, progress=True),
    Era("2.1.79", "claude-sonnet-4-6", progress=True, last_prompt=True, prompt_id=True),
    Era("2.1.150", "claude-opus-4-7", attachments=True, last_prompt=True, prompt_id=True),
    Era(
        "2.1.326",
        "claude-opus-5-5",
        attachments=True,
        last_prompt=True,
        prompt_id=True,
        positions=True,
    ),
)
NEWEST: Final = ERAS[-1]


def project_folder(cwd: str) -> str:
    """The name of a project's folder. The paths used here are short and plain ASCII."""
    return re.sub(r"[^A-Za-z0-9]", "-", cwd)


@dataclass
class SubAgentFile:
    """A sub-agent's transcript, and where it goes relative to the project folder."""

    name: Path
    lines: list[bytes]
    meta: bytes | None


@dataclass
class ClaudeSession:
    """Builds one session file line by line, and keeps count of what a reader should find."""

    parts: Parts
    id: str
    cwd: str
    era: Era
    clock: Clock
    headless: bool = False
    agent_id: str | None = None
    """Set when this is a sub-agent's transcript, which bears its parent's session id."""

    lines: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    """Bytes of this file; sub-agents have files of their own."""
    tip: str | None = None
    turns: int = 0
    abandoned: int = 0
    compactions: int = 0
    inherited: int = 0
    parent: str | None = None
    marked: bool = False
    """Its copied lines say where they come from, as those of a `/branch` do."""
    first_prompt: str = ""
    subagents: list[SubAgentFile] = field(default_factory=list[SubAgentFile])

    _live: list[Record] = field(default_factory=list[Record])
    """The active chain with its siblings: what a fork copies."""
    _turn_ends: list[int] = field(default_factory=list[int])
    """Length of `_live` at the end of each active turn."""
    _compacted_at: int = 0
    """How many turns stood before the last compaction."""
    _prompt_id: str = ""
    _next_prompt_id: str = ""

    def __post_init__(self) -> None:
        self._common: Record = {"userType": "external"}
        if not self.era.common_first:
            self._common["entrypoint"] = "sdk-cli" if self.headless else "cli"
        self._common |= {
            "cwd": self.cwd,
            "sessionId": self.id,
            "version": self.era.version,
            "gitBranch": "main",
        }
        if self.agent_id:
            self._common["agentId"] = self.agent_id

    @property
    def forkable(self) -> bool:
        """A fork of a compacted session copies less; the generator leaves that out."""
        return self.era.prompt_id and not self.compactions

    # --- the whole session ------------------------------------------------------------------------

    def grow(self, size: int, *, rewinds: float = 0.04, compact_every: int = 0) -> None:
        """Add turns until the session has `size` bytes; at least one."""
        since = 0
        while True:
            before = self.size
            self.turn(size)
            since += self.size - before
            if self.size >= size:
                break
            behind = self.turns - self._compacted_at - 1  # a rewind stays behind the compaction
            if behind > 0 and self.parts.chance(rewinds):
                self.rewind(self.turns - self.parts.rng.randint(1, min(3, behind)))
            if compact_every and since > compact_every:
                since = 0
                self.compact()

    def turn(self, limit: int) -> None:
        """One prompt and what follows, cut short when the session reaches `limit` bytes."""
        parts = self.parts
        self._open_turn()
        rounds = int(parts.rng.expovariate(1 / _ROUNDS_PER_TURN))
        for _ in range(rounds):
            if self.size >= limit:
                break
            self._round(limit)
        interrupted = parts.chance(0.03)
        if interrupted:
            self._user([{"type": "text", "text": "[Request interrupted by user]"}], {})
        else:
            self._assistant([{"type": "text", "text": parts.text(parts.size(500, 0.9, 6_000))}])
        self._close_turn(interrupted=interrupted)

    def show_image(self, size: int) -> None:
        """A turn with one line of `size` bytes: a tool that answers with a picture."""
        self._open_turn()
        call: Record = {
            "type": "tool_use",
            "id": "toolu_01" + self.parts.hex(22),
            "name": "mcp__browser__screenshot",
            "input": {},
        }
        line = self._assistant([call])[-1]
        picture = {"type": "base64", "media_type": "image/png", "data": self.parts.hex(size)}
        self._result(call["id"], [{"type": "image", "source": picture}], {"type": "image"}, line)
        self._assistant([{"type": "text", "text": self.parts.text(300)}])
        self._close_turn(interrupted=False)

    # --- lines ------------------------------------------------------------------------------------

    def side(self, record: Record) -> None:
        """A line outside the chain."""
        line = msgspec.json.encode(record) + b"\n"
        self.lines.append(line)
        self.size += len(line)

    def chain(self, body: Record, *, parent: str | None = None, extra: Record | None = None) -> str:
        """A line of the chain, hung on `parent` or else on the tip, which it becomes."""
        uuid = self._write(body, self.tip if parent is None else parent, extra or {})
        self.tip = uuid
        return uuid

    def _write(self, body: Record, parent: str | None, extra: Record, *, live: bool = True) -> str:
        uuid = self.parts.uuid4()
        head: Record = {"parentUuid": parent, "isSidechain": self.agent_id is not None}
        own: Record = {"uuid": uuid, "timestamp": self.clock.stamp()}
        if self.era.common_first:
            record = head | self._common | body | own | extra
        else:
            record = head | body | own | extra | self._common
        self.side(record)
        if live:
            self._live.append(record)
        return uuid

    def _user(self, content: object, extra: Record, *, parent: str | None = None) -> str:
        body: Record = {"type": "user", "message": {"role": "user", "content": content}}
        if self.era.prompt_id:
            body = {"promptId": self._prompt_id} | body
        return self.chain(body, parent=parent, extra=extra)

    def _attachment(self, attachment: Record) -> None:
        self.chain({"attachment": attachment, "type": "attachment"})

    # --- turns ------------------------------------------------------------------------------------

    def _open_turn(self) -> None:
        parts, era = self.parts, self.era
        self.clock.wait(parts.size(60, 1.5, 80_000))
        self._prompt_id = self._next_prompt_id or parts.uuid4()
        self._next_prompt_id = ""
        prompt = parts.prompt()
        self.first_prompt = self.first_prompt or prompt
        if self.headless:
            for operation in ("enqueue", "dequeue"):
                self._queue(operation, prompt if operation == "enqueue" else None)
        self.turns += 1
        extra: Record = {}
        if era.prompt_id:
            extra["permissionMode"] = "default"
        if era.positions:
            extra |= self._position()
        if parts.chance(0.04) and not self.agent_id:
            self._user(
                "<command-message>review is running…</command-message>\n"
                f"<command-name>/review</command-name>\n<command-args>{prompt[:80]}</command-args>",
                extra,
            )
            companion: Record = {"turnCompanion": True} if era.positions else {}
            body = parts.text(parts.size(1500, 0.8, 9_000))
            self._user([{"type": "text", "text": body}], {"isMeta": True} | companion)
        else:
            self._user(prompt, extra)
        if not self.agent_id and not self.headless:
            self._file_history()
        if era.attachments and self.turns == 1 + self.inherited:
            self._announce()

    def _position(self) -> Record:
        index = 0 if self.headless else self.turns
        position = {"promptIndex": index, "turnIndex": self.turns}
        if self.headless:
            return {"promptSource": "sdk", "turnOrigin": "sdk", "turnPosition": position}
        return {
            "promptSource": "typed",
            "origin": {"kind": "human"},
            "turnOrigin": "human",
            "turnPosition": position,
        }

    def _announce(self) -> None:
        """What newer versions record once, at the first prompt."""
        parts = self.parts
        names = [parts.words(1).title() for _ in range(12)]
        self._attachment({"type": "deferred_tools_delta", "addedNames": names, "removedNames": []})
        self._attachment(
            {
                "type": "skill_listing",
                "content": parts.text(parts.size(3_000, 0.6, 20_000)),
                "skillCount": 23,
                "isInitial": True,
            }
        )
        if self.era.positions and not self.agent_id:
            for chars in (6_000, 54_000):
                self._attachment({"type": "prompt_snapshot", "rendered": parts.text(chars)})
            self.side(
                {
                    "type": "api-request-shape",
                    "sessionId": self.id,
                    "hash": parts.hex(64),
                    "tools": parts.text(36_000),
                }
            )

    def _round(self, limit: int) -> None:
        """The model thinks, says something, calls one or more tools; the results come back."""
        parts = self.parts
        blocks: list[Record] = []
        if parts.chance(0.45):
            thought = parts.text(parts.size(900, 0.9, 30_000))
            signature = parts.hex(min(2_000, 400 + len(thought)))
            blocks.append({"type": "thinking", "thinking": thought, "signature": signature})
        if parts.chance(0.5):
            blocks.append({"type": "text", "text": parts.text(parts.size(180, 0.8, 3_000))})
        can_launch = not self.agent_id and limit - self.size > 30_000
        if can_launch and parts.chance(0.02):
            self._launch_agent(blocks, limit)
        else:
            calls = 1 if parts.chance(0.8) else parts.rng.randint(2, 4)
            self._call_tools(blocks, calls, limit)
        if self.era.attachments and parts.chance(0.06):
            self._attachment({"type": "task_reminder", "content": [], "itemCount": 0})
        if self.era.attachments and not self.agent_id and parts.chance(0.01):
            self._queued_prompt()

    def _call_tools(self, blocks: list[Record], calls: int, limit: int) -> None:
        room = max(400, (limit - self.size) // 4)
        tools = [tool_use(self.parts, self.cwd, room) for _ in range(calls)]
        lines = self._assistant([*blocks, *(tool.call for tool in tools)])
        for tool, line in zip(tools, lines[-calls:], strict=True):
            if self.era.progress:
                self._progress(tool.call, line)
            self._result(tool.call["id"], tool.content, tool.result, line)

    def _assistant(self, blocks: list[Record]) -> list[str]:
        """One line per block, all with the message's id."""
        parts = self.parts
        message_id, request_id = "msg_01" + parts.hex(22), "req_01" + parts.hex(22)
        uuids: list[str] = []
        for index, block in enumerate(blocks):
            message: Record = {
                "model": self.era.model,
                "id": message_id,
                "type": "message",
                "role": "assistant",
                "content": [block],
                "stop_reason": "tool_use" if block["type"] == "tool_use" else None,
                "stop_sequence": None,
                "usage": _USAGE,
            }
            extra: Record = {"apiBlockIndex": index} if self.era.positions else {}
            body: Record = {"message": message, "requestId": request_id, "type": "assistant"}
            uuids.append(self.chain(body, extra=extra))
        return uuids

    def _result(self, call_id: str, content: object, result: object, line: str) -> str:
        block: Record = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        if isinstance(result, str):
            block["is_error"] = True
        extra: Record = {"toolUseResult": result, "sourceToolAssistantUUID": line}
        return self._user([block], extra, parent=line)

    def _progress(self, call: Record, line: str) -> None:
        """Old versions wrote what a running tool said, on a branch that leads nowhere."""
        parent = line
        for number in range(self.parts.rng.choice((0, 1, 1, 2, 4))):
            data: Record = {
                "type": "bash_progress",
                "output": self.parts.text(150),
                "fullOutput": self.parts.text(260),
                "elapsedTimeSeconds": number + 2,
                "totalLines": 7,
            }
            extra: Record = {"toolUseID": f"bash-progress-{number}", "parentToolUseID": call["id"]}
            parent = self._write({"type": "progress", "data": data}, parent, extra, live=False)

    def _queued_prompt(self) -> None:
        prompt = self.parts.words(9)
        self._queue("enqueue", prompt)
        self._queue("remove", None)
        self._attachment({"type": "queued_command", "prompt": prompt, "commandMode": "prompt"})

    def _queue(self, operation: str, content: str | None) -> None:
        record: Record = {
            "type": "queue-operation",
            "operation": operation,
            "timestamp": self.clock.stamp(),
            "sessionId": self.id,
        }
        self.side(record if content is None else record | {"content": content})

    def _file_history(self) -> None:
        tracked = {
            f"src/{self.parts.words(1)}_{n}.py": {
                "backupFileName": f"{self.parts.hex(16)}@v{n}",
                "version": n,
                "backupTime": self.clock.stamp(),
            }
            for n in range(1, self.parts.rng.randint(1, 6))
        }
        snapshot: Record = {
            "messageId": self.tip,
            "trackedFileBackups": tracked,
            "timestamp": self.clock.stamp(),
        }
        self.side(
            {
                "type": "file-history-snapshot",
                "messageId": self.tip,
                "snapshot": snapshot,
                "isSnapshotUpdate": False,
            }
        )

    def _close_turn(self, *, interrupted: bool) -> None:
        if not (self.agent_id or self.headless or interrupted):
            self.chain(
                {
                    "type": "system",
                    "subtype": "turn_duration",
                    "durationMs": self.parts.rng.randrange(900, 400_000),
                },
                extra={"isMeta": False},
            )
        self._turn_ends.append(len(self._live))
        if self.era.last_prompt and not self.agent_id:
            self._last_prompt({"leafUuid": self.tip} if self.era.positions else {})

    def _last_prompt(self, leaf: Record) -> None:
        head: Record = {"type": "last-prompt", "lastPrompt": self.first_prompt[:200]}
        self.side(head | leaf | {"sessionId": self.id})

    # --- what makes reading hard ------------------------------------------------------------------

    def rewind(self, turn: int) -> None:
        """The next prompt hangs off the end of `turn`; later turns stay in the file, abandoned."""
        self.abandoned += self.turns - turn
        self.turns = turn
        self.inherited = min(self.inherited, turn)
        del self._live[self._turn_ends[turn - 1] :]
        del self._turn_ends[turn:]
        self.tip = self._live[-1]["uuid"]
        if self.era.positions:
            self._last_prompt({"leafUuid": NOBODY, "explicit": True})

    def compact(self) -> None:
        """A boundary that starts a new root, a summary, and (newer) the messages it preserved."""
        last = self.tip
        tail = next(r["uuid"] for r in reversed(self._live) if r["type"] == "assistant")
        boundary_at = len(self.lines)
        self.tip = None
        self.compactions += 1
        self._compacted_at = self.turns
        summary = "This session is being continued from a previous conversation that ran out of "
        summary += "context.\n" + self.parts.text(self.parts.size(6_000, 0.5, 20_000))
        boundary: Record = {
            "type": "system",
            "subtype": "compact_boundary",
            "content": "Conversation compacted",
            "level": "info",
            "logicalParentUuid": last,
            "compactMetadata": {"trigger": "auto", "preTokens": 155_144},
        }
        uuid = self.chain(boundary, extra={"isMeta": False})
        marks: Record = {"isVisibleInTranscriptOnly": True, "isCompactSummary": True}
        anchor = self._user(summary, marks)
        if self.era.positions:
            # The boundary names the summary that follows it, so it is written again.
            boundary["compactMetadata"] |= {
                "postTokens": 9_120,
                "preservedSegment": {"headUuid": tail, "anchorUuid": anchor, "tailUuid": tail},
                "preservedMessages": {"anchorUuid": anchor, "uuids": [tail], "allUuids": [tail]},
            }
            record = self._live[-2]
            if record["uuid"] != uuid:
                raise AssertionError("the boundary is not where it was written")
            line = msgspec.json.encode(record) + b"\n"
            self.size += len(line) - len(self.lines[boundary_at])
            self.lines[boundary_at] = line

    def _launch_agent(self, blocks: list[Record], limit: int) -> None:
        """A sub-agent with a transcript of its own: beside the session (old) or below it (new)."""
        parts = self.parts
        prompt = parts.text(parts.size(900, 0.7, 4_000))
        call: Record = {
            "type": "tool_use",
            "id": "toolu_01" + parts.hex(22),
            "name": "Agent" if self.era.attachments else "Task",
            "input": {"description": parts.words(3), "prompt": prompt, "subagent_type": "Explore"},
        }
        line = self._assistant([*blocks, call])[-1]
        agent = ClaudeSession(
            parts,
            self.id,
            self.cwd,
            self.era,
            self.clock,
            headless=self.headless,
            agent_id=parts.hex(17 if self.era.attachments else 8),
        )
        agent.turn(min(parts.size(60_000, 1.0, 600_000), (limit - self.size) // 2))
        self.subagents.append(self._agent_file(agent, call))
        answer = [{"type": "text", "text": parts.text(parts.size(1_500, 0.7, 8_000))}]
        result: Record = {
            "status": "completed",
            "prompt": prompt,
            "agentId": agent.agent_id,
            "agentType": "Explore",
            "content": answer,
            "totalDurationMs": 33_887,
            "totalTokens": 27_979,
            "totalToolUseCount": 6,
            "usage": _USAGE,
        }
        self._result(call["id"], answer, result, line)

    def _agent_file(self, agent: "ClaudeSession", call: Record) -> SubAgentFile:
        name = Path(f"agent-{agent.agent_id}.jsonl")
        if not self.era.attachments:
            return SubAgentFile(name, agent.lines, None)
        meta = msgspec.json.encode(
            {
                "agentType": "Explore",
                "description": call["input"]["description"],
                "toolUseId": call["id"],
                "spawnDepth": 1,
                "finished": True,
            }
        )
        return SubAgentFile(Path(self.id) / "subagents" / name, agent.lines, meta)

    def fork(self, *, branch: bool) -> "ClaudeSession":
        """A copy of the active chain: by `/branch`, which leaves a mark, or `--fork-session`."""
        child = ClaudeSession(
            self.parts,
            self.parts.uuid4(),
            self.cwd,
            NEWEST if branch else self.era,
            Clock(self.parts.rng, self.clock.elapsed),
            headless=self.headless,
            parent=self.id,
            marked=branch,
            inherited=self.turns,
            turns=self.turns,
            tip=self.tip,
            first_prompt=self.first_prompt,
        )
        child.clock.wait(3600)
        child.copy(self._live, self._turn_ends, marked=branch)
        if branch:
            title = f"{self.first_prompt[:60]} (Branch)"
            child.side({"type": "custom-title", "customTitle": title, "sessionId": child.id})
        return child

    def copy(self, records: list[Record], turn_ends: list[int], *, marked: bool) -> None:
        """Take over the lines of another session, uuids and all.

        `/branch` marks each line with its origin. `--fork-session` leaves no mark, but gives every
        copied prompt the id of the prompt that comes next.
        """
        self._turn_ends = list(turn_ends)
        changed: Record = {"sessionId": self.id}
        if not marked:
            changed["promptId"] = self._next_prompt_id = self.parts.uuid4()
        source = records[0]["sessionId"]
        for record in records:
            copied = {**record, **{key: changed[key] for key in changed if key in record}}
            if marked:
                copied["forkedFrom"] = {"sessionId": source, "messageUuid": record["uuid"]}
            self.side(copied)
            self._live.append(copied)
