"""Record types for the lines of a Claude Code session file.

Unknown fields and types are ignored. Fields that can be large stay undecoded (`Raw`): most of a
transcript is tool output that prong does not need.
"""

import re

from msgspec import Raw, Struct, field
from msgspec.structs import astuple

NO_RAW = Raw(b"")


class ApiUsage(Struct, gc=False):
    input_tokens: int | None = None
    cache_creation_input_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    output_tokens: int | None = None

    def total(self) -> int:
        return sum(filter(None, astuple(self)))


class ContentBlock(Struct, gc=False):
    """A content block; its fields depend on `type`."""

    type: str = ""
    text: Raw = NO_RAW
    thinking: Raw = NO_RAW
    id: str | None = None
    name: str | None = None
    input: Raw = NO_RAW
    tool_use_id: str | None = None
    is_error: bool | None = None
    content: Raw = NO_RAW


class ApiMessage(Struct, gc=False):
    """The API message in a user or assistant line."""

    id: str | None = None
    model: str | None = None
    content: str | list[ContentBlock] = ""
    stop_reason: str | None = None
    usage: ApiUsage | None = None


class Attachment(Struct, gc=False):
    type: str = ""
    prompt: Raw = NO_RAW
    command_mode: str | None = field(default=None, name="commandMode")


class Details(Struct, gc=False):
    """The CLI's own data about a tool result, if it is an object."""

    background_task_id: Raw = field(default=NO_RAW, name="backgroundTaskId")
    agent_id: Raw = field(default=NO_RAW, name="agentId")


class PromptOrigin(Struct, gc=False):
    kind: str | None = None


class ForkedFrom(Struct, gc=False, rename="camel"):
    session_id: str | None = None


class PreservedSegment(Struct, gc=False, rename="camel"):
    head_uuid: str | None = None
    anchor_uuid: str | None = None
    tail_uuid: str | None = None


class Preserved(Struct, gc=False, rename="camel"):
    anchor_uuid: str | None = None
    uuids: list[str] = []
    all_uuids: list[str] = []


class CompactMetadata(Struct, gc=False, rename="camel"):
    messages_summarized: int | None = None
    preserved_segment: PreservedSegment | None = None
    preserved_messages: Preserved | None = None


class SessionLine(Struct, gc=False, rename="camel"):
    """Any line. Fields are roughly in file order, which decodes faster."""

    parent_uuid: str | None = None
    logical_parent_uuid: str | None = None
    is_sidechain: bool = False
    prompt_id: str | None = None
    type: str = ""
    subtype: str | None = None
    message: ApiMessage | None = None
    is_meta: bool = False
    is_compact_summary: bool = False
    is_visible_in_transcript_only: bool = False
    is_api_error_message: bool = False
    is_display_only: bool = False
    attachment: Attachment | None = None
    compact_metadata: CompactMetadata | None = None
    uuid: str | None = None
    timestamp: str | None = None
    tool_use_result: Details | str | list[Raw] | None = None
    source_tool_use_id: str | None = field(default=None, name="sourceToolUseID")
    turn_position: Raw = NO_RAW
    turn_origin: str | None = None
    prompt_source: str | None = None
    origin: PromptOrigin | None = None
    entrypoint: str | None = None
    cwd: str | None = None
    session_id: str | None = None
    version: str | None = None
    git_branch: str | None = None
    forked_from: ForkedFrom | None = None
    # side lines
    leaf_uuid: str | None = None
    explicit: bool | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    operation: str | None = None
    content: Raw = NO_RAW


CHAIN_TYPES = frozenset({"user", "assistant", "attachment", "system", "progress"})
"""Lines with a uuid and a parent. All others are side lines."""


_PICTURE = re.compile(rb'"data"\s*:\s*"(?=[A-Za-z0-9+/=]{1000})')
_PICTURE_SIZE = 6_000
"""The cost of a picture for the model, in characters; its data may have a million."""


def size_of(content: str | list[ContentBlock]) -> int:
    """Count the characters of a message, with each picture at its cost for the model."""
    if isinstance(content, str):
        return len(content)
    size = 0
    for block in content:
        size += len(block.text) + len(block.thinking) + len(block.input) + len(block.content)
    if 0 < size < _PICTURE_SIZE:
        return size
    for block in content:
        if block.type in ("image", "document"):
            size += _PICTURE_SIZE
        # Most results are one long string, which need not be copied.
        elif bytes(memoryview(block.content)[:1]) == b"[":
            raw = bytes(block.content)
            for picture in _PICTURE.finditer(raw):
                size += _PICTURE_SIZE - (raw.find(b'"', picture.end()) - picture.start())
    return size
