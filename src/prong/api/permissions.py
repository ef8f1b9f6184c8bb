"""Checks of what an agent may request when it starts other agents; see `[mcp]`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from prong.errors import Unsupported, UsageError
from prong.model.record import Record
from prong.model.workers import RunOptions, WorkerState, WorkerStatus
from prong.paths import config_file
from prong.terminals.base import TakesOver
from prong.views.workers import words

if TYPE_CHECKING:
    from prong.app import App


def refuse_unallowed(
    app: App, *, skip_permissions: bool = False, trust: bool = False, commands: bool = False
) -> None:
    """Raise `UsageError` for requests that the user has not allowed."""
    requested = {
        "allow_skip_permissions": skip_permissions,
        "allow_trust": trust,
        "allow_commands": commands,
    }
    descriptions = {
        "allow_skip_permissions": "a worker that bypasses permission checks",
        "allow_trust": "a folder that is trusted",
        "allow_commands": "a command instead of a prompt",
    }
    for name, is_asked in requested.items():
        if is_asked and not getattr(app.settings.mcp, name):
            raise UsageError(
                f"agents may not request {descriptions[name]}: the user has not allowed it",
                hint=f"the user can: [mcp] {name} = true in {config_file()}",
            )


def refuse_inherited(app: App, agent: str, command: str | tuple[str, ...] | None) -> None:
    """Raise `UsageError` if the source's command skips permissions and the configured one does not.

    A fork inherits the command of its source. An agent must not spread a permission that the user
    gave to one worker.
    """
    if command and _skips(app, agent, command) and not _skips(app, agent, None):
        refuse_unallowed(app, skip_permissions=True)


def _skips(app: App, agent: str, command: str | tuple[str, ...] | None) -> bool:
    store = app.store(agent).with_command(command)
    # If the flag changes nothing, the command has it already.
    try:
        plain, skipping = (
            store.command_with(RunOptions(skip_permissions=skips)) for skips in (False, True)
        )
    except Unsupported:
        return False
    return sorted(words(plain)) == sorted(words(skipping))


def terminal(app: App) -> str | None:
    """Return the terminal for an unattended worker; None for the default one.

    Terminals that take over this process, or that only print what to type, need a person.
    """
    default = app.terminals.for_worker()
    if isinstance(default, TakesOver) or default.name == "print":
        return app.terminals.for_worker("tmux").name
    return None


class ClonePlan(Record, frozen=True):
    """Preview of a clone. Creating it writes nothing."""

    workspace: Path
    status: WorkerStatus | None
    """None for a session that no worker has open."""
    terminal: str | None
    warnings: tuple[str, ...]


def plan(app: App, source: str, new: str | None, *, trust: bool) -> ClonePlan:
    """Preview a clone. Raises `UsageError` for requests that the user has not allowed."""
    refuse_unallowed(app, trust=trust)
    app.workers.starter.refuse_name(new)
    origin = app.workers.cloner.sources.find(source)
    worker = origin.worker
    refuse_inherited(app, origin.agent, worker.command if worker else None)
    status = app.workers.states.status(worker.name) if worker else None
    return ClonePlan(
        origin.folder,
        status,
        None if origin.headless else terminal(app),
        tuple(_warnings(status)) if status else (),
    )


def _warnings(status: WorkerStatus) -> Iterator[str]:
    if status.state is WorkerState.BUSY:
        yield "it is busy: the clone waits until it is idle"
    if status.state is WorkerState.WAITING:
        about = f" ({status.evidence.detail})" if status.evidence.detail else ""
        yield (
            f"it is waiting for input{about}, and the clone until it is idle: "
            f"prong attach {status.worker.name}"
        )


def wait(app: App, source: str, timeout: float) -> None:
    """Wait until the source is idle. Raises `Busy` on timeout."""
    sources = app.workers.cloner.sources
    sources.rest(timeout).wait_for(sources.find(source))
