"""The words of a session of an agent that does not tell them while it scans."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from prong.model import Message, Session, Turn
from prong.ports import AgentStore
from prong.texts import FileTexts, Stamp, TurnText

_RESULT_END = 2_000
"""How many characters of a tool result are kept at each of its ends."""


def plain_texts(store: AgentStore, session: Session, *, output: bool = True) -> FileTexts:
    """All turns of a session, from its messages."""
    stamp = Stamp.of(session.path.stat())
    return FileTexts(session.file, stamp, session.id, _turns(store, session, output=output))


def _turns(store: AgentStore, session: Session, *, output: bool) -> Iterator[TurnText]:
    found = store.conversation(session)
    turns = {turn.index: turn for turn in found.turns}
    for number, messages in groupby(store.messages(session), key=lambda message: message.turn):
        if turn := turns.pop(number, None):
            yield _text(turn, list(messages), output=output)
    for turn in turns.values():
        yield _text(turn, [], output=output)
    for turn in found.abandoned:
        yield _text(turn, list(store.messages(session, turn=turn.id)), output=output)


def _text(turn: Turn, messages: Sequence[Message], *, output: bool) -> TurnText:
    said = [m.text for m in messages if m.role == "assistant" and m.tool is None and m.text]
    results = [m.tool.output for m in messages if m.tool and m.tool.output] if output else []
    return TurnText(
        id=turn.id,
        index=turn.index,
        kind=turn.kind.value,
        started=turn.started.isoformat() if turn.started else None,
        prompt="\n".join((turn.prompt, *turn.queued)),
        answer="\n".join(said),
        last_answer=said[-1] if said else "",
        files=turn.files,
        commands=tuple(command.command for command in turn.commands),
        output="\n".join(map(_ends, results)),
    )


def _ends(result: str) -> str:
    if len(result) <= 2 * _RESULT_END:
        return result
    return f"{result[:_RESULT_END]}\n{result[-_RESULT_END:]}"
