"""What workers cost; prints a table in markdown.

    python -m benchmarks.workers [--rounds 3] [--many 50] [--parallel 30]

Panes are those of a tmux of its own. The first rows start a program that only stands there, so that
nothing of the agent's own start is in them; the last ones run the real Claude Code.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from benchmarks import measure
from benchmarks.measure import Cost
from prong.agents.claude.store import ClaudeStore
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.script import Delay, Reply, Text
from prong.testing.wait import wait_until
from tests.drivers.claude_cli import ClaudeCli

_STANDS_THERE = """#!/bin/sh
case "$1" in
--help) echo "{help}"; exit;;
--version) echo 1.2.3; exit;;
esac
exec sleep 1000
"""


@dataclass
class Bench:
    """A home, and a tmux server of its own."""

    home: IsolatedHome
    socket: Path
    environment: dict[str, str]

    def prong(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "prong", *words]

    def cost(self, *words: str) -> Cost:
        return measure.program(self.prong(*words), environment=self.environment)

    def json(self, *words: str) -> dict[str, Any]:
        argv = self.prong(*words, "--json")
        done = subprocess.run(argv, env=self.environment, capture_output=True, check=True)
        return json.loads(done.stdout)

    def queries(self, *words: str) -> int:
        """How many times a command of prong starts tmux."""
        folder = self.home.root / "counting"
        folder.mkdir(exist_ok=True)
        count, tmux = folder / "count", shutil.which("tmux")
        wrapper = folder / "tmux"
        wrapper.write_text(f'#!/bin/sh\necho x >> "{count}"\nexec {tmux} "$@"\n')
        wrapper.chmod(0o755)
        count.write_text("")
        environment = {**self.environment, "PATH": f"{folder}:{self.environment['PATH']}"}
        subprocess.run(self.prong(*words), env=environment, capture_output=True, check=True)
        return len(count.read_text().split())


@contextmanager
def bench(folder: Path, extra: dict[str, str]) -> Generator[Bench]:
    home = IsolatedHome.create(folder / "home")
    socket = folder / "tmux"
    environment = home.env({**extra, "PRONG_TMUX_SOCKET": str(socket)})
    try:
        yield Bench(home, socket, environment)
    finally:
        tmux = shutil.which("tmux") or "tmux"
        subprocess.run([tmux, "-S", str(socket), "kill-server"], capture_output=True, check=False)


def stand_in(folder: Path) -> str:
    """A `claude` that knows its flags and does nothing; the PATH that has it first."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "claude"
    flags = "\n".join(f"  {flag}  does" for flag in ClaudeStore().program.flags)
    program.write_text(_STANDS_THERE.format(help=flags))
    program.chmod(0o755)
    return f"{folder}:/usr/local/bin:/usr/bin:/bin"


def starting(folder: Path, rounds: int, many: int, parallel: int) -> list[str]:
    with bench(folder, {}) as made:
        made.environment["PATH"] = stand_in(folder / "bin")
        project = made.home.project("shop")
        words = ("run", "--ready-timeout", "0", "--project", str(project))
        made.cost(*words)  # the first start of tmux, and what is remembered of programs
        best: Cost | None = None
        for _ in range(rounds):
            best = made.cost(*words).least(best)
        assert best is not None
        rows = [f"| `prong run` to the pane open, with a worktree | {best.cpu * 1000:.0f} ms CPU |"]
        plain: Cost | None = None
        for _ in range(rounds):
            plain = made.cost(*words, "--no-worktree").least(plain)
        assert plain is not None
        rows.append(f"| the same without a worktree | {plain.cpu * 1000:.0f} ms CPU |")
        rows += _parallel(made, words, parallel)
        count = len(_workers(made))

        def one_more(_: int) -> dict[str, Any]:
            return made.json(*words, "--no-worktree")

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(one_more, range(many - count)))
        looked: Cost | None = None
        for _ in range(rounds):
            looked = made.cost("ps").least(looked)
        assert looked is not None
        asked = made.queries("ps")
        rows.append(
            f"| `prong ps` of {len(_workers(made))} workers "
            f"| {looked.cpu * 1000:.0f} ms CPU, tmux asked {asked} x |"
        )
        return rows


def _workers(made: Bench) -> list[dict[str, Any]]:
    return cast(list[dict[str, Any]], made.json("ps")["workers"])


def _parallel(made: Bench, words: tuple[str, ...], count: int) -> list[str]:
    before = {str(one["name"]) for one in _workers(made)}
    began = time.perf_counter()
    started = [
        subprocess.Popen(
            made.prong(*words, "--json"), env=made.environment, stdout=subprocess.DEVNULL
        )
        for _ in range(count)
    ]
    failed = sum(process.wait() != 0 for process in started)
    seconds = time.perf_counter() - began
    fresh = [one for one in _workers(made) if one["name"] not in before]
    distinct = [len({json.dumps(one[key]) for one in fresh}) for key in ("name", "session", "pane")]
    kept = f"names/sessions/panes: {distinct[0]}/{distinct[1]}/{distinct[2]}"
    return [f"| {count} started at once | {seconds:.1f} s, {failed} failed, {kept} |"]


def idle(folder: Path, rounds: int) -> list[str]:
    """How long after the end of a turn `prong wait` returns, with the daemon and without."""
    rows: list[str] = []
    with FakeAnthropic() as server, bench(folder, {}) as made:
        cli = ClaudeCli(made.home, server.url)
        project = made.home.project("shop")
        cli.prepare(project)
        made.environment |= cli.env({"PRONG_TMUX_SOCKET": str(made.socket)})
        made.environment["PATH"] = f"{cli.program.parent}:{made.environment['PATH']}"
        run = ("run", "--name", "timed", "--no-worktree", "--project", str(project))
        made.json(*run, "--skip-permissions")
        rows.append(_late(made, server, rounds, "without the daemon"))
        daemon = subprocess.Popen(
            made.prong("serve"), env=made.environment, stderr=subprocess.DEVNULL
        )
        try:
            wait_until(lambda: _has_daemon(made), 20, "the daemon")
            rows.append(_late(made, server, rounds, "with the daemon"))
        finally:
            daemon.terminate()
            daemon.wait()
        subprocess.run(made.prong("stop", "timed", "--force"), env=made.environment, check=False)
    return rows


def _has_daemon(made: Bench) -> bool:
    return any((made.home.root / ".local/state/prong").glob("*.sock"))


def _late(made: Bench, server: FakeAnthropic, rounds: int, how: str) -> str:
    late: list[float] = []
    for number in range(rounds):
        server.enqueue(Reply(Text("half "), Delay(1.5), Text("done")))
        subprocess.run(
            made.prong("send", "timed", f"question {number} {how}"),
            env=made.environment,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        argv = made.prong("wait", "timed")
        subprocess.run(argv, env=made.environment, check=True, stdout=subprocess.DEVNULL)
        seen = time.time()
        late.append(seen - _idle_since(made))
    middle, most = statistics.median(late), max(late)
    return f"| idle seen after the turn's end, {how} | {middle:.2f} s, at most {most:.2f} s |"


def _idle_since(made: Bench) -> float:
    """When Claude Code itself wrote that it is idle."""
    (entry,) = (made.home.claude / "sessions").glob("*.json")
    known = json.loads(entry.read_bytes())
    assert known["status"] == "idle", known
    return float(known.get("statusUpdatedAt", known["updatedAt"])) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--many", type=int, default=50)
    parser.add_argument("--parallel", type=int, default=30)
    options = parser.parse_args()
    os.environ.pop("TMUX", None)
    with tempfile.TemporaryDirectory(prefix="prong-bench-") as name:
        folder = Path(name)
        print("| workers | |\n|---|---|")
        rows = starting(folder / "a", options.rounds, options.many, options.parallel)
        print("\n".join(rows), flush=True)
        print("\n".join(idle(folder / "b", options.rounds)))


if __name__ == "__main__":
    main()
