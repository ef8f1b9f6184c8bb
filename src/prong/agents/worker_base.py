"""What workers need of an agent: launching, headless turns, trust, its input line.

Apart from `prong.agents.base`, because most commands start nothing.
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
    """A session that is to begin from nothing, or one that a headless worker goes on with."""

    id: str | None
    """None when the agent's own program will choose it."""
    cwd: Path
    title: str | None = None
    root: Path | None = None
    """The configuration folder that it will lie in; None: the agent's first one."""


class OpenSession(Record, frozen=True):
    """A session that a living process of the agent has open, and what it does there."""

    session: str
    activity: Activity
    since: datetime | None = None
    """Since when it does that, where the agent tells."""
    waits_for: str | None = None
    """What it wants of a person, where the agent tells."""
    source: str = "registry"
    """What tells it: `registry`, the agent's own list of its processes; or `lock`, a held lock with
    the last mark in the session, which is that of a turn."""


class LastWords(Record, frozen=True):
    """The end of a conversation: what was asked last, and what was said last."""

    prompt: str | None = None
    said: str = ""


@runtime_checkable
class HasLastWords(Protocol):
    """The end of a session can be read without the rest of it."""

    def last_words(self, session: Session) -> LastWords: ...


@runtime_checkable
class CanWork(Protocol):
    """The agent's program can be a worker: with options, in a pane or without one."""

    def command_with(self, options: RunOptions) -> str | tuple[str, ...]:
        """The base command with these options, without session and prompt.

        Raises `Unsupported` for an option that the agent does not have.
        """
        ...

    def session_in(self, command: str | Sequence[str]) -> str | None:
        """The id that a command of the person's own gives to its session."""
        ...

    @property
    def chooses_ids(self) -> bool:
        """True when only its program can say which id a new session has."""
        ...

    def begin(self, new: NewSession, prompt: str | None = None) -> Launch:
        """A new session in a terminal."""
        ...

    def headless(self, session: NewSession, *, resume: bool) -> Launch:
        """One turn without a terminal: the prompt comes on standard input, events go to output."""
        ...

    def headless_events(self, output: Iterable[str]) -> HeadlessEvents:
        """What the output of a headless turn tells so far."""
        ...

    def open_sessions(self, pids: Iterable[int]) -> Mapping[int, OpenSession]:
        """What these processes have open, by pid; nothing of those that have nothing open yet."""
        ...

    def settings_files(self, folder: Path, root: Path | None = None) -> Sequence[Path]:
        """The files that hold the settings in force in a folder, existing or not."""
        ...


@runtime_checkable
class HasLiveFolders(Protocol):
    """Files of the agent change at once when it begins, ends or waits."""

    def live_folders(self, sessions: Iterable[str]) -> Iterable[Path]:
        """Where these files lie, for those who have these sessions open; existing or not."""
        ...


class HeadlessEvents(Protocol):
    """What a headless turn printed."""

    @property
    def session_id(self) -> str | None: ...

    @property
    def is_over(self) -> bool:
        """True when the turn has ended, well or not."""
        ...

    @property
    def reply(self) -> str:
        """The last answer."""
        ...

    @property
    def error(self) -> str | None: ...


@runtime_checkable
class HasTrust(Protocol):
    """The agent asks a person whether it may work in a folder that it does not know."""

    def is_trusted(self, folder: Path, root: Path | None = None) -> bool: ...

    def trusting(self, folder: Path, root: Path | None = None) -> tuple[Path, bytes | None, bytes]:
        """The file in which the agent itself records trust, as it is and as it would be."""
        ...


@runtime_checkable
class HasDialogs(Protocol):
    """The agent's questions can be told from the rest of its screen."""

    def dialog_on(self, screen: str) -> str | None:
        """What it asks there: `trust`, `permission`, `question`; None when it asks nothing."""
        ...


@runtime_checkable
class HasInput(Protocol):
    """The line for input can be told from the rest of the agent's screen."""

    def input_on(self, screen: str) -> str | None:
        """What stands in it; None when it is not to be seen.

        The sign of a mode is in front of it (`!`). What the agent itself suggests there looks the
        same in a text; only the cursor, which is in front of that, tells it from a draft.
        """
        ...

    @property
    def input_column(self) -> int:
        """The column of its first character."""
        ...


class Route(StrEnum):
    """How a prompt comes to an agent: each takes other beginnings for commands."""

    TYPED = "typed"
    ARGUMENT = "argument"
    STDIN = "stdin"


@runtime_checkable
class HasCommands(Protocol):
    """The agent's input has commands of its own: `!ls`, `/clear`."""

    def as_prompt(self, text: str, route: Route) -> str:
        """The text, changed as little as is needed so that it is a prompt and nothing else."""
        ...
