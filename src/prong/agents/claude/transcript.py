"""Parse a session file in one pass into the nodes of its tree and its metadata.

A `ClaudeTranscript` is small (a few hundred bytes for each line of the file) and can be stored,
so that a large file that only grew is continued instead of read again.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import BinaryIO

import msgspec
from msgspec import Struct, field

from prong.agents import jsonl
from prong.agents.claude.prompts import Prompt, prompt_of, steering, text_of
from prong.agents.claude.records import (
    CHAIN_TYPES,
    ApiMessage,
    Attachment,
    CompactMetadata,
    ContentBlock,
    Details,
    Preserved,
    PreservedSegment,
    SessionLine,
    size_of,
)
from prong.agents.common import move

ZERO = "00000000-0000-0000-0000-000000000000"


class TranscriptCall(Struct, array_like=True, gc=False):
    """A tool call. `what` is the file it edits, the command it runs or the agent it starts."""

    id: str
    name: str
    what: str | None = None


class ToolResult(Struct, array_like=True, gc=False):
    """The result of a tool call."""

    id: str
    failed: bool = False
    exit_code: int | None = None
    agent: str | None = None
    """The sub-agent that ran it; its transcript is in a separate file."""


class Boundary(Struct, array_like=True, gc=False):
    """A compaction: where the earlier conversation ends, and which messages were kept."""

    logical_parent: str | None = None
    head: str | None = None
    tail: str | None = None
    anchor: str | None = None
    preserved: list[str] = []
    partial: bool = False
    """Only a part was summarized, from the rewind menu; the rest was kept verbatim."""


class TranscriptNode(Struct, array_like=True, gc=False):
    """A line with a uuid and a parent."""

    uuid: str
    parent: str | None
    type: str
    order: int
    offset: int
    length: int
    time: str | None = None
    sidechain: bool = False
    meta: bool = False
    summary: bool = False
    """It replaces the compacted messages."""
    error: bool = False
    """The agent's report of an API error."""
    synthetic: bool = False
    """Written by the CLI as the model, such as `No response requested.`"""
    local: bool = False
    """A command that the CLI ran itself, or its output; both are sent to the model."""
    closing: bool = False
    """The CLI's note that a turn ended; not all turns have one."""
    unfinished: bool = False
    """More of the message should follow: it is thinking, or text before a tool call."""
    size: int = 0
    """Approximate characters sent to the model, counted without decoding."""
    message_id: str | None = None
    tokens: int | None = None
    prompt: Prompt | None = None
    queued: str | None = None
    """A prompt typed while the agent was busy, and read in the middle of a turn."""
    calls: tuple[TranscriptCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    boundary: Boundary | None = None
    silent: bool = False
    """An assistant line without words or calls: thinking, or an empty answer."""

    @property
    def place(self) -> jsonl.Location:
        """The byte range of the line in its file."""
        return jsonl.Location(self.offset, self.length)


class QueueOperation(Struct, array_like=True, gc=False):
    operation: str
    text: str
    order: int
    """The number of nodes before it in the file."""


class LastPrompt(Struct, array_like=True, gc=False):
    leaf: str | None
    explicit: bool
    order: int


class ClaudeTranscript(Struct, array_like=True):
    """The parsed content of one file, without the texts."""

    nodes: dict[str, TranscriptNode] = field(default_factory=dict[str, TranscriptNode])
    queue: list[QueueOperation] = []
    last_prompt: LastPrompt | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summaries: dict[str, str] = field(default_factory=dict[str, str])
    """leafUuid -> title; the leaf may be in another file of the project."""
    cwds: list[str] = []
    branch: str | None = None
    model: str | None = None
    entrypoints: list[str] = []
    session_ids: dict[str, int] = field(default_factory=dict[str, int])
    forked_from: str | None = None
    forked_uuids: list[str] = []
    """The copied prompts, if lines name the session they were copied from."""
    positioned_versions: list[str] = []
    """CLI versions in this file that mark openers with `turnPosition`."""
    started: str | None = None
    updated: str | None = None
    read_to: int = 0
    bad: list[tuple[int, str]] = []
    moves: list[tuple[int, str]] = []
    """Changes of folder: the order of the first line in it, and the folder."""
    repeated: str | None = None
    """The uuid of the last line of the conversation, if that line is a repetition."""

    def cwd_at(self, node: TranscriptNode) -> str | None:
        """Return the agent's working directory at a line."""
        number = bisect_right(self.moves, node.order, key=itemgetter(0))
        return self.moves[number - 1][1] if number else None


_EXIT_CODE = re.compile(
    rb'^(?:\[\s*\{\s*"type"\s*:\s*"text"\s*,\s*"text"\s*:\s*)?"(?:Error: )?Exit code (\d+)'
)
EDITORS = {
    "Edit": "file_path",
    "MultiEdit": "file_path",
    "Write": "file_path",
    "NotebookEdit": "notebook_path",
}
SHELL = "Bash"
LAUNCHERS = ("Agent", "Task")
_TELLING = {**EDITORS, SHELL: "command", **dict.fromkeys(LAUNCHERS, "subagent_type")}
"""Tool -> its most informative argument."""
_AGENT_ID = re.compile(rb'"([\w-]+)"')


class _ToolInput(Struct, gc=False):
    file_path: str | None = None
    notebook_path: str | None = None
    command: str | None = None
    subagent_type: str | None = None


_tool_input = msgspec.json.Decoder(_ToolInput).decode
_TYPED = (None, "prompt")
_NO_MESSAGE = ApiMessage()
_Base = tuple[str, str | None, str, int, int, int, str | None, bool, bool, bool]
"""The first fields of a node, which all types of lines have."""
_NO_WORDS = ("", "(no content)")
"""Texts of empty answers. Old CLIs write the second one."""

Hear = Callable[[SessionLine], None]
"""Called with each message, which may contain text to index."""


def read(
    file: BinaryIO, *, previous: ClaudeTranscript | None = None, hear: Hear | None = None
) -> ClaudeTranscript:
    """Read a whole file, or what was appended after `previous`, which must be its beginning."""
    transcript = previous or ClaudeTranscript()
    transcript.bad = [bad for bad in transcript.bad if bad[0] < transcript.read_to]
    reader = jsonl.Reader(SessionLine)
    add = _Builder(transcript).add
    for offset, data, line in reader.records(file, start=transcript.read_to):
        if line.type not in CHAIN_TYPES:
            _add_side_line(transcript, line)
        elif reader.is_aside:
            reader.bad.append(jsonl.Bad(offset, "Claude Code does not read it"))
        elif line.uuid:
            add(line, line.uuid, offset, len(data))
            if hear is not None and line.message is not None:
                hear(line)
    transcript.read_to = max(transcript.read_to, reader.end)
    transcript.bad.extend((bad.offset, bad.reason) for bad in reader.bad)
    return transcript


def _add_side_line(transcript: ClaudeTranscript, line: SessionLine) -> None:
    order = len(transcript.nodes)
    match line.type:
        case "last-prompt" if line.leaf_uuid is not None or line.explicit:  # old CLIs name no leaf
            before = transcript.last_prompt
            # The CLI repeats it on exit without the mark, which stays valid.
            is_repeated = before and (before.leaf, before.order) == (line.leaf_uuid, order)
            explicit = bool(line.explicit or (is_repeated and before and before.explicit))
            transcript.last_prompt = LastPrompt(line.leaf_uuid, explicit, order)
        case "custom-title":
            transcript.custom_title = line.custom_title or None
            # A fork by prong records its creation time here: its lines are older.
            transcript.updated = line.timestamp or transcript.updated
        case "ai-title":
            transcript.ai_title = line.ai_title or None
        case "summary" if line.leaf_uuid and line.summary:
            transcript.summaries[line.leaf_uuid] = line.summary
        case "queue-operation":
            operation = QueueOperation(line.operation or "", text_of(line.content), order)
            transcript.queue.append(operation)
        case _:
            pass


class _Builder:
    """Builder that adds lines of the tree to a transcript, in file order.

    This runs for each line of a store, so it creates each node in one call: setting the field of a
    struct afterwards takes longer.
    """

    def __init__(self, transcript: ClaudeTranscript) -> None:
        self.transcript = transcript
        self.nodes = transcript.nodes
        self.cwd = transcript.cwds[-1] if transcript.cwds else None
        self.entrypoint: str | None = None
        self.tools = {
            call.id: call.name for node in transcript.nodes.values() for call in node.calls
        }

    def add(self, line: SessionLine, uuid: str, offset: int, length: int) -> None:
        existing = self.nodes.get(uuid)
        # A line that is written twice keeps its first position and its last content.
        order = len(self.nodes) if existing is None else existing.order
        base = (
            uuid,
            line.parent_uuid,
            line.type,
            order,
            offset,
            length,
            line.timestamp,
            line.is_sidechain,
            line.is_meta,
            line.is_compact_summary,
        )
        match line.type:
            case "assistant":
                node = self._answer(line, line.message or _NO_MESSAGE, base)
            case "user":
                node = self._user_line(line, line.message or _NO_MESSAGE, base)
            case "attachment":
                node = TranscriptNode(*base, queued=_queued_prompt(line.attachment))
            case "system":
                node = TranscriptNode(
                    *base,
                    local=line.subtype == "local_command" and not line.is_display_only,
                    closing=line.subtype == "turn_duration",
                    boundary=_boundary(line) if line.subtype == "compact_boundary" else None,
                )
            case _:
                node = TranscriptNode(*base)
        self.nodes[uuid] = node
        if not line.is_sidechain:
            self._add_metadata(line, node)
            if line.type != "progress":
                self.transcript.repeated = None if existing is None else uuid

    def _add_metadata(self, line: SessionLine, node: TranscriptNode) -> None:
        transcript = self.transcript
        if line.timestamp:
            transcript.updated = line.timestamp
            transcript.started = transcript.started or line.timestamp
        # Most lines repeat the metadata of the line before.
        if line.cwd != self.cwd and line.cwd:
            self.cwd = line.cwd
            move(transcript.cwds, line.cwd)
            transcript.moves.append((len(self.nodes) - 1, line.cwd))
        if line.git_branch:
            transcript.branch = line.git_branch
        if line.entrypoint != self.entrypoint and line.entrypoint:
            self.entrypoint = line.entrypoint
            if line.entrypoint not in transcript.entrypoints:
                transcript.entrypoints.append(line.entrypoint)
        if line.forked_from and line.forked_from.session_id:
            transcript.forked_from = line.forked_from.session_id
            if node.prompt:
                transcript.forked_uuids.append(node.uuid)

    def _answer(self, line: SessionLine, message: ApiMessage, base: _Base) -> TranscriptNode:
        content, model, usage = message.content, message.model, message.usage
        synthetic = model == "<synthetic>"
        if model and not synthetic and not line.is_sidechain:
            self.transcript.model = model
        calls: tuple[TranscriptCall, ...] = ()
        unfinished = silent = False
        if isinstance(content, list):
            calls = tuple(_call_of(block) for block in content if block.type == "tool_use")
            self.tools.update((call.id, call.name) for call in calls)
            if not calls:
                # Thinking is never the last block of a message.
                thought = not content or "thinking" in content[-1].type
                unfinished = thought or message.stop_reason == "tool_use"
                silent = all(map(_is_silent, content))
        return TranscriptNode(
            *base,
            error=line.is_api_error_message,
            synthetic=synthetic,
            unfinished=unfinished,
            size=size_of(content),
            message_id=message.id,
            tokens=(usage.total() or None) if usage and not synthetic else None,
            calls=calls,
            silent=silent,
        )

    def _user_line(self, line: SessionLine, message: ApiMessage, base: _Base) -> TranscriptNode:
        content = message.content
        blocks = content if isinstance(content, list) else []
        results = tuple(
            self._result_of(block, line.tool_use_result)
            for block in blocks
            if block.type == "tool_result"
        )
        prompt: Prompt | None = None
        if not results and line.message:
            prompt = prompt_of(line)
            ids, versions = self.transcript.session_ids, self.transcript.positioned_versions
            if line.session_id and not line.is_sidechain:
                ids[line.session_id] = ids.get(line.session_id, 0) + 1
            if prompt and prompt.position and line.version and line.version not in versions:
                versions.append(line.version)
        return TranscriptNode(
            *base,
            size=size_of(content),
            prompt=prompt,
            queued=steering(blocks) if 0 < len(results) < len(blocks) else None,
            results=results,
        )

    def _result_of(self, block: ContentBlock, details: object) -> ToolResult:
        id_, failed = block.tool_use_id or "", bool(block.is_error)
        tool = self.tools.get(id_)
        exit_code: int | None = None
        agent: str | None = None
        if tool == SHELL and failed:
            match = _EXIT_CODE.match(memoryview(block.content)[:200])
            exit_code = int(match[1]) if match else None
        elif tool == SHELL:
            started = isinstance(details, Details) and details.background_task_id
            exit_code = None if started else 0
        elif tool in LAUNCHERS and isinstance(details, Details):
            match = _AGENT_ID.fullmatch(bytes(details.agent_id))
            agent = match[1].decode() if match else None
        return ToolResult(id_, failed, exit_code, agent)


def _queued_prompt(attachment: Attachment | None) -> str | None:
    if attachment is None or attachment.type != "queued_command":
        return None
    return text_of(attachment.prompt) or None if attachment.command_mode in _TYPED else None


def _is_silent(block: ContentBlock) -> bool:
    """Return whether a block of an answer has no words; decodes short texts only."""
    if block.type == "text":
        return len(bytes(block.text)) < 40 and text_of(block.text).strip() in _NO_WORDS
    return "thinking" in block.type


def _call_of(block: ContentBlock) -> TranscriptCall:
    name = block.name or ""
    argument = _TELLING.get(name)
    if argument is None:
        return TranscriptCall(block.id or "", name)
    arguments = jsonl.decoded(_tool_input, block.input) or _ToolInput()
    return TranscriptCall(block.id or "", name, getattr(arguments, argument))


def _boundary(line: SessionLine) -> Boundary:
    metadata = line.compact_metadata or CompactMetadata()
    segment = metadata.preserved_segment or PreservedSegment()
    kept = metadata.preserved_messages or Preserved()
    return Boundary(
        line.logical_parent_uuid,
        segment.head_uuid,
        segment.tail_uuid,
        kept.anchor_uuid or segment.anchor_uuid,
        kept.uuids or kept.all_uuids,
        bool(metadata.messages_summarized),
    )
