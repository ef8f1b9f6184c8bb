"""Entries of the worker list, two lines each, and all details of one."""

from collections.abc import Iterable, Iterator, Sequence

from prong.model.workers import WorkerState, WorkerStatus
from prong.tui.content.preview import LastExchange
from prong.tui.widgets.lines import Line, line
from prong.tui.widgets.rows import ListEntry
from prong.views.text import age, cells, clean, cut, pad, short_ids
from prong.views.worker_rows import details, last, place

STYLES = {
    WorkerState.IDLE: "good",
    WorkerState.BUSY: "name",
    WorkerState.WAITING: "warning",
}
"""Styles of worker states; other states are dim."""
_MOST_NAME = 28
_NAME = 10
_WORDS = ("prompt", "said")
"""Details to hide if the last turn is shown."""
_STATE = max(len(state.value) for state in WorkerState)
_AGE = 4
_HINTS = {
    WorkerState.STARTING: "starting",
    WorkerState.IDLE: "no messages yet; s sends a prompt",
    WorkerState.WAITING: "waiting for input: Enter attaches",
    WorkerState.GONE: "R restarts it, X forgets it",
}
"""Second line of a worker without messages."""


def style_of(state: WorkerState) -> str:
    return STYLES.get(state, "dim")


def sign_of(state: WorkerState) -> str:
    """Return the sign of a state, filled if the worker is running."""
    return "○" if state is WorkerState.GONE else "●"


class WorkerEntry(ListEntry):
    def __init__(
        self, status: WorkerStatus, session: str, *, name_columns: int, is_awaited: bool = False
    ) -> None:
        """`session` is a short id; `is_awaited` if the user wants to be notified."""
        self.status = status
        self.name = self.key = status.worker.name
        # A worker's name is also a reference of its session.
        self.point = self.name if status.worker.session else None
        self._session = session
        self._name_columns = name_columns
        self._is_awaited = is_awaited

    def draw(self, columns: int) -> Sequence[Line]:
        return self._first(), self._second(columns)

    def _first(self) -> Line:
        status, worker = self.status, self.status.worker
        style = style_of(status.state)
        since = age(status.evidence.time).removesuffix(" ago")
        session = f"{clean(worker.agent)}:{self._session}" if self._session else clean(worker.agent)
        turn = f"@{status.turn}" if status.turn is not None else ""
        # Hide the default branch name, which repeats the worker's.
        branch = worker.branch if worker.branch != f"prong/{self.name}" else None
        rest = [clean(branch or ""), "" if status.state is WorkerState.GONE else place(worker)]
        more = "  ".join(part for part in rest if part)
        return line(
            (f"{sign_of(status.state)} ", style),
            (pad(cut(clean(self.name), _MOST_NAME), self._name_columns), "title"),
            (f"  {pad(status.state.value, _STATE)} ", style),
            (pad(since, _AGE), "dim"),
            (f"  {session}{turn}", "name"),
            (f"  {more}" if more else "", "dim"),
        )

    def _second(self, columns: int) -> Line:
        status = self.status
        style = "warning" if status.state is WorkerState.WAITING else "dim"
        awaited = "(notifies you when it is done) " if self._is_awaited else ""
        last_prompt = f"> {clean(status.last_input)}" if status.last_input else ""
        text = last(status) or last_prompt or _HINTS.get(status.state, "")
        return line("  ", (awaited, "good"), (cut(text, max(columns - 2 - len(awaited), 0)), style))


def entries_of(found: Sequence[WorkerStatus], awaited: Iterable[str] = ()) -> list[WorkerEntry]:
    """Create entries, running workers first."""
    short = short_ids([one.worker.session for one in found if one.worker.session])
    names = [min(cells(clean(one.worker.name)), _MOST_NAME) for one in found]
    awaited_names = frozenset(awaited)
    ordered = sorted(found, key=lambda one: one.state is WorkerState.GONE)
    return [
        WorkerEntry(
            one,
            clean(short.get(one.worker.session or "", "")),
            name_columns=max(names),
            is_awaited=one.worker.name in awaited_names,
        )
        for one in ordered
    ]


def counts(found: Iterable[WorkerStatus]) -> str:
    """Count workers by state: `1 busy, 2 idle`."""
    states = [item.state for item in found]
    return ", ".join(f"{states.count(item)} {item.value}" for item in WorkerState if item in states)


def described(status: WorkerStatus, last: LastExchange | None = None) -> Iterator[Line]:
    """Yield the details, and the last turn if it has been read."""
    evidence = status.evidence
    detail = f": {clean(evidence.detail)}" if evidence.detail else ""
    source = f"  {age(evidence.time)} ({clean(evidence.source)})"
    yield line(
        (clean(status.worker.name), "title"),
        " is ",
        (status.state.value + detail, style_of(status.state)),
        (source, "dim"),
    )
    yield Line()
    for name, text in details(status):
        if text and not (name in _WORDS and last and last.lines):
            yield line((name.ljust(_NAME), "dim"), clean(text))
    yield from last.lines if last else ()
