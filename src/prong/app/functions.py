"""The few functions that most scripts need. Each opens an `App`, asks, and closes it again."""

from os import PathLike
from pathlib import Path

from prong.app.application import App
from prong.app.planning import ForkOptions
from prong.model import Fork, ForkPlan, Method, Session, Turn


def sessions(agent: str | None = None) -> list[Session]:
    """Every session of one agent, or of all, newest first."""
    with App() as app:
        return app.sessions(agent)


def turns(session: Session | str) -> tuple[Turn, ...]:
    """The active turns of a session."""
    with App() as app:
        return app.turns(session)


def plan_fork(
    point: str,
    *,
    into: str | PathLike[str] | None = None,
    agent: str | None = None,
    method: Method | str = Method.COPY,
    prompt: str | None = None,
    id: str | None = None,  # noqa: A002 -- as the option is called
    title: str | None = None,
    retry: bool = False,
    before_compaction: bool = False,
    trim: bool = False,
) -> ForkPlan:
    """What `fork` with the same arguments would do. Writes nothing."""
    options = ForkOptions(
        agent=agent,
        into=Path(into) if into is not None else None,
        method=Method(method),
        id=id,
        title=title,
        prompt=prompt,
        retry=retry,
        before_compaction=before_compaction,
        trim=trim,
    )
    with App() as app:
        return app.plan_fork(point, options)


def fork(
    point: str,
    *,
    into: str | PathLike[str] | None = None,
    agent: str | None = None,
    method: Method | str = Method.COPY,
    prompt: str | None = None,
    id: str | None = None,  # noqa: A002 -- as the option is called
    title: str | None = None,
    retry: bool = False,
    before_compaction: bool = False,
    trim: bool = False,
) -> Fork:
    """Make a new session of the turns up to a point such as `claude:60309e1e@12`.

    The agent is not started: `Fork.launch` says how.
    """
    plan = plan_fork(
        point,
        into=into,
        agent=agent,
        method=method,
        prompt=prompt,
        id=id,
        title=title,
        retry=retry,
        before_compaction=before_compaction,
        trim=trim,
    )
    with App() as app:
        return app.fork(plan)
