"""Waiting for an agent that is at work."""

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
    """Do what an agent at work is in the way of: when it is done, or `Busy` when it takes longer.

    An agent that has just become idle may still write, or go on with the next prompt. So nobody
    but `act` knows when the time has come: it is tried again until it no longer says `Busy`.
    """
    end = time.monotonic() + seconds
    told = False
    while True:
        try:
            return act()
        except Busy as error:
            if "made" in error.details:
                raise  # some of several forks are there: they must not be made twice
        if not told:
            waiting()
            told = True
        _wait_until_idle(app, session, end)
        if time.monotonic() >= end:
            raise Busy(
                f"{session.ref} is still busy after {seconds:g} s", hint="--wait alone waits"
            )


def _wait_until_idle(app: App, session: Session, end: float) -> None:
    store = app.store(session.agent)
    while time.monotonic() < end:
        time.sleep(min(_LOOK_EVERY, max(0.0, end - time.monotonic())))
        if not isinstance(store, HasActivity) or store.activity(session) is not Activity.BUSY:
            return
