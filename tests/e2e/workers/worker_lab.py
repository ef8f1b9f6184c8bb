"""Workers of both agents without the rest of prong: a store, a launch, a pane."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import Any, TypeVar

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.agents.headless import TurnOutput
from prong.hook import spool
from prong.model.forks import Launch
from prong.model.workers import OpenSession, RunOptions
from prong.testing.home import IsolatedHome
from prong.testing.wait import PATIENCE, wait_until
from tests.code.worktrees import making
from tests.drivers.tmux import Tmux

HOOK = (sys.executable, "-P", "-m", "prong.hook")
NAME = "calm-otter"
Store = ClaudeStore | CodexStore
S = TypeVar("S", ClaudeStore, CodexStore)


def worker_store(store: S, command: tuple[str, ...], options: RunOptions) -> S:
    """The store as a worker has it: the options are in its command."""
    own = copy(store)
    own.command = command
    own.command = own.command_with(options)
    return own


def hooked(store: Store, launch: Launch, home: IsolatedHome) -> Launch:
    return store.hooks.for_one_run(launch, HOOK, home.root / "runs")


@contextmanager
def pane(home: IsolatedHome, launch: Launch, env: Mapping[str, str]) -> Generator[Tmux]:
    """The launch in a terminal, as a worker of this name."""
    with Tmux(home.root) as tmux:
        tmux.start(launch.argv, launch.cwd, {**env, "PRONG_WORKER": NAME, **launch.env})
        yield tmux


def open_in(store: Store, tmux: Tmux) -> OpenSession | None:
    pid = tmux.pid()
    return store.open_sessions([pid]).get(pid)


def wait_open(store: Store, tmux: Tmux) -> OpenSession:
    found: list[OpenSession] = []

    def is_open() -> bool:
        found[:] = [one for one in [open_in(store, tmux)] if one]
        return bool(found)

    try:
        wait_until(is_open)
    except TimeoutError as error:
        raise TimeoutError(tmux.capture()) from error
    return found[0]


def told(event: str) -> list[dict[str, Any]]:
    """What the hooks said of an event."""
    return [one for one in spool.waiting() if one["event"] == event]


def wait_told(event: str, count: int = 1) -> dict[str, Any]:
    wait_until(lambda: len(told(event)) >= count, what=f"{event} in {spool.waiting()}")
    return told(event)[-1]


def turn(
    store: Store, launch: Launch, prompt: str, env: Mapping[str, str]
) -> tuple[int, TurnOutput]:
    """One turn without a terminal, until its end."""
    done = subprocess.run(
        launch.argv,
        cwd=launch.cwd,
        env={**env, "PRONG_WORKER": NAME, **launch.env},
        input=prompt,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return done.returncode, store.headless_events(done.stdout.splitlines())


def own_worktree(home: IsolatedHome, project: Path) -> tuple[Path, Path]:
    """A worktree that prong made, and a bare remote `origin` of its repository."""
    bare = home.root / "remote.git"
    git(home.root, "init", "--quiet", "--bare", str(bare))
    git(project, "remote", "add", "origin", str(bare))
    root = home.root / "managed"
    made = making.create_at(project, "HEAD", root / "shop" / NAME, f"prong/{NAME}", root=root)
    return made.path, bare


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def projects_of_claude(home: IsolatedHome) -> dict[str, Any]:
    projects: dict[str, Any] = json.loads((home.root / ".claude.json").read_text())["projects"]
    return projects
