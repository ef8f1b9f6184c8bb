"""Brings the index up to date, as a program of its own: `python -m prong.tui.indexer`.

The terminal UI starts it, so that reading sessions and the sentence model take no time from what a
person sees. It prints a JSON value in a line for each step, and ends with who started it: the pipe
is then closed.
"""

import json
import os
import sys
import time
from contextlib import suppress

from prong.errors import Busy, ProngError, memory_checked
from prong.model.search import IndexProgress

_TOLD_EVERY = 0.1
"""Seconds."""
_NICE = 10


def main() -> None:
    from prong.app import App

    with suppress(OSError):
        os.nice(_NICE)
    told = 0.0
    phase = ""

    def progress(now: IndexProgress) -> None:
        nonlocal told, phase
        if time.monotonic() - told > _TOLD_EVERY or now.phase != phase:
            told, phase = time.monotonic(), now.phase
            _print(now._asdict())

    try:
        with memory_checked(), App() as app:
            app.index(vectors=False, on_progress=progress)
            _print({"phase": "searchable"})
            app.index(on_progress=progress)
        _print({"phase": "done"})
    except Busy:
        _print({"phase": "busy"})
    except ProngError as error:
        _print({"phase": "failed", "message": error.message})
    except (BrokenPipeError, KeyboardInterrupt):
        # Whoever wanted to know is gone. What was read is kept.
        os._exit(0)


def _print(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
