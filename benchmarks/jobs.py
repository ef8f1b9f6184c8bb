"""The pieces of work that are timed, each in a process of its own: `python -m benchmarks.jobs`.

The process prints one JSON object: CPU and wall seconds of the work alone (imports are done
before), its peak memory, and a figure that shows the work was really done.
"""

import json
import os
import resource
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def sessions() -> Callable[[], int]:
    """Metadata of all sessions, with the scan cache as it is."""
    from prong.app import App

    list(App().stores)  # loads the modules of the agents
    return lambda: len(list(App().sessions.all()))


def sessions_again() -> Callable[[], int]:
    """Metadata of all sessions, when this process has just looked."""
    work = sessions()
    work()
    return work


def turns(ref: str) -> Callable[[], int]:
    """The turns of one session that was found before."""
    from prong.app import App

    app = App()
    session = app.sessions.get(ref)
    return lambda: len(app.sessions.turns(session))


def turns_by_name(ref: str) -> Callable[[], int]:
    """The turns of one session, from its name to the last of them: as `prong turns` does it."""
    from prong.app import App

    list(App().stores)
    return lambda: len(App().sessions.turns(ref))


def decode_store(root: str) -> Callable[[], int]:
    """The baseline, for a whole store."""
    from benchmarks import peers

    return lambda: peers.decode_store(Path(root))


def decode_file(path: str) -> Callable[[], int]:
    """The baseline, for one file."""
    from benchmarks import peers

    return lambda: peers.decode_file(Path(path))


def fork(point: str, into: str) -> Callable[[], int]:
    """A fork from the name of the point to the published session; a scan has seen the source."""
    from prong.app import App
    from prong.forks.request import ForkRequest

    app = App(needs_programs=False)
    app.sessions.all()
    _import_forks()
    request = ForkRequest(into=Path(into))
    return lambda: len(app.forks.make(app.forks.plan(point, request)).child.id)


def fork_cold(point: str, into: str) -> Callable[[], int]:
    """The same when nothing of the source was ever read: the cache is empty."""
    from prong.app import App
    from prong.forks.request import ForkRequest

    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    app = App(needs_programs=False)
    list(app.stores)
    _import_forks()
    request = ForkRequest(into=Path(into))
    return lambda: len(app.forks.make(app.forks.plan(point, request)).child.id)


def _import_forks() -> None:
    """Import what the service of forks imports at its first use: imports are not counted."""
    from importlib import import_module

    import_module("prong.forks.service")


def sdk_fork(session: str, folder: str, message: str) -> Callable[[], int]:
    """The peer: `fork_session` of claude-agent-sdk, up to a message."""
    from importlib import import_module

    # Not installed by default: its wheel brings a whole agent along.
    sdk: Any = import_module("claude_agent_sdk")
    return lambda: len(sdk.fork_session(session, folder, message).session_id)


def copy_replaced(path: str, target: str) -> Callable[[], int]:
    """The baseline: a plain byte copy with the id of the session replaced."""
    from benchmarks import peers

    return lambda: peers.copy_replaced(Path(path), Path(target))


def find_again(words: str, before: str) -> Callable[[], int]:
    """A search in a process that has answered another one; the model has read what it needs."""
    from prong.app import App
    from prong.model.search import SearchRequest

    app = App(needs_programs=False)
    for text in (words, words, words, before):
        app.search.find(SearchRequest(text))
    return lambda: len(app.search.find(SearchRequest(words)).hits)


def find_unread(words: str, count: str) -> Callable[[], int]:
    """The same when the model has not read so many of the texts."""
    import sqlite3

    work = find_again(words, words)
    path = Path(os.environ["XDG_CACHE_HOME"]) / "prong" / "search" / "vectors.db"
    with sqlite3.connect(path) as vectors:
        statement = "DELETE FROM vectors WHERE rowid IN (SELECT rowid FROM vectors LIMIT ?)"
        removed = vectors.execute(statement, (int(count),)).rowcount
    if removed < int(count):
        raise ValueError(f"the model has read {removed} texts only")
    return work


JOBS: dict[str, Callable[..., Callable[[], int]]] = {
    job.__name__: job
    for job in (
        *(sessions, sessions_again, turns, turns_by_name, decode_store, decode_file),
        *(fork, fork_cold, sdk_fork, copy_replaced, find_again, find_unread),
    )
}


def main() -> None:
    """Do one job and say what it cost."""
    work = JOBS[sys.argv[1]](*sys.argv[2:])
    wall, cpu = time.perf_counter(), time.process_time()
    found = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    kilobyte = 1 if sys.platform == "darwin" else 1024
    print(json.dumps({"cpu": cpu, "wall": wall, "peak": peak * kilobyte, "found": found}))


if __name__ == "__main__":
    main()
