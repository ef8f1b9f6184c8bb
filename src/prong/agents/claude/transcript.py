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
    ContentBlock,
    Details,
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


_NOBODY = ApiMessage()

Hear = Callable[[SessionLine], None]
"""Called with each decoded line that may contain text to index."""


def read(
    file: BinaryIO, *, previous: ClaudeTranscript | None = None, hear: Hear | None = None
) -> ClaudeTranscript:
    """Read a whole file, or what was appended after `previous`, which must be its beginning."""
    transcript = previous or ClaudeTranscript()
    transcript.bad = [bad for bad in transcript.bad if bad[0] < transcript.read_to]
    reader = jsonl.Reader(SessionLine)
    taker = _Taker(transcript)
    take = taker.take
    for offset, data, line in reader.records(file, start=transcript.read_to):
        if reader.is_aside and line.type in CHAIN_TYPES:
            reader.bad.append(jsonl.Bad(offset, "Claude Code does not read it"))
        elif take(line, offset, len(data)) and hear is not None:
            hear(line)
    taker.finish()
    transcript.read_to = max(transcript.read_to, reader.end)
    transcript.bad.extend((bad.offset, bad.reason) for bad in reader.bad)
    return transcript


class _Taker:
    """Builder that adds lines to a transcript, in file order.

    This runs for each line of a store, so it makes few calls, and creates each node in one call:
    setting the field of a struct afterwards takes longer.
    """

    def __init__(self, transcript: ClaudeTranscript) -> None:
        self.transcript = transcript
        self.nodes = transcript.nodes
        self.started, self.updated = transcript.started, transcript.updated
        self.branch = transcript.branch
        self.model = transcript.model
        self.cwd = transcript.cwds[-1] if transcript.cwds else None
        self.entrypoint: str | None = None
        self.repeated = transcript.repeated
        self.tools = {
            call.id: call.name for node in transcript.nodes.values() for call in node.calls
        }

    def take(self, line: SessionLine, offset: int, length: int) -> bool:
        """Add a line; return whether it, or an earlier copy of it, may contain text to index."""
        uuid, kind = line.uuid, line.type
        if not uuid or kind not in CHAIN_TYPES:
            self._take_side_line(line)
            return False
        nodes = self.nodes
        existing = nodes.get(uuid)
        # A line that is written twice keeps its first position and its last content.
        order = len(nodes) if existing is None else existing.order
        has_text = existing is not None
        if kind == "assistant":
            has_text = self._take_assistant(line, uuid, order, offset, length) or has_text
        elif kind == "user":
            has_text = self._take_user(line, uuid, order, offset, length) or has_text
        else:
            nodes[uuid] = _node_beside(line, uuid, order, offset, length)
        if not line.is_sidechain:
            self._take_metadata(line, uuid)
            if kind != "progress":
                self.repeated = None if existing is None else uuid
        return has_text

    def finish(self) -> None:
        """Store the metadata that the last lines set."""
        transcript = self.transcript
        transcript.started, transcript.updated = self.started, self.updated
        transcript.branch, transcript.model = self.branch, self.model
        transcript.repeated = self.repeated

    def _take_side_line(self, line: SessionLine) -> None:
        transcript = self.transcript
        match line.type:
            case "last-prompt" if line.leaf_uuid is None and not line.explicit:
                pass  # old CLIs record no leaf here
            case "last-prompt":
                order, before = len(transcript.nodes), transcript.last_prompt
                # The CLI repeats it on exit without the mark, which stays valid.
                is_repeated = before and (before.leaf, before.order) == (line.leaf_uuid, order)
                explicit = bool(line.explicit or (is_repeated and before and before.explicit))
                transcript.last_prompt = LastPrompt(line.leaf_uuid, explicit, order)
            case "custom-title":
                transcript.custom_title = line.custom_title or None
                # A fork by prong records its creation time here: its lines are older.
                self.updated = line.timestamp or self.updated
            case "ai-title":
                transcript.ai_title = line.ai_title or None
            case "summary":
                if line.leaf_uuid and line.summary:
                    transcript.summaries[line.leaf_uuid] = line.summary
            case "queue-operation":
                text = text_of(line.content)
                transcript.queue.append(
                    QueueOperation(line.operation or "", text, len(transcript.nodes))
                )
            case _:
                pass

    def _take_metadata(self, line: SessionLine, uuid: str) -> None:
        time = line.timestamp
        if time:
            self.updated = time
            self.started = self.started or time
        # Most lines repeat the metadata of the line before.
        if line.cwd != self.cwd and line.cwd:
            self.cwd = line.cwd
            move(self.transcript.cwds, line.cwd)
            self.transcript.moves.append((len(self.nodes) - 1, line.cwd))
        if line.git_branch:
            self.branch = line.git_branch
        if line.entrypoint != self.entrypoint and line.entrypoint:
            self.entrypoint = line.entrypoint
            if line.entrypoint not in self.transcript.entrypoints:
                self.transcript.entrypoints.append(line.entrypoint)
        if line.forked_from and line.forked_from.session_id:
            self.transcript.forked_from = line.forked_from.session_id
            if self.nodes[uuid].prompt:
                self.transcript.forked_uuids.append(uuid)

    def _take_assistant(
        self, line: SessionLine, uuid: str, order: int, at: int, length: int
    ) -> bool:
        body = line.message or _NOBODY
        content, model, usage = body.content, body.model, body.usage
        synthetic = model == "<synthetic>"
        if model and not synthetic and not line.is_sidechain:
            self.model = model
        has_text = True
        calls: tuple[TranscriptCall, ...] = ()
        unfinished = False
        if isinstance(content, list):
            has_text = False
            for block in content:
                kind = block.type
                if kind == "tool_use":
                    call = _call_of(block)
                    self.tools[call.id] = call.name
                    calls += (call,)
                    has_text = has_text or call.name in LAUNCHERS
                elif kind == "text":
                    has_text = True
            if not calls:
                # Thinking is never the last block of a message.
                thought = not content or "thinking" in content[-1].type
                unfinished = thought or body.stop_reason == "tool_use"
        self.nodes[uuid] = TranscriptNode(
            uuid,
            line.parent_uuid,
            "assistant",
            order,
            at,
            length,
            line.timestamp,
            line.is_sidechain,
            line.is_meta,
            line.is_compact_summary,
            line.is_api_error_message,
            synthetic,
            unfinished=unfinished,
            size=size_of(content),
            message_id=body.id,
            tokens=(usage.total() or None) if usage and not synthetic else None,
            calls=calls,
        )
        return has_text and body is not _NOBODY

    def _take_user(self, line: SessionLine, uuid: str, order: int, at: int, length: int) -> bool:
        content = line.message.content if line.message else ""
        results: tuple[ToolResult, ...] = ()
        queued: str | None = None
        prompt: Prompt | None = None
        if isinstance(content, list):
            for block in content:
                if block.type == "tool_result":
                    results += (self._result_of(block, line.tool_use_result),)
            if results and len(content) > len(results):
                queued = steering(content)
        if not results and line.message:
            prompt = prompt_of(line)
            self._take_ids(line, prompt)
        self.nodes[uuid] = TranscriptNode(
            uuid,
            line.parent_uuid,
            "user",
            order,
            at,
            length,
            line.timestamp,
            line.is_sidechain,
            line.is_meta,
            line.is_compact_summary,
            size=size_of(content),
            prompt=prompt,
            queued=queued,
            results=results,
        )
        return bool(results)

    def _take_ids(self, line: SessionLine, prompt: Prompt | None) -> None:
        if line.session_id and not line.is_sidechain:
            ids = self.transcript.session_ids
            ids[line.session_id] = ids.get(line.session_id, 0) + 1
        if prompt and prompt.position and line.version:
            versions = self.transcript.positioned_versions
            if line.version not in versions:
                versions.append(line.version)

    def _result_of(self, block: ContentBlock, details: object) -> ToolResult:
        id_, failed = block.tool_use_id or "", bool(block.is_error)
        tool = self.tools.get(id_)
        if tool == SHELL:
            if not failed:
                started = isinstance(details, Details) and details.background_task_id
                return ToolResult(id_, failed, None if started else 0)
            match = _EXIT_CODE.match(memoryview(block.content)[:200])
            return ToolResult(id_, failed, int(match[1]) if match else None)
        if tool in LAUNCHERS and isinstance(details, Details):
            match_id = _AGENT_ID.fullmatch(bytes(details.agent_id))
            return ToolResult(id_, failed, None, match_id[1].decode() if match_id else None)
        return ToolResult(id_, failed)


def _node_beside(
    line: SessionLine, uuid: str, order: int, offset: int, length: int
) -> TranscriptNode:
    """Make the node of an attachment, system or progress line."""
    node = TranscriptNode(
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
    if line.type == "attachment":
        attachment = line.attachment
        if (
            attachment
            and attachment.type == "queued_command"
            and attachment.command_mode in (None, "prompt")
        ):
            node.queued = text_of(attachment.prompt) or None
    elif line.type == "system":
        node.local = line.subtype == "local_command" and not line.is_display_only
        node.closing = line.subtype == "turn_duration"
        if line.subtype == "compact_boundary":
            node.boundary = _boundary_of(line)
    return node


def _call_of(block: ContentBlock) -> TranscriptCall:
    name = block.name or ""
    argument = _TELLING.get(name)
    if argument is None:
        return TranscriptCall(block.id or "", name)
    arguments = jsonl.decoded(_tool_input, block.input) or _ToolInput()
    return TranscriptCall(block.id or "", name, getattr(arguments, argument))


def _boundary_of(line: SessionLine) -> Boundary:
    metadata = line.compact_metadata
    segment = metadata.preserved_segment if metadata else None
    kept = metadata.preserved_messages if metadata else None
    return Boundary(
        line.logical_parent_uuid,
        segment.head_uuid if segment else None,
        segment.tail_uuid if segment else None,
        (kept.anchor_uuid if kept else None) or (segment.anchor_uuid if segment else None),
        (kept.uuids or kept.all_uuids) if kept else [],
        bool(metadata and metadata.messages_summarized),
    )
