"""Workers and panes, as values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from prong.model.record import Record, field


class Placement(StrEnum):
    """Where a new pane goes: beside the one that the person is in, or out of its way."""

    SPLIT = "split"
    WINDOW = "window"
    TAB = "tab"


class Pane(Record, frozen=True):
    """A place in a terminal where one program runs."""

    terminal: str
    """The name of the terminal: `tmux`."""
    id: str
    """What the terminal itself calls it: `%3`."""
    server: str | None = None
    """Which of several running terminals of that name has it: the socket that it listens on."""

    def __str__(self) -> str:
        return f"{self.terminal}:{self.id}"


class LivePane(Record, frozen=True):
    """What a terminal tells of a pane whose program runs."""

    pid: int | None = None


class Process(Record, frozen=True):
    """One process, for good: a number alone is used again by the system."""

    pid: int
    started: str | None = None
    """When it was started, as the system counts; None where the system does not tell."""


class RunOptions(Record, frozen=True):
    """How an agent is started, besides which session it opens."""

    model: str | None = None
    skip_permissions: bool = False
    settings: Path | None = None
    """A settings file of the agent for this run."""
    plugin_dirs: tuple[Path, ...] = ()
    extra: tuple[str, ...] = ()
    """Words for the agent's program, as the person typed them."""


class WorkerState(StrEnum):
    """What a worker does, as far as there is evidence that is not too old."""

    STARTING = "starting"
    BUSY = "busy"
    IDLE = "idle"
    WAITING = "waiting"
    """It wants a person: a permission, an answer, a dialog."""
    UNKNOWN = "unknown"
    GONE = "gone"


class WorkerInfo(Record, frozen=True):
    """The stored fact that an agent was started under a name. `prong.Worker` acts on it."""

    name: str
    agent: str
    workspace: Path
    """The folder that it runs in."""
    command: str | tuple[str, ...]
    """The base command with its options, without session, prompt and hooks: forks keep it."""
    created: datetime
    session: str | None = None
    """The id of the session that it has open now; None while only the agent knows it."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """What forks and restarts set again: no keys and tokens, which are never stored."""
    headless: bool = False
    pane: Pane | None = None
    process: Process | None = None
    log: Path | None = None
    """Where a headless worker's output goes."""
    worktree: Path | None = None
    """The top of the worktree that prong made for it."""
    branch: str | None = None
    fork: str | None = None
    """The id of the recorded fork that it runs."""
    forked_from: str | None = None
    """The name of the worker, else the session and turn, that it was forked or cloned from."""
    commit_turns: bool = False
    push: str | None = None
    version: str | None = None
    """What the agent's program calls its version, at the start."""
    settings_hash: str | None = None
    """Of all settings that were in force at the start."""
    started: datetime | None = None
    """When its program was started last."""
    stopped: datetime | None = None
    """When a person stopped it; None also for one that ended by itself."""
    prompted: datetime | None = None
    """When a prompt was given to it last: what says idle must be newer than that."""
    commanded: bool = False
    """That prompt began with a slash: the agent may have done it without a turn."""
    warnings: tuple[str, ...] = ()
    """What its copy or its start lacks. Told to whoever started it; not kept."""


class Evidence(Record, frozen=True):
    """A claim about a worker: who says so, and since when it is so."""

    state: WorkerState
    source: str
    """hook, registry, lock, process, pane, log, dialog, prompt or record."""
    time: datetime | None = None
    detail: str | None = None
    """Why, in the agent's own word: `permission_prompt`."""


class WorkerStatus(Record, frozen=True):
    """A worker and what it does now."""

    worker: WorkerInfo
    evidence: Evidence
    turn: int | None = None
    """The number of its last turn."""
    last_line: str = ""
    """The last thing that was said in it."""
    last_input: str | None = None
    """The last prompt, as the session has it."""
    exit_code: int | None = None
    push_failure: str | None = None
    """Why its branch could not be pushed last, while the remote has not all of it."""

    @property
    def state(self) -> WorkerState:
        return self.evidence.state
