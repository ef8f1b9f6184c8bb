"""A program that has prong imported and forks a child for every command it is told to run.

A child is as good as a process of its own, and starts in no time. It watches its own writes and
sends itself a signal at one of them: SIGKILL ends the world there, SIGSTOP lets a test change the
world meanwhile. Or the write fails, as on a bad disk. Requests and answers are lines of JSON.
"""

import errno
import json
import os
import resource
import signal
import sys
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from prong.cli import main

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_WRITES = ("os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.truncate")
_FAMILIES = ("shutil.", "sqlite3.")
# Imported by a command when it needs them: every child would do it anew.
_LATE = (
    "concurrent.futures.thread",
    "importlib.metadata",
    "prong.agents.claude.store",
    "prong.agents.codex.store",
    "prong.app",
    "prong.cli.forks.fork",
    "prong.views.json",
)


def _is_write(event: str, arguments: tuple[Any, ...]) -> bool:
    if event == "open":
        return bool(arguments[2] & _WRITING) and str(arguments[0]).startswith(os.environ["HOME"])
    return event == "prong.step" or event in _WRITES or event.startswith(_FAMILIES)


def _act_at(at: int | str, act: Callable[[], None], *, lasting: bool) -> None:
    """Do something at the process's write number `at`, or at every event of such a name.

    `move` is a step that moves something, `write:.jsonl` one that writes such a file; any other
    event of Python has its own name.
    """
    count = 0
    what, _, end = at.partition(":") if isinstance(at, str) else ("", "", "")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count
        if isinstance(at, int):
            if not _is_write(event, arguments):
                return
            count += 1
            reached = count == at or (lasting and count > at)
        elif event == "prong.step":
            reached = arguments[0] == what and arguments[1].endswith(end)
        else:
            reached = event == what
        if reached:
            act()

    sys.addaudithook(hook)


def _fail() -> None:
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def _become(request: dict[str, Any]) -> int:
    """Run the command in this process, as if nothing had been before it."""
    os.environ.clear()
    os.environ.update(request["env"])
    os.chdir(request["cwd"])
    for number, path in enumerate((os.devnull, request["stdout"], request["stderr"])):
        flags = os.O_RDWR | (os.O_CREAT | os.O_TRUNC if number else 0)
        os.dup2(os.open(path, flags, 0o600), number)
    sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
    if largest := request["largest_file"]:
        # Python ignores the signal that would end the process here.
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))
    if request["at"] is not None:
        number = request["signal"]
        act = partial(os.kill, os.getpid(), number) if number else _fail
        _act_at(request["at"], act, lasting=request["lasting"])
    status = 0
    try:
        main(request["words"])
    except SystemExit as end:
        status = int(end.code or 0)
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def _start(request: dict[str, Any]) -> int:
    pid = os.fork()
    if pid:
        return pid
    status = 99
    try:
        status = _become(request)
    finally:
        os._exit(status)


def _serve() -> None:
    for name in _LATE:
        import_module(name)
    stopped: set[int] = set()
    for line in sys.stdin:
        request = json.loads(line)
        pid = request.get("pid") or _start(request)
        if "send" in request:
            os.kill(pid, request["send"])
        _, status = os.waitpid(pid, os.WUNTRACED)
        stopped.discard(pid)
        if os.WIFSTOPPED(status):
            stopped.add(pid)
            answer = {"pid": pid, "stopped": True}
        elif os.WIFSIGNALED(status):
            answer = {"pid": pid, "signal": os.WTERMSIG(status)}
        else:
            answer = {"pid": pid, "status": os.WEXITSTATUS(status)}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()
    for pid in stopped:
        os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    _serve()
