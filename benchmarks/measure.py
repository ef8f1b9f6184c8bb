"""Best of several, each in a fresh process: CPU seconds, wall seconds, peak memory.

CPU time is what we compare: wall time on a shared machine says more about the neighbours. The best
run is the one the machine disturbed least. Jobs that are compared run in turns, so that a slow
minute hits all of them.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Cost:
    """What one run took. `found` shows that it did the work."""

    cpu: float
    wall: float
    peak: int
    found: int

    def least(self, other: "Cost | None") -> "Cost":
        """The better of two runs, figure by figure."""
        if other is None:
            return self
        if self.found != other.found:
            raise ValueError(f"two runs found different things: {self.found}, {other.found}")
        return Cost(
            cpu=min(self.cpu, other.cpu),
            wall=min(self.wall, other.wall),
            peak=min(self.peak, other.peak),
            found=self.found,
        )


def job(name: str, *arguments: str, environment: Mapping[str, str]) -> Cost:
    """Run one job of `benchmarks.jobs`; only the work itself counts, not the start-up."""
    argv = [sys.executable, "-m", "benchmarks.jobs", name, *arguments]
    done = subprocess.run(argv, env=dict(environment), stdout=subprocess.PIPE, check=True)
    return Cost(**json.loads(done.stdout))


def program(argv: Sequence[str], *, environment: Mapping[str, str], notes: bool = True) -> Cost:
    """Run a whole program, start-up included; what it prints is dropped.

    Without `notes`, also what it says beside that.
    """
    nowhere = subprocess.DEVNULL
    began = time.perf_counter()
    with subprocess.Popen(
        argv,
        env=dict(environment),
        stdin=nowhere,
        stdout=nowhere,
        stderr=None if notes else nowhere,
    ) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, argv)
    return Cost(
        cpu=usage.ru_utime + usage.ru_stime,
        wall=time.perf_counter() - began,
        peak=usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        found=0,
    )
