"""Waiting until an agent is idle."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from prong.agents.base import HasActivity
from prong.errors import Busy
from prong.model.sessions import Activity, Session

if TYPE_CHECKING:
    from prong.app import App

T = TypeVar("T")

_LOOK_EVERY = 0.2


def when_idle(
    app: App, session: Session, act: Callable[[], T], seconds: float, waiting: Callable[[], None]
) -> T:
    """Run an action once the agent is idle; raises `Busy` after `seconds`.

    An agent that has just become idle may still write, or start the next prompt. Only `act` can
    tell: it is retried until it no longer raises `Busy`.
    """
    deadline = time.monotonic() + seconds
    notified = False
    while True:
        try:
            return act()
        except Busy as error:
            if "made" in error.details:
                raise  # some of several forks exist: do not create them twice
        if not notified:
            waiting()
            notified = True
        _wait_until_idle(app, session, deadline)
        if time.monotonic() >= deadline:
            raise Busy(
                f"{session.ref} is still busy after {seconds:g} s", hint="--wait alone waits"
            )


def _wait_until_idle(app: App, session: Session, end: float) -> None:
    store = app.store(session.agent)
    while time.monotonic() < end:
        time.sleep(min(_LOOK_EVERY, max(0.0, end - time.monotonic())))
        if not isinstance(store, HasActivity) or store.activity(session) is not Activity.BUSY:
            return
