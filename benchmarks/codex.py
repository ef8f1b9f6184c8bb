"""Codex rollouts in the three dialects that exist on disk.

The rules are those of docs/internals/session-formats.md: the first line is the session's metadata,
a paginated file numbers its lines, a fork is a stub that points into its parent, a rewind is a new
segment file of the same thread.
"""

from dataclasses import dataclass, field
from typing import Any, Final, Literal

import msgspec

from benchmarks.parts import Clock, Parts, Record

Dialect = Literal["paginated", "legacy", "bare"]
"""`bare` is the oldest: lines without the payload wrapper, without times."""

_ROUNDS_PER_TURN = 9
_VERSIONS: Final[dict[Dialect, str]] = {
    "paginated": "0.169.0",
    "legacy": "0.118.0",
    "bare": "0.23.0",
}


@dataclass(frozen=True)
class Mark:
    """The end of a turn: where a fork of it would point to."""

    ordinal: int
    offset: int


@dataclass
class CodexRollout:
    """Builds one rollout file line by line, and keeps count of what a reader should find."""

    parts: Parts
    cwd: str
    dialect: Dialect
    clock: Clock
    source: str | Record = "cli"
    thread_id: str = ""
    segment_id: str = ""
    """Set when this file continues a thread that was rewound."""
    base: "CodexRollout | None" = None
    """The file that the first turns are in, when this one is a stub."""
    kept: int = 0
    """How many turns of `base` it inherits."""

    lines: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    ordinal: int = 0
    turns: int = 0
    compactions: int = 0
    subagents: list["CodexRollout"] = field(default_factory=list["CodexRollout"])
    ends: list[Mark] = field(default_factory=list[Mark])
    """The end of every turn, inherited ones included."""

    def __post_init__(self) -> None:
        self.thread_id = self.thread_id or self.parts.uuid7(self.clock.milliseconds)
        self.started = self.clock.now
        if self.base:
            self.turns = self.kept
            self.ends = self.base.ends[: self.kept]
            self.ordinal = self._base_end.ordinal
        if self.dialect == "bare":
            self._bare_header()
        else:
            self.add("session_meta", self._meta())

    # --- names ------------------------------------------------------------------------------------

    @property
    def rollout_id(self) -> str:
        return self.segment_id or self.thread_id

    @property
    def name(self) -> str:
        tail = f"_{self.segment_id}" if self.segment_id else ""
        return f"rollout-{self.started:%Y-%m-%dT%H-%M-%S}-{self.thread_id}{tail}.jsonl"

    @property
    def folder(self) -> str:
        return f"{self.started:%Y/%m/%d}"

    @property
    def headless(self) -> bool:
        return self.source == "exec"

    @property
    def all_subagents(self) -> int:
        """Those of the whole thread, rewound turns included."""
        older = self.base if self.segment_id else None
        return len(self.subagents) + (older.all_subagents if older else 0)

    @property
    def _base_end(self) -> Mark:
        if self.base is None or self.kept == 0:
            raise ValueError("a stub inherits at least one turn")
        return self.base.ends[self.kept - 1]

    # --- the whole session ------------------------------------------------------------------------

    def grow(self, size: int, *, compact_every: int = 0) -> None:
        """Add turns until the file has `size` bytes; at least one."""
        since = 0
        while True:
            before = self.size
            self.turn(size)
            since += self.size - before
            if self.size >= size:
                break
            if compact_every and since > compact_every and self.dialect != "bare":
                since = 0
                self.compact()

    def turn(self, limit: int) -> None:
        """One prompt and what follows, cut short when the file reaches `limit` bytes."""
        parts = self.parts
        self.clock.wait(parts.size(60, 1.5, 80_000))
        self.turns += 1
        turn_id = parts.uuid7(self.clock.milliseconds)
        self._open(turn_id)
        for _ in range(int(parts.rng.expovariate(1 / _ROUNDS_PER_TURN))):
            if self.size >= limit:
                break
            self._round(turn_id, limit)
        self._close(turn_id)

    # --- lines ------------------------------------------------------------------------------------

    def line(self, record: Record) -> None:
        data = msgspec.json.encode(record) + b"\n"
        self.lines.append(data)
        self.size += len(data)

    def add(self, kind: str, payload: Record) -> None:
        """A line in the wrapper of this dialect; in the oldest one, the payload alone."""
        if self.dialect == "bare":
            if kind == "response_item":
                self.line(payload)
            return
        record: Record = {"timestamp": self.clock.stamp()}
        if self.dialect == "paginated":
            record["ordinal"] = self.ordinal
            self.ordinal += 1
        self.line(record | {"type": kind, "payload": payload})

    def event(self, kind: str, **payload: Any) -> None:
        self.add("event_msg", {"type": kind} | payload)

    def item(self, turn_id: str, **item: Any) -> None:
        """What the paginated dialect says happened, in a form for readers."""
        if self.dialect == "paginated":
            self.event("item_completed", thread_id=self.thread_id, turn_id=turn_id, item=item)

    def message(self, role: str, text: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text}]
        self.add("response_item", {"type": "message", "role": role, "content": content})

    def _meta(self) -> Record:
        parts = self.parts
        subagent = not isinstance(self.source, str)
        meta: Record = {
            "id": self.thread_id,
            "timestamp": self.clock.stamp(),
            "cwd": self.cwd,
            "originator": "codex_exec" if self.headless else "codex-tui",
            "cli_version": _VERSIONS[self.dialect],
            "source": self.source,
            "model_provider": "openai",
        }
        if self.dialect == "paginated":
            meta = {"session_id": self.thread_id} | meta
            meta |= {
                "thread_source": "subagent" if subagent else "user",
                "history_mode": "paginated",
            }
        if self.base:
            end = self._base_end
            if not self.segment_id:
                meta["forked_from_id"] = self.base.thread_id
                meta["forked_from_ordinal_exclusive"] = end.ordinal
            meta["history_base"] = {
                "thread_id": self.base.rollout_id,
                "end_ordinal_exclusive": end.ordinal,
                "end_byte_offset": end.offset,
            }
        meta["base_instructions"] = {"text": parts.text(min(16_000, 4_000 + self.kept))}
        meta["git"] = {"commit_hash": parts.hex(40), "branch": "main"}
        return meta

    def _bare_header(self) -> None:
        stamp = self.clock.stamp()
        git = {"commit_hash": self.parts.hex(40), "branch": "main"}
        self.line({"id": self.thread_id, "timestamp": stamp, "instructions": None, "git": git})
        self.line({"record_type": "state"})

    # --- turns ------------------------------------------------------------------------------------

    def _open(self, turn_id: str) -> None:
        parts = self.parts
        self.event("task_started", turn_id=turn_id, model_context_window=258_400)
        if self.turns == 1:
            if self.dialect != "bare":
                self.message("developer", parts.text(3_000))
            context = f"<environment_context>\n  <cwd>{self.cwd}</cwd>\n</environment_context>"
            self.message("user", context)
            if self.dialect == "paginated":
                self.add("world_state", {"full": True, "state": {"environments": parts.text(600)}})
        self.add(
            "turn_context",
            {
                "turn_id": turn_id,
                "cwd": self.cwd,
                "approval_policy": "on-request",
                "sandbox_policy": {"type": "workspace-write", "network_access": False},
                "model": "gpt-5.6",
                "effort": "high",
                "summary": "none",
                "user_instructions": parts.text(700),
            },
        )
        prompt = parts.prompt()
        self.message("user", prompt)
        content = [{"type": "text", "text": prompt}]
        self.item(turn_id, type="UserMessage", id=parts.uuid4(), content=content)
        if self.dialect == "legacy":
            self.event("user_message", message=prompt, images=[], local_images=[])

    def _round(self, turn_id: str, limit: int) -> None:
        parts = self.parts
        if parts.chance(0.7):
            self.add(
                "response_item",
                {
                    "type": "reasoning",
                    "summary": [],
                    "content": None,
                    "encrypted_content": parts.hex(parts.size(900, 0.5, 6_000)),
                },
            )
        call_id = "call_" + parts.hex(24)
        command = parts.words(6)
        room = max(300, (limit - self.size) // 3)
        output = parts.text(parts.size(700, 1.7, min(room, 60_000)))
        status = 1 if parts.chance(0.1) else 0
        self._call(call_id, "exec_command", {"cmd": command})
        self._executed(turn_id, call_id, command, output, status)
        self._output(call_id, f"Process exited with code {status}\nOutput:\n{output}")
        if parts.chance(0.25):
            self._patch(turn_id)
        if self.dialect == "paginated" and parts.chance(0.01) and limit - self.size > 60_000:
            self._launch_agent(turn_id)
        self._usage()

    def _call(self, call_id: str, name: str, arguments: Record) -> None:
        self.add(
            "response_item",
            {
                "type": "function_call",
                "name": name,
                "arguments": msgspec.json.encode(arguments).decode(),
                "call_id": call_id,
            },
        )

    def _output(self, call_id: str, text: str) -> None:
        payload = {"type": "function_call_output", "call_id": call_id, "output": text}
        self.add("response_item", payload)

    def _executed(self, turn_id: str, call_id: str, command: str, output: str, code: int) -> None:
        argv = ["/bin/bash", "-lc", command]
        facts: Record = {
            "command": argv,
            "cwd": f"file://{self.cwd}",
            "status": "failed" if code else "completed",
            "aggregated_output": output,
            "exit_code": code,
            "duration": {"secs": 0, "nanos": 24_160_000},
        }
        self.item(turn_id, type="CommandExecution", id=call_id, **facts)
        if self.dialect == "legacy":
            self.event("exec_command_end", call_id=call_id, turn_id=turn_id, **facts)

    def _patch(self, turn_id: str) -> None:
        parts = self.parts
        call_id = "call_" + parts.hex(24)
        path = f"{self.cwd}/src/{parts.words(1)}.py"
        diff = parts.text(parts.size(1_500, 0.9, 20_000))
        patch = f"*** Begin Patch\n*** Update File: {path}\n{diff}\n*** End Patch"
        call = {"type": "custom_tool_call", "status": "completed", "call_id": call_id}
        self.add("response_item", call | {"name": "apply_patch", "input": patch})
        changes = {path: {"type": "update", "unified_diff": diff, "move_path": None}}
        done = {"changes": changes, "status": "completed", "stdout": "Success.", "stderr": ""}
        self.item(turn_id, type="FileChange", id=call_id, **done)
        if self.dialect == "legacy":
            self.event("patch_apply_end", call_id=call_id, turn_id=turn_id, success=True, **done)
        answer = {"type": "custom_tool_call_output", "call_id": call_id, "output": "Success."}
        self.add("response_item", answer)

    def _usage(self) -> None:
        used = {
            "input_tokens": 31_925,
            "cached_input_tokens": 30_976,
            "output_tokens": 64,
            "reasoning_output_tokens": 7,
            "total_tokens": 31_989,
        }
        info = {"total_token_usage": used, "last_token_usage": used}
        limits = {"limit_id": "codex", "primary": None, "secondary": None, "plan_type": "team"}
        self.event("token_count", info=info, rate_limits=limits)

    def _close(self, turn_id: str) -> None:
        parts = self.parts
        if self.dialect != "bare" and parts.chance(0.04):
            self.message("user", "<turn_aborted>\nThe user interrupted.\n</turn_aborted>")
            self.event("turn_aborted", turn_id=turn_id, reason="interrupted", duration_ms=40_000)
        else:
            answer = parts.text(parts.size(500, 0.9, 5_000))
            content = [{"type": "Text", "text": answer}]
            self.item(turn_id, type="AgentMessage", id=parts.uuid4(), content=content)
            if self.dialect == "legacy":
                self.event("agent_message", message=answer)
            self.message("assistant", answer)
            self._usage()
            self.event("task_complete", turn_id=turn_id, last_agent_message=answer)
        self.ends.append(Mark(self.ordinal, self.size))

    # --- what makes reading hard ------------------------------------------------------------------

    def compact(self) -> None:
        """A turn of its own without a prompt, which no reader counts."""
        parts = self.parts
        turn_id = parts.uuid7(self.clock.milliseconds)
        self.compactions += 1
        self.event("task_started", turn_id=turn_id, model_context_window=258_400)
        texts = [parts.words(12) for _ in range(3)] + [parts.text(5_000)]
        history = [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
            for text in texts
        ]
        self.add("compacted", {"message": texts[-1], "replacement_history": history})
        self.item(turn_id, type="ContextCompaction", id=parts.uuid4())
        if self.dialect == "legacy":
            self.event("context_compacted")
        self.event("task_complete", turn_id=turn_id, last_agent_message=None)
        self.ends[-1] = Mark(self.ordinal, self.size)

    def _launch_agent(self, turn_id: str) -> None:
        """A sub-agent: a rollout of its own, whose `source` says who started it."""
        parts = self.parts
        spawn: Record = {
            "parent_thread_id": self.thread_id,
            "depth": 1,
            "agent_path": f"/main/{parts.words(1)}",
            "agent_nickname": parts.words(1).title(),
            "agent_role": "explorer",
        }
        child = CodexRollout(
            parts,
            self.cwd,
            self.dialect,
            Clock(parts.rng, self.clock.elapsed),
            source={"subagent": {"thread_spawn": spawn}},
        )
        child.turn(30_000)
        self.subagents.append(child)
        self.item(
            turn_id,
            type="CollabAgentToolCall",
            id="call_" + parts.hex(24),
            tool="spawn_agent",
            status="completed",
            sender_thread_id=self.thread_id,
            receiver_thread_ids=[child.thread_id],
            prompt=parts.words(30),
            agents_states={},
        )

    def fork(self, turn: int) -> "CodexRollout":
        """A stub: new thread, and a pointer to the end of `turn` in this file or further up."""
        return self._stub(turn, thread_id="", segment_id="")

    def rewind(self, turn: int) -> "CodexRollout":
        """The same thread, continued in a new segment file after `turn`."""
        segment = self.parts.uuid7(self.clock.milliseconds + 1)
        return self._stub(turn, thread_id=self.thread_id, segment_id=segment)

    def _stub(self, turn: int, *, thread_id: str, segment_id: str) -> "CodexRollout":
        if self.dialect != "paginated":
            raise ValueError("only paginated rollouts are forked by reference")
        if self.base is not None and turn <= self.kept:
            raise ValueError("the turn is not in this file; fork its base")
        clock = Clock(self.parts.rng, self.clock.elapsed)
        clock.wait(1800)
        return CodexRollout(
            self.parts,
            self.cwd,
            self.dialect,
            clock,
            source=self.source,
            thread_id=thread_id,
            segment_id=segment_id,
            base=self,
            kept=turn,
        )
