"""Parse a rollout file in one pass: its header and relevant entries, each decoded once."""

from bisect import bisect_right
from collections.abc import Callable
from enum import StrEnum
from operator import itemgetter
from typing import BinaryIO

from msgspec import Struct

from prong.agents import jsonl
from prong.agents.codex import fields
from prong.agents.codex.fields import is_injected, text_of, typed
from prong.agents.codex.records import BARE_ITEMS, Payload, RolloutLine
from prong.agents.common import move


class EntryKind(StrEnum):
    START = "start"
    END = "end"
    ABORT = "abort"
    USER_ITEM = "user_item"
    USER_EVENT = "user_event"
    USER_TEXT = "user_text"
    ITEM = "item"
    SAID = "said"
    THOUGHT = "thought"
    EXEC = "exec"
    CHANGE = "change"
    SUBAGENT = "subagent"
    TOKENS = "tokens"
    COMPACTED = "compacted"
    COMPACTION_NOTE = "compaction_note"
    """A notice to the user that a compaction took place."""
    ROLLBACK = "rollback"


_EVENTS = {
    "task_started": EntryKind.START,
    "task_complete": EntryKind.END,
    "turn_aborted": EntryKind.ABORT,
    "user_message": EntryKind.USER_EVENT,
    "agent_message": EntryKind.SAID,
    "agent_reasoning": EntryKind.THOUGHT,
    "exec_command_end": EntryKind.EXEC,
    "patch_apply_end": EntryKind.CHANGE,
    "sub_agent_activity": EntryKind.SUBAGENT,
    "context_compacted": EntryKind.COMPACTION_NOTE,
    "thread_rolled_back": EntryKind.ROLLBACK,
}
_FINISHED = {
    "UserMessage": EntryKind.USER_ITEM,
    "AgentMessage": EntryKind.SAID,
    "CommandExecution": EntryKind.EXEC,
    "FileChange": EntryKind.CHANGE,
    "CollabAgentToolCall": EntryKind.SUBAGENT,
    "ContextCompaction": EntryKind.COMPACTION_NOTE,
}
"""The items of `item_completed`; older versions had an event for each."""

PROMPTS = (EntryKind.USER_ITEM, EntryKind.USER_EVENT, EntryKind.USER_TEXT)
"""The three recorded forms of a prompt, the most reliable first."""


class RolloutEntry(Struct, array_like=True, gc=False):
    kind: EntryKind
    place: jsonl.Location
    ordinal: int | None = None
    time: str | None = None
    turn: str | None = None
    text: str = ""
    """A prompt, or a command line."""
    name: str = ""
    """The name of a tool."""
    call: str | None = None
    exit_code: int | None = None
    failed: bool = False
    files: list[str] = []
    agents: list[str] = []
    count: int | None = None
    """Tokens, or the number of turns rolled back."""
    replaced: bool = False
    """For a compaction: it contains the history that replaces the earlier messages."""


class RolloutHeader(Struct, array_like=True, gc=False):
    """The first session_meta of a file; later ones are copies from a parent."""

    id: str | None = None
    forked_from: str | None = None
    base: str | None = None
    """The rollout that contains the inherited part."""
    base_end: int = 0
    """Lines of `base` with an ordinal below this one are inherited."""
    source: str | None = None
    subagent: bool = False
    forked_from_agent: str | None = None
    """The agent whose session prong converted."""
    forked_from_turn: int | None = None
    """Number of converted turns."""


class Rollout(Struct, array_like=True):
    """The contents of one rollout file, without most texts."""

    header: RolloutHeader | None = None
    entries: list[RolloutEntry] = []
    cwds: list[str] = []
    branch: str | None = None
    model: str | None = None
    name: str | None = None
    window: int | None = None
    """The last reported size of the model's context window."""
    started: str | None = None
    updated: str | None = None
    read_to: int = 0
    bad: list[tuple[int, str]] = []
    moves: list[tuple[int, str]] = []
    """Changes of the working folder: the offset of the line, and the new folder."""

    def cwd_at(self, place: jsonl.Location) -> str | None:
        count = bisect_right(self.moves, place.offset, key=itemgetter(0))
        return self.moves[count - 1][1] if count else None


Hear = Callable[[RolloutLine, int], None]
"""A callback for every decoded line and its offset."""


def read(file: BinaryIO, *, previous: Rollout | None = None, hear: Hear | None = None) -> Rollout:
    """Read a whole file, or only the lines after `previous`, the result of an earlier read."""
    rollout = previous or Rollout()
    rollout.bad = [bad for bad in rollout.bad if bad[0] < rollout.read_to]
    reader = jsonl.Reader(RolloutLine)
    builder = _Builder(rollout)
    for offset, data, line in reader.records(file, start=rollout.read_to):
        builder.add(line, jsonl.Location(offset, len(data)))
        if hear is not None:
            hear(line, offset)
    rollout.read_to = max(rollout.read_to, reader.end)
    rollout.bad.extend((bad.offset, bad.reason) for bad in reader.bad)
    return rollout


class _Builder:
    def __init__(self, rollout: Rollout) -> None:
        self.rollout = rollout
        self.with_exit_code = {
            entry.call
            for entry in rollout.entries
            if entry.kind is EntryKind.ITEM and (entry.name in fields.SHELLS or entry.files)
        }
        """Calls whose output contains an exit code."""

    def add(self, line: RolloutLine, place: jsonl.Location) -> None:
        rollout, payload = self.rollout, line.payload
        if line.timestamp:
            rollout.started = rollout.started or line.timestamp
            rollout.updated = line.timestamp
        if payload is None:
            if line.type in BARE_ITEMS:
                self._add_item(line, line, place)
            elif line.id and not line.type and line.record_type is None:
                self._add_header(line, line, place)
            return
        match line.type:
            case "response_item":
                self._add_item(payload, line, place)
            case "event_msg":
                self._add_event(payload, line, place)
            case "turn_context":
                self._move(payload.cwd, payload.model, line, place)
            case "compacted":
                entry = self._entry(EntryKind.COMPACTED, line, place)
                entry.replaced = bytes(payload.replacement_history).startswith(b"[")
            case "session_meta":
                self._add_header(payload, line, place)
            case _:
                pass

    def _entry(self, kind: EntryKind, line: RolloutLine, place: jsonl.Location) -> RolloutEntry:
        entry = RolloutEntry(kind, place, line.ordinal, line.timestamp or None)
        self.rollout.entries.append(entry)
        return entry

    def _add_header(self, payload: Payload, line: RolloutLine, place: jsonl.Location) -> None:
        rollout = self.rollout
        if rollout.header is not None:
            return
        base = payload.history_base
        is_object = bytes(payload.source).lstrip().startswith(b"{")
        rollout.header = RolloutHeader(
            id=payload.id,
            forked_from=payload.forked_from_id,
            base=base.thread_id if base else None,
            base_end=base.end_ordinal_exclusive if base else 0,
            source=None if is_object else fields.string_of(payload.source) or None,
            subagent=is_object,
            forked_from_agent=payload.forked_from_agent,
            forked_from_turn=payload.forked_from_turn,
        )
        rollout.branch = payload.git.branch if payload.git else None
        rollout.started = payload.timestamp or rollout.started
        self._move(payload.cwd, None, line, place)

    def _move(
        self, cwd: str | None, model: str | None, line: RolloutLine, place: jsonl.Location
    ) -> None:
        rollout = self.rollout
        rollout.model = model or rollout.model
        if not cwd:
            return
        if not rollout.moves or rollout.moves[-1][1] != cwd:
            rollout.moves.append((place.offset, cwd))
        if rollout.cwds[-1:] != [cwd] and not (rollout.cwds and self._is_copied(line)):
            move(rollout.cwds, cwd)

    def _is_copied(self, line: RolloutLine) -> bool:
        """Check whether a line of a fork predates it, so that it was copied from another thread."""
        header, started = self.rollout.header, self.rollout.started
        is_fork = header is not None and header.forked_from is not None
        return bool(is_fork and line.timestamp and started and line.timestamp < started)

    def _add_item(self, item: Payload, line: RolloutLine, place: jsonl.Location) -> None:
        if item.type == "message" and item.role == "user":
            text = text_of(item.content)
            if text.strip() and not is_injected(text):
                self._entry(EntryKind.USER_TEXT, line, place).text = typed(text)
                return
        entry = self._entry(EntryKind.ITEM, line, place)
        if item.type in ("function_call", "custom_tool_call", "local_shell_call"):
            entry.call = item.call_id
            entry.name = item.name or item.type
            if entry.name in fields.SHELLS:
                entry.text = fields.command_of_call(item.arguments)
                entry.files = fields.patched_files(entry.text)
            elif entry.name == fields.PATCH:
                patch = fields.patch_of_call(item.input, item.arguments)
                entry.files = fields.patched_files(patch)
            else:
                return
            self.with_exit_code.add(item.call_id)
        elif item.type in ("function_call_output", "custom_tool_call_output"):
            entry.call = item.call_id
            if item.call_id in self.with_exit_code or item.type == "custom_tool_call_output":
                entry.exit_code = fields.exit_code_of(item.output)

    def _add_event(self, event: Payload, line: RolloutLine, place: jsonl.Location) -> None:
        rollout = self.rollout
        item = event.item if event.type == "item_completed" else None
        kind = _FINISHED.get(item.type) if item else _EVENTS.get(event.type)
        match event.type:
            case "thread_settings_applied" if event.thread_settings:
                self._move(event.thread_settings.cwd, event.thread_settings.model, line, place)
            case "thread_name_updated":
                rollout.name = event.thread_name or rollout.name
            case "token_count" if event.info:
                rollout.window = event.info.model_context_window or rollout.window
                usage = event.info.last_token_usage
                if usage and usage.total_tokens:
                    self._entry(EntryKind.TOKENS, line, place).count = usage.total_tokens
            case "task_started":
                rollout.window = event.model_context_window or rollout.window
            case "sub_agent_activity" if not event.agent_thread_id:
                return
            case _:
                pass
        if kind is not None:
            self._fill(self._entry(kind, line, place), event, item)

    def _fill(self, entry: RolloutEntry, event: Payload, item: Payload | None) -> None:
        """Set the fields of an entry from an event, or from the item that it reports finished."""
        entry.turn = event.turn_id
        match entry.kind:
            case EntryKind.END:
                entry.failed = bytes(event.error) not in (b"", b"null")
            case EntryKind.USER_ITEM | EntryKind.USER_EVENT:
                entry.text = typed(text_of(item.content if item else event.message))
            case EntryKind.EXEC:
                result = item or event
                entry.call = item.id if item else event.call_id
                entry.text = fields.command_of_event(result.command)
                entry.exit_code = result.exit_code
            case EntryKind.CHANGE:
                entry.files = list((item or event).changes or ())
                is_done = item.status in (None, "completed") if item else event.success is not False
                entry.failed = not is_done
            case EntryKind.SUBAGENT:
                entry.call = item.id if item else event.event_id
                entry.agents = item.receiver_thread_ids if item else [event.agent_thread_id or ""]
            case EntryKind.ROLLBACK:
                entry.count = event.num_turns
            case _:
                pass
