"""Preview of a worker: its details and last turn."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from prong.app import App
from prong.errors import NotFound, ProngError
from prong.model.forks import SeedHeader
from prong.model.sessions import Session
from prong.model.workers import WorkerStatus
from prong.tui.content import preview
from prong.tui.content.transcript import rule
from prong.tui.content.worker_entry import style_of
from prong.tui.widgets.lines import Line, line
from prong.views.text import age, clean
from prong.views.worker_rows import details

_NAME = 10
_WORDS = ("prompt", "said")
"""Rows to hide if the last turn is shown."""


class LastExchange(NamedTuple):
    """The last turn of a worker's session."""

    session: Session | None = None
    lines: Sequence[Line] = ()


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


def last_turn(app: App, status: WorkerStatus) -> LastExchange:
    """Read the last turn. Reads the session file, so run it in a thread."""
    worker = status.worker
    if not worker.session:
        return LastExchange()
    try:
        session = app.sessions.get(f"{worker.agent}:{worker.session}")
        conversation = app.sessions.conversation(session)
        if not conversation.turns:
            return LastExchange(session)
        turn = conversation.turns[-1]
        if SeedHeader.parse(turn.prompt) and not status.last_line:
            return LastExchange(session)  # the seed, which needs no preview
        content = preview.of_turn(app, conversation, turn)
        return LastExchange(session, [Line(), rule(f"last turn ({turn.index})"), *content.lines])
    except NotFound:  # no messages yet
        return LastExchange()
    except (ProngError, OSError) as error:
        return LastExchange(None, [Line(), *preview.failed(error).lines])
