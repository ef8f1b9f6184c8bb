"""What a fork costs, beside claude-agent-sdk and a plain copy; prints a table in markdown.

    python -m benchmarks.fork [--rounds 3] [--size "100 MB"]...

claude-agent-sdk and the real codex are used where they are installed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path

from benchmarks import measure
from benchmarks.measure import Cost
from prong.agents.claude.store import ClaudeStore
from prong.testing.home import IsolatedHome

SIZES = {"150 KB": 150_000, "15 MB": 15_000_000, "100 MB": 100_000_000}


@dataclass(frozen=True)
class Bench:
    """One large session in a home of its own, forked at the middle and at the end."""

    folder: Path
    path: Path
    turns: tuple[str, ...]
    """The last message of every turn: where the SDK is told to cut."""
    cwd: str

    @classmethod
    def make(cls, folder: Path, size: int) -> "Bench":
        # In a process of its own: a child's peak memory starts with that of its parent.
        code = (
            f"from benchmarks.store import *; big_session(Path({str(folder / 'store')!r}), {size})"
        )
        subprocess.run([sys.executable, "-c", code], check=True)
        (path,) = (folder / "store" / "claude" / "projects").glob("*/*.jsonl")
        store = ClaudeStore([folder / "store" / "claude"])
        session = store.session_at(path)
        assert session
        source = store.source(session)
        ends = tuple(span.nodes[-1].uuid for span in source.turns.active)
        source.close()
        (folder / "into").mkdir()
        return cls(folder, path, ends, session.cwd or "")

    def environment(self) -> dict[str, str]:
        home = self.folder / "home"
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "XDG_STATE_HOME": str(home / "state"),
            "XDG_CACHE_HOME": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / "config"),
            "CLAUDE_CONFIG_DIR": str(self.folder / "store" / "claude"),
            "CODEX_HOME": str(home / "codex"),
        }

    def job(self, name: str, *arguments: str) -> Cost:
        before = set(self.path.parents[1].rglob("*"))
        try:
            return measure.job(name, *arguments, environment=self.environment())
        finally:
            # The next one finds the store as this one did.
            for made in sorted(set(self.path.parents[1].rglob("*")) - before, reverse=True):
                made.rmdir() if made.is_dir() else made.unlink()

    def fork(self, turn: int, *, cold: bool = False) -> Cost:
        point = f"claude:{self.path.stem}@{turn}"
        return self.job("fork_cold" if cold else "fork", point, str(self.folder / "into"))

    def sdk(self, turn: int) -> Cost:
        return self.job("sdk_fork", self.path.stem, self.cwd, self.turns[turn - 1])

    def copy(self) -> Cost:
        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
            return self.job("copy_replaced", str(self.path), str(Path(folder) / "copy.jsonl"))


def best(rounds: int, jobs: dict[str, Callable[[], Cost]]) -> dict[str, Cost]:
    """Every job so many times, in turns; the least figures of each."""
    found: dict[str, Cost] = {}
    for _ in range(rounds):
        for name, job in jobs.items():
            found[name] = job().least(found.get(name))
    return found


def rows_of(name: str, bench: Bench, rounds: int, *, with_sdk: bool) -> list[tuple[str, ...]]:
    last = len(bench.turns)
    middle = last // 2
    jobs: dict[str, Callable[[], Cost]] = {
        "middle": lambda: bench.fork(middle),
        "middle, cold": lambda: bench.fork(middle, cold=True),
        "end": lambda: bench.fork(last),
        "end, cold": lambda: bench.fork(last, cold=True),
        "copy": bench.copy,
    }
    if with_sdk:
        jobs["sdk"] = lambda: bench.sdk(middle)
    cost = best(rounds, jobs)
    sdk = cost.get("sdk")
    rows: list[tuple[str, ...]] = []
    for place in ("middle", "middle, cold"):
        ratio = f"{cost[place].wall / sdk.wall:.2f} x the SDK ({sdk.wall:.2f} s)" if sdk else ""
        rows.append((f"{name}, {place}", *_figures(cost[place]), ratio))
    for place in ("end", "end, cold"):
        ratio = cost[place].wall / cost["copy"].wall
        rows.append(
            (
                f"{name}, {place}",
                *_figures(cost[place]),
                f"{ratio:.2f} x a plain copy ({cost['copy'].wall:.3f} s)",
            )
        )
    if sdk:
        rows.append((f"{name}, middle, SDK", *_figures(sdk), ""))
    return rows


def _figures(cost: Cost) -> tuple[str, str, str]:
    return f"{cost.wall * 1000:.0f} ms", f"{cost.cpu * 1000:.0f} ms", f"{cost.peak / 1e6:.0f} MB"


def codex_row(folder: Path, rounds: int) -> tuple[str, ...] | None:
    """A fork through the real app-server, its start included."""
    if shutil.which("codex") is None:
        return None
    home = IsolatedHome.create(folder / "home")
    cwd = home.projects / "shop"
    cwd.mkdir(parents=True)
    sample = ClaudeStore([home.claude]).write_samples(str(cwd), datetime.now(UTC))
    environment = home.env({"PATH": os.environ["PATH"]})
    # A thread that the real program takes for one of its own.
    convert = ["fork", str(sample), "--agent", "codex", "--json"]
    argv = [sys.executable, "-m", "prong", *convert]
    made = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, check=True)
    thread = json.loads(made.stdout)["fork"]["child"]
    cost = best(
        rounds,
        {"codex": lambda: measure.job("fork", f"{thread}@2", str(cwd), environment=environment)},
    )["codex"]
    return ("Codex, through its app-server", *_figures(cost), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", choices=SIZES, action="append", help="all when left out")
    options = parser.parse_args()
    with_sdk = find_spec("claude_agent_sdk") is not None
    rows: list[tuple[str, ...]] = [("what", "wall", "CPU", "memory", "ratio"), ("---",) * 5]
    with tempfile.TemporaryDirectory(prefix="prong-fork-") as temporary:
        for name in options.size or SIZES:
            bench = Bench.make(Path(temporary) / str(SIZES[name]), SIZES[name])
            rows += rows_of(name, bench, options.rounds, with_sdk=with_sdk)
        codex = codex_row(Path(temporary) / "codex", options.rounds)
        rows += [codex] if codex else []
    print(f"Best of {options.rounds}, every run in a fresh process, imports not counted.\n")
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))
    if not with_sdk:
        print("\nclaude-agent-sdk is not installed: pip install claude-agent-sdk==0.2.182")


if __name__ == "__main__":
    main()
