"""Forks to record, and processes that record them."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from prong.model.forks import Fork, ForkPoint, Method
from prong.model.sessions import SessionRef

START = datetime(2026, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)

# What the processes of these tests begin with; argv[1] is the database.
PRELUDE = """
import sys
from pathlib import Path
from prong.storage.forks import ForkRecords
from tests.unit.storage.fork_facts import fork
records = ForkRecords(Path(sys.argv[1]))
"""


def fork(number: int = 1, **changes: Any) -> Fork:
    facts: dict[str, Any] = {
        "id": f"fork-{number}",
        "parent": ForkPoint(SessionRef("claude", f"parent-{number}"), 12, f"turn-{number}"),
        "parent_workspace": "/home/somebody/shop",
        "child": SessionRef("codex", f"child-{number}"),
        "method": Method.COPY,
        "created": START + timedelta(seconds=number),
        "tokens": 1234,
        **changes,
    }
    return Fork(**facts)


def script(code: str, path: Path, *words: str) -> list[str]:
    return [sys.executable, "-c", PRELUDE + code, str(path), *words]


def environment() -> dict[str, str]:
    """This one, with what the tests import on its path."""
    top = Path(__file__).parents[3]
    return {**os.environ, "PYTHONPATH": f"{top / 'src'}{os.pathsep}{top}"}


def started(code: str, path: Path, *words: str) -> subprocess.Popen[str]:
    """A process of its own."""
    return subprocess.Popen(
        script(code, path, *words),
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
