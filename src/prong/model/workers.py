"""Workers and panes, as values."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from prong.model.record import Record, field
from prong.model.sessions import Activity


class Placement(StrEnum):
    """Where a new pane opens: next to the user's pane, or out of the way."""

    SPLIT = "split"
    WINDOW = "window"
    TAB = "tab"


class Pane(Record, frozen=True):
    """A terminal pane that runs one program."""

    terminal: str
    """The name of the terminal: `tmux`."""
    id: str
    """The terminal's own id: `%3`."""
    server: str | None = None
    """The socket of the terminal server, if several are running."""

    def __str__(self) -> str:
        return f"{self.terminal}:{self.id}"


class LivePane(Record, frozen=True):
    """A pane whose program is running, as reported by the terminal."""

    pid: int | None = None


class Process(Record, frozen=True):
    """One process, identified for good: the system reuses bare pids."""

    pid: int
    started: str | None = None
    """Start time as the system reports it; None if it does not."""


class RunOptions(Record, frozen=True):
    """How to start an agent, apart from the session to open."""

    model: str | None = None
    skip_permissions: bool = False
    settings: Path | None = None
    plugin_dirs: tuple[Path, ...] = ()
    extra: tuple[str, ...] = ()
    """Extra arguments for the agent's program, as the user typed them."""


class WorkerState(StrEnum):
    """What a worker is doing, according to evidence that is recent enough."""

    STARTING = "starting"
    BUSY = "busy"
    IDLE = "idle"
    WAITING = "waiting"
    """Needs a person: a permission, an answer, a dialog."""
    UNKNOWN = "unknown"
    GONE = "gone"


class WorkerInfo(Record, frozen=True):
    """The record of an agent that was started under a name. `prong.Worker` acts on it."""

    name: str
    agent: str
    workspace: Path
    command: str | tuple[str, ...]
    """The base command with its options, without session, prompt and hooks. Forks inherit it."""
    created: datetime
    session: str | None = None
    """The id of the session it has open; None while only the agent knows it."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Variables that forks and restarts set again. Keys and tokens are never stored."""
    headless: bool = False
    pane: Pane | None = None
    process: Process | None = None
    log: Path | None = None
    """The output file of a headless worker."""
    worktree: Path | None = None
    """The top of the worktree that prong created for it."""
    branch: str | None = None
    fork: str | None = None
    """The id of the recorded fork that it runs."""
    forked_from: str | None = None
    """The worker, else the session and turn, that it was forked or cloned from."""
    commit_turns: bool = False
    push: str | None = None
    version: str | None = None
    settings_hash: str | None = None
    started: datetime | None = None
    stopped: datetime | None = None
    """When a person stopped it; None if it ended by itself."""
    prompted: datetime | None = None
    """When it last got a prompt: evidence of idleness must be newer."""
    commanded: bool = False
    """That prompt started with a slash, so the agent may have run it without a turn."""
    warnings: tuple[str, ...] = ()
    """What its copy or its start lacks. Reported to the caller, not stored."""


class Evidence(Record, frozen=True):
    """A claim about a worker's state: its source, and since when it holds."""

    state: WorkerState
    source: str
    """hook, registry, lock, process, pane, log, dialog, prompt or record."""
    time: datetime | None = None
    detail: str | None = None
    """The reason, in the agent's own term: `permission_prompt`."""


class WorkerStatus(Record, frozen=True):
    """A worker and its current state."""

    worker: WorkerInfo
    evidence: Evidence
    turn: int | None = None
    last_line: str = ""
    last_input: str | None = None
    exit_code: int | None = None
    push_failure: str | None = None
    """Why the last push of its branch failed, while the remote lacks commits."""

    @property
    def state(self) -> WorkerState:
        return self.evidence.state


class NewSession(Record, frozen=True):
    """A session to start, or one that a headless worker continues."""

    id: str | None
    """None when the agent's program will choose it."""
    cwd: Path
    title: str | None = None
    root: Path | None = None
    """The agent's configuration folder; None for its first one."""


class OpenSession(Record, frozen=True):
    """A session that a running process of the agent has open, and its activity."""

    session: str
    activity: Activity
    since: datetime | None = None
    """The start of this activity, if recorded."""
    waits_for: str | None = None
    """What it needs from a person, if recorded."""
    source: str = "registry"
    """The evidence: `registry`, the agent's list of its processes; or `lock`, a held lock and the
    last turn mark in the session."""


class LastWords(Record, frozen=True):
    """The last prompt and the last answer of a conversation."""

    prompt: str | None = None
    said: str = ""


class Route(StrEnum):
    """How a prompt is sent to an agent. On each route, other prefixes mean commands."""

    TYPED = "typed"
    ARGUMENT = "argument"
    STDIN = "stdin"
