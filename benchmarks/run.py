"""Prints the benchmark table of docs/internals/performance.md, in markdown.

    python -m benchmarks.run [--rounds 5] [--sessions 2000] [--megabytes 500] [--store FOLDER]
    python -m benchmarks.run --against COMMIT [...]

Without `--store` the store is made in a temporary folder and removed afterwards. With `--against`
it prints how this tree compares with a commit instead (`benchmarks/against.py`).
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.measure import Cost
from benchmarks.store import MANIFEST


@dataclass(frozen=True)
class Bench:
    """A store, and a home folder that belongs to this run alone."""

    store: Path
    home: Path
    manifest: Mapping[str, Any]

    @property
    def big(self) -> Mapping[str, Any]:
        return self.manifest["biggest"]

    def environment(self, cache: str) -> dict[str, str]:
        """The variables of a measured process: nothing of the caller's home is in reach."""
        return {
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "HOME": str(self.home),
            "XDG_CONFIG_HOME": str(self.home / "config"),
            "XDG_STATE_HOME": str(self.home / "state"),
            "XDG_DATA_HOME": str(self.home / "data"),
            "XDG_CACHE_HOME": str(self.home / cache),
            "CLAUDE_CONFIG_DIR": str(self.store / "claude"),
            "CODEX_HOME": str(self.store / "codex"),
        }

    def cold(self) -> Cost:
        """Metadata of all sessions, without a scan cache."""
        shutil.rmtree(self.home / "cold", ignore_errors=True)
        return measure.job("sessions", environment=self.environment("cold"))

    def warm(self) -> Cost:
        """Metadata of all sessions, when nothing changed."""
        return measure.job("sessions_again", environment=self.environment("warm"))

    def decode_store(self) -> Cost:
        return measure.job("decode_store", str(self.store), environment=self.environment("none"))

    def turns(self) -> Cost:
        """The turns of the largest session; its metadata is known already."""
        ref = f"claude:{self.big['id']}"
        return measure.job("turns", ref, environment=self.environment("warm"))

    def turns_by_name(self) -> Cost:
        """The same from the session's name on: what changed is looked for first."""
        ref = f"claude:{self.big['id']}"
        return measure.job("turns_by_name", ref, environment=self.environment("warm"))

    def decode_big(self) -> Cost:
        path = self.big["path"]
        return measure.job("decode_file", path, environment=self.environment("none"))

    def help(self) -> Cost:
        """The installed program, start-up included."""
        argv = [str(Path(sys.executable).with_name("prong")), "--help"]
        return measure.program(argv, environment=self.environment("none"))

    def run(self, rounds: int) -> dict[str, Cost]:
        """Every job `rounds` times, in turns; the best figures of each."""
        jobs: dict[str, Callable[[], Cost]] = {
            "decode_store": self.decode_store,
            "cold": self.cold,
            "warm": self.warm,
            "decode_big": self.decode_big,
            "turns": self.turns,
            "turns_by_name": self.turns_by_name,
            "help": self.help,
        }
        self.warm()  # fills the cache that `warm` and `turns` use
        best: dict[str, Cost] = {}
        for number in range(rounds):
            for name, job in jobs.items():
                _progress(f"round {number + 1} of {rounds}: {name}")
                best[name] = job().least(best.get(name))
        _progress("")
        return best


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def table(manifest: Mapping[str, Any], best: Mapping[str, Cost]) -> str:
    """The figures beside the limits, as a markdown table."""
    big = Path(manifest["biggest"]["path"]).stat().st_size / 1e6
    megabytes, count = manifest["size"] / 1e6, len(manifest["sessions"])
    rows = [
        ("what", "measured", "baseline", "result", "limit"),
        ("---",) * 5,
        (
            f"metadata of {count:,} sessions, {megabytes:.0f} MB, cold",
            f"{best['cold'].cpu:.2f} s",
            f"{best['decode_store'].cpu:.2f} s",
            f"{best['cold'].cpu / best['decode_store'].cpu:.2f} x",
            "1.5 x",
        ),
        (
            "the same, nothing changed",
            f"{best['warm'].cpu * 1000:.0f} ms",
            "",
            f"{best['warm'].cpu * 1000:.0f} ms",
            "60 ms",
        ),
        (
            f"turns of a session of {big:.0f} MB",
            f"{best['turns'].cpu:.2f} s",
            f"{best['decode_big'].cpu:.2f} s",
            f"{best['turns'].cpu / best['decode_big'].cpu:.2f} x",
            "1.2 x",
        ),
        (
            "the same from its name, with a look for changes in all sessions",
            f"{best['turns_by_name'].cpu:.2f} s",
            f"{best['decode_big'].cpu:.2f} s",
            f"{best['turns_by_name'].cpu / best['decode_big'].cpu:.2f} x",
            "",
        ),
        (
            "the same, peak memory",
            f"{best['turns'].peak / 1e6:.0f} MB",
            f"{best['decode_big'].peak / 1e6:.0f} MB",
            f"{best['turns'].peak / 1e6:.0f} MB",
            "250 MB",
        ),
        (
            "`prong --help`",
            f"{best['help'].cpu * 1000:.0f} ms",
            "",
            f"{best['help'].cpu * 1000:.0f} ms",
            "100 ms",
        ),
    ]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def main() -> None:
    """Make the store, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sessions", type=int, default=2_000)
    parser.add_argument("--megabytes", type=float, default=500)
    parser.add_argument("--store", type=Path, help="use or make the store here, and keep it")
    parser.add_argument("--against", metavar="COMMIT", help="compare with this commit instead")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prong-bench-") as temporary:
        store = options.store or Path(temporary) / "store"
        if not (store / MANIFEST).exists():
            # In a process of its own: a child's peak memory starts with that of its parent.
            make = [sys.executable, "-m", "benchmarks.store", str(store)]
            size = [f"--sessions={options.sessions}", f"--megabytes={options.megabytes}"]
            subprocess.run([*make, *size], stdout=sys.stderr, check=True)
        manifest = json.loads((store / MANIFEST).read_bytes())
        home = Path(temporary) / "home"
        if options.against:
            from benchmarks import against  # not before: a large parent has large children

            print(against.table(options.against, store, manifest, home, options.rounds))
            return
        best = Bench(store, home, manifest).run(options.rounds)
        python = f"{platform.python_implementation()} {platform.python_version()}"
        system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        command = f"python -m benchmarks.run --rounds {options.rounds}"
        print(f"{datetime.now(UTC):%Y-%m-%d}, {python}, {system}. Made by `{command}`.")
        print(f"CPU time, best of {options.rounds}, every run in a fresh process.\n")
        print(table(manifest, best))


if __name__ == "__main__":
    main()
