"""What must hold of every session that a store lists, whatever its files look like."""

from prong.agents.base import AgentStore
from prong.errors import ProngError
from prong.model.sessions import Conversation, Session, View
from prong.storage.scan_cache import NoCache

_OUTPUT_ROLES = {"user", "assistant", "thinking", "tool", "summary"}


def check(store: AgentStore, *, counted: bool = True) -> list[Conversation]:
    """Read everything that a store has, and look at it closely."""
    scan = store.scan(NoCache())
    assert scan.complete
    conversations = [check_session(store, session) for session in scan.sessions]
    if counted:
        for found in conversations:
            assert found is None or len(found.turns) == found.session.turn_count
    return [found for found in conversations if found]


def check_session(store: AgentStore, session: Session) -> Conversation | None:
    try:
        conversation = store.conversation(session)
    except ProngError:
        return None
    assert session.inherited <= session.turn_count
    count = len(conversation.turns)
    assert [turn.index for turn in conversation.turns] == list(range(1, count + 1))
    assert all(turn.index is None for turn in conversation.abandoned)
    everything = (*conversation.turns, *conversation.abandoned)
    ids = [turn.id for turn in everything]
    assert len(set(ids)) == len(ids)
    assert all(ids)
    for turn in everything:
        assert turn.started is None or turn.ended is None or turn.started <= turn.ended
    _check_messages(store, session, conversation)
    return conversation


def _check_messages(store: AgentStore, session: Session, conversation: Conversation) -> None:
    for view in View:
        for message in store.messages(session, view=view):
            assert message.turn is None or 1 <= message.turn <= len(conversation.turns)
            assert message.role in _OUTPUT_ROLES
            message.text.encode()
            if message.tool is not None:
                message.tool.name.encode()
                assert message.role in ("assistant", "tool")
                assert (message.role == "tool") == (message.tool.output is not None)
    for turn in (*conversation.turns, *conversation.abandoned):
        said = [m for m in store.messages(session, turn=turn.id) if m.role == "user"]
        assert all(message.turn == turn.index for message in said)
        if turn.prompt:
            assert any(turn.prompt in message.text for message in said), turn.prompt
        lines = list(store.raw(session, turn=turn.id))
        assert lines
        assert not any(b"\n" in line for line in lines)
