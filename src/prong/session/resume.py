"""Resuming a session in its own folder, and waiting until its agent is idle."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeVar

from prong.agents.base import AgentStore
from prong.errors import Busy, NotFound, Unsupported
from prong.model.forks import Launch
from prong.model.sessions import Activity, Program, Session

T = TypeVar("T")

_POLL_SECONDS = 0.2


def launch(
    store: AgentStore,
    session: Session,
    prompt: str | None,
    *,
    has_code: Callable[[], bool],
    require: Callable[[Program], None],
) -> Launch:
    """Build the command that resumes a session in its folder.

    `has_code` tells whether the code of the last turn was captured; `require` raises when a program
    is missing.
    """
    if not store.supports("resume"):
        raise store.unsupported("be started")
    fork = f"prong fork {session.ref}"
    if not session.cwd:
        raise NotFound(f"{session.ref} does not record its folder", hint=f"{fork} --into DIR")
    if not os.path.isdir(session.cwd):
        hint = f"{fork} brings its code back" if has_code() else f"{fork} --into DIR"
        raise NotFound(f"the folder of {session.ref} no longer exists: {session.cwd}", hint=hint)
    if session.archived:
        hint = f"unarchive it in {session.agent}, or: {fork}"
        raise Unsupported(f"{session.ref} is archived", hint=hint)
    if store.activity(session) is not Activity.CLOSED:
        # Two processes must not write to one conversation.
        raise Busy(
            f"{session.ref} is open in another process", hint=f"{fork} starts a fork next to it"
        )
    if store.program is not None:
        require(store.program)
    return store.resume(session, Path(session.cwd), prompt)


def when_idle(
    store: AgentStore,
    session: Session,
    act: Callable[[], T],
    seconds: float,
    waiting: Callable[[], None],
) -> T:
    """Run an action once the agent is idle; raises `Busy` after `seconds`.

    An agent that has just become idle may still write, or start the next prompt. Only `act` can
    tell: it is retried until it no longer raises `Busy`.
    """
    deadline = time.monotonic() + seconds
    for attempt in count():
        try:
            return act()
        except Busy as error:
            if "made" in error.details:
                raise  # some of several forks exist: do not create them twice
        if not attempt:
            waiting()
        while (left := deadline - time.monotonic()) > 0:
            time.sleep(min(_POLL_SECONDS, left))
            if store.activity(session) is not Activity.BUSY:
                break
        if time.monotonic() >= deadline:
            break
    raise Busy(f"{session.ref} is still busy after {seconds:g} s", hint="--wait alone waits")
