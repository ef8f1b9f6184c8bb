"""Functions that most scripts need. Each opens an `App` and closes it again."""

from collections.abc import Sequence
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import Literal, Unpack, overload

from prong.api.requests import ForkArguments, fork_request, refuse_unknown
from prong.app import App
from prong.errors import UsageError
from prong.model.forks import Fork, ForkPlan
from prong.model.search import SearchRequest, SearchResult
from prong.model.sessions import Session, Turn
from prong.model.times import EXAMPLES, moment


def sessions(agent: str | None = None) -> list[Session]:
    """List the sessions of one agent, or of all, newest first."""
    with App() as app:
        return app.sessions.all(agent)


def turns(session: Session | str) -> tuple[Turn, ...]:
    """List the active turns of a session."""
    with App() as app:
        return app.sessions.turns(session)


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
    """Search past turns, best first. Filters such as `agent:codex` in the text narrow it.

    `since` may be a text such as `3d`. `engine` is `builtin` or `qmd`; the default is configured.
    With `mask=False`, keys and tokens are shown. `SearchRequest` describes the other arguments.
    Raises `UsageError` for invalid arguments.
    """
    request = SearchRequest(
        agent=agent,
        project=_path(project),
        since=_moment(since) if isinstance(since, str) else since,
        # A text is passed on, so that it is refused like other invalid values.
        files=files if isinstance(files, str) else tuple(files),  # pyright: ignore[reportArgumentType]
        has_snapshot=has_snapshot,
        limit=limit,
        min_score=min_score,
        here=_path(here),
        fast=fast,
        by_session=by_session,
        collection=collection,
        engine=engine,
        masked=mask,
    )
    with App() as app:
        return app.search.find(app.search.read([text], request))


def _moment(text: str) -> datetime:
    try:
        return moment(text)
    except ValueError:
        raise UsageError(f"{text!r} is not a time", hint=f"try {EXAMPLES}") from None


def _path(given: str | PathLike[str] | None) -> Path | None:
    return Path(given) if given is not None else None


def plan_fork(point: str, **arguments: Unpack[ForkArguments]) -> ForkPlan:
    """Return what `fork` would do with the same arguments. Writes nothing."""
    refuse_unknown("fork", arguments, ForkArguments.__annotations__)
    with App() as app:
        return app.forks.plan(point, fork_request(**arguments))


@overload
def fork(
    point: str, *, dry_run: Literal[False] = False, **arguments: Unpack[ForkArguments]
) -> Fork: ...
@overload
def fork(point: str, *, dry_run: Literal[True], **arguments: Unpack[ForkArguments]) -> ForkPlan: ...
@overload
def fork(point: str, *, dry_run: bool, **arguments: Unpack[ForkArguments]) -> Fork | ForkPlan: ...
def fork(
    point: str, *, dry_run: bool = False, **arguments: Unpack[ForkArguments]
) -> Fork | ForkPlan:
    """Fork a session at a point such as `claude:60309e1e@12`.

    In a git repository the fork gets a worktree with the code of that turn, like `prong fork`. The
    agent is not started: `Fork.launch` says how to. With `dry_run`, return the plan and write
    nothing.
    """
    refuse_unknown("fork", arguments, (*ForkArguments.__annotations__, "dry_run"))
    with App() as app:
        plan = app.forks.plan(point, fork_request(**arguments))
        return plan if dry_run else app.forks.make(plan)
