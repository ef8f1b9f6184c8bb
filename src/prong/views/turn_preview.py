"""A turn at a glance: its prompt, what it did to the code, and how the agent answered."""

from typing import TYPE_CHECKING, NamedTuple

from prong.errors import ProngError
from prong.views.text import clean

if TYPE_CHECKING:
    from prong.app import App
    from prong.code.diff import CodeDiff
    from prong.model.sessions import Conversation, Turn


class TurnPreview(NamedTuple):
    prompt: str
    answer: str
    code: "CodeDiff | None"
    lack: str
    """Why nothing is known of the code."""


def read(app: "App", conversation: "Conversation", turn: "Turn") -> TurnPreview:
    """All that there is to see of a turn; a part that cannot be had is said to be missing."""
    from prong.code import gaps

    code, lack = None, ""
    try:
        code = app.change_of(conversation, turn)
    except ProngError as error:
        known = app.snapshots(conversation)
        nothing = gaps.summary(turn.gaps) or "no code captured"
        lack = error.message if turn.id in known else nothing
    prompt = clean(turn.prompt, lines=True).strip()
    return TurnPreview(prompt, _answer(app, conversation, turn), code, clean(lack))


def _answer(app: "App", conversation: "Conversation", turn: "Turn") -> str:
    """The last that the agent said."""
    answer = ""
    try:
        for message in app.messages(conversation.session, turn=turn):
            if message.role == "assistant" and message.text.strip():
                answer = message.text
    except (ProngError, OSError) as error:
        return clean(str(error))
    return clean(answer, lines=True).strip()
