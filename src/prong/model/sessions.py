"""Sessions, turns and messages, as values. See docs/concepts.md for the terms."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

from prong.model.code import DiffStat
from prong.model.record import Record, field


class SessionRef(Record, frozen=True, order=True):
    """The identity of a session, written as `claude:60309e1e-...`."""

    agent: str
    id: str

    def __str__(self) -> str:
        return f"{self.agent}:{self.id}"


class Session(Record, frozen=True):
    """The metadata of a session, without its transcript."""

    ref: SessionRef
    file: str
    """The session file, as text: lists hold thousands, and `path` converts it."""
    title: str
    cwd: str | None = None
    """The folder of the last line; `cwds` has every folder of the session."""
    cwds: tuple[str, ...] = ()
    branch: str | None = None
    model: str | None = None
    entrypoint: str | None = None
    """How it was started: cli, claude-vscode, sdk-cli, exec, ..."""
    started: datetime | None = None
    updated: datetime | None = None
    turn_count: int = 0
    size: int = 0
    parent: SessionRef | None = None
    inherited: int = 0
    """How many of its first turns come from the parent."""
    forked_at: int | None = None
    """The parent's turn at the fork, if not `inherited`: a seed copies no turns."""
    archived: bool = False
    headless: bool = False
    """Prompted only by programs (`claude -p`, an SDK, `codex exec`), never by a person."""

    @property
    def path(self) -> Path:
        return Path(self.file)

    @property
    def agent(self) -> str:
        return self.ref.agent

    @property
    def id(self) -> str:
        return self.ref.id


class TurnKind(StrEnum):
    """What started the turn."""

    HUMAN = "human"
    COMMAND = "command"
    SDK = "sdk"
    NOTIFICATION = "notification"


class TurnState(StrEnum):
    """How the turn ended, as recorded in the file."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    RUNNING = "running"


class Command(Record, frozen=True):
    """A shell command that the agent ran; the exit code is None if it was not recorded."""

    command: str
    exit_code: int | None


class GapKind(StrEnum):
    FAILED = "failed"
    """The code of the turn was not captured at all."""
    PARTIAL = "partial"
    """The capture stopped early, or could not read everything."""
    LEFT_OUT = "left_out"
    """A file was excluded, for example because of its size."""
    OUTSIDE = "outside"
    """The turn changed a file outside the repository."""


class CodeGap(Record, frozen=True):
    """Something missing from the captured code of a turn."""

    kind: GapKind
    reason: str
    path: str | None = None
    size: int | None = None


class Turn(Record, frozen=True):
    """One real prompt and everything until the next."""

    index: int | None
    """Its number in the active conversation, from 1; None on an abandoned branch."""
    id: str
    """The key of stored facts: it stays the same when the session is rewound."""
    kind: TurnKind
    prompt: str
    started: datetime | None = None
    ended: datetime | None = None
    state: TurnState = TurnState.FINISHED
    queued: tuple[str, ...] = ()
    """Prompts typed while the agent was busy that belong to this turn."""
    files: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    tokens: int | None = None
    """Context size after this turn, as reported by the agent."""
    cwd: str | None = None
    """The agent's folder at the end of the turn, if recorded."""
    snapshot: str | None = None
    """The commit of the code at the end of the turn, if captured."""
    changes: "DiffStat | None" = None
    """What the turn changed in the code, if its beginning was captured too."""
    since_prompt: bool | None = None
    """Whether `changes` starts at the prompt, not after the previous turn; None without it."""
    late: bool = False
    """The code was captured some time after the turn, so it includes later changes."""
    gaps: tuple[CodeGap, ...] = ()
    """What the captured code lacks. Empty if no capture was attempted."""


class Skipped(Record, frozen=True):
    """Something a reader could not use, and why. Nothing is dropped silently."""

    path: Path
    reason: str
    offset: int | None = None
    harmless: bool = False
    """True when nothing is lost, as with a file that holds no conversation."""


class SubAgent(Record, frozen=True):
    """A conversation that a turn started, in its own file. Never a session."""

    id: str
    path: Path
    kind: str | None = None
    """The agent type it was launched as, if known."""
    call_id: str | None = None
    """The tool call that launched it."""


class Conversation(Record, frozen=True):
    """The turns of one session: the active ones in order, and those abandoned by rewinds."""

    session: Session
    turns: tuple[Turn, ...]
    abandoned: tuple[Turn, ...] = ()
    compactions: tuple[int, ...] = ()
    """For each compaction, the number of turns before it."""
    subagents: tuple[SubAgent, ...] = ()
    skipped: tuple[Skipped, ...] = ()


Role = Literal["user", "assistant", "thinking", "tool", "summary"]


class Tool(Record, frozen=True):
    """A tool call, or its result. `output` is None on a call that has no result yet."""

    id: str
    name: str
    input: str = ""
    """The arguments as JSON text, or as the agent's own text."""
    output: str | None = None
    failed: bool = False
    exit_code: int | None = None
    gist: str = ""
    """The main argument: the command, the file or the pattern."""


class Media(Record, frozen=True, eq=False):
    """An image or a document in a message, which is loaded from the session file on demand.

    A session may contain a hundred megabytes of them.
    """

    type: str
    """`image/png`; empty when the session only links to it."""
    size: int
    """Length of the base64 content."""
    read: Callable[[], str]
    """Returns the content in base64. Works while the source of the message is open."""

    @property
    def noun(self) -> str:
        return "image" if not self.type or self.type.startswith("image/") else "document"

    @property
    def is_portable(self) -> bool:
        """True for an image that the models of all agents accept."""
        return self.type in _IMAGE_TYPES and 0 < self.size <= _LARGEST_IMAGE


_IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
_LARGEST_IMAGE = 5 << 20


class Message(Record, frozen=True):
    """One item of a conversation: a text, a thought, a tool call or a tool result."""

    role: Role
    text: str
    turn: int | None = None
    tool: Tool | None = None
    time: datetime | None = None
    media: tuple[Media, ...] = ()
    """The images of the text or tool result; only fork sources provide them."""


class View(StrEnum):
    """Which lines of a session to read."""

    HISTORY = "history"
    """Every message of the active branch, including those before a compaction."""
    CONTEXT = "context"
    """What the agent would send to the model if the session were resumed."""


class Activity(StrEnum):
    """What the agent is doing with a session right now."""

    BUSY = "busy"
    IDLE = "idle"
    """Open in a running process that waits for a prompt."""
    CLOSED = "closed"


class KnownFile(NamedTuple):
    """What a scan remembers about one file; only its agent can interpret the bytes."""

    size: int
    mtime_ns: int
    inode: int
    facts: bytes
    """Enough to list the session."""
    state: bytes | None = None
    """Enough to continue reading a large file. A cache returns it only on request."""


class Scan(Record, frozen=True):
    """The sessions of one agent, and what to remember for the next scan."""

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...] = ()
    changed: Mapping[str, KnownFile] = field(default_factory=dict[str, KnownFile])
    gone: frozenset[str] = frozenset()
    """Known files that no longer exist. Empty unless the scan was complete."""
    complete: bool = True
    """False when a folder could not be listed, so a missing file may still exist."""
    result: bytes | None = None
    """This scan, for a next one that may find nothing changed; opaque, too."""
    seal: bytes = b""
    """Differs whenever a file differs; empty if the store does not support it."""


class Program(Record, frozen=True):
    """The agent's own command-line program, as `prong doctor` checks it."""

    name: str
    flags: tuple[str, ...]
    """Flags that prong uses; `--help` must list them."""
    install: str
    root_variable: str
    """The environment variable that moves its configuration folder."""
    product: str = ""
    tested: tuple[str, ...] = ()
    """The versions that prong was tested with, oldest first."""


class Retention(Record, frozen=True):
    """After how many days the agent deletes its session files, and which setting says so."""

    days: int
    source: str
