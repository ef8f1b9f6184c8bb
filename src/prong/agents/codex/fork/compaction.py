"""Restore the messages before a compaction, as if it had never happened.

They are still in the file. Only the lines that the compaction wrote must be left out: a task of
its own or, when Codex compacts in the middle of a turn, the model's summary and the line that
replaces the past.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prong.agents.codex.history import OpenFiles, Piece, Segment
from prong.agents.codex.messages import as_text, payload_of
from prong.agents.codex.rollout import EntryKind
from prong.agents.codex.turns import CodexSpan


class Gap(NamedTuple):
    """A range of bytes to leave out of a file."""

    segment: Segment
    start: int
    stop: int

    def holds(self, segment: Segment, offset: int) -> bool:
        return segment is self.segment and self.start <= offset < self.stop


def gaps(spans: Iterable[CodexSpan], files: OpenFiles) -> list[Gap]:
    """Return the lines that compactions wrote into these turns."""
    return [
        gap for span in spans for task in _tasks(span.pieces) for gap in _task_gaps(task, files)
    ]


def undone(spans: Iterable[CodexSpan], gaps: Iterable[Gap]) -> list[CodexSpan]:
    """Return the turns without the lines that compactions wrote."""
    gaps = list(gaps)

    def is_kept(piece: Piece) -> bool:
        return not any(gap.holds(piece[0], piece[1].place.offset) for gap in gaps)

    return [span.with_pieces(list(filter(is_kept, span.pieces))) for span in spans]


def _tasks(pieces: Iterable[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces of each task, and of each stretch between two tasks."""
    task: list[Piece] = []
    for piece in pieces:
        kind = piece[1].kind
        if kind is EntryKind.START and task:
            yield task
            task = []
        task.append(piece)
        if kind in (EntryKind.END, EntryKind.ABORT):
            yield task
            task = []
    if task:
        yield task


def _task_gaps(task: list[Piece], files: OpenFiles) -> Iterator[Gap]:
    if not any(entry.kind is EntryKind.COMPACTED for _, entry in task):
        return
    has_prompt = any(entry.kind is segment.prompt_kind for segment, entry in task)
    if task[0][1].kind is EntryKind.START and not has_prompt:
        first, last = _gap(task[0]), _gap(task[-1])
        yield Gap(first.segment, first.start, last.stop)
        return
    for number, (segment, entry) in enumerate(task):
        if entry.kind is EntryKind.COMPACTED:
            yield _gap((segment, entry))
            yield from map(_gap, _summary(task[: number + 1], files))
        elif entry.kind is EntryKind.COMPACTION_NOTE:
            yield _gap((segment, entry))


def _gap(piece: Piece) -> Gap:
    segment, entry = piece
    return Gap(segment, entry.place.offset, entry.place.offset + entry.place.length)


def _summary(task: list[Piece], files: OpenFiles) -> Iterator[Piece]:
    """Yield the answer that became the summary and the reasoning before it, if any."""
    *before, compacted = task
    summary = str(payload_of(files.record(compacted)).get("message") or "")
    is_answer_found = False
    for piece in reversed(before):
        kind = piece[1].kind
        if kind is EntryKind.TOKENS:
            continue
        if kind is not EntryKind.ITEM:
            return
        item = payload_of(files.record(piece))
        if is_answer_found:
            if item.get("type") != "reasoning":
                return
        else:
            is_answer = (item.get("type"), item.get("role")) == ("message", "assistant")
            text = as_text(item.get("content")).strip() if is_answer else ""
            if not text or not summary.endswith(text):
                return
            is_answer_found = True
        yield piece
