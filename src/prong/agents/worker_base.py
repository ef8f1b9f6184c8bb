"""Protocols for agents that run as workers: launching, headless turns, trust, the input line.

Separate from `prong.agents.base`, because most commands start nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol, runtime_checkable

from prong.model.forks import Launch
from prong.model.record import Record
from prong.model.sessions import Activity, Session
from prong.model.workers import RunOptions


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


@runtime_checkable
class HasLastWords(Protocol):
    """Agents whose sessions can be read from the end alone."""

    def last_words(self, session: Session) -> LastWords: ...


@runtime_checkable
class CanWork(Protocol):
    """Agents whose program can run as a worker, in a pane or headless."""

    def command_with(self, options: RunOptions) -> str | tuple[str, ...]:
        """Add the options to the base command, and remove its session flags and prompt.

        Raises `Unsupported` for an option that the agent does not have.
        """
        ...

    def session_in(self, command: str | Sequence[str]) -> str | None:
        """Return the session id that a user's command names."""
        ...

    @property
    def chooses_ids(self) -> bool:
        """Whether its program always chooses the id of a new session."""
        ...

    def begin(self, new: NewSession, prompt: str | None = None) -> Launch:
        """Build the launch of a new session in a terminal."""
        ...

    def headless(self, session: NewSession, *, resume: bool) -> Launch:
        """Build the launch of one headless turn: prompt on standard input, events on output."""
        ...

    def headless_events(self, output: Iterable[str]) -> HeadlessEvents:
        """Parse the output of a headless turn so far."""
        ...

    def open_sessions(self, pids: Iterable[int]) -> Mapping[int, OpenSession]:
        """Return the sessions that these processes have open, by pid."""
        ...

    def settings_files(self, folder: Path, root: Path | None = None) -> Sequence[Path]:
        """Return the settings files that apply in a folder, existing or not."""
        ...


@runtime_checkable
class HasLiveFolders(Protocol):
    """Agents that update a file as soon as they start, stop or wait."""

    def live_folders(self, sessions: Iterable[str]) -> Iterable[Path]:
        """Return the folders of these files for the sessions, existing or not."""
        ...


class HeadlessEvents(Protocol):
    """The parsed output of a headless turn."""

    @property
    def session_id(self) -> str | None: ...

    @property
    def is_over(self) -> bool:
        """Whether the turn has ended, successfully or not."""
        ...

    @property
    def reply(self) -> str:
        """The last answer."""
        ...

    @property
    def error(self) -> str | None: ...


@runtime_checkable
class HasTrust(Protocol):
    """Agents that ask before they work in an unknown folder."""

    def is_trusted(self, folder: Path, root: Path | None = None) -> bool: ...

    def trusting(self, folder: Path, root: Path | None = None) -> tuple[Path, bytes | None, bytes]:
        """Return the agent's trust file: path, content, and content with trust added."""
        ...


@runtime_checkable
class HasDialogs(Protocol):
    """Agents whose dialogs can be recognized on their screen."""

    def dialog_on(self, screen: str) -> str | None:
        """Return the kind of dialog: `trust`, `permission`, `question`; None without one."""
        ...


@runtime_checkable
class HasInput(Protocol):
    """Agents whose input line can be found on their screen."""

    def input_on(self, screen: str) -> str | None:
        """Return the text in the input line, after the sign of a mode (`!`); None if not visible.

        A suggestion of the agent reads like a draft; only the cursor, which precedes a
        suggestion, tells them apart.
        """
        ...

    @property
    def input_column(self) -> int:
        """The column of its first character."""
        ...


class Route(StrEnum):
    """How a prompt is sent to an agent. On each route, other prefixes mean commands."""

    TYPED = "typed"
    ARGUMENT = "argument"
    STDIN = "stdin"


@runtime_checkable
class HasCommands(Protocol):
    """Agents whose input has commands, such as `!ls` and `/clear`."""

    def as_prompt(self, text: str, route: Route) -> str:
        """Change the text as little as necessary to make it a prompt, not a command."""
        ...
