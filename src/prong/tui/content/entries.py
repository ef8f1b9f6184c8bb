"""Entries of the session list, two lines each, and of the fork tree, one line each."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from prong.model.amounts import counted
from prong.model.search import Hit, Passage
from prong.model.sessions import Session, SessionRef
from prong.model.workers import WorkerStatus
from prong.tui.content.worker_entry import sign_of, style_of
from prong.tui.widgets.lines import Line, Mark, line
from prong.tui.widgets.rows import ListEntry
from prong.views.lineage import LineageRow
from prong.views.passage import cleaned, fitted, within
from prong.views.text import age, cells, clean, cut, cut_left, pad, short_path
from prong.views.turn_table import row

T = TypeVar("T")

_LEAST_FOLDER = 8
_TURN_ID = 8
_LEAST_TITLE = 24
"""Columns to reserve for a title before the session's name is shown next to it."""
_GAP = 2


class FoundEntry(ListEntry):
    """A found turn or session, indented if it follows another of its family."""

    def __init__(self, hit: Hit, name: str, *, is_below: bool = False) -> None:
        """`name` is the short reference of its session."""
        turn = hit.turn
        self.hit = hit
        self.key = (hit.ref, turn.id if turn else None)
        self.session = hit.session
        self.turn_number = turn.index if turn else None
        if hit.can_fork and hit.ref is not None:
            self.point = f"{hit.ref}@{turn.id}" if turn else str(hit.ref)
        self._name = name
        self._lead = "└ " if is_below else ""
        self._drawn: tuple[int, Sequence[Line]] | None = None

    def draw(self, columns: int) -> Sequence[Line]:
        if self._drawn is None or self._drawn[0] != columns:
            self._drawn = (columns, (self._first(columns), self._second(columns)))
        return self._drawn[1]

    def _first(self, columns: int) -> Line:
        hit = self.hit
        right = [row(hit.turn, "").code if hit.turn else "", age(hit.date)]
        return _with_right(self._lead, self._said(), "  ".join(filter(None, right)), columns)

    def _said(self) -> Passage:
        """Return the prompt with its matches, or else the matching passage."""
        hit = self.hit
        passage = cleaned(hit.passage)
        if hit.turn is None:
            return passage if passage.text else Passage(" ".join(_title(hit.session).split()))
        prompt = cleaned(Passage(row(hit.turn, "").prompt)).text
        return within(passage, prompt) or (passage if passage.marks else Passage(prompt))

    def _second(self, columns: int) -> Line:
        hit, turn, name = self.hit, self.hit.turn, self._name
        rest = [f"{hit.score:.2f}"]
        if hit.also:
            rest.append(f"+{counted(len(hit.also), 'copy', 'copies')}")
        if turn is not None:
            name += f"@{turn.index if turn.index is not None else turn.id[:_TURN_ID]}"
            rest += ["abandoned by a rewind"] if turn.index is None else []
        rest += [clean(hit.warning or ""), _title(hit.session)]
        return _meta(self._lead, name, short_path(hit.cwd), rest, columns)


class SessionEntry(ListEntry):
    """A session in the list of all sessions."""

    def __init__(self, session: Session, name: str, *, is_below: bool = False) -> None:
        self.key = (session.ref, None)
        self.session = self.listed = session
        self.point = str(session.ref)
        self._name = name
        self._lead = "└ " if is_below else ""

    def draw(self, columns: int) -> Sequence[Line]:
        session = self.listed
        first = _with_right(
            self._lead, cleaned(Passage(_title(session))), age(session.updated), columns
        )
        rest = [counted(session.turn_count, "turn")]
        if session.parent is not None:
            number = session.inherited if session.forked_at is None else session.forked_at
            rest.append(f"fork of {session.parent.id[:8]}@{number}")
        rest.append(clean(session.branch or ""))
        return first, _meta(self._lead, self._name, short_path(session.cwd), rest, columns)


class TreeEntry(ListEntry):
    def __init__(
        self, row: LineageRow, worker: WorkerStatus | None = None, *, is_chosen: bool = False
    ) -> None:
        """`worker` has the session open."""
        self._row = row
        self._worker = worker
        self._mark = " *" if is_chosen else ""
        self.key = row.node.ref
        self.session = row.node.session
        if self.session is not None:  # it was not deleted
            self.point = str(row.node.ref)

    def draw(self, columns: int) -> Sequence[Line]:
        row, status = self._row, self._worker
        worker = ""
        if status is not None:
            worker = f"  {sign_of(status.state)} {clean(status.worker.name)} {status.state.value}"
        available = columns - sum(map(cells, (row.lead, row.at, self._mark, worker)))
        rest = row.rest if cells(row.rest) <= available - _GAP else ""
        available -= cells(rest)
        # Show the name if there is no title, or room for both.
        has_name = not row.title or available >= cells(row.name) + _GAP + _LEAST_TITLE
        name = row.name if has_name else ""
        room = available - (cells(name) + _GAP if name else 0)
        title = pad(cut(row.title, max(room, 0)), room if row.title else available - cells(name))
        return (
            line(
                (row.lead, "rule"),
                (row.at, "dim"),
                (name, "name"),
                _GAP * " " if name and row.title else "",
                (title, "" if self.session else "dim"),
                (worker, style_of(status.state) if status else ""),
                (rest, "dim"),
                (self._mark, "good"),
            ),
        )


def of_hits(hits: Iterable[Hit], names: Mapping[SessionRef, str]) -> list[FoundEntry]:
    """Group the forks of a conversation where the best hit is."""
    families = [(hit.family or hit.ref or number, hit) for number, hit in enumerate(hits)]
    return [
        FoundEntry(hit, names.get(hit.ref, str(hit.ref)) if hit.ref else "?", is_below=is_below)
        for hit, is_below in _grouped(families)
    ]


def of_sessions(
    sessions: Iterable[Session],
    names: Mapping[SessionRef, str],
    family: Mapping[SessionRef, Hashable],
) -> list[SessionEntry]:
    """Group the forks of a conversation where the newest is."""
    families = [(family[session.ref], session) for session in sessions]
    return [
        SessionEntry(session, names[session.ref], is_below=is_below)
        for session, is_below in _grouped(families)
    ]


def _grouped(items: Iterable[tuple[Hashable, T]]) -> list[tuple[T, bool]]:
    """Move items to the first of their family; return whether each is below another."""
    families: dict[Hashable, list[T]] = {}
    for family, item in items:
        families.setdefault(family, []).append(item)
    return [
        (item, position > 0)
        for members in families.values()
        for position, item in enumerate(members)
    ]


def _title(session: Session | None) -> str:
    return (clean(session.title) if session else "") or "(no prompt)"


def _with_right(lead: str, passage: Passage, right: str, columns: int) -> Line:
    """Draw a passage, with text at the right edge."""
    room = max(columns - cells(lead) - cells(right) - 2, 1)
    visible = (fitted(passage, room, 1) or [Passage("")])[0]
    text = f"{lead}{pad(visible.text, room)}  {right}"
    marks = [Mark(a + len(lead), b + len(lead), "match") for a, b in visible.marks]
    edge = len(text) - len(right)
    return Line(text, marks=(Mark(0, len(lead), "rule"), *marks, Mark(edge, len(text), "dim")))


def _meta(lead: str, name: str, folder: str, rest: Sequence[str], columns: int) -> Line:
    """Draw name, folder and as much of the rest as fits, below a lead."""
    room = columns - cells(lead) - cells(name) - 2
    folder = cut_left(folder, max(room // 2, _LEAST_FOLDER))
    room -= cells(folder) + 2
    more = cut("  ".join(part for part in rest if part), max(room, 0))
    indent = " " * len(lead)
    return line(indent, (name, "name"), (f"  {folder}" if folder else "", "dim"), f"  {more}")
