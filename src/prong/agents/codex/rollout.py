"""Parse a rollout file in one pass: its header and relevant entries, each decoded once."""

from bisect import bisect_right
from collections.abc import Callable
from enum import StrEnum
from operator import itemgetter
from typing import BinaryIO

from msgspec import Struct

from prong.agents import jsonl
from prong.agents.codex import tools
from prong.agents.codex.prompts import is_injected, text_of, typed
from prong.agents.codex.records import BARE_ITEMS, Payload, RolloutLine, TurnItem
from prong.agents.common import move


class EntryKind(StrEnum):
    """The kinds of rollout entries."""

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
        """Return the agent's working folder at a line."""
        count = bisect_right(self.moves, place.offset, key=itemgetter(0))
        return self.moves[count - 1][1] if count else None


Hear = Callable[[RolloutLine, int], None]
"""A callback for every decoded line and its offset."""


def read(file: BinaryIO, *, previous: Rollout | None = None, hear: Hear | None = None) -> Rollout:
    """Read a whole file, or only the lines after `previous`, the result of an earlier read."""
    rollout = previous or Rollout()
    rollout.bad = [bad for bad in rollout.bad if bad[0] < rollout.read_to]
    reader = jsonl.Reader(RolloutLine)
    builder = _Taker(rollout)
    for offset, data, line in reader.records(file, start=rollout.read_to):
        builder.take(line, jsonl.Location(offset, len(data)))
        if hear is not None:
            hear(line, offset)
    rollout.read_to = max(rollout.read_to, reader.end)
    rollout.bad.extend((bad.offset, bad.reason) for bad in reader.bad)
    return rollout


class _Taker:
    """A builder that adds lines to a rollout, in file order."""

    def __init__(self, rollout: Rollout) -> None:
        self.rollout = rollout
        self.told = {
            entry.call
            for entry in rollout.entries
            if entry.kind is EntryKind.ITEM and (entry.name in tools.SHELLS or entry.files)
        }
        """Calls whose output contains an exit code."""

    def take(self, line: RolloutLine, place: jsonl.Location) -> None:
        rollout = self.rollout
        if line.timestamp:
            if not rollout.started:
                rollout.started = line.timestamp
            rollout.updated = line.timestamp
        payload = line.payload
        if payload is None:
            self._take_bare(line, place)
            return
        match line.type:
            case "response_item":
                self._take_item(payload, line, place)
            case "event_msg":
                self._take_event(payload, line, place)
            case "turn_context":
                self._moved_to(payload.cwd, payload.model, line, place)
            case "compacted":
                entry = self._add(EntryKind.COMPACTED, line, place)
                entry.replaced = bytes(payload.replacement_history).startswith(b"[")
            case "session_meta":
                self._take_header(payload, line, place)
            case _:
                pass

    def _take_bare(self, line: RolloutLine, place: jsonl.Location) -> None:
        if line.type in BARE_ITEMS:
            self._take_item(line, line, place)
        elif line.id and not line.type and line.record_type is None:
            self._take_header(line, line, place)

    def _take_header(self, payload: Payload, line: RolloutLine, place: jsonl.Location) -> None:
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
            source=None if is_object else tools.string_of(payload.source) or None,
            subagent=is_object,
            forked_from_agent=payload.forked_from_agent,
            forked_from_turn=payload.forked_from_turn,
        )
        rollout.branch = payload.git.branch if payload.git else None
        rollout.started = payload.timestamp or rollout.started
        self._moved_to(payload.cwd, None, line, place)

    def _moved_to(
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

    def _add(self, kind: EntryKind, line: RolloutLine, place: jsonl.Location) -> RolloutEntry:
        entry = RolloutEntry(kind, place, line.ordinal, line.timestamp or None)
        self.rollout.entries.append(entry)
        return entry

    def _take_item(self, item: Payload, line: RolloutLine, place: jsonl.Location) -> None:
        match item.type:
            case "message" if item.role == "user":
                text = text_of(item.content)
                kind = (
                    EntryKind.ITEM if is_injected(text) or not text.strip() else EntryKind.USER_TEXT
                )
                entry = self._add(kind, line, place)
                entry.text = typed(text) if kind is EntryKind.USER_TEXT else ""
            case "function_call" | "custom_tool_call" | "local_shell_call":
                entry = self._add(EntryKind.ITEM, line, place)
                entry.call = item.call_id
                entry.name = item.name or item.type
                if entry.name in tools.SHELLS:
                    self.told.add(item.call_id)
                    entry.text = tools.command_of_call(item.arguments)
                    entry.files = tools.patched_files(entry.text)
                elif entry.name == tools.PATCH:
                    self.told.add(item.call_id)
                    patch = tools.patch_of_call(item.input, item.arguments)
                    entry.files = tools.patched_files(patch)
            case "function_call_output" | "custom_tool_call_output":
                entry = self._add(EntryKind.ITEM, line, place)
                entry.call = item.call_id
                if item.call_id in self.told or item.type == "custom_tool_call_output":
                    entry.exit_code = tools.exit_code_of(item.output)
            case _:
                self._add(EntryKind.ITEM, line, place)

    def _take_event(  # noqa: C901, PLR0912 -- one plain case for each event
        self, event: Payload, line: RolloutLine, place: jsonl.Location
    ) -> None:
        rollout = self.rollout
        match event.type:
            case "task_started":
                self._add(EntryKind.START, line, place).turn = event.turn_id
                rollout.window = event.model_context_window or rollout.window
            case "task_complete":
                entry = self._add(EntryKind.END, line, place)
                entry.turn = event.turn_id
                entry.failed = bytes(event.error) not in (b"", b"null")
            case "turn_aborted":
                self._add(EntryKind.ABORT, line, place).turn = event.turn_id
            case "user_message":
                entry = self._add(EntryKind.USER_EVENT, line, place)
                entry.text = typed(text_of(event.message))
            case "agent_message":
                self._add(EntryKind.SAID, line, place)
            case "agent_reasoning":
                self._add(EntryKind.THOUGHT, line, place)
            case "item_completed":
                if event.item is not None:
                    self._take_finished(event.item, event, line, place)
            case "exec_command_end":
                entry = self._add(EntryKind.EXEC, line, place)
                entry.call = event.call_id
                entry.text = tools.command_of_event(event.command)
                entry.exit_code = event.exit_code
            case "patch_apply_end":
                entry = self._add(EntryKind.CHANGE, line, place)
                entry.files = list(event.changes or ())
                entry.failed = event.success is False
            case "token_count":
                self._take_tokens(event, line, place)
            case "sub_agent_activity":
                if event.agent_thread_id:
                    entry = self._add(EntryKind.SUBAGENT, line, place)
                    entry.call = event.event_id
                    entry.agents = [event.agent_thread_id]
            case "thread_settings_applied":
                if event.thread_settings:
                    settings = event.thread_settings
                    self._moved_to(settings.cwd, settings.model, line, place)
            case "thread_name_updated":
                rollout.name = event.thread_name or rollout.name
            case "context_compacted":
                self._add(EntryKind.COMPACTION_NOTE, line, place)
            case "thread_rolled_back":
                self._add(EntryKind.ROLLBACK, line, place).count = event.num_turns
            case _:
                pass

    def _take_tokens(self, event: Payload, line: RolloutLine, place: jsonl.Location) -> None:
        info = event.info
        if info is None:
            return
        self.rollout.window = info.model_context_window or self.rollout.window
        usage = info.last_token_usage
        if usage and usage.total_tokens:
            self._add(EntryKind.TOKENS, line, place).count = usage.total_tokens

    def _take_finished(
        self, item: TurnItem, event: Payload, line: RolloutLine, place: jsonl.Location
    ) -> None:
        match item.type:
            case "UserMessage":
                entry = self._add(EntryKind.USER_ITEM, line, place)
                entry.text = typed(text_of(item.content))
            case "AgentMessage":
                entry = self._add(EntryKind.SAID, line, place)
            case "CommandExecution":
                entry = self._add(EntryKind.EXEC, line, place)
                entry.call = item.id
                entry.text = tools.command_of_event(item.command)
                entry.exit_code = item.exit_code
            case "FileChange":
                entry = self._add(EntryKind.CHANGE, line, place)
                entry.files = list(item.changes or ())
                entry.failed = item.status not in (None, "completed")
            case "CollabAgentToolCall":
                entry = self._add(EntryKind.SUBAGENT, line, place)
                entry.call = item.id
                entry.agents = item.receiver_thread_ids
            case "ContextCompaction":
                entry = self._add(EntryKind.COMPACTION_NOTE, line, place)
            case _:
                return
        entry.turn = event.turn_id
