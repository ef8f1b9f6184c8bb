"""Session names: resolves what a user types to a session and a turn.

Tried in this order: `%N`, `agent:id[@turn]`, a worker's name, a unique id prefix, a path, `last`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from prong.agents.base import AgentStore
from prong.agents.common import is_uuid
from prong.errors import Ambiguous, Corrupt, NotFound, UsageError
from prong.model.record import Record
from prong.model.sessions import Conversation, Session, Turn
from prong.plugins import BUILT_IN
from prong.search.last_search import HitPlace
from prong.session.listing import Project

if TYPE_CHECKING:
    from prong.model.workers import WorkerInfo

_SHOWN = 5
_WORDS = 60
_WORKER = re.compile(r"(?![0-9a-f-]+$)(?!last$)[a-z0-9][a-z0-9-]*")
"""Pattern of worker names, which excludes all id prefixes."""


class ResolvedSession(Record, frozen=True):
    """A session, and the text after `@` if there was one."""

    session: Session
    turn: str | None
    worker: WorkerInfo | None = None
    """The worker whose name was typed."""


class Resolver:
    def __init__(
        self,
        stores: Mapping[str, AgentStore],
        sessions: Callable[[str | None], list[Session]],
        hit: Callable[[int], HitPlace],
        worker: Callable[[str], WorkerInfo | None],
        unlisted: Callable[[str | None], Iterable[Path]],
    ) -> None:
        """Use `sessions` to list an agent's or all sessions, newest first, and `hit` for `%N`.

        `worker` returns the worker of a name, with the session that it has open now. `unlisted`
        returns files that no list shows, because neither a person nor the model says anything.
        """
        self._stores = stores
        self._sessions = sessions
        self._hit = hit
        self._worker = worker
        self._unlisted = unlisted

    def find(self, text: str) -> ResolvedSession:
        if not text:
            raise UsageError("a session is missing", hint="prong list")
        # A path may contain an `@`.
        if ("/" in text or "@" in text) and _is_file(text):
            return ResolvedSession(self._at_path(Path(text)), None)
        name, at, turn = text.rpartition("@")
        if not at:
            name, turn = text, ""
        if at and not turn:
            raise UsageError(f"no turn behind the @ in {text!r}", hint=f"prong turns {name}")
        if name.startswith("%"):
            return self._found_by_search(name, turn or None)
        worker = self._worker(name) if _WORKER.fullmatch(name) else None
        if worker is not None:
            return ResolvedSession(self._of_worker(worker), turn or None, worker)
        return ResolvedSession(self._session(name), turn or None)

    def _of_worker(self, worker: WorkerInfo) -> Session:
        name, agent = worker.name, worker.agent
        for session in self._sessions(agent) if worker.session else ():
            if session.id == worker.session:
                return session
        problem = f"the session of {name} is not known: {agent} has not told its id yet"
        if worker.session is not None:
            problem = f"{name} has no conversation yet ({agent}:{worker.session} does not exist)"
        hint = f'prong send {name} "..." first, or see what it does: prong status {name}'
        raise NotFound(problem, hint=hint)

    def _found_by_search(self, name: str, turn: str | None) -> ResolvedSession:
        """Resolve a search hit: `%2` is the second hit's turn, `%2@5` turn 5 of its session."""
        number = name[1:]
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise NotFound(f"{name} is not a search hit", hint="the first hit is %1")
        hit = self._hit(int(number))
        if hit.agent not in self._stores:
            raise NotFound(f"{name}: agent {hit.agent!r} is no longer installed", hint="prong list")
        try:
            session = self._by_prefix(hit.session, hit.agent)
        except NotFound as error:
            raise NotFound(
                f"{name} is gone since the search: {error.message}", hint=error.hint
            ) from None
        return ResolvedSession(session, turn or hit.turn)

    def _session(self, name: str) -> Session:
        agent, colon, id_ = name.partition(":")
        if colon and agent in self._stores:
            return self._by_prefix(id_, agent)
        if matches := self._matches(name, None):
            return self._one(name, matches)
        if _is_file(name):
            return self._at_path(Path(name))
        if name == "last":
            return self._last()
        if os.path.isdir(name):
            raise NotFound(f"{name} is a folder", hint=f"prong list --project {name}")
        if "/" in name:
            raise NotFound(f"file {name} does not exist", hint="prong list --all")
        if colon:
            agents = ", ".join(self._stores)
            raise NotFound(f"unknown agent {agent!r}", hint=f"one of {agents}")
        raise NotFound(f"no session {name!r}", hint="prong list --all")

    def _by_prefix(self, prefix: str, agent: str) -> Session:
        matches = self._matches(prefix, agent)
        if not matches:
            raise NotFound(f"no session {agent}:{prefix}", hint=f"prong list --agent {agent} --all")
        return self._one(f"{agent}:{prefix}", matches)

    def _matches(self, prefix: str, agent: str | None) -> list[Session]:
        if not prefix:
            return []
        matches = [session for session in self._sessions(agent) if session.id.startswith(prefix)]
        matches = [session for session in matches if session.id == prefix] or matches
        if matches or not is_uuid(prefix):
            return matches
        try:
            # The agent can resume the session in an unlisted file of this name.
            return [self._at_path(path) for path in self._unlisted(agent) if path.stem == prefix]
        except Corrupt:
            return []

    def _one(self, name: str, matches: list[Session]) -> Session:
        if len(matches) == 1:
            return matches[0]
        raise Ambiguous(
            f"{name} fits {len(matches)} sessions",
            hint=_more_of_the_id([(str(session.ref), session.title) for session in matches]),
            candidates=[str(session.ref) for session in matches],
        )

    def _at_path(self, path: Path) -> Session:
        hint = f"a session file of {', '.join(self._stores)}"
        problem = Corrupt(f"{path} is not a session file", hint=hint, path=str(path))
        for store in self._stores.values():
            try:
                session = store.session_at(path.absolute())
            except Corrupt as error:
                problem = error
            except OSError as error:
                problem = Corrupt(f"cannot read {path}: {error.strerror}", path=str(path))
            except Exception:
                if store.name in BUILT_IN:
                    raise  # of a plug-in, `prong doctor` reports it
            else:
                if session is not None:
                    return session
        raise problem

    def _last(self) -> Session:
        project = Project(Path())
        for session in self._sessions(None):
            if project.had(session):
                return session
        raise NotFound(f"no sessions in {project.name} yet", hint="prong list")


def find_turn(conversation: Conversation, text: str) -> Turn | None:
    """Find a turn by number or id prefix; None for 0, before the first turn."""
    name = conversation.session.ref
    if not text:
        raise UsageError("a turn is missing", hint=f"prong turns {name}")
    if re.fullmatch(r"[+-]?\d{1,9}", text):
        number = int(text)
        count = len(conversation.turns)
        if number == 0:
            return None
        index = number - 1 if number > 0 else count + number
        if 0 <= index < count:
            return conversation.turns[index]
        # A long number may also be an id prefix.
        if len(text) < 6 or not text.isdigit():
            count_text = "1 turn" if count == 1 else f"{count} turns"
            raise NotFound(f"no turn {text}: {name} has {count_text}", hint=f"prong turns {name}")
    all_turns = (*conversation.turns, *conversation.abandoned)
    matches = [turn for turn in all_turns if turn.id.startswith(text)]
    matches = [turn for turn in matches if turn.id == text] or matches
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise Ambiguous(
            f"{text} fits {len(matches)} turns of {name}",
            hint=_more_of_the_id([(f"@{turn.id}", turn.prompt) for turn in matches]),
            candidates=[turn.id for turn in matches],
        )
    raise NotFound(f"no turn {text!r} in {name}", hint=f"prong turns {name} --all")


def _more_of_the_id(candidates: Sequence[tuple[str, str]]) -> str:
    """Build a hint that lists the candidates, one per line."""
    lines = ["type more of the id:"]
    for id_, text in candidates[:_SHOWN]:
        lines.append(f"{id_}  {' '.join(text[: 4 * _WORDS].split())[:_WORDS]}")
    if len(candidates) > _SHOWN:
        lines.append(f"and {len(candidates) - _SHOWN} more")
    return "\n  ".join(lines)


def _is_file(text: str) -> bool:
    # Path.is_file() fails on a name that is too long, and users may type anything.
    return os.path.isfile(text)
