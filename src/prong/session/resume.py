"""Resuming a session in its own folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import CanLaunch, HasActivity, HasProgram, capable
from prong.code import turn_code
from prong.errors import Busy, NotFound, ProngError, Unsupported
from prong.model.forks import Launch
from prong.model.sessions import Activity, Session

if TYPE_CHECKING:
    from prong.app import App


def _has_code(app: App, session: Session) -> bool:
    """Return True if the code of the last turn was captured."""
    try:
        conversation = app.sessions.conversation(session)
        last = conversation.turns[-1] if conversation.turns else None
        return turn_code.captured(app, conversation, last) is not None
    except ProngError:
        return False


def launch(app: App, session: Session, prompt: str | None) -> Launch:
    """Build the command that resumes a session in its folder."""
    store = app.store(session.agent)
    launcher = capable(store, CanLaunch, "be started")
    fork = f"prong fork {session.ref}"
    if not session.cwd:
        raise NotFound(f"{session.ref} does not record its folder", hint=f"{fork} --into DIR")
    if not Path(session.cwd).is_dir():
        hint = f"{fork} brings its code back" if _has_code(app, session) else f"{fork} --into DIR"
        raise NotFound(f"the folder of {session.ref} no longer exists: {session.cwd}", hint=hint)
    if session.archived:
        hint = f"unarchive it in {session.agent}, or: {fork}"
        raise Unsupported(f"{session.ref} is archived", hint=hint)
    if isinstance(store, HasActivity) and store.activity(session) is not Activity.CLOSED:
        # Two processes must not write to one conversation.
        raise Busy(
            f"{session.ref} is open in another process", hint=f"{fork} starts a fork next to it"
        )
    if isinstance(store, HasProgram):
        app.programs.require(store.program)
    return launcher.resume(session, Path(session.cwd), prompt)
