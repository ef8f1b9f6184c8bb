"""Detection of the session that calls a tool.

Codex sends it with each call. Claude Code sets it in the environment when the server starts, and
writes it to a file per process, which stays correct after `/clear` or `/resume`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, cast

from prong.app import App
from prong.model.record import Record
from prong.model.sessions import SessionRef
from prong.session import own_session

_CODEX = "x-codex-turn-metadata"
_CLAUDE_SESSION = "CLAUDE_CODE_SESSION_ID"
_CLAUDE_PID = "CLAUDE_PID"
_IN_CLAUDE = "CLAUDECODE"


class Caller(Record, frozen=True):
    """The caller of a tool, from the metadata of the call."""

    meta: Mapping[str, Any]

    def session(self, app: App) -> SessionRef | None:
        """Return the calling session; None if it is unknown."""
        return self._of_codex() or self._of_process(app) or _of_environment()

    def _of_codex(self) -> SessionRef | None:
        metadata: Any = self.meta.get(_CODEX)
        if not isinstance(metadata, dict):
            return None
        facts = cast(dict[str, Any], metadata)
        # A thread is what is stored; a session may have several.
        id_: Any = facts.get("thread_id") or facts.get("session_id")
        return SessionRef("codex", id_) if isinstance(id_, str) and id_ else None

    def _of_process(self, app: App) -> SessionRef | None:
        pid = os.environ.get(_CLAUDE_PID, "")
        pids = [int(pid)] if pid.isdecimal() else []
        chain = own_session.ancestors(os.getpid())
        # Outside an agent, an ancestor may be a shell that runs other agents too.
        return own_session.of(
            app.stores, [*pids, *(chain if _IN_CLAUDE in os.environ else chain[:1])]
        )


def _of_environment() -> SessionRef | None:
    id_ = os.environ.get(_CLAUDE_SESSION)
    return SessionRef("claude", id_) if id_ else None
