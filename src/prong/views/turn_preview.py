"""Preview of a turn: prompt, code change and the agent's answer."""

from typing import NamedTuple

from prong.code import gaps
from prong.code.diff import CodeDiff
from prong.code.service import CodeService
from prong.errors import ProngError
from prong.model.sessions import Conversation, Turn
from prong.session.service import SessionService
from prong.views.text import clean


class TurnPreview(NamedTuple):
    prompt: str
    answer: str
    code: CodeDiff | None
    lack: str
    """Why the code change is unknown."""


def read(
    sessions: SessionService, changes: CodeService, conversation: Conversation, turn: Turn
) -> TurnPreview:
    """Collect what a preview shows. For a missing code change, `lack` gives the reason."""
    code, lack = None, ""
    try:
        code = changes.change_of(conversation, turn)
    except ProngError as error:
        snapshots = changes.snapshots(conversation)
        reason = gaps.summary(turn.gaps) or "no code captured"
        lack = error.message if turn.id in snapshots else reason
    prompt = clean(turn.prompt, lines=True).strip()
    return TurnPreview(prompt, _answer(sessions, conversation, turn), code, clean(lack))


def _answer(sessions: SessionService, conversation: Conversation, turn: Turn) -> str:
    """Return the last message of the agent."""
    answer = ""
    try:
        for message in sessions.messages(conversation.session, turn=turn):
            if message.role == "assistant" and message.text.strip():
                answer = message.text
    except (ProngError, OSError) as error:
        return clean(str(error))
    return clean(answer, lines=True).strip()
