"""Compares this tree with an older commit in one run: `python -m benchmarks.run --against COMMIT`.

The commit gets a git worktree, and each tree a home of its own over the same store. Every command
runs in both, in turns and each in a fresh process; who comes first changes. The figures are the
least of all rounds.
"""

import subprocess
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copy2
from typing import Any

from benchmarks import mcp, measure, snapshots, ui
from prong.model.code import Snapshot
from prong.storage.snapshots import SnapshotRecords
from tests.perf.test_state_work import snapshot

ROOT = Path(__file__).parents[1]
LIMIT = 1.05
SNAPSHOTS = 20_000
SNAPSHOT_LIMIT = 1.2
_QUERY = "refactor the parser"
_HOOK = f"#!{sys.executable}\nimport runpy\nrunpy.run_module('prong.hook', None, '__main__')\n"


@contextmanager
def worktree(commit: str, folder: Path) -> Generator[Path]:
    """Check out a commit of this repository for a while."""
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


@dataclass(frozen=True)
class Tree:
    """A checkout of prong, and a home for its runs alone."""

    source: Path
    home: Path
    store: Path

    @property
    def environment(self) -> dict[str, str]:
        variables = mcp.environment(self.home, self.store)
        return {**variables, "PYTHONPATH": str(self.source / "src"), "TERM": "xterm-256color"}

    def program(self, *words: str) -> float:
        """Run `prong` with these words, and return its CPU seconds."""
        argv = [sys.executable, "-m", "prong", *words]
        return measure.program(argv, environment=self.environment, notes=False).cpu

    def fork(self, big: Mapping[str, Any]) -> float:
        """Fork the largest session of a store, in a home that holds nothing else."""
        alone = self.home / "alone"
        path = alone / Path(big["path"]).relative_to(self.store)
        if not path.exists():
            path.parent.mkdir(parents=True)
            copy2(big["path"], path)
        one = replace(self, store=alone)
        return one.program("fork", f"claude:{big['id']}", "--into", str(self.home), "--json")

    def initialize(self, argv: list[str]) -> float:
        """Start an MCP server, and return its CPU seconds until it has answered `initialize`."""
        with mcp.running(argv, self.environment) as server:
            server.start()
            return ui.cpu_of(server.process.pid)

    def snapshots(self) -> None:
        """Record many snapshots of sessions that no search finds."""

        def numbered(number: int) -> Snapshot:
            return snapshot(number)._replace(repo=self.home)

        state = self.home / "state" / "prong"
        state.mkdir(parents=True, exist_ok=True)
        SnapshotRecords(state / "state.db").add(*map(numbered, range(SNAPSHOTS)))

    def jobs(self, big: Mapping[str, Any]) -> dict[str, Callable[[], float]]:
        """What is compared, and how each is timed."""
        prong = [sys.executable, "-m", "prong"]
        bench = snapshots.Bench.make(self.home / "hook", 1000, 5)
        bench.program = _HOOK
        bench.environment["PYTHONPATH"] = str(self.source / "src")
        return {
            "`prong --help`": lambda: self.program("--help"),
            "`prong list`": lambda: self.program("list"),
            "`prong find --fast`": lambda: self.program("find", "--fast", _QUERY),
            "`prong find`": lambda: self.program("find", _QUERY),
            f"`prong fork`, {big['size'] / 1e6:.0f} MB": lambda: self.fork(big),
            "`prong-hook`": lambda: bench.hook().cpu,
            "MCP `initialize`": lambda: self.initialize([*prong, "mcp"]),
            "`prong ui`": lambda: ui.start(self.environment, [*prong, "ui"]).sessions,
        }


def compare(
    rounds: int, ours: Mapping[str, Callable[[], float]], theirs: Mapping[str, Callable[[], float]]
) -> dict[str, tuple[float, float]]:
    """Run each pair of jobs in turns, and return the least figures of both sides."""
    least = {name: (float("inf"), float("inf")) for name in ours}
    for number in range(-1, rounds):
        for name, (own, other) in least.items():
            if number % 2:
                found = ours[name](), theirs[name]()
            else:
                found = tuple(reversed((theirs[name](), ours[name]())))
            if number >= 0:  # the first round fills the caches
                least[name] = min(own, found[0]), min(other, found[1])
    return least


def table(commit: str, store: Path, manifest: Mapping[str, Any], folder: Path, rounds: int) -> str:
    """Measure both trees, and return the figures with their ratios as a markdown table."""
    folder.mkdir(parents=True, exist_ok=True)
    big = {**manifest["biggest"], "size": Path(manifest["biggest"]["path"]).stat().st_size}
    with worktree(commit, folder / "tree") as other:
        ours = Tree(ROOT, folder / "ours", store)
        theirs = Tree(other, folder / "theirs", store)
        for tree in (ours, theirs):
            tree.home.mkdir()
            tree.program("index", "--no-vectors")
        least = compare(rounds, ours.jobs(big), theirs.jobs(big))
    many = replace(ours, home=folder / "many")
    many.home.mkdir()
    many.program("index", "--no-vectors")
    many.snapshots()
    jobs = [{"": lambda tree=tree: tree.program("find", "--fast", _QUERY)} for tree in (many, ours)]
    rows = [
        ("what", "this tree", commit, "ratio", "limit"),
        ("---",) * 5,
        *(_row(name, *seconds, LIMIT) for name, seconds in least.items()),
        ("what", f"{SNAPSHOTS:,} snapshots", "none", "ratio", "limit"),
        _row("`prong find --fast`", *compare(rounds, *jobs)[""], SNAPSHOT_LIMIT),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _row(name: str, own: float, other: float, limit: float) -> tuple[str, ...]:
    times = (f"{seconds * 1000:.0f} ms" for seconds in (own, other))
    return (name, *times, f"{own / other:.2f} x", f"{limit:.2f} x")
