"""Index updates in a separate process: `python -m prong.tui.indexer`.

The terminal UI starts it, so that reading sessions and the sentence model do not slow the screen.
It prints one JSON value per line for each step, and exits when the UI has closed the pipe.
"""

import json
import os
import sys
import time
from contextlib import suppress

from prong.errors import Busy, ProngError, memory_checked
from prong.model.search import IndexProgress

_TOLD_EVERY = 0.1
"""Seconds between progress messages."""
_NICE = 10


def main() -> None:
    from prong.app import App

    with suppress(OSError):
        os.nice(_NICE)
    printed_at = 0.0
    phase = ""

    def progress(now: IndexProgress) -> None:
        nonlocal printed_at, phase
        if time.monotonic() - printed_at > _TOLD_EVERY or now.phase != phase:
            printed_at, phase = time.monotonic(), now.phase
            _print(now._asdict())

    try:
        with memory_checked(), App() as app:
            app.search.index(vectors=False, on_progress=progress)
            _print({"phase": "searchable"})
            app.search.index(on_progress=progress)
        _print({"phase": "done"})
    except Busy:
        _print({"phase": "busy"})
    except ProngError as error:
        _print({"phase": "failed", "message": error.message})
    except (BrokenPipeError, KeyboardInterrupt):
        # The UI has exited. What was indexed is kept.
        os._exit(0)


def _print(value: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
