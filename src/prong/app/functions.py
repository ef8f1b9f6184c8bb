"""The few functions that most scripts need. Each opens an `App`, asks, and closes it again."""

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import TypedDict, Unpack

from prong.app.application import App
from prong.app.planning import ForkOptions
from prong.errors import UsageError
from prong.model import Fork, ForkPlan, Method, Query, SearchResult, Session, Turn
from prong.moments import EXAMPLES, moment
from prong.record import replace


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


def find(  # noqa: PLR0913 -- each narrows a search by itself, and help() shows them
    text: str,
    *,
    agent: str | None = None,
    project: str | PathLike[str] | None = None,
    since: datetime | str | None = None,
    files: Sequence[str] = (),
    has_snapshot: bool = False,
    limit: int = 10,
    min_score: float | None = None,
    here: str | PathLike[str] | None = None,
    fast: bool = False,
    by_session: bool = False,
    collection: str = "claude-sessions",
    engine: str | None = None,
    mask: bool = True,
) -> SearchResult:
    """The turns of past sessions that fit, best first. `agent:codex` and the like narrow it.

    `since` may be a text such as `3d`. `engine` is `builtin` or `qmd`, otherwise it is as the
    configuration says. Without `mask`, keys and tokens are shown as they are. `Query` describes
    the others. Raises `UsageError` for what makes no sense.
    """
    from prong.app import intent

    if limit < 1:
        raise UsageError(f"limit is {limit}: at least one", hint="limit=10")
    if isinstance(files, str):
        raise UsageError("files is a text: a list of names is meant", hint=f"files=[{files!r}]")
    options = Query(
        text="",
        agent=agent,
        project=_path(project),
        since=_moment(since) if isinstance(since, str) else since,
        files=tuple(files),
        has_snapshot=has_snapshot,
        limit=limit,
        min_score=min_score,
        here=_path(here),
        fast=fast,
        by_session=by_session,
        collection=collection,
        masked=mask,
    )
    with App() as app:
        understood = intent.understood(app, [text], options)
        result = app.find(understood.query, engine)
    return replace(result, notes=(*understood.notes, *result.notes))


def _moment(text: str) -> datetime:
    try:
        return moment(text)
    except ValueError:
        raise UsageError(f"{text!r} is no time", hint=f"try {EXAMPLES}") from None


def _path(given: str | PathLike[str] | None) -> Path | None:
    return Path(given) if given is not None else None


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
    return ForkOptions(
        agent=given.get("agent"),
        into=_path(given.get("into")),
        method=Method(given.get("method", Method.COPY)),
        id=given.get("id"),
        title=given.get("title"),
        prompt=given.get("prompt"),
        retry=given.get("retry", False),
        before_compaction=given.get("before_compaction", False),
        trim=given.get("trim", False),
    )
