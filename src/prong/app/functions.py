"""The few functions that most scripts need. Each opens an `App`, asks, and closes it again."""

from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack

from prong.app.application import App
from prong.app.planning import ForkOptions
from prong.model import Fork, ForkPlan, Method, Session, Turn


class ForkArguments(TypedDict, total=False):
    """What can be said about a fork; `ForkOptions` describes each."""

    into: str | PathLike[str] | None
    agent: str | None
    method: Method | str
    prompt: str | None
    id: str | None
    title: str | None
    retry: bool
    before_compaction: bool
    trim: bool


def sessions(agent: str | None = None) -> list[Session]:
    """Every session of one agent, or of all, newest first."""
    with App() as app:
        return app.sessions(agent)


def turns(session: Session | str) -> tuple[Turn, ...]:
    """The active turns of a session."""
    with App() as app:
        return app.turns(session)


def plan_fork(point: str, **arguments: Unpack[ForkArguments]) -> ForkPlan:
    """What `fork` with the same arguments would do. Writes nothing."""
    with App() as app:
        return app.plan_fork(point, _options(arguments))


def fork(point: str, **arguments: Unpack[ForkArguments]) -> Fork:
    """Make a new session of the turns up to a point such as `claude:60309e1e@12`.

    The agent is not started: `Fork.launch` says how.
    """
    with App() as app:
        return app.fork(app.plan_fork(point, _options(arguments)))


def _options(given: ForkArguments) -> ForkOptions:
    into = given.get("into")
    return ForkOptions(
        agent=given.get("agent"),
        into=Path(into) if into is not None else None,
        method=Method(given.get("method", Method.COPY)),
        id=given.get("id"),
        title=given.get("title"),
        prompt=given.get("prompt"),
        retry=given.get("retry", False),
        before_compaction=given.get("before_compaction", False),
        trim=given.get("trim", False),
    )
