"""Paging long output with the user's pager, chosen like git does."""

import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable

import click


def page(lines: Iterable[str], wanted: str | None) -> None:
    """Show lines on the terminal. `wanted` is the pager from git's settings; "" for none."""
    command = wanted
    if command != "":
        command = os.environ.get("GIT_PAGER", command)
    if command is None:
        command = os.environ.get("PAGER", "less")
    if not sys.stdout.isatty() or command in ("", "cat") or not _is_there(command):
        for line in lines:
            click.echo(line)
        return
    _through(command, lines)


def _through(command: str, lines: Iterable[str]) -> None:
    environment = {"LESS": "FRX", "LV": "-c", **os.environ}
    # A shell command from the user's own settings, as in git.
    pager = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, env=environment)  # noqa: S602
    assert pager.stdin is not None
    # Ctrl-C is for the pager, which keeps running and handles it in its own way.
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN)
    encoding = sys.stdout.encoding or "utf-8"
    try:
        with pager.stdin as stdin:
            for line in lines:
                stdin.write(f"{line}\n".encode(encoding, "replace"))
    except BrokenPipeError:
        pass  # the pager was closed early
    finally:
        pager.wait()
        signal.signal(signal.SIGINT, handler)


def _is_there(command: str) -> bool:
    """Return whether the pager is installed. If its command cannot be parsed, let the shell try."""
    try:
        words = [word for word in shlex.split(command) if "=" not in word]
    except ValueError:
        return True
    return bool(words) and shutil.which(words[0]) is not None
