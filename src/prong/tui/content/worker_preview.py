"""What is seen beside the list of workers: all that is known of one, and its last turn."""

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
"""Rows that the last turn tells better."""


class LastExchange(NamedTuple):
    """What was said in a worker's session last."""

    session: Session | None = None
    lines: Sequence[Line] = ()


def described(status: WorkerStatus, last: LastExchange | None = None) -> Iterator[Line]:
    """All that is known, and the last turn if it was read."""
    evidence = status.evidence
    detail = f": {clean(evidence.detail)}" if evidence.detail else ""
    told = f"  {age(evidence.time)} ({clean(evidence.source)})"
    yield line(
        (clean(status.worker.name), "title"),
        " is ",
        (status.state.value + detail, style_of(status.state)),
        (told, "dim"),
    )
    yield Line()
    for name, text in details(status):
        if text and not (name in _WORDS and last and last.lines):
            yield line((name.ljust(_NAME), "dim"), clean(text))
    yield from last.lines if last else ()


def last_turn(app: App, status: WorkerStatus) -> LastExchange:
    """Reads its session, so it is done on a thread."""
    worker = status.worker
    if not worker.session:
        return LastExchange()
    try:
        session = app.session(f"{worker.agent}:{worker.session}")
        conversation = app.conversation(session)
        if not conversation.turns:
            return LastExchange(session)
        turn = conversation.turns[-1]
        if SeedHeader.parse(turn.prompt) and not status.last_line:
            return LastExchange(session)  # the agent has read it, and nobody has asked anything yet
        seen = preview.of_turn(app, conversation, turn)
        return LastExchange(session, [Line(), rule(f"last turn ({turn.index})"), *seen.lines])
    except NotFound:  # nothing was said yet
        return LastExchange()
    except (ProngError, OSError) as error:
        return LastExchange(None, [Line(), *preview.failed(error).lines])
