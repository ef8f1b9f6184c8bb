"""Read a session once for forking: its turns, and the contents of a fork at any of them."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path

from prong.agents.codex import history, turns
from prong.agents.codex.fork import compaction
from prong.agents.codex.fork.compaction import Gap
from prong.agents.codex.history import OpenFiles, Piece, Segment
from prong.agents.codex.library import Library
from prong.agents.codex.messages import CodexRenderer, context_spans
from prong.agents.codex.rollout import EntryKind
from prong.agents.codex.turns import CodexSpan
from prong.errors import Corrupt, NotFound
from prong.model.forks import Cut, Extent
from prong.model.record import Record
from prong.model.sessions import Conversation, Message, Session, Skipped, SubAgent, TurnState, View


class Branch(Record, frozen=True):
    """The turns from the start of a session up to one turn."""

    chain: Sequence[Segment]
    spans: list[CodexSpan]
    """From `spans[0]`, before the first prompt, to the turn; empty for a fork before all turns."""
    active: bool
    """False for a turn abandoned by a rewind or a rollback."""

    @property
    def turn_ids(self) -> list[str]:
        return [span.id for span in self.spans if span.prompt is not None]

    @property
    def pieces(self) -> list[Piece]:
        return [piece for span in self.spans for piece in span.pieces]

    @property
    def compacted(self) -> bool:
        return bool(turns.compactions(self.spans))


class CodexSource:
    """A session to fork. Its files stay open, so that later changes on disk do not matter."""

    def __init__(
        self, session: Session, library: Library, files: OpenFiles, *, live: bool = False
    ) -> None:
        self.session = session
        self.library = library
        self.files = files
        self._skipped: list[Skipped] = []
        self._live = live
        self._extents: dict[Cut, Extent] = {}
        try:
            self.files.named(session.path)
            self.chain = self._segments(session.path)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.files.close()

    def _segments(self, path: Path) -> list[Segment]:
        return history.segments(path, self.files, self.library, self._skipped)

    @cached_property
    def whole(self) -> turns.CodexTurnCut:
        return turns.cut(self.chain)

    @cached_property
    def _earlier(self) -> list[tuple[list[Segment], turns.CodexTurnCut]]:
        """The thread's other files, which rewinds left behind."""
        own_header = self.chain[-1].rollout.header
        earlier: list[tuple[list[Segment], turns.CodexTurnCut]] = []
        for path in self.library.thread(self.session.id, beside=self.session.file):
            if path == self.session.file:
                continue
            try:
                chain = self._segments(Path(path))
            except (OSError, Corrupt) as error:
                reason = error.message if isinstance(error, Corrupt) else error.strerror
                self._skipped.append(Skipped(Path(path), reason or str(error)))
                continue
            header = chain[-1].rollout.header
            if own_header and header and header.id != own_header.id:
                # A sub-agent's file may have its parent's id in its name.
                continue
            earlier.append((chain, turns.cut(chain)))
        return earlier

    def abandoned(self) -> list[CodexSpan]:
        """Return turns that were rolled back, or that rewinds left in earlier files."""
        active_ids = {span.id for span in self.whole.active}
        abandoned = {span.id: span for span in self.whole.rolled_back}
        for _, cut in self._earlier:
            for span in cut.active:
                if span.prompt is not None and span.id not in active_ids:
                    abandoned.setdefault(span.id, span)
        return list(abandoned.values())

    @property
    def conversation(self) -> Conversation:
        return self._conversation

    @cached_property
    def _conversation(self) -> Conversation:
        return Conversation(
            session=self.session,
            turns=turns.build(self.whole.active, live=self._live),
            abandoned=turns.build(self.abandoned(), numbered=False),
            compactions=turns.compactions(self.whole.active),
            subagents=tuple(self._subagents()),
            skipped=tuple(dict.fromkeys(self._skipped)),
        )

    def _subagents(self) -> Iterator[SubAgent]:
        seen: set[str] = set()
        for _, entry in history.pieces(self.chain):
            if entry.kind is not EntryKind.SUBAGENT:
                continue
            for id_ in entry.agents:
                paths = self.library.thread(id_, beside=self.session.file)
                if paths and id_ not in seen:
                    seen.add(id_)
                    yield SubAgent(id_, Path(paths[-1]), None, entry.call)

    def shown(self, view: View, turn: str | None) -> Iterator[Message]:
        """Yield the messages of a view, or of one turn, without images."""
        renderer = CodexRenderer(view, self.files, text_only=True)
        for number, span in self._parts(view, turn):
            yield from renderer.render(span, number)

    def raw(self, turn: str | None) -> Iterator[bytes]:
        for _, span in self._parts(View.HISTORY, turn):
            yield from map(self.files.line, span.pieces)

    def _parts(self, view: View, turn: str | None) -> Iterator[tuple[int | None, CodexSpan]]:
        """Yield the turns with their numbers: all that a view shows, or one."""
        active = self.whole.active
        if turn is None:
            if view is View.CONTEXT:
                yield from ((None, span) for span in context_spans(active))
            else:
                yield from ((number or None, span) for number, span in enumerate(active))
            return
        for number, span in enumerate(active):
            if span.id == turn and span.prompt is not None:
                yield number, span
                return
        yield from [(None, span) for span in self.abandoned() if span.id == turn][:1]

    # -- contents of a fork --------------------------------------------------------------------

    def branch(self, cut: Cut) -> Branch:
        if cut.turn is None:
            return Branch(self.chain, [], active=True)
        for chain, whole in self._conversations():
            for spans in (whole.active, *whole.branches):
                for number, span in enumerate(spans):
                    if span.prompt is not None and span.id == cut.turn:
                        active = chain is self.chain and spans is whole.active
                        return Branch(chain, _led_to(chain, spans[: number + 1]), active)
        raise NotFound(f"{self.session.ref} has no turn {cut.turn}", hint="prong turns")

    def _conversations(self) -> Iterator[tuple[list[Segment], turns.CodexTurnCut]]:
        yield self.chain, self.whole
        yield from self._earlier

    def gaps(self, branch: Branch, cut: Cut) -> list[Gap]:
        """Return the ranges to leave out of the lines up to the turn."""
        return compaction.gaps(branch.spans, self.files) if cut.full else []

    def extent(self, cut: Cut) -> Extent:
        if cut not in self._extents:
            self._extents[cut] = self._extent(cut)
        return self._extents[cut]

    def _extent(self, cut: Cut) -> Extent:
        branch = self.branch(cut)
        renderer = CodexRenderer(View.CONTEXT, self.files)
        spans = self._context(branch, cut)
        reported = (m.rollout.window for m in reversed(branch.chain) if m.rollout.window)
        return Extent(
            turns=len(branch.turn_ids),
            characters=sum(
                _size(message) for span in spans for message in renderer.render(span, None)
            ),
            tokens=_tokens(branch, cut),
            window=next(reported, None),
            warnings=tuple(self._warnings(cut)),
        )

    def messages(self, cut: Cut) -> Iterator[Message]:
        branch = self.branch(cut)
        numbers = {id_: number for number, id_ in enumerate(branch.turn_ids, start=1)}
        renderer = CodexRenderer(View.HISTORY, self.files, replaced=True)
        for span in self._context(branch, cut):
            yield from renderer.render(span, numbers.get(span.id))

    def _context(self, branch: Branch, cut: Cut) -> list[CodexSpan]:
        """Return what the model would get; with `full`, as if nothing had been compacted."""
        if cut.full:
            return compaction.undone(branch.spans, self.gaps(branch, cut))
        return context_spans(branch.spans)

    def _warnings(self, cut: Cut) -> Iterator[str]:
        conversation = self.conversation
        turn = next(
            (t for t in (*conversation.turns, *conversation.abandoned) if t.id == cut.turn), None
        )
        name = f"turn {turn.index}" if turn and turn.index else "the turn"
        if turn is not None and turn.state is TurnState.FAILED:
            yield f"{name} failed: the fork has its prompt, and no answer"
        problems = [skip for skip in conversation.skipped if not skip.harmless]
        if problems:
            yield f"{problems[0].path.name}: {problems[0].reason}" + (
                f", and {len(problems) - 1} more" if len(problems) > 1 else ""
            )


def _led_to(chain: Sequence[Segment], spans: list[CodexSpan]) -> list[CodexSpan]:
    """Return the turns without lines written after the last turn had ended."""
    position = {id(segment): number for number, segment in enumerate(chain)}

    def place(piece: Piece) -> tuple[int, int]:
        return position[id(piece[0])], piece[1].place.offset

    end = place(spans[-1].pieces[-1])
    if all(not span.pieces or place(span.pieces[-1]) <= end for span in spans):
        return spans
    return [span.with_pieces([p for p in span.pieces if place(p) <= end]) for span in spans]


def _tokens(branch: Branch, cut: Cut) -> int | None:
    """Return the last reported context size; if a compaction is undone, the largest one."""
    counts: list[int] = []
    for _, entry in branch.pieces:
        if entry.kind is EntryKind.TOKENS and entry.count:
            counts.append(entry.count)
        elif entry.kind is EntryKind.COMPACTED and not cut.full:
            counts.clear()
    if not counts:
        return None
    return max(counts) if cut.full else counts[-1]


def _size(message: Message) -> int:
    tool = message.tool
    return len(message.text) + (len(tool.input) + len(tool.output or "") if tool else 0)
