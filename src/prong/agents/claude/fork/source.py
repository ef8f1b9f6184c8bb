"""A session as read at one moment: its turns, and the forks that are possible at each."""

from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import BinaryIO

from prong.agents import jsonl
from prong.agents.claude import turns
from prong.agents.claude.fork.selection import Selection, select
from prong.agents.claude.messages import ClaudeRenderer
from prong.agents.claude.sessions import subagents
from prong.agents.claude.transcript import ClaudeTranscript
from prong.agents.claude.tree import Tree
from prong.agents.claude.turns import ClaudeSpan, ClaudeTurns
from prong.errors import Corrupt
from prong.model.forks import Cut, Extent
from prong.model.sessions import Conversation, Message, Session, Skipped, TurnKind, View


class ClaudeSource:
    """Fork source that keeps the file open, so that its bytes stay the same."""

    def __init__(
        self, session: Session, file: BinaryIO, transcript: ClaudeTranscript, *, live: bool
    ) -> None:
        if not transcript.nodes and transcript.bad:
            raise Corrupt(f"cannot read anything in {session.path}", path=str(session.path))
        self.session = session
        self.file = file
        self.transcript = transcript
        self._live = live
        self._selections: dict[Cut, Selection] = {}
        self._extents: dict[Cut, Extent] = {}

    def close(self) -> None:
        self.file.close()

    @cached_property
    def tree(self) -> Tree:
        return Tree(self.transcript)

    @cached_property
    def turns(self) -> ClaudeTurns:
        return turns.cut(self.tree)

    @property
    def conversation(self) -> Conversation:
        return self._conversation

    @cached_property
    def _conversation(self) -> Conversation:
        path, read = self.session.path, self.transcript
        lead, active = self.turns.lead, self.turns.active
        return Conversation(
            session=self.session,
            turns=tuple(
                turns.describe(span, read, is_last=span is active[-1], live=self._live)
                for span in active
            ),
            abandoned=tuple(
                turns.describe(span, read, is_last=True) for span in self.turns.abandoned
            ),
            compactions=tuple(
                number
                for number, nodes in enumerate((lead, *(span.nodes for span in active)))
                for node in nodes
                if node.boundary
            ),
            subagents=subagents(path, self.transcript),
            skipped=tuple(Skipped(path, reason, offset) for offset, reason in self.transcript.bad),
        )

    # -- what is shown ---------------------------------------------------------------------------

    def shown(self, view: View, turn: str | None) -> Iterator[Message]:
        """Yield the messages of a view, or of one turn, without images."""
        renderer = ClaudeRenderer(self.file, self.transcript, view, text_only=True)
        if turn is None and view is View.CONTEXT:
            yield from renderer.render(self.tree.context(), None)
            return
        if turn is None:
            yield from renderer.render(self.turns.lead, None)
        for span in self._spans(turn):
            yield from renderer.render(span.nodes, span.number)
            for text in span.absorbed:
                yield Message("user", text, span.number)

    def raw(self, turn: str | None) -> Iterator[bytes]:
        parts = [span.nodes for span in self._spans(turn)]
        for node in chain(self.turns.lead if turn is None else (), *parts):
            self.file.seek(node.offset)
            yield self.file.read(node.length).rstrip(b"\n")

    def _spans(self, turn: str | None) -> list[ClaudeSpan]:
        span = self.turns.span(turn) if turn is not None else None
        return self.turns.active if turn is None else [span] if span else []

    # -- what a fork contains --------------------------------------------------------------------

    def selection(self, cut: Cut) -> Selection:
        if cut not in self._selections:
            self._selections[cut] = select(self.tree, self.turns, cut)
        return self._selections[cut]

    def extent(self, cut: Cut) -> Extent:
        if cut not in self._extents:
            self._extents[cut] = self._extent(cut)
        return self._extents[cut]

    def _extent(self, cut: Cut) -> Extent:
        selection = self.selection(cut)
        # Token counts from before a compaction do not apply to the context after it.
        start = max((n.order for n in selection.nodes if n.boundary), default=-1)
        reported = [n.tokens for n in selection.context if n.tokens and n.order > start]
        return Extent(
            turns=len(selection.spans),
            characters=sum(node.size for node in selection.context),
            # If compactions are undone, counts from after one are too low.
            tokens=(max(reported) if cut.full else reported[-1]) if reported else None,
            warnings=tuple(self._warnings(selection)),
        )

    def messages(self, cut: Cut) -> Iterator[Message]:
        selection = self.selection(cut)
        numbers = {
            node.uuid: number
            for number, span in enumerate(selection.spans, 1)
            for node in span.nodes
        }
        renderer = ClaudeRenderer(self.file, self.transcript, View.HISTORY)
        for node in selection.nodes if cut.full else selection.context:
            yield from renderer.render([node], numbers.get(node.uuid))

    def _warnings(self, chosen: Selection) -> Iterator[str]:
        """Yield a warning for background agents that reported back only after the cut."""
        calls = [call.id for node in chosen.nodes for call in node.calls]
        notifications = (
            str((jsonl.read_at(self.file, span.opener.place) or {}).get("message"))
            for span in chosen.rest
            if span.prompt.kind is TurnKind.NOTIFICATION
        )
        count = sum(any(call in text for call in calls) for text in notifications)
        if count:
            agents = "a background agent" if count == 1 else f"{count} background agents"
            yield f"{agents} had not reported back at this turn; Claude Code may say it failed"
