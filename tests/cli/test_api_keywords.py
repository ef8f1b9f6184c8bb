"""The functions of the Python API take what the commands take, and nothing that nobody knows."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import click
import pytest

import prong
from prong import aio
from prong.api.requests import ForkArguments, WorkerArguments, WorkerForkArguments
from prong.cli.forks.fork import fork as fork_command
from prong.cli.search.find import find as find_command
from prong.cli.workers.start import run as run_command
from prong.testing.home import IsolatedHome
from tests.cli.shell import API, Shell

_ON_A_TERMINAL = {"as_json", "yes", "preview", "run", "wait"}
"""How a command asks, waits and prints; `--exec` replaces the process."""
_PANES = {"terminal", "split", "window", "tab", "no_open"}
"""`prong.fork` starts no agent."""
_SEVERAL = {"count", "prompt_file"}
"""A program calls it once for each."""
_NAMES = {"new_id": "id", "id_": "id", "session": "point"}
"""Where a parameter of a command is called otherwise inside."""


def options(command: click.Command) -> set[str]:
    return {_NAMES.get(one.name or "", one.name or "") for one in command.params} - {"help"}


def test_fork_takes_what_the_command_takes() -> None:
    parameters = {"point", "dry_run", *ForkArguments.__annotations__}
    assert parameters == options(fork_command) - _ON_A_TERMINAL - _PANES - _SEVERAL


def test_a_worker_forks_as_the_command_does() -> None:
    assert {"name", *WorkerForkArguments.__annotations__} == set(ForkArguments.__annotations__)
    for worker in (prong.Worker, aio.Worker):
        [own] = [
            p for p in inspect.signature(worker.fork).parameters.values() if p.kind is p.VAR_KEYWORD
        ]
        assert "WorkerForkArguments" in str(own.annotation)


def test_create_takes_what_the_command_takes() -> None:
    # `place` is --split, --window and --tab; the others have no option.
    parameters = {"name", "ready_timeout", *WorkerArguments.__annotations__}
    assert {"place", "extra", "command", "plugin_dirs"} <= parameters
    # `Worker.plan` is the dry run, and `send` waits for an answer.
    elsewhere = {"dry_run", "timeout", "split", "window", "tab"}
    shown = options(run_command) - _ON_A_TERMINAL - elsewhere
    assert parameters - {"place", "extra", "command", "plugin_dirs"} == shown


def test_find_takes_what_the_command_takes() -> None:
    parameters = set(inspect.signature(prong.find).parameters)
    # `here` is the folder that a command is typed in; the others are called as in `SearchRequest`.
    named = {"intent": "text", "has": "has_snapshot", "no_mask": "mask"}
    # `--fork` goes on with `prong fork`, and snippets are printed or not.
    forks = {"number", "prompt", "into", "code", "dry_run"}
    shown = options(find_command) - _ON_A_TERMINAL - forks - {"no_snippets"}
    assert parameters - {"here"} == {named.get(name, name) for name in shown}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (prong.fork, r"^fork\(\) .* 'dryrun': did you mean 'dry_run'\?"),
        (prong.plan_fork, r"^fork\(\) .* 'dryrun'"),
        (prong.find, "unexpected keyword argument 'dryrun'"),
        (prong.turns, "unexpected keyword argument 'dryrun'"),
        (prong.sessions, "unexpected keyword argument 'dryrun'"),
        (prong.Worker.create, r"^Worker.create\(\) .* 'dryrun'"),
        (prong.Worker.plan, r"^Worker.create\(\) .* 'dryrun'"),
        (prong.Worker.open, "unexpected keyword argument 'dryrun'"),
        (prong.Worker("x").fork, r"^Worker.fork\(\) .* 'dryrun'"),
        (prong.Worker("x").clone, "unexpected keyword argument 'dryrun'"),
        (prong.Worker("x").send, "unexpected keyword argument 'dryrun'"),
    ],
)
def test_unknown_keywords(shop: Shell, call: Callable[..., Any], message: str) -> None:
    before = prong.sessions()
    words: dict[str, Any] = {"dryrun": True}
    with pytest.raises(TypeError, match=message):
        call(API, **words)
    assert prong.sessions() == before
    with prong.App() as app:
        assert app.workers.records.all() == []


def test_unknown_keywords_of_aio(isolated_home: IsolatedHome) -> None:
    words: dict[str, Any] = {"modle": "opus"}
    with pytest.raises(TypeError, match="did you mean 'model'"):
        asyncio.run(aio.Worker.create("parser", **words))


def test_a_dry_run_makes_nothing(shop: Shell) -> None:
    before = prong.sessions()
    plan = prong.fork(API, dry_run=True, code="none", model="opus", title="Other")
    assert isinstance(plan, prong.ForkPlan)
    assert (plan.title, plan.worktree) == ("Other", None)
    assert plan.launch.argv[1:3] == ("--model", "opus")
    assert prong.sessions() == before
    shown = shop.json("fork", API, "--dry-run", "--no-worktree", "--model", "opus")["plan"]
    assert shown["command"][1:3] == ["--model", "opus"]


def test_a_worker_is_planned(shop: Shell) -> None:
    plan = prong.Worker.plan("parser", project=shop.home.projects, worktree=False, model="opus")
    assert plan.name == "parser"
    with prong.App() as app:
        assert app.workers.records.all() == []
