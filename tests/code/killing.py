"""A program that takes a snapshot again and again and is killed one step later each time.

Every step is a file that is made, moved or removed, or a git that is started. Prints a line of
JSON for each: where it was killed, and whether the ref was there.
"""

import json
import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path
from typing import Any

from prong.code.snapshots import snapshot
from prong.code.snapshots.refs import ref_of
from prong.model.code import TurnKey

_STEPS = ("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.utime", "subprocess.Popen")


def _counts(path: object, _: object, flags: object) -> bool:
    """Files that are written; and those of the user that are read, in the middle of the stream."""
    return isinstance(path, bytes) or (isinstance(flags, int) and bool(flags & 3))


def _kill_at(step: int) -> None:
    left = step

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in _STEPS or (event == "open" and _counts(*arguments)):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def main(folder: Path) -> None:
    for step in count(1):
        key = TurnKey("claude", "killed", f"step-{step}")
        (folder / "a.txt").write_text(f"step {step}\n")
        for number in range(3):
            (folder / f"new-{number}.txt").write_text(f"step {step} {number}\n" * 10_000)
        child = os.fork()
        if child == 0:
            _kill_at(step)
            snapshot.take(folder, key)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        refs = subprocess.run(
            ["git", "for-each-ref", "--format=%(refname)", "refs/prong"],
            cwd=folder,
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        made = ref_of(key) in refs.split()
        print(json.dumps({"step": step, "killed": os.WIFSIGNALED(status), "made": made}))  # noqa: T201
        if not os.WIFSIGNALED(status):
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
