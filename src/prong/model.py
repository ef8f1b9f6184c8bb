"""The vocabulary: frozen values that every layer shares.

Words are those of docs/concepts.md. Nothing here reads a file.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

# By an alias, so that it counts as a part of this module.
# ruff: noqa: PLC0414
from prong.hits import Answer as Answer
from prong.hits import Attempt as Attempt
from prong.hits import Found as Found
from prong.hits import Hit as Hit
from prong.hits import IndexProgress as IndexProgress
from prong.hits import IndexState as IndexState
from prong.hits import Passage as Passage
from prong.hits import Query as Query
from prong.hits import SearchResult as SearchResult
from prong.record import Record, field
from prong.snapshot import DiffStat as DiffStat
from prong.snapshot import LeftOut as LeftOut
from prong.snapshot import NestedSnapshot as NestedSnapshot
from prong.snapshot import Snapshot as Snapshot
from prong.snapshot import TurnKey as TurnKey


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


class ForkPoint(Record, frozen=True):
    """A place to fork from. The turn is included; number 0 is before the first."""

    session: SessionRef
    turn: int | None
    """None for a turn on an abandoned branch, which only its id names."""
    turn_id: str | None = None
    """None before the first turn."""

    def __str__(self) -> str:
        return f"{self.session}@{self.turn_id if self.turn is None else self.turn}"


class Method(StrEnum):
    """How a fork gets its history."""

    COPY = "copy"
    """A new session file, written by prong or by the agent's own fork at a turn."""
    NATIVE = "native"
    """The agent's own command-line fork, which takes the whole session."""
    SEED = "seed"
    """The transcript as first prompt."""


class Code(StrEnum):
    """Which state of the code a fork starts from."""

    TURN = "turn"
    NOW = "now"
    HEAD = "head"
    NONE = "none"
    """No code is touched and no workspace is made."""


class Cut(Record, frozen=True):
    """Which part of a session a fork gets: everything up to and with one turn."""

    turn: str | None
    """The id of the last turn, also of one on an abandoned branch; None: before the first."""
    full: bool = False
    """Undo compactions: the words that were said instead of the summaries."""


class Extent(Record, frozen=True):
    """How much lies before a cut, as the model would get it."""

    turns: int
    characters: int
    tokens: int | None = None
    """The size of the context that the agent itself reported last before the cut."""
    window: int | None = None
    """The size of the model's window, where the session tells."""
    warnings: tuple[str, ...] = ()
    """What a fork here will not have, or will have changed."""


class Child(Record, frozen=True):
    """The session that a fork is going to be."""

    id: str | None
    """None when the agent's own program will choose it."""
    cwd: Path
    parent: ForkPoint
    title: str | None = None
    root: Path | None = None
    """The configuration folder that it will lie in; None: the agent's first one."""


class Launch(Record, frozen=True):
    """How to start a program: an argument list, never a line for a shell."""

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What to set in addition to the environment there is."""
    title: str = ""


UNKNOWN_ID = "<new id>"
"""Stands in the command of a plan while only the agent can know the id."""


class CodeSince(Record, frozen=True):
    """What has changed since a turn of which no code was kept."""

    age: timedelta
    """How long ago the turn was over."""
    commits: int
    files: int


class WorktreePlan(Record, frozen=True):
    """The worktree that a fork would get: of which code, and where."""

    code: Code
    repo: Path
    """A working tree of the repository."""
    path: Path
    branch: str
    folder: Path
    """Where in the worktree the agent runs: as deep as it ran in the repository."""
    snapshot: "Snapshot | None" = None
    """None where the code is to be taken now, or is that of a commit."""
    commit: str | None = None
    is_exact: bool = True
    """False for a commit that only comes near to the code of the turn."""
    late: timedelta | None = None
    """How long after the turn its code was kept, where that was late."""
    since: CodeSince | None = None
    """What the code of now has that the turn did not, where nobody asked for the code of now."""
    name: str = ""
    """What folder and branch are named after; a number behind it makes them unique."""
    is_chosen: bool = False
    """True when a person chose the branch: it is never another one."""
    gaps: tuple[CodeGap, ...] = ()
    """What the captured code of the turn lacks."""


class ForkPlan(Record, frozen=True):
    """What a fork would do. A pure value: making it wrote nothing."""

    point: ForkPoint
    source: Session
    agent: str
    """The agent of the fork."""
    method: Method
    new_id: str | None
    """None when the agent's own program will choose it."""
    workspace: Path
    launch: Launch
    """With `<new id>` in it while the id is not known."""
    tokens: int
    window: int | None
    code: Code = Code.NONE
    title: str | None = None
    prompt: str | None = None
    """The first prompt of the fork."""
    is_command: bool = False
    """True when the prompt repeats a command of the agent that a person gave."""
    before_compaction: bool = False
    trim: bool = False
    root: Path | None = None
    worktree: WorktreePlan | None = None
    """None when no code is touched and no worktree is made."""
    unopened: str | None = None
    """Why there is no worktree although there is code: git does not give it."""
    missing: str | None = None
    """Why the agent cannot be started, and what to install. The fork is written all the same."""
    command: str | tuple[str, ...] | None = None
    """The base command that it is run with, where that is not the configured one."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the source worker was started with: its fork goes the same way to the model."""
    worker: str | None = None
    """The name of the worker that has the source open, or had it."""
    warnings: tuple[str, ...] = ()

    @property
    def child(self) -> Child:
        return Child(self.new_id, self.workspace, self.point, self.title, self.root)

    @property
    def cut(self) -> Cut:
        return Cut(self.point.turn_id, self.before_compaction)


class Fork(Record, frozen=True):
    """The fact that a session was forked, and, just after it was made, how to run the fork."""

    id: str
    parent: ForkPoint
    parent_workspace: str | None
    child: SessionRef
    method: Method
    created: datetime
    tokens: int
    window: int | None = None
    seed_hash: str | None = None
    seed_path: str | None = None
    seed_ack_filtered: bool = False
    # What is not kept: it can be found again from the child.
    code: Code = Code.NONE
    path: Path | None = None
    """The new session file; None when the agent writes it with the first prompt."""
    workspace: Path | None = None
    branch: str | None = None
    launch: Launch | None = None
    warnings: tuple[str, ...] = ()


class Activity(StrEnum):
    """What the agent is doing with a session right now."""

    BUSY = "busy"
    IDLE = "idle"
    """Open in a living process that waits for a prompt."""
    CLOSED = "closed"


class SeedHeader(Record, frozen=True):
    """The first line of a seed prompt: it says where the transcript came from.

    It stands in the session file of the fork, so lineage survives the loss of everything else.
    """

    parent: ForkPoint
    digest: str
    """SHA-256 of the transcript, in hexadecimal."""

    MARKER: ClassVar[str] = "[PRONG_FORK_SEED]"

    def __str__(self) -> str:
        return f"{self.MARKER} {self.parent} sha256:{self.digest}"

    @property
    def title(self) -> str:
        """What to call a session that begins with the seed and has no title of its own."""
        session, turn = self.parent.session, self.parent.turn
        at = (self.parent.turn_id or "")[:8] if turn is None else turn
        return f"seed of {session.agent}:{session.id[:8]}@{at}"

    @classmethod
    def parse(cls, text: str) -> "SeedHeader | None":
        """The header that a prompt begins with, if it is a seed."""
        found = text.startswith(_SEED) and re.match(_SEED_HEADER, text)
        if not found:
            return None
        agent, id_, turn, digest = found.groups()
        number = int(turn) if turn.isdigit() and len(turn) < 9 else None
        point = ForkPoint(SessionRef(agent, id_), number, turn if number is None else None)
        return cls(point, digest)


_SEED = "[PRONG_FORK_SEED] "
_SEED_HEADER = rf"{re.escape(_SEED)}([\w-]+):([^\s@]+)@([\w-]+) sha256:([0-9a-f]{{64}})(?=\n|\Z)"


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
