"""Sessions, turns and messages, as values. The words are those of docs/concepts.md."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

from prong.model.code import DiffStat
from prong.model.record import Record, field


class SessionRef(Record, frozen=True, order=True):
    """Names one session of one agent. The text form is `claude:60309e1e-...`."""

    agent: str
    id: str

    def __str__(self) -> str:
        return f"{self.agent}:{self.id}"


class Session(Record, frozen=True):
    """What is known of a session without its transcript."""

    ref: SessionRef
    file: str
    """Where it lies. Text, because a list has thousands of them; `path` is the same as a Path."""
    title: str
    cwd: str | None = None
    """The folder of the last line; `cwds` has every folder the session was in."""
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
    """How many of its first turns come from the parent; 0 when there is none."""
    forked_at: int | None = None
    """The parent's turn it was forked at, where that is not `inherited`: a seed has no copies."""
    archived: bool = False
    headless: bool = False
    """Made only by programs (`claude -p`, an SDK, `codex exec`), never by a person at a prompt."""

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
    """Who opened the turn."""

    HUMAN = "human"
    COMMAND = "command"
    SDK = "sdk"
    NOTIFICATION = "notification"


class TurnState(StrEnum):
    """How the turn ended, as far as the file tells."""

    FINISHED = "finished"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    RUNNING = "running"


class Command(Record, frozen=True):
    """A shell command the agent ran; the exit code is None when it was never written."""

    command: str
    exit_code: int | None


class GapKind(StrEnum):
    FAILED = "failed"
    """The code of the turn was not captured at all."""
    PARTIAL = "partial"
    """The capture ended early, or could not read everything."""
    LEFT_OUT = "left_out"
    """A file is not in it, such as one over the size limit."""
    OUTSIDE = "outside"
    """A file that the turn changed is outside of the repository."""


class CodeGap(Record, frozen=True):
    """One thing that the captured code of a turn lacks."""

    kind: GapKind
    reason: str
    path: str | None = None
    size: int | None = None
    """In bytes."""


class Turn(Record, frozen=True):
    """One real prompt and everything until the next."""

    index: int | None
    """Its number in the active conversation, from 1; None on an abandoned branch."""
    id: str
    """What stored facts are keyed by: it does not move when the session is rewound."""
    kind: TurnKind
    prompt: str
    started: datetime | None = None
    ended: datetime | None = None
    state: TurnState = TurnState.FINISHED
    queued: tuple[str, ...] = ()
    """Prompts typed while the agent was busy that landed in this turn."""
    files: tuple[str, ...] = ()
    commands: tuple[Command, ...] = ()
    tools: Mapping[str, int] = field(default_factory=dict[str, int])
    """Tool name -> number of calls."""
    tokens: int | None = None
    """Size of the context after this turn, as the agent reported it."""
    cwd: str | None = None
    """The folder that the agent was in at the end of the turn, where the session tells."""
    snapshot: str | None = None
    """The commit that has the code as it stood at the end of the turn, when it was kept."""
    changes: "DiffStat | None" = None
    """What the turn did to the code, when that of its beginning was kept as well."""
    since_prompt: bool | None = None
    """Whether that is since its prompt, or since the end of the turn before; None without any."""
    late: bool = False
    """The code was kept some time after the turn had ended: what was changed since is in it."""
    gaps: tuple[CodeGap, ...] = ()
    """What the captured code lacks. Empty for a turn of which no capture was tried."""


class Skipped(Record, frozen=True):
    """Something that could not be used, and why; a reader never drops silently."""

    path: Path
    reason: str
    offset: int | None = None
    harmless: bool = False
    """True when nothing is lost by it: a file that holds no conversation."""


class SubAgent(Record, frozen=True):
    """A conversation that a turn started and that has its own file. Never a session."""

    id: str
    path: Path
    kind: str | None = None
    """The agent type it was launched as, where known."""
    call_id: str | None = None
    """The tool call that launched it."""


class Conversation(Record, frozen=True):
    """The turns of one session: the active ones in order, and those left behind by rewinds."""

    session: Session
    turns: tuple[Turn, ...]
    abandoned: tuple[Turn, ...] = ()
    compactions: tuple[int, ...] = ()
    """For each compaction, the number of turns that stood before it."""
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
    """What the call is about: the command, the file, the pattern."""


class Media(Record, frozen=True, eq=False):
    """An image or a document in a message. Its content stays in the session file until it is read.

    A session may have a hundred megabytes of them.
    """

    type: str
    """`image/png`; empty when the session has no more than a link to it."""
    size: int
    """How many characters it has in base64."""
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
    """One piece of a conversation: a text, a thought, a tool call or a tool's result."""

    role: Role
    text: str
    turn: int | None = None
    tool: Tool | None = None
    time: datetime | None = None
    media: tuple[Media, ...] = ()
    """The image that the text stands for, or what the tool returned; given by fork sources only."""


class View(StrEnum):
    """Which lines of a session to read."""

    HISTORY = "history"
    """All that the person saw on the active branch, also what came before a compaction."""
    CONTEXT = "context"
    """What the agent would send to the model if the session were resumed."""


class Activity(StrEnum):
    """What the agent is doing with a session right now."""

    BUSY = "busy"
    IDLE = "idle"
    """Open in a living process that waits for a prompt."""
    CLOSED = "closed"


class KnownFile(NamedTuple):
    """What a scan remembers of one file; the bytes are opaque to everyone but its agent."""

    size: int
    mtime_ns: int
    inode: int
    facts: bytes
    """Enough to list the session."""
    state: bytes | None = None
    """Enough to continue reading a large file. A cache hands it out only when asked."""


class Scan(Record, frozen=True):
    """The sessions of one agent, and what to remember for the next scan."""

    sessions: tuple[Session, ...]
    skipped: tuple[Skipped, ...] = ()
    changed: Mapping[str, KnownFile] = field(default_factory=dict[str, KnownFile])
    """Files that were read in this scan, by path."""
    gone: frozenset[str] = frozenset()
    """Known files that are no longer there. Empty unless the scan was complete."""
    complete: bool = True
    """False when a folder could not be listed: then nothing may be taken for deleted."""
    result: bytes | None = None
    """All of this scan for the next one, which may find that nothing changed; opaque, too."""
    seal: bytes = b""
    """Differs when any file differs; empty when the store has no such thing."""


class Program(Record, frozen=True):
    """The agent's own command-line program, for `prong doctor`."""

    name: str
    flags: tuple[str, ...]
    """Flags that prong will use; `--help` must know them."""
    install: str
    """What to type to get it."""
    root_variable: str
    """The environment variable that moves its configuration folder."""
    product: str = ""
    """The name of the agent as people write it."""
    tested: tuple[str, ...] = ()
    """The versions that prong was tested with, oldest first."""


class Retention(Record, frozen=True):
    """After how many days the agent deletes its own session files, and who says so."""

    days: int
    source: str
