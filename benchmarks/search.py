"""Prints the table of docs/internals/performance.md about searching, in markdown.

    python -m benchmarks.search [--rounds 3] [--store FOLDER] [--small] [--peer PROGRAM]

The peer is fast-resume 2.14.0. Without `--peer` it is installed into a temporary environment; where
that fails, its figures are left out. Nothing is written to a store that is given.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import measure
from benchmarks.measure import Cost
from benchmarks.needles import KINDS, Needle, plant
from benchmarks.store import MANIFEST

PEER = "fast-resume==2.14.0"
WORDS = "refactor the parser so that a request has a rate limit"
OTHER_WORDS = "deploy without a queue"
_UNREAD = 40
"""Texts of 20 hits: a prompt and an answer of each."""
_QUICK = 5
"""How often at least what takes less than a second is done."""
_SETTINGS = {"words": "[search]\ntool_output = false\n", "output": ""}
"""Two homes: one indexes what was said, the other one also what tools printed."""


@dataclass
class Bench:
    """A store with needles, and home folders that belong to this run alone."""

    store: Path
    scratch: Path
    needles: Sequence[Needle]
    peer: Path | None
    turns: int = 200_000
    best: dict[str, Cost] = field(default_factory=dict[str, Cost])

    def __post_init__(self) -> None:
        for home, settings in _SETTINGS.items():
            folder = self.scratch / home / "config" / "prong"
            folder.mkdir(parents=True)
            (folder / "config.toml").write_text(settings)
        folder = self.scratch / "peer"
        folder.mkdir()
        for name in ("claude", "codex"):
            (folder / f".{name}").symlink_to(self.store / name)

    def environment(self, home: str) -> dict[str, str]:
        """The variables of a measured process: nothing of the caller's home is in reach."""
        folder = self.scratch / home
        kinds = ("config", "state", "data", "cache")
        variables = {f"XDG_{kind.upper()}_HOME": str(folder / kind) for kind in kinds}
        if home != "peer":
            variables["CLAUDE_CONFIG_DIR"] = str(self.store / "claude")
            variables["CODEX_HOME"] = str(self.store / "codex")
        path = os.environ["PATH"]
        return {"PATH": path, "LANG": "C.UTF-8", "HOME": str(folder), **variables}

    # -- programs --------------------------------------------------------------------------------

    def prong(self, *arguments: str, home: str = "output") -> Cost:
        argv = [_prong(), *arguments]
        return measure.program(argv, environment=self.environment(home), notes=False)

    def fast_resume(self, *arguments: str) -> Cost:
        argv = [str(self.peer), "--json", *arguments]
        return measure.program(argv, environment=self.environment("peer"), notes=False)

    def told(self, *argv: str, home: str = "output") -> Any:
        """What a program says in JSON."""
        pipe, nowhere = subprocess.PIPE, subprocess.DEVNULL
        variables = self.environment(home)
        done = subprocess.run(argv, env=variables, stdout=pipe, stderr=nowhere, check=True)
        return json.loads(done.stdout)

    def job(self, name: str, *arguments: str) -> Cost:
        return measure.job(name, *arguments, environment=self.environment("output"))

    def keep(self, name: str, cost: Cost) -> None:
        self.best[name] = cost.least(self.best.get(name))

    # -- what is measured ------------------------------------------------------------------------

    def index(self, rounds: int) -> None:
        """All of the store, from nothing; all of them in turns."""
        for number in range(rounds):
            _progress(f"round {number + 1} of {rounds}: the index")
            for home in _SETTINGS:
                shutil.rmtree(self.scratch / home / "cache", ignore_errors=True)
                self.keep(f"index {home}", self.prong("index", "--no-vectors", home=home))
            if self.peer:
                shutil.rmtree(self.scratch / "peer" / "cache", ignore_errors=True)
                self.keep("index peer", self.fast_resume("--rebuild", "--limit", "1", "x"))

    def find(self, rounds: int) -> None:
        """One search, of a process of its own, when nothing changed."""
        for number in range(max(rounds, _QUICK)):
            _progress(f"round {number + 1}: words")
            self.keep("nothing", self.prong("--version"))
            self.keep("fast", self.prong("find", "--fast", WORDS))
            if self.peer:
                self.keep("fast peer", self.fast_resume("--limit", "10", WORDS))

    def find_by_meaning(self, rounds: int) -> None:
        """With the model; a search of the same words has been there before."""
        for _ in range(3):  # each of them reads some of the texts
            self.prong("find", WORDS)
            self.prong("find", OTHER_WORDS)
        for number in range(max(rounds, _QUICK)):
            _progress(f"round {number + 1}: meaning")
            self.keep("meaning", self.prong("find", WORDS))
            self.keep("again", self.job("find_again", WORDS, OTHER_WORDS))
            self.keep("unread", self.job("find_unread", WORDS, str(_UNREAD)))

    def sizes(self) -> dict[str, int]:
        """Bytes of the indexes."""
        sizes: dict[str, int] = {}
        for home in _SETTINGS:
            state = self.told(_prong(), "index", "--status", "--json", home=home)
            sizes[home] = state["index"]["size"]
        files = (self.scratch / "peer").glob("cache/fast-resume/tantivy_index/*")
        sizes["peer"] = sum(file.stat().st_size for file in files)
        return sizes

    def found(self) -> dict[str, "Counts"]:
        """Whether the needles are found, and how often each copied turn is listed."""
        counts = {"prong": Counts(), "peer": Counts()}
        for needle in self.needles:
            _progress(f"needle: {needle.word}")
            answer = self.told(_prong(), "find", "--fast", "--json", needle.word)
            rows = [(hit["session_id"], hit["snippet"]) for hit in answer["hits"]]
            counts["prong"].add(needle, [name for name, text in rows if needle.word in text])
            if self.peer:
                answer = self.told(str(self.peer), "--json", "--all", needle.word, home="peer")
                counts["peer"].add(needle, [session["id"] for session in answer["sessions"]])
        return counts

    def many_turns(self) -> dict[str, Any]:
        """Queries in a large index, in one process."""
        _progress(f"an index of {self.turns:,} turns")
        module = [sys.executable, "-m", "benchmarks.many_turns", str(self.scratch / "many")]
        return self.told(*module, f"--turns={self.turns}")


@dataclass
class Counts:
    """How the needles of each kind were found."""

    first: dict[str, int] = field(default_factory=dict[str, int])
    all: dict[str, int] = field(default_factory=dict[str, int])
    duplicates: int = 0

    def add(self, needle: Needle, rows: Sequence[str]) -> None:
        """`rows` are the sessions of the hits, the best first."""
        right = bool(rows) and rows[0] in needle.sessions
        self.all[needle.kind] = self.all.get(needle.kind, 0) + 1
        self.first[needle.kind] = self.first.get(needle.kind, 0) + right
        self.duplicates += max(len(rows) - 1, 0)

    def at_first(self) -> str:
        return ", ".join(f"{self.first.get(kind, 0)}/{self.all.get(kind, 0)}" for kind in KINDS)


def _prong() -> str:
    return str(Path(sys.executable).with_name("prong"))


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


# -- the table ---------------------------------------------------------------------------------

Row = tuple[str, ...]


def rows(bench: Bench, rounds: int) -> Iterator[Row]:
    """Measure everything."""
    bench.index(rounds)
    sizes = bench.sizes()
    bench.find(rounds)
    found = bench.found()
    bench.find_by_meaning(rounds)
    many = bench.many_turns()
    _progress("")
    peer = bench.peer is not None
    yield ("what", "measured", "fast-resume", "result", "limit")
    yield ("---",) * 5
    for home, name, limit in (
        ("words", "cold index, without tool output", "1.6 x"),
        ("output", "cold index, with tool output", "3 x"),
    ):
        yield _beside(name, bench.best, f"index {home}", "index peer", limit)
    for home, name, limit in (
        ("words", "its size, without tool output", 25),
        ("output", "its size, with tool output", 80),
    ):
        beside = _megabytes(sizes["peer"]) if peer else ""
        yield (name, _megabytes(sizes[home]), beside, _megabytes(sizes[home]), f"{limit} MB")
    peak = max(bench.best[f"index {home}"].peak for home in _SETTINGS)
    beside = _megabytes(bench.best["index peer"].peak) if peer else ""
    yield ("peak memory of the cold index", _megabytes(peak), beside, _megabytes(peak), "300 MB")
    yield _milliseconds("`prong find --fast`", bench.best, "fast", "150 ms", "fast peer")
    yield _milliseconds("`prong --version`, for comparison", bench.best, "nothing", "")
    yield _milliseconds("`prong find`, texts read before", bench.best, "meaning", "700 ms")
    yield _milliseconds("the same in a running process", bench.best, "again", "60 ms")
    yield _milliseconds("the same, 20 hits not read before", bench.best, "unread", "2 s more")
    for figure in ("cpu", "wall"):
        middle, high = (f"{many[f'{figure}_{part}'] * 1000:.1f} ms" for part in ("p50", "p95"))
        name = f"a query among {many['turns']:,} turns, p50 and p95, {figure}"
        yield (name, f"{middle}, {high}", "", high, "5 ms")
    name = "needles first in the list: prompts, answers, tool output"
    prong, other = found["prong"], found["peer"]
    yield (name, prong.at_first(), other.at_first() if peer else "", prong.at_first(), "all")
    name = f"rows too many for {prong.all.get('copied prompt', 0)} turns that forks copied"
    beside = str(other.duplicates) if peer else ""
    yield (name, str(prong.duplicates), beside, str(prong.duplicates), "0")


def _beside(name: str, best: Mapping[str, Cost], own: str, other: str, limit: str) -> Row:
    cost, peer = best[own], best.get(other)
    beside = f"{peer.cpu:.2f} s" if peer else ""
    return (
        name,
        f"{cost.cpu:.2f} s",
        beside,
        f"{cost.cpu / peer.cpu:.2f} x" if peer else "",
        limit,
    )


def _milliseconds(
    name: str, best: Mapping[str, Cost], own: str, limit: str, other: str = ""
) -> Row:
    cost, peer = best[own], best.get(other)
    cpu = f"{cost.cpu * 1000:.0f} ms"
    beside = f"{peer.cpu * 1000:.0f} ms" if peer else ""
    return (name, f"{cpu} ({cost.wall * 1000:.0f} ms wall)", beside, cpu, limit)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size < 100e6 else f"{size / 1e6:.0f} MB"


# -- what is needed ----------------------------------------------------------------------------


def make_store(folder: Path, *, small: bool) -> None:
    """In a process of its own: a child's peak memory starts with that of its parent."""
    size = ("--sessions=200", "--megabytes=20") if small else ()
    argv = [sys.executable, "-m", "benchmarks.store", str(folder), *size]
    subprocess.run(argv, stdout=sys.stderr, check=True)


def install_peer(folder: Path) -> Path | None:
    """The peer's program, in an environment of its own; None when it cannot be had."""
    _progress(f"installing {PEER}")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", PEER]
    if subprocess.run(pip, stdout=sys.stderr, check=False).returncode:
        print(f"{PEER} cannot be installed: its figures are left out", file=sys.stderr)
        return None
    return folder / "bin" / "fr"


def main() -> None:
    """Make the store, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--store", type=Path, help="use or make the store here, and keep it")
    parser.add_argument("--small", action="store_true", help="20 MB, 20,000 turns: a quick look")
    parser.add_argument("--peer", type=Path, help="the program fr of fast-resume 2.14.0")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prong-bench-") as temporary:
        scratch = Path(temporary)
        store = options.store or scratch / "made"
        if not (store / MANIFEST).exists():
            make_store(store, small=options.small)
        needles = plant(store, scratch / "store")
        peer = options.peer or install_peer(scratch / "environment")
        turns = 20_000 if options.small else 200_000
        bench = Bench(scratch / "store", scratch, needles, peer, turns)
        table = ["| " + " | ".join(row) + " |" for row in rows(bench, options.rounds)]
        python = f"{platform.python_implementation()} {platform.python_version()}"
        system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        command = f"python -m benchmarks.search --rounds {options.rounds}"
        print(f"{datetime.now(UTC):%Y-%m-%d}, {python}, {system}. Made by `{command}`.")
        print(f"CPU time, best of {options.rounds} or more, every run in a fresh process.\n")
        print("\n".join(table))


if __name__ == "__main__":
    main()
