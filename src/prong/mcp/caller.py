"""Who calls: the session of the agent that this server works for, where that can be known.

Codex says it with each call. Claude Code has it in the environment, as it was when the server was
started, and, for each of its processes, in a file, which is right also after `/clear` or `/resume`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from prong.app import App
from prong.model.record import Record
from prong.model.sessions import SessionRef
from prong.sessions import own_session

_CODEX = "x-codex-turn-metadata"
_CLAUDE_SESSION = "CLAUDE_CODE_SESSION_ID"
_CLAUDE_PID = "CLAUDE_PID"
_IN_CLAUDE = "CLAUDECODE"


class Caller(Record, frozen=True):
    """What a call tells of who makes it."""

    meta: Mapping[str, Any]

    def session(self, app: App) -> SessionRef | None:
        """The session that calls; None when nobody knows."""
        return self._of_codex() or self._of_process(app) or _of_environment()

    def _of_codex(self) -> SessionRef | None:
        told: Any = self.meta.get(_CODEX)
        if not isinstance(told, dict):
            return None
        facts = cast(dict[str, Any], told)
        # A thread is what is stored; a session may have several.
        id_: Any = facts.get("thread_id") or facts.get("session_id")
        return SessionRef("codex", id_) if isinstance(id_, str) and id_ else None

    def _of_process(self, app: App) -> SessionRef | None:
        pid = os.environ.get(_CLAUDE_PID, "")
        named = [int(pid)] if pid.isdecimal() else []
        above = own_session.ancestors(os.getpid())
        # Outside of an agent, a process further up may be a shell with other agents below it.
        return own_session.of(app, [*named, *(above if _IN_CLAUDE in os.environ else above[:1])])


def _of_environment() -> SessionRef | None:
    id_ = os.environ.get(_CLAUDE_SESSION)
    return SessionRef("claude", id_) if id_ else None
