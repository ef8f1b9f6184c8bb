"""Processes that get a Ctrl-C in a test."""

import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any


def unmeasured(env: Mapping[str, str]) -> dict[str, str]:
    """The environment without coverage: a signal that meets it while it holds its lock stays there.

    The process then waits for itself without end.
    """
    return {name: value for name, value in env.items() if not name.startswith("COVERAGE_")}


@contextmanager
def ending(process: subprocess.Popen[Any]) -> Generator[None]:
    """Whatever becomes of the test, nothing of the process stays for the next one."""
    with process:
        try:
            yield
        finally:
            process.kill()
