"""A store with nothing but the required methods, as a plug-in may have."""

from collections.abc import Iterator
from pathlib import Path

from prong.agents.base import AgentStore, ScanCache
from prong.model.sessions import Conversation, Message, Scan, Session, View


class PlainStore(AgentStore):
    """Another store without its optional capabilities."""

    name = "plain"

    def __init__(self, real: AgentStore) -> None:
        self.real = real
        self.roots = real.roots

    def scan(self, cache: ScanCache) -> Scan:
        return self.real.scan(cache)

    def session_at(self, path: Path) -> Session | None:
        return self.real.session_at(path)

    def conversation(self, session: Session) -> Conversation:
        return self.real.conversation(session)

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        return self.real.messages(session, view=view, turn=turn)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        return self.real.raw(session, turn=turn)
