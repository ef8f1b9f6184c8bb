"""Previews next to a list: a found turn within its session, a whole session, or one turn.

They read session files, so they are made in a thread.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from prong.app import App
from prong.code.diff import CodeDiff
from prong.errors import ProngError, memory_checked
from prong.model.amounts import counted
from prong.model.search import Hit
from prong.model.sessions import Conversation, Message, Session, Turn
from prong.search.passages import Highlighter
from prong.session.transcript import paired
from prong.tui.content.transcript import TranscriptLines, prompt, rule
from prong.tui.widgets.lines import Line, Mark, line, parted
from prong.views import turn_table
from prong.views.code_change import stat_rows
from prong.views.text import age, clean, short_path
from prong.views.turn_preview import read

_STAT_COLUMNS = 60
_MOST_MESSAGES = 400
"""Maximum number of messages of a turn; the transcript shows the rest."""
_HEAD = 12
"""Maximum lines of the prompts and answers of the first and last turn."""
_COPIES = 3
_FAR, _BEFORE = 20, 3
"""Lines: how far down a match must be to scroll to it, and the context above it."""


class Preview(NamedTuple):
    lines: Sequence[Line]
    top: int = 0
    """First visible line."""


Reader = Callable[[App], Preview]


def attempt(app: App, read: Reader) -> Preview:
    """Read a preview; on failure, return one that shows the error."""
    try:
        with memory_checked():
            return read(app)
    except (ProngError, OSError) as error:
        return failed(error)


def of_hit(app: App, hit: Hit, highlight: Highlighter) -> Preview:
    """Preview a hit: the turn with its neighbours, then the first and last turn of its session."""
    session, turn = hit.session, hit.turn
    if session is None:
        return Preview([Line(clean(hit.warning or "the session no longer exists"), "warning")])
    if turn is None:
        return of_session(app, session)
    conversation = app.sessions.conversation(session)
    turns = (*conversation.turns, *conversation.abandoned)
    turn = next((item for item in turns if item.id == turn.id), turn)
    lines = list(header(session, conversation))
    if hit.also:
        copies = [f"{ref.agent}:{ref.id[:8]}@{index}" for ref, index in hit.also[:_COPIES]]
        more = f" and {len(hit.also) - _COPIES} more" if len(hit.also) > _COPIES else ""
        lines.append(Line(f"the same turn is in {', '.join(copies)}{more}", "dim"))
    lines += _beside(conversation, turn, -1)
    lines += _turn(app, conversation, turn, highlight)
    lines += _beside(conversation, turn, 1)
    lines += _ends(app, conversation, turn)
    lines = list(parted(lines))
    # Scroll to the first match only if it is far down; usually the prompt has one.
    first = next((number for number, item in enumerate(lines) if highlight(item.text)), 0)
    return Preview(lines, first - _BEFORE if first > _FAR else 0)


def of_session(app: App, session: Session) -> Preview:
    """Preview a session: its first and last turn, and all prompts."""
    conversation = app.sessions.conversation(session)
    lines = [*header(session, conversation), *_ends(app, conversation, None)]
    if len(conversation.turns) > 2:
        lines += [Line(), rule("all prompts")]
        lines += [
            line((f"{turn.index:>4}  ", "dim"), clean(turn.prompt)) for turn in conversation.turns
        ]
    if not conversation.turns:
        lines.append(Line("no prompts yet", "dim"))
    return Preview(list(parted(lines)))


def of_turn(
    app: App, conversation: Conversation, turn: Turn, *, without_answer: bool = False
) -> Preview:
    """Preview a turn: prompt, code change and messages.

    `without_answer` hides the agent's answer to a seed, which only says that it is ready.
    """
    overview = read(app.sessions, app.code, conversation, turn)
    lines = [*prompt(overview.prompt or "(no prompt)"), Line(_effort(turn), "dim"), Line()]
    lines += [*_code(overview.code, overview.lack), Line()]
    messages = paired(app.sessions.messages(conversation.session, turn=turn))
    body = _said(messages, None, without_answer=without_answer)
    return Preview(list(parted([*lines, *body])))


def _effort(turn: Turn) -> str:
    """Summarize time, files, commands and tokens, which narrow lists leave out."""
    cells = turn_table.row(turn, "")
    tokens = f"{cells.tokens} tokens so far" if cells.tokens else ""
    return " · ".join(part for part in (cells.when, cells.files, cells.commands, tokens) if part)


def header(session: Session, conversation: Conversation) -> Iterator[Line]:
    """Yield the lines that name the session."""
    yield Line(clean(session.title) or "(no prompt)", "title")
    facts = [
        f"{session.agent}:{session.id[:8]}",
        age(session.updated),
        short_path(session.cwd),
        clean(session.branch or ""),
        clean(session.model or ""),
        counted(len(conversation.turns), "turn"),
    ]
    yield Line(" · ".join(fact for fact in facts if fact), "dim")
    if session.parent is not None:
        number = session.inherited if session.forked_at is None else session.forked_at
        yield Line(f"forked from {session.parent.agent}:{session.parent.id[:8]}@{number}", "dim")


def _turn(
    app: App, conversation: Conversation, turn: Turn, highlight: Highlighter
) -> Iterator[Line]:
    position = f"turn {turn.index} of {len(conversation.turns)}"
    name = position if turn.index else f"turn {turn.id[:8]}, abandoned by a rewind"
    when = age(turn.started)
    yield rule(f"{name}, {when}" if when else name)
    yield from prompt(clean(turn.prompt, lines=True).strip() or "(no prompt)")
    yield Line()
    messages = paired(app.sessions.messages(conversation.session, turn=turn))
    yield from _said(messages, highlight)


def _said(
    messages: Iterator[Message], highlight: Highlighter | None, *, without_answer: bool = False
) -> Iterator[Line]:
    """Yield all messages but the prompt, which the caller shows."""
    skipped_prompt = False
    transcript = TranscriptLines(highlight)
    for message in islice(messages, _MOST_MESSAGES):
        if message.role == "user" and not skipped_prompt:
            skipped_prompt = True
        elif not (without_answer and message.role == "assistant"):
            yield from transcript.message(message)
    if next(messages, None) is not None:
        yield Line("… more in the transcript (t)", "dim")


def _beside(conversation: Conversation, turn: Turn, by: int) -> list[Line]:
    """Return a line with the prompt of the previous or next turn."""
    if turn.index is None or not 1 <= turn.index + by <= len(conversation.turns):
        return []
    neighbour = conversation.turns[turn.index + by - 1]
    sign = "↑" if by < 0 else "↓"
    return [line((f"{sign} turn {neighbour.index}  ", "rule"), (clean(neighbour.prompt), "dim"))]


def _ends(app: App, conversation: Conversation, without: Turn | None) -> Iterator[Line]:
    """Yield the first and last turn, except the one already shown."""
    turns = conversation.turns
    ends = {turn.id: turn for turn in (*turns[:1], *turns[-1:])}
    for turn in ends.values():
        if without is not None and turn.id == without.id:
            continue
        yield Line()
        yield rule(f"{'first' if turn is turns[0] else 'last'} turn ({turn.index})")
        overview = read(app.sessions, app.code, conversation, turn)
        yield from islice(prompt(overview.prompt or "(no prompt)"), _HEAD)
        yield Line()
        answer = list(TranscriptLines().message(Message("assistant", overview.answer)))
        yield from answer[:_HEAD]
        if len(answer) > _HEAD:
            yield Line("…", "dim")


def _code(code: CodeDiff | None, lack: str) -> Iterator[Line]:
    """Yield a diffstat."""
    if code is None:
        yield Line(lack, "dim")
    elif not code.files:
        yield Line("no code changes", "dim")
    else:
        for row in stat_rows(code.files, _STAT_COLUMNS):
            yield bar(*row)


def bar(text: str, plus: int, minus: int) -> Line:
    """Draw a row of a diffstat."""
    drawn = text + "+" * plus + "-" * minus
    middle = len(text) + plus
    return Line(
        drawn, marks=(Mark(len(text), middle, "added"), Mark(middle, len(drawn), "removed"))
    )


def nothing(text: str) -> list[Line]:
    """Return the lines of an empty preview."""
    return [Line(text, "title")]


def failed(error: ProngError | OSError) -> Preview:
    """Return a preview that shows an error."""
    message = error.message if isinstance(error, ProngError) else str(error)
    lines = [Line(clean(message), "warning")]
    if isinstance(error, ProngError) and error.hint:
        lines.append(Line(f"try: {clean(error.hint)}", "dim"))
    return Preview(lines)
