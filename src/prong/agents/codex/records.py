"""The JSON structure of Codex rollout lines, limited to the fields that prong reads.

Since late 2025 a line wraps its content in `payload`; before, the content was the line itself.
`RolloutLine` is therefore a `Payload`. Fields that can be large stay undecoded.
"""

from msgspec import Raw, Struct

NO_RAW = Raw(b"")


class GitInfo(Struct, gc=False):
    branch: str | None = None


class HistoryBase(Struct, gc=False):
    """The end of the inherited part of a forked or rewound rollout, in another rollout."""

    thread_id: str
    """A rollout id: the last UUID in a file name."""
    end_ordinal_exclusive: int


class TokenUsage(Struct, gc=False):
    total_tokens: int | None = None


class TokenInfo(Struct, gc=False):
    last_token_usage: TokenUsage | None = None
    model_context_window: int | None = None


class Settings(Struct, gc=False):
    cwd: str | None = None
    model: str | None = None


class Payload(Struct, gc=False):
    """The content of a line of any type, or a finished item of a turn."""

    type: str = ""
    id: str | None = None
    turn_id: str | None = None
    # session_meta
    forked_from_id: str | None = None
    forked_from_agent: str | None = None
    forked_from_turn: int | None = None
    history_base: HistoryBase | None = None
    timestamp: str | None = None
    cwd: str | None = None
    source: Raw = NO_RAW
    thread_source: str | None = None
    git: GitInfo | None = None
    # turn_context
    model: str | None = None
    # response items
    role: str | None = None
    content: Raw = NO_RAW
    name: str | None = None
    arguments: Raw = NO_RAW
    input: Raw = NO_RAW
    call_id: str | None = None
    output: Raw = NO_RAW
    # events and finished items
    message: Raw = NO_RAW
    item: "Payload | None" = None
    info: TokenInfo | None = None
    model_context_window: int | None = None
    error: Raw = NO_RAW
    command: Raw = NO_RAW
    exit_code: int | None = None
    success: bool | None = None
    status: str | None = None
    changes: dict[str, Raw] | None = None
    num_turns: int | None = None
    replacement_history: Raw = NO_RAW
    thread_name: str | None = None
    thread_settings: Settings | None = None
    agent_thread_id: str | None = None
    receiver_thread_ids: list[str] = []
    event_id: str | None = None
    prompt: Raw = NO_RAW


class RolloutLine(Payload, gc=False):
    """A line of a rollout, with or without `payload`."""

    ordinal: int | None = None
    payload: Payload | None = None
    record_type: str | None = None


BARE_ITEMS = frozenset(
    {"message", "reasoning", "function_call", "function_call_output", "local_shell_call"}
)
"""Items that old files have directly on a line, without `payload`."""
