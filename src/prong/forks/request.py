"""The request for a fork, which every front end builds."""

from collections.abc import Mapping
from pathlib import Path

from prong.model.forks import Code, Method
from prong.model.record import Record, field
from prong.model.workers import RunOptions


class ForkRequest(Record, frozen=True):
    """What to fork into, and how. The point to fork at is named beside it."""

    agent: str | None = None
    """The agent of the fork; default: that of the source."""
    into: Path | None = None
    """The folder to run in; default: that of the source."""
    method: Method = Method.COPY
    id: str | None = None
    title: str | None = None
    prompt: str | None = None
    retry: bool = False
    """Fork before the turn and submit its prompt again."""
    before_compaction: bool = False
    trim: bool = False
    """Drop turns from a seed that is too long."""
    code: Code | None = None
    """The code to start from; None picks the best. Not with `into`."""
    code_at: str | None = None
    """The turn whose code to use, if not the forked one."""
    branch: str | None = None
    """The branch of the new worktree."""
    name: str | None = None
    """Base name of worktree and branch; default: the title."""
    count: int = 1
    """How many forks to create: that many branch names must be free."""
    command: str | tuple[str, ...] | None = None
    """The base command; default: that of the source worker."""
    run: RunOptions | None = None
    """Options added to the base command."""
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment, added to that of the source worker."""
