"""Prints the table of docs/internals/performance.md about the MCP server, in markdown.

    python -m benchmarks.mcp [--rounds 10] [--store FOLDER]

From the start of the process to the answer to `initialize`, in turns with a minimal server on the
same SDK; `smart_fork` without a fork, asked again and again; memory before and after the first of
them. Nothing is written to a store that is given.
"""

import argparse
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.store import MANIFEST

INTENTS = (
    "add rate limiting to the public API",
    "refactor the parser so that a request has a rate limit",
    "deploy without a queue",
    "why does the test fail on the second run",
    "move the settings into a file",
    "the cache is not invalidated after a write",
    "make the search faster for large stores",
    "rename the module and fix all imports",
    "handle a timeout of the upstream server",
    "write a migration that adds a column",
    "log in with a token instead of a password",
    "render the table without flicker",
    "a race between two workers on one file",
    "retry with backoff when the network is down",
    "split the large function into smaller ones",
    "validate the input of the form",
    "memory grows while the server is running",
    "parse dates with a time zone",
    "the build is broken on the new compiler",
    "document the command line options",
)
_WARM = 3
"""Times that each intent is asked before it counts: the vectors of its hits are cached then."""
_COUNTED = 5
_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def prong_program() -> str:
    return str(Path(sys.executable).with_name("prong"))


@dataclass
class Server:
    """A running server, spoken to line by line."""

    process: subprocess.Popen[bytes]
    number: int = 0

    def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        self.number += 1
        self._send({"id": self.number, "method": method, "params": params})
        assert self.process.stdout is not None
        while line := self.process.stdout.readline():
            told: dict[str, Any] = json.loads(line)
            if told.get("id") == self.number:
                return told["result"]
        raise RuntimeError("the server ended")

    def call(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self.ask("tools/call", {"name": name, "arguments": arguments})
        if result.get("isError"):
            raise RuntimeError(result["content"][0]["text"])
        return result["structuredContent"]

    def start(self) -> None:
        self.ask("initialize", _INITIALIZE)
        self._send({"method": "notifications/initialized"})

    def memory(self) -> int:
        """Resident, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = [line for line in status.splitlines() if line.startswith("VmRSS")]
        return int(line.split()[1]) * 1024

    def _send(self, message: Mapping[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


@contextmanager
def running(argv: list[str], environment: Mapping[str, str]) -> Generator[Server]:
    pipe = subprocess.PIPE
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(
        argv, env=dict(environment), stdin=pipe, stdout=pipe, stderr=nowhere
    ) as process:
        yield Server(process)
        assert process.stdin is not None
        process.stdin.close()


@dataclass(frozen=True)
class Start:
    wall: float
    memory: int


def started(argv: list[str], environment: Mapping[str, str]) -> Start:
    """From the start of the process to the answer to `initialize`."""
    began = time.perf_counter()
    with running(argv, environment) as server:
        server.start()
        return Start(time.perf_counter() - began, server.memory())


@dataclass(frozen=True)
class Searches:
    seconds: dict[str, list[float]]
    """For each intent, how long each answer took."""
    before: int
    after: int

    @property
    def all(self) -> list[float]:
        return [one for some in self.seconds.values() for one in some]

    @property
    def best(self) -> list[float]:
        """Of each intent: the machine has disturbed it least."""
        return [min(some) for some in self.seconds.values()]


def percentile(seconds: list[float], part: float) -> str:
    """The least time that this part of them did not take longer than."""
    return f"{sorted(seconds)[math.ceil(len(seconds) * part) - 1] * 1000:.0f} ms"


def searches(environment: Mapping[str, str]) -> Searches:
    """`smart_fork` on a server that runs for long."""
    with running([prong_program(), "mcp"], environment) as server:
        server.start()
        server.ask("tools/list", {})
        newest = server.call("find_sessions", limit=50)["sessions"]
        for session in newest[:10]:
            server.call("list_turns", session=session["ref"])
            server.call("read_session", session=session["ref"])
        before = server.memory()
        seconds: dict[str, list[float]] = {intent: [] for intent in INTENTS}
        for number in range(_WARM + _COUNTED):
            for intent in INTENTS:
                began = time.perf_counter()
                server.call("smart_fork", intent=intent)
                if number >= _WARM:
                    seconds[intent].append(time.perf_counter() - began)
        return Searches(seconds, before, server.memory())


def environment(home: Path, store: Path) -> dict[str, str]:
    kinds = ("config", "state", "data", "cache")
    return {
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "HOME": str(home),
        **{f"XDG_{kind.upper()}_HOME": str(home / kind) for kind in kinds},
        "CLAUDE_CONFIG_DIR": str(store / "claude"),
        "CODEX_HOME": str(store / "codex"),
    }


def table(minimal: list[Start], ours: list[Start], found: Searches) -> str:
    least, own = min(one.wall for one in minimal), min(one.wall for one in ours)
    rows = (
        ("start to `initialize`, a minimal server", f"{least * 1000:.0f} ms"),
        ("start to `initialize`, `prong mcp`", f"{own * 1000:.0f} ms ({own / least:.2f} x)"),
        ("`smart_fork`, 95 % of 20 intents, best of 5 each", percentile(found.best, 0.95)),
        ("the same, the slowest: no session has any of its words", percentile(found.best, 1)),
        ("half of all 100 calls", percentile(found.all, 0.5)),
        ("95 % of all 100 calls", percentile(found.all, 0.95)),
        ("memory of the minimal server", f"{min(one.memory for one in minimal) / 1e6:.0f} MB"),
        ("memory before the first search", f"{found.before / 1e6:.0f} MB"),
        ("memory with the sentence model", f"{found.after / 1e6:.0f} MB"),
    )
    return "\n".join(["| | |", "|---|---|", *(f"| {what} | {value} |" for what, value in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--store", type=Path, help="use or make the store here, and keep it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prong-bench-") as temporary:
        store = options.store or Path(temporary) / "store"
        if not (store / MANIFEST).exists():
            argv = [sys.executable, "-m", "benchmarks.store", str(store), "--sessions=2000"]
            subprocess.run([*argv, "--megabytes=500"], stdout=sys.stderr, check=True)
        variables = environment(Path(temporary) / "home", store)
        minimal: list[Start] = []
        ours: list[Start] = []
        least = [sys.executable, "-m", "benchmarks.mcp_minimal"]
        for _ in range(options.rounds):
            minimal.append(started(least, variables))
            ours.append(started([prong_program(), "mcp"], variables))
        argv = [prong_program(), "index", "--no-vectors"]
        subprocess.run(argv, env=variables, stdout=sys.stderr, check=True)
        found = searches(variables)
        python = f"{platform.python_implementation()} {platform.python_version()}"
        system = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
        command = f"python -m benchmarks.mcp --rounds {options.rounds}"
        print(f"{datetime.now(UTC):%Y-%m-%d}, {python}, {system}. Made by `{command}`.\n")
        print(table(minimal, ours, found))


if __name__ == "__main__":
    main()
