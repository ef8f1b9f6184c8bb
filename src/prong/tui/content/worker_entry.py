"""A worker in a list: two lines, and the words for what it does."""

from collections.abc import Hashable, Iterable, Sequence

from prong.model.workers import WorkerState, WorkerStatus
from prong.tui.widgets.lines import Line, line
from prong.views.text import age, cells, clean, cut, pad, short_ids
from prong.views.worker_rows import last, place

STYLES = {
    WorkerState.IDLE: "good",
    WorkerState.BUSY: "name",
    WorkerState.WAITING: "warning",
}
"""Of the states; the others are dim."""
_MOST_NAME = 28
_STATE = max(len(state.value) for state in WorkerState)
_AGE = 4
_HINTS = {
    WorkerState.STARTING: "starting",
    WorkerState.IDLE: "no messages yet; s sends a prompt",
    WorkerState.WAITING: "waiting for input: Enter attaches",
    WorkerState.GONE: "R restarts it, X forgets it",
}
"""What stands where nothing was said."""


def style_of(state: WorkerState) -> str:
    return STYLES.get(state, "dim")


def sign_of(state: WorkerState) -> str:
    """Full for one that runs."""
    return "○" if state is WorkerState.GONE else "●"


class WorkerEntry:
    def __init__(
        self, status: WorkerStatus, session: str, *, name_columns: int, is_awaited: bool = False
    ) -> None:
        """`session` is the short id; `is_awaited` when somebody wants to hear of its end."""
        self.status = status
        self._session = session
        self._name_columns = name_columns
        self._is_awaited = is_awaited

    @property
    def name(self) -> str:
        return self.status.worker.name

    @property
    def key(self) -> Hashable:
        return self.name

    @property
    def point(self) -> str | None:
        """A worker's name stands for its session."""
        return self.name if self.status.worker.session else None

    def draw(self, columns: int) -> Sequence[Line]:
        return self._first(), self._second(columns)

    def _first(self) -> Line:
        one, worker = self.status, self.status.worker
        style = style_of(one.state)
        since = age(one.evidence.time).removesuffix(" ago")
        session = f"{clean(worker.agent)}:{self._session}" if self._session else clean(worker.agent)
        turn = f"@{one.turn}" if one.turn is not None else ""
        # Most branches have the name of their worker.
        branch = worker.branch if worker.branch != f"prong/{self.name}" else None
        rest = [clean(branch or ""), "" if one.state is WorkerState.GONE else place(worker)]
        more = "  ".join(part for part in rest if part)
        return line(
            (f"{sign_of(one.state)} ", style),
            (pad(cut(clean(self.name), _MOST_NAME), self._name_columns), "title"),
            (f"  {pad(one.state.value, _STATE)} ", style),
            (pad(since, _AGE), "dim"),
            (f"  {session}{turn}", "name"),
            (f"  {more}" if more else "", "dim"),
        )

    def _second(self, columns: int) -> Line:
        one = self.status
        style = "warning" if one.state is WorkerState.WAITING else "dim"
        awaited = "(notifies you when it is done) " if self._is_awaited else ""
        asked = f"> {clean(one.last_input)}" if one.last_input else ""
        said = last(one) or asked or _HINTS.get(one.state, "")
        return line("  ", (awaited, "good"), (cut(said, max(columns - 2 - len(awaited), 0)), style))


def entries_of(found: Sequence[WorkerStatus], awaited: Iterable[str] = ()) -> list[WorkerEntry]:
    """Those that run come first."""
    short = short_ids([one.worker.session for one in found if one.worker.session])
    names = [min(cells(clean(one.worker.name)), _MOST_NAME) for one in found]
    wanted = frozenset(awaited)
    ordered = sorted(found, key=lambda one: one.state is WorkerState.GONE)
    return [
        WorkerEntry(
            one,
            clean(short.get(one.worker.session or "", "")),
            name_columns=max(names),
            is_awaited=one.worker.name in wanted,
        )
        for one in ordered
    ]


def counts(found: Iterable[WorkerStatus]) -> str:
    """`1 busy, 2 idle`."""
    states = [one.state for one in found]
    return ", ".join(f"{states.count(one)} {one.value}" for one in WorkerState if one in states)
