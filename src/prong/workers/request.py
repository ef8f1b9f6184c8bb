"""What a caller asks of a new worker, and the plan made from it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prong.errors import UsageError
from prong.model.forks import ForkPlan, Launch, WorktreePlan
from prong.model.record import Record, field, replace
from prong.model.sessions import Session
from prong.model.workers import Placement, RunOptions


class WorkerRequest(Record, frozen=True):
    """A worker to start: a new session, a session to resume or to fork, or an existing fork."""

    prompt: str | None = None
    agent: str | None = None
    """None: the agent of the resumed session, else `claude`."""
    name: str | None = None
    id: str | None = None
    project: Path | None = None
    """Folder to work in, or to take the code from; None: the current one."""
    worktree: bool | None = None
    """Create a worktree; None: in a git repository."""
    branch: str | None = None
    base: str | None = None
    """Commit at which the branch starts; None: the last one."""
    run: RunOptions = field(default_factory=RunOptions)
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    command: str | tuple[str, ...] | None = None
    """Base command; None: the configured one."""
    commit_turns: bool = False
    push: str | None = None
    """Remote to which each turn's commit is pushed."""
    headless: bool = False
    trust: bool = False
    """Mark the folder as trusted in the agent's own settings."""
    terminal: str | None = None
    place: Placement | None = None
    resume: str | None = None
    """Session to resume."""
    fork: str | None = None
    """Session, with optional turn, to fork."""
    continue_: bool = False
    """Resume the newest session of the folder."""

    def checked(self) -> WorkerRequest:
        """Complete the request; raise `UsageError` for options that exclude each other."""
        sources = {"--resume": self.resume, "--fork": self.fork, "--continue": self.continue_}
        used = [flag for flag, value in sources.items() if value]
        if len(used) > 1:
            raise UsageError(
                f"{used[0]} and {used[1]} exclude each other", hint=f"leave {used[1]} out"
            )
        resumes = bool(self.resume or self.continue_)
        if resumes and self.id:
            raise UsageError(
                f"{used[0]} uses the id of its session", hint="leave --id out, or --fork"
            )
        if resumes and (self.worktree or self.branch or self.base):
            raise UsageError(
                f"{used[0]} runs in the folder of the session",
                hint="--fork SESSION gets a worktree of its own",
            )
        if self.worktree is False and (self.branch or self.base):
            raise UsageError("--branch and --base need a worktree", hint="leave --no-worktree out")
        if self.fork and self.base:
            raise UsageError("a fork starts from the code of its turn", hint="leave --base out")
        if self.headless and not self.prompt:
            raise UsageError("a headless worker needs a prompt", hint='prong run --headless "..."')
        if self.headless and (self.terminal or self.place):
            raise UsageError(
                "a headless worker has no pane", hint="leave --headless or the pane out"
            )
        for variable, value in self.env.items():
            if not variable or "=" in variable or "\0" in f"{variable}{value}":
                raise UsageError(
                    f"{variable!r} cannot be set for a program", hint="--env KEY=VALUE"
                )
        commit_turns = self.commit_turns or bool(self.push)
        if commit_turns and (resumes or self.worktree is False):
            raise UsageError(
                "--commit-turns commits in a worktree of the worker's own",
                hint="leave --no-worktree out" if not resumes else "--fork SESSION",
            )
        return replace(self, commit_turns=commit_turns)


class TrustPlan(Record, frozen=True):
    """Change to an agent's settings file that marks a folder as trusted."""

    folder: Path
    path: Path
    before: bytes | None
    after: bytes


class WorkerPlan(Record, frozen=True):
    """Planned start of a worker. Creating it writes nothing."""

    request: WorkerRequest
    name: str
    agent: str
    command: str | tuple[str, ...]
    workspace: Path
    launch: Launch | None
    """None for a headless worker: the prompt starts its first turn."""
    session: str | None = None
    resumed: Session | None = None
    worktree: WorktreePlan | None = None
    fork: ForkPlan | None = None
    pasted: str | None = None
    """Prompt too long for a command line, to be pasted when the agent is ready."""
    trusted: bool = True
    trust: TrustPlan | None = None
    warnings: tuple[str, ...] = ()
