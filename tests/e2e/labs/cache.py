"""Scenarios are built once per test run, ahead of the tests that want them, several at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from tests.e2e.scenario import Scenario

# One per core: starting an agent is mostly CPU work, so more at a time only makes each one slower.
# With pytest-xdist there is a worker per core already.
WORKERS = 1 if "PYTEST_XDIST_WORKER" in os.environ else min(4, os.cpu_count() or 2)


class ScenarioCache:
    """Gives each scenario of one agent. A build that failed fails again at once.

    A terminal UI on a loaded machine may miss a key. That says nothing about prong, so a build
    that timed out gets one more try from scratch; any other failure is final.
    """

    def __init__(self, build: Callable[[str, Path], Scenario], folder: Path) -> None:
        self._build = build
        self._folder = folder
        self._pool = ThreadPoolExecutor(WORKERS)
        self._futures: dict[str, Future[Scenario]] = {}

    def expect(self, names: Iterable[str]) -> None:
        """Begin to build these, in this order."""
        for name in names:
            if name not in self._futures:
                self._futures[name] = self._pool.submit(self._built, name)

    def _built(self, name: str) -> Scenario:
        try:
            return self._build(name, self._folder / name)
        except TimeoutError:
            return self._build(name, self._folder / f"{name}-again")

    def get(self, name: str) -> Scenario:
        """The scenario, built now if nobody has asked for it before."""
        self.expect([name])
        return self._futures[name].result()

    def close(self) -> None:
        """Build nothing more."""
        self._pool.shutdown(cancel_futures=True)
