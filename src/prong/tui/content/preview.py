"""What is read from sessions for the screen: previews, transcripts and diffs."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from prong.code.diff import CodeDiff
from prong.code.service import CodeService
from prong.errors import NotFound, ProngError, memory_checked
from prong.model.amounts import counted
from prong.model.forks import SeedHeader
from prong.model.search import Hit
from prong.model.sessions import Conversation, Message, Session, Turn
from prong.model.workers import WorkerStatus
from prong.search.passages import Highlighter
from prong.session.service import SessionService
from prong.session.transcript import paired
from prong.tui.content.transcript import TranscriptLines, prompt, rule
from prong.tui.widgets.lines import Line, Mark, line, parted
from prong.views import turn_table
from prong.views.code_change import patch_lines, stat_rows, summary
from prong.views.text import age, clean, short_path
from prong.views.turn_preview import TurnPreview, read

_STAT_COLUMNS = 60
_DIFF_COLUMNS = 78
_MOST_MESSAGES = 400
"""Maximum number of messages of a turn; the transcript shows the rest."""
_HEAD = 12
"""Maximum lines of the prompts and answers of the first and last turn."""
_COPIES = 3
_FAR, _BEFORE = 20, 3
"""Lines: how far down a match must be to scroll to it, and the context above it."""
_STYLES = {"head": "bold", "hunk": "", "added": "added", "removed": "removed", "plain": ""}


class Preview(NamedTuple):
    lines: Sequence[Line]
    top: int = 0
    """First visible line."""


class LastExchange(NamedTuple):
    """The last turn of a worker's session."""

    session: Session | None = None
    lines: Sequence[Line] = ()


class SessionReader(NamedTuple):
    """Reads session files, so it works in a thread."""

    sessions: SessionService
    code: CodeService

    def attempt(self, read: "Callable[[SessionReader], Preview]") -> Preview:
        """Read a preview; on failure, return one that shows the error."""
        try:
            with memory_checked():
                return read(self)
        except (ProngError, OSError) as error:
            return Preview(failed(error))

    def of_hit(self, hit: Hit, highlight: Highlighter) -> Preview:
        """Preview a turn with its neighbours, then the first and last turn of its session."""
        session, turn = hit.session, hit.turn
        if session is None:
            return Preview([Line(clean(hit.warning or "the session no longer exists"), "warning")])
        if turn is None:
            return self.of_session(session)
        conversation = self.sessions.conversation(session)
        turns = (*conversation.turns, *conversation.abandoned)
        turn = next((item for item in turns if item.id == turn.id), turn)
        lines = list(_header(session, conversation))
        if hit.also:
            copies = [f"{ref.agent}:{ref.id[:8]}@{index}" for ref, index in hit.also[:_COPIES]]
            more = f" and {len(hit.also) - _COPIES} more" if len(hit.also) > _COPIES else ""
            lines.append(Line(f"the same turn is in {', '.join(copies)}{more}", "dim"))
        lines += _neighbour(conversation, turn, -1)
        lines += self._turn(conversation, turn, highlight)
        lines += _neighbour(conversation, turn, 1)
        lines += self._ends(conversation, turn)
        lines = list(parted(lines))
        # Scroll to the first match only if it is far down; usually the prompt has one.
        first = next((number for number, item in enumerate(lines) if highlight(item.text)), 0)
        return Preview(lines, first - _BEFORE if first > _FAR else 0)

    def of_session(self, session: Session) -> Preview:
        """Preview a session: its first and last turn, and all prompts."""
        conversation = self.sessions.conversation(session)
        lines = [*_header(session, conversation), *self._ends(conversation, None)]
        if len(conversation.turns) > 2:
            lines += [Line(), rule("all prompts")]
            lines += [
                line((f"{turn.index:>4}  ", "dim"), clean(turn.prompt))
                for turn in conversation.turns
            ]
        if not conversation.turns:
            lines.append(Line("no prompts yet", "dim"))
        return Preview(list(parted(lines)))

    def of_turn(
        self, conversation: Conversation, turn: Turn, *, without_answer: bool = False
    ) -> Preview:
        """Preview a turn: prompt, code change and messages.

        `without_answer` hides the agent's answer to a seed, which only says that it is ready.
        """
        overview = self._overview(conversation, turn)
        cells = turn_table.row(turn, "")
        tokens = f"{cells.tokens} tokens so far" if cells.tokens else ""
        # What narrow lists leave out.
        effort = [part for part in (cells.when, cells.files, cells.commands, tokens) if part]
        lines = [
            *prompt(overview.prompt or "(no prompt)"),
            Line(" · ".join(effort), "dim"),
            Line(),
            *_diffstat(overview),
            Line(),
            *_messages(self._messages(conversation, turn), None, without_answer=without_answer),
        ]
        return Preview(list(parted(lines)))

    def last_turn(self, status: WorkerStatus) -> LastExchange:
        worker = status.worker
        if not worker.session:
            return LastExchange()
        try:
            session = self.sessions.get(f"{worker.agent}:{worker.session}")
            conversation = self.sessions.conversation(session)
            if not conversation.turns:
                return LastExchange(session)
            turn = conversation.turns[-1]
            if SeedHeader.parse(turn.prompt) and not status.last_line:
                return LastExchange(session)  # the seed, which needs no preview
            heading = rule(f"last turn ({turn.index})")
            return LastExchange(session, [Line(), heading, *self.of_turn(conversation, turn).lines])
        except NotFound:  # no messages yet
            return LastExchange()
        except (ProngError, OSError) as error:
            return LastExchange(None, [Line(), *failed(error)])

    def transcript(self, session: Session, turn: int | None = None) -> Preview:
        """Read the whole transcript; the turn with this number is visible first."""
        lines: list[Line] = []
        top = 0
        transcript = TranscriptLines(everything=True)
        current: int | None = None
        for message in paired(self.sessions.messages(session)):
            if message.turn is not None and message.turn != current:
                current = message.turn
                top = len(lines) if current == turn else top
                lines.append(rule(f"turn {current}"))
            lines += parted(transcript.message(message))
        return Preview(lines or [Line("No messages yet.", "title")], top)

    def change(self, point: str) -> Preview:
        """Read the code change at `SESSION@TURN`."""
        return Preview(list(parted(_patch(self.code.diff(point)))))

    def _overview(self, conversation: Conversation, turn: Turn) -> TurnPreview:
        return read(self.sessions, self.code, conversation, turn)

    def _messages(self, conversation: Conversation, turn: Turn) -> Iterator[Message]:
        return paired(self.sessions.messages(conversation.session, turn=turn))

    def _turn(
        self, conversation: Conversation, turn: Turn, highlight: Highlighter
    ) -> Iterator[Line]:
        position = f"turn {turn.index} of {len(conversation.turns)}"
        name = position if turn.index else f"turn {turn.id[:8]}, abandoned by a rewind"
        when = age(turn.started)
        yield rule(f"{name}, {when}" if when else name)
        yield from prompt(clean(turn.prompt, lines=True).strip() or "(no prompt)")
        yield Line()
        yield from _messages(self._messages(conversation, turn), highlight)

    def _ends(self, conversation: Conversation, without: Turn | None) -> Iterator[Line]:
        """Yield the first and last turn, except the one already shown."""
        turns = conversation.turns
        for turn in {turn.id: turn for turn in (*turns[:1], *turns[-1:])}.values():
            if without is not None and turn.id == without.id:
                continue
            yield Line()
            yield rule(f"{'first' if turn is turns[0] else 'last'} turn ({turn.index})")
            overview = self._overview(conversation, turn)
            yield from islice(prompt(overview.prompt or "(no prompt)"), _HEAD)
            yield Line()
            answer = list(TranscriptLines().message(Message("assistant", overview.answer)))
            yield from answer[:_HEAD]
            if len(answer) > _HEAD:
                yield Line("…", "dim")


def _header(session: Session, conversation: Conversation) -> Iterator[Line]:
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


def _messages(
    messages: Iterable[Message], highlight: Highlighter | None, *, without_answer: bool = False
) -> Iterator[Line]:
    """Yield all messages but the prompt, which the caller shows."""
    skipped_prompt = False
    transcript = TranscriptLines(highlight)
    for number, message in enumerate(messages):
        if number == _MOST_MESSAGES:
            yield Line("… more in the transcript (t)", "dim")
            return
        if message.role == "user" and not skipped_prompt:
            skipped_prompt = True
        elif not (without_answer and message.role == "assistant"):
            yield from transcript.message(message)


def _neighbour(conversation: Conversation, turn: Turn, by: int) -> list[Line]:
    """Return a line with the prompt of the previous or next turn."""
    if turn.index is None or not 1 <= turn.index + by <= len(conversation.turns):
        return []
    neighbour = conversation.turns[turn.index + by - 1]
    sign = "↑" if by < 0 else "↓"
    return [line((f"{sign} turn {neighbour.index}  ", "rule"), (clean(neighbour.prompt), "dim"))]


def _diffstat(overview: TurnPreview) -> Iterator[Line]:
    if overview.code is None:
        yield Line(overview.lack, "dim")
    elif not overview.code.files:
        yield Line("no code changes", "dim")
    else:
        yield from _bars(overview.code, _STAT_COLUMNS)


def _bars(code: CodeDiff, columns: int) -> Iterator[Line]:
    for text, plus, minus in stat_rows(code.files, columns):
        yield line(text, ("+" * plus, "added"), ("-" * minus, "removed"))


def _patch(code: CodeDiff) -> Iterator[Line]:
    yield Line(summary(code) if code.files else "no code changes", "title")
    yield from (Line(f"note: {clean(note)}", "dim") for note in code.notes)
    yield from _bars(code, _DIFF_COLUMNS)
    for kind, text, lead in patch_lines(code.patch()):
        if kind == "head" and text.startswith("diff "):
            yield Line()
        marks = (Mark(0, lead, "hunk"),) if kind == "hunk" else ()
        yield Line(text.expandtabs(4), _STYLES[kind], marks)


def failed(error: ProngError | OSError) -> list[Line]:
    if not isinstance(error, ProngError):
        return [Line(clean(str(error)), "warning")]
    hint = [Line(f"try: {clean(error.hint)}", "dim")] if error.hint else []
    return [Line(clean(error.message), "warning"), *hint]
