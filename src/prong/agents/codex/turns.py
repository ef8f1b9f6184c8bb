"""Group rollout entries into the turns of a Codex session."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from prong.agents.codex.history import Piece, Segment, pieces
from prong.agents.codex.rollout import EntryKind, RolloutEntry
from prong.agents.common import parse_time
from prong.model.record import Record, field
from prong.model.sessions import Command, Turn, TurnKind, TurnState

# Compared for every line of a store: a global is much faster than an attribute of an enum.
_START, _END, _ABORT, _ROLLBACK = (
    EntryKind.START,
    EntryKind.END,
    EntryKind.ABORT,
    EntryKind.ROLLBACK,
)
_ITEM, _EXEC, _CHANGE = EntryKind.ITEM, EntryKind.EXEC, EntryKind.CHANGE


class CodexSpan(Record):
    """The entries of one turn. The first span of a session may have no prompt."""

    id: str
    prompt: RolloutEntry | None
    pieces: list[Piece] = field(default_factory=list[Piece])
    queued: list[str] = field(default_factory=list[str])
    program: bool = False

    @property
    def entries(self) -> list[RolloutEntry]:
        return [entry for _, entry in self.pieces]

    @property
    def kind(self) -> TurnKind:
        return TurnKind.SDK if self.program else TurnKind.HUMAN

    def with_pieces(self, pieces: list[Piece]) -> "CodexSpan":
        return CodexSpan(self.id, self.prompt, pieces, self.queued, self.program)


class CodexTurnCut(Record):
    """The turns of a session; `active[0]` holds the entries before the first prompt."""

    active: list[CodexSpan]
    rolled_back: list[CodexSpan]
    branches: list[list[CodexSpan]] = field(default_factory=list[list[CodexSpan]])
    """The active turns before each rollback."""


def cut(chain: Sequence[Segment]) -> CodexTurnCut:
    """Group entries into turns.

    A turn runs from `task_started` to its end and has a prompt; a second prompt within it was
    queued while the agent was busy. Older files have no such marks: every prompt opens a turn.
    """
    result = CodexTurnCut([CodexSpan("", None)], [])
    used_ids: set[str] = set()
    task: str | None = None
    pending: list[Piece] | None = None
    previous: Segment | None = None
    prompt_kind: EntryKind | None = None
    for piece in pieces(chain):
        segment, entry = piece
        current = result.active[-1]
        if segment is not previous:
            # A task never continues in another file.
            current.pieces.extend(pending or ())
            task, pending, previous = None, None, segment
            prompt_kind = segment.prompt_kind
        kind = entry.kind
        if kind is _START:
            # Entries between the start and the prompt belong to its turn, if a prompt follows.
            current.pieces.extend(pending or ())
            task, pending = entry.turn, [piece]
            continue
        if kind is prompt_kind:
            if task is not None and current.id == task:
                current.queued.append(entry.text)
                current.pieces.append(piece)
                continue
            header = segment.rollout.header
            span = CodexSpan(
                task if task and task not in used_ids else _made_up_id(entry, used_ids),
                entry,
                [*(_item_before(current, segment) if pending is None else pending), piece],
                program=header is not None and header.source == "exec",
            )
            result.active.append(span)
            used_ids.add(span.id)
            pending = None
            continue
        if kind is _ROLLBACK:
            count = min(entry.count or 0, len(result.active) - 1)
            if count > 0:
                result.branches.append(list(result.active))
                result.rolled_back.extend(result.active[-count:])
                del result.active[-count:]
            continue
        if pending is not None:
            pending.append(piece)
        else:
            current.pieces.append(piece)
        if kind is _END or kind is _ABORT:
            # A task without a prompt, such as a compaction, is not a turn.
            current.pieces.extend(pending or ())
            task, pending = None, None
    result.active[-1].pieces.extend(pending or ())
    return result


def _item_before(span: CodexSpan, segment: Segment) -> list[Piece]:
    """Pop the item that repeats the next prompt, in files without task marks."""
    if segment.prompt_kind is not EntryKind.USER_TEXT and span.pieces:
        previous, entry = span.pieces[-1]
        if previous is segment and entry.kind is EntryKind.USER_TEXT:
            return [span.pieces.pop()]
    return []


def _made_up_id(prompt: RolloutEntry, used: set[str]) -> str:
    """Derive an id for a turn without one, from nothing that may change later."""
    text = f"{prompt.time}\n{prompt.text}"
    if prompt.time is None:
        text = f"{len(used) + 1}\n{text}"
    while (id_ := hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:32]) in used:
        text += "\n"
    return id_


def build(
    spans: Iterable[CodexSpan], *, live: bool = False, numbered: bool = True
) -> tuple[Turn, ...]:
    """Build turns from spans, without numbers for abandoned ones."""
    with_prompt = [span for span in spans if span.prompt is not None]
    return tuple(
        _turn(span, number if numbered else None, live=live and number == len(with_prompt))
        for number, span in enumerate(with_prompt, start=1)
    )


def work(entries: Sequence[RolloutEntry]) -> tuple[tuple[str, ...], tuple[Command, ...]]:
    """Return the files changed and the commands run in a turn."""
    commands: dict[str | None, Command] = {}
    files: dict[str, None] = {}
    patches: dict[str | None, list[str]] = {}
    structured = any(entry.kind is _CHANGE for entry in entries)
    for entry in entries:
        kind = entry.kind
        if kind is _ITEM:
            if entry.name:
                if entry.text:
                    commands[entry.call] = Command(entry.text, None)
                patches[entry.call] = entry.files
            elif entry.exit_code is not None:
                if entry.call in commands:
                    commands[entry.call] = Command(commands[entry.call].command, entry.exit_code)
                if entry.exit_code == 0 and not structured:
                    files.update(dict.fromkeys(patches.get(entry.call, ())))
        elif kind is _EXEC:
            command = commands.get(entry.call)
            text = entry.text or (command.command if command else "")
            commands[entry.call] = Command(text, entry.exit_code)
        elif kind is _CHANGE and not entry.failed:
            files.update(dict.fromkeys(entry.files))
    return tuple(files), tuple(commands.values())


def _turn(span: CodexSpan, index: int | None, *, live: bool) -> Turn:
    assert span.prompt is not None
    entries = span.entries
    files, commands = work(entries)
    times = [time for entry in entries if (time := parse_time(entry.time))]
    segment, last = span.pieces[-1]
    return Turn(
        index=index,
        id=span.id,
        kind=span.kind,
        prompt=span.prompt.text,
        started=min(times, default=None),
        ended=max(times, default=None),
        state=_state(entries, live=live),
        queued=tuple(span.queued),
        files=files,
        commands=commands,
        tools=dict(Counter(e.name for e in entries if e.kind is _ITEM and e.name)),
        tokens=next((e.count for e in reversed(entries) if e.kind is EntryKind.TOKENS), None),
        cwd=segment.rollout.cwd_at(last.place),
    )


def _state(entries: Sequence[RolloutEntry], *, live: bool) -> TurnState:
    for entry in reversed(entries):
        if entry.kind is EntryKind.ABORT:
            return TurnState.INTERRUPTED
        if entry.kind is EntryKind.END:
            return TurnState.FAILED if entry.failed else TurnState.FINISHED
        if entry.kind is EntryKind.START:
            break
    else:
        # Without such marks, only an answer shows that the turn has finished.
        last = next(
            (e for e in reversed(entries) if e.kind in (EntryKind.ITEM, EntryKind.SAID)), None
        )
        if last is not None and last.call is None:
            return TurnState.FINISHED
    return TurnState.RUNNING if live else TurnState.INTERRUPTED


def compactions(spans: Sequence[CodexSpan]) -> tuple[int, ...]:
    """Return the number of turns before each compaction."""
    return tuple(
        number
        for number, span in enumerate(spans)
        for entry in span.entries
        if entry.kind is EntryKind.COMPACTED
    )
