"""Functions that most scripts need. Each opens an `App` and closes it again."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Literal, TypedDict, Unpack, overload

from prong.app import App
from prong.errors import UsageError
from prong.forks.request import ForkRequest
from prong.model.forks import Code, Fork, ForkPlan, Method
from prong.model.search import SearchRequest, SearchResult
from prong.model.sessions import Session, Turn
from prong.model.times import EXAMPLES, moment
from prong.model.workers import RunOptions


def refuse_unknown(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `TypeError` for an unknown keyword, suggesting the nearest known one."""
    for name in given:
        if name in known:
            continue
        matches = get_close_matches(name, known, n=1)
        suggestion = f": did you mean {matches[0]!r}?" if matches else ""
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{suggestion}")


class WorkerForkArguments(TypedDict, total=False):
    """Keyword arguments of `Worker.fork`; `ForkRequest` describes each."""

    into: str | PathLike[str] | None
    agent: str | None
    method: Method | str
    prompt: str | None
    id: str | None
    title: str | None
    retry: bool
    before_compaction: bool
    trim: bool
    code: Code | str | None
    code_at: str | int | None
    branch: str | None
    no_worktree: bool
    model: str | None
    skip_permissions: bool
    settings: str | PathLike[str] | None


class ForkArguments(WorkerForkArguments, total=False):
    """Keyword arguments of `fork`."""

    name: str | None


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
    options = fork_options(arguments)
    with App() as app:
        return app.forks.plan(point, options)


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
    options = fork_options(arguments, "dry_run")
    with App() as app:
        plan = app.forks.plan(point, options)
        return plan if dry_run else app.forks.make(plan)


def fork_options(given: ForkArguments, *more: str, function: str = "fork") -> ForkRequest:
    refuse_unknown(function, given, (*ForkArguments.__annotations__, *more))
    code = given.get("code")
    run = RunOptions(
        model=given.get("model"),
        skip_permissions=given.get("skip_permissions", False),
        settings=_path(given.get("settings")),
    )
    return ForkRequest(
        agent=given.get("agent"),
        into=_path(given.get("into")),
        method=Method(given.get("method", Method.COPY)),
        id=given.get("id"),
        title=given.get("title"),
        prompt=given.get("prompt"),
        retry=given.get("retry", False),
        before_compaction=given.get("before_compaction", False),
        trim=given.get("trim", False),
        code=_code(code, no_worktree=given.get("no_worktree", False)),
        code_at=None if given.get("code_at") is None else str(given.get("code_at")),
        branch=given.get("branch"),
        name=given.get("name"),
        run=run if run != RunOptions() else None,
    )


def _code(code: Code | str | None, *, no_worktree: bool) -> Code | None:
    if not no_worktree:
        return None if code is None else Code(code)
    if code not in (None, Code.NONE):
        raise UsageError(f"code={str(code)!r} needs a worktree", hint="leave no_worktree out")
    return Code.NONE
