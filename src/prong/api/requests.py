"""Requests for forks and workers, built from the keyword arguments of the Python API."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any, TypedDict, Unpack

from prong.errors import UsageError
from prong.forks.request import ForkRequest
from prong.model.forks import Code, Method
from prong.model.workers import Placement, RunOptions
from prong.workers.request import WorkerRequest


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


class WorkerArguments(TypedDict, total=False):
    """Keyword arguments of `Worker.create`; `prong run --help` describes each."""

    agent: str | None
    prompt: str | None
    id: str | None
    project: str | PathLike[str] | None
    worktree: bool | None
    branch: str | None
    base: str | None
    model: str | None
    skip_permissions: bool
    settings: str | PathLike[str] | None
    plugin_dirs: Iterable[str | PathLike[str]]
    extra: Iterable[str]
    env: Mapping[str, str]
    command: str | tuple[str, ...] | None
    commit_turns: bool
    push: str | None
    headless: bool
    trust: bool
    terminal: str | None
    place: Placement | str | None
    resume: str | None
    fork: str | None
    continue_: bool


_READ: Mapping[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("into", "project", "settings"), Path),
    "method": Method,
    "code": Code,
    "code_at": str,
    "place": Placement,
    "plugin_dirs": lambda folders: tuple(map(Path, folders)),
    "extra": tuple,
    "env": dict,
}


def fork_request(**arguments: Unpack[ForkArguments]) -> ForkRequest:
    values = _read(arguments)
    if values.pop("no_worktree", False):
        code = values.setdefault("code", Code.NONE)
        if code is not Code.NONE:
            raise UsageError(f"code={str(code)!r} needs a worktree", hint="leave no_worktree out")
    return ForkRequest(**values)


def worker_request(name: str | None = None, **arguments: Unpack[WorkerArguments]) -> WorkerRequest:
    return WorkerRequest(name=name, **_read(arguments))


def _read(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Convert arguments to the types of requests. None is the default of each."""
    values = {
        name: _READ[name](value) if name in _READ else value
        for name, value in arguments.items()
        if value is not None
    }
    options = {name: values.pop(name) for name in RunOptions.__struct_fields__ if name in values}
    run = RunOptions(**options)
    return {**values, "run": run} if run != RunOptions() else values


def refuse_unknown(function: str, given: Iterable[str], known: Collection[str]) -> None:
    """Raise `TypeError` for an unknown keyword, suggesting the nearest known one."""
    for name in given:
        if name in known:
            continue
        matches = get_close_matches(name, known, n=1)
        suggestion = f": did you mean {matches[0]!r}?" if matches else ""
        raise TypeError(f"{function}() got an unexpected keyword argument {name!r}{suggestion}")
