"""What the code of a turn costs, beside plain git; prints a table in markdown.

    python -m benchmarks.snapshots [--rounds 5] [--small]

Each row and its baseline run in turns, on the same repository, with as many files changed since.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shutil import copy2

from benchmarks import measure
from benchmarks.measure import Cost
from prong.app import App
from prong.code.snapshots import snapshot
from prong.forks.request import ForkRequest
from prong.hook import spool
from prong.model.code import TurnKey
from prong.model.forks import Code
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.samples.claude import ClaudeSample

SESSION = "60309e1e-9d1c-4b5a-8d59-6a1c3f7be210"
_PROGRAM = (
    f"#!{sys.executable}\nimport sys\nfrom prong.hook.program import main\nsys.exit(main())\n"
)
"""As pip makes it."""
_IN_A_FOLDER = 50
_OLD = 1_700_000_000


@dataclass
class Bench:
    """A repository in a home of its own, and a session of Claude Code that works on it."""

    home: IsolatedHome
    repo: Path
    files: list[Path]
    changed: int
    """So many files change in a turn."""
    sample: ClaudeSample
    edits: int = 0
    made: int = 0
    environment: dict[str, str] = field(default_factory=dict[str, str])
    transcript: Path | None = None
    program: str = _PROGRAM

    @classmethod
    def make(cls, folder: Path, count: int, changed: int) -> "Bench":
        home = IsolatedHome.create(folder)
        repo = home.project("shop")
        files = [repo / f"src/part{n // _IN_A_FOLDER}/file{n}.py" for n in range(count)]
        for number, path in enumerate(files):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"# file {number}\n" + f"value = {number}\n" * (number % 100))
            os.utime(path, (_OLD, _OLD))
        sample = ClaudeSample(SESSION, str(repo), datetime.now(UTC))
        bench = cls(home, repo, files, changed, sample, environment=home.env())
        bench.git("config", "gc.auto", "0")
        bench.git("add", "-A")
        bench.git("commit", "-q", "-m", "all of it")
        bench.git("gc", "-q")
        bench.hook()  # so that the files that were changed once are known, as on every later turn
        return bench

    def git(self, *words: str) -> None:
        argv = ["git", *words]
        subprocess.run(argv, cwd=self.repo, env=self.environment, check=True)

    def turn(self) -> str:
        """The agent changes files and answers; the id of the turn."""
        self.edits += 1
        step = len(self.files) // self.changed
        for path in self.files[:: step or 1][: self.changed]:
            path.write_text(f"# changed for the {self.edits}th time\nprint({str(path)!r})\n")
        turn = self.sample.prompt(f"change {self.changed} files, again: {self.edits}")
        self.sample.answer(f"done for the {self.edits}th time")
        self._write_session()
        return turn

    def _write_session(self) -> None:
        if self.transcript is not None:
            self.transcript.unlink()
        self.transcript = self.sample.write(self.home.claude)

    def convert(self) -> None:
        """From now on files may lie there with other bytes than git has of them."""
        (self.repo / ".gitattributes").write_text("* text=auto\n")
        snapshot.take(self.repo, TurnKey("claude", SESSION, self.turn()))

    # -- what is measured -------------------------------------------------------------------------

    def hook(self) -> Cost:
        """`prong-hook` as an agent calls it: through a shell, the event on standard input."""
        turn = self.turn()
        event = {
            "session_id": SESSION,
            "transcript_path": str(self.transcript),
            "cwd": str(self.repo),
            "permission_mode": "default",
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": f"done for the {self.edits}th time",
        }
        given = self.home.tmp / "event.json"
        given.write_text(json.dumps(event))
        program = self.home.tmp / "prong-hook"
        program.write_text(self.program)
        program.chmod(0o755)
        command = ("sh", "-c", '"$1" claude < "$0"', str(given), str(program))
        cost = measure.program(command, environment=self.environment)
        told = spool.waiting(self.home.root / ".local/state/prong/spool")[-1]
        if told["degraded"] or told["snapshot"]["turn"] != turn:
            raise ValueError(f"the hook did not do its work: {told}")
        return cost

    def take(self) -> Cost:
        """The snapshot alone, in this process."""
        key = TurnKey("claude", SESSION, self.turn())
        return timed(lambda: snapshot.take(self.repo, key))

    def add(self) -> Cost:
        """The baseline: git itself puts everything into an index that is not the user's."""
        self.turn()
        index = self.home.tmp / "index"
        copy2(self.repo / ".git/index", index)
        command = ("sh", "-c", 'cd "$0" && git add -A && git write-tree', str(self.repo))
        environment = {**self.environment, "GIT_INDEX_FILE": str(index)}
        return measure.program(command, environment=environment)

    def worktree(self) -> Cost:
        """The code of the last turn in a new worktree."""
        last = snapshot.find(self.repo)[-1]
        root, name = self.home.root / "worktrees", self._name()
        return timed(lambda: making.create(last, root / name, name, root=root))

    def fork(self) -> Cost:
        """The whole fork: the conversation up to the last turn, and a worktree with its code."""
        with closing(App(needs_programs=False)) as app:
            app.sessions.all()
            options = ForkRequest(code=Code.TURN)
            return timed(lambda: app.forks.make(app.forks.plan(f"claude:{SESSION}", options)))

    def worktree_add(self) -> Cost:
        """The baseline: `git worktree add`, without anything that is not committed."""
        root, name = self.home.root / "plain", self._name()
        words = ("git", "-C", str(self.repo), "worktree", "add", "-q", "-b", name)
        command = (*words, str(root / name), "HEAD")
        return measure.program(command, environment=self.environment)

    def _name(self) -> str:
        # None is removed before the end: after that, making files takes several times as long.
        self.made += 1
        return f"made-{self.made}"


def timed(work: Callable[[], object]) -> Cost:
    """What it costs in this process and in those that it starts."""
    wall, used = time.perf_counter(), os.times()
    work()
    now = os.times()
    cpu = sum(now[:4]) - sum(used[:4])
    return Cost(cpu, time.perf_counter() - wall, 0, 0)


def best(rounds: int, jobs: dict[str, Callable[[], Cost]]) -> dict[str, Cost]:
    """Every job so many times; the least figures of each.

    Who comes first changes: a job pays for what the one before left to be written to the disk.
    """
    found: dict[str, Cost] = {}
    names = list(jobs)
    for _ in range(rounds):
        for name in names:
            found[name] = jobs[name]().least(found.get(name))
        names.append(names.pop(0))
    return found


def row(what: str, cost: Cost, plain: Cost, limit: str) -> tuple[str, ...]:
    figures = [f"{figure * 1000:.0f} ms" for figure in (cost.wall, cost.cpu, plain.wall)]
    return (what, *figures, f"{cost.wall / plain.wall:.2f} x", limit)


def rows_of(folder: Path, rounds: int, *, small: bool) -> list[tuple[str, ...]]:
    bench = Bench.make(folder / "5k", 5000, 5)
    jobs = {"hook": bench.hook, "take": bench.take, "add": bench.add}
    cost = best(rounds, jobs)
    rows = [
        row("`prong-hook`, 5 of 5,000 files", cost["hook"], cost["add"], "250 ms, 5 x"),
        row("the snapshot alone", cost["take"], cost["add"], ""),
    ]
    os.environ.update(bench.environment)
    jobs = {"fork": bench.fork, "worktree": bench.worktree, "add": bench.worktree_add}
    cost = best(rounds, jobs)
    rows += [
        row("a fork with a worktree of 5,000 files", cost["fork"], cost["add"], "1.5 x"),
        row("the worktree alone", cost["worktree"], cost["add"], ""),
    ]
    return rows if small else rows + large_rows_of(folder, rounds)


def large_rows_of(folder: Path, rounds: int) -> list[tuple[str, ...]]:
    bench = Bench.make(folder / "100k", 100_000, 300)
    jobs = {"hook": bench.hook, "add": bench.add}
    plain = best(rounds, jobs)
    bench.convert()
    converting = best(rounds, jobs)
    what = "`prong-hook`, 300 of 100,000 files"
    return [
        row(what, plain["hook"], plain["add"], "1.5 s"),
        row(f"{what}, `* text=auto`", converting["hook"], converting["add"], "1.5 s"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--small", action="store_true", help="without the 100,000 files")
    options = parser.parse_args()
    rows = [("what", "wall", "CPU", "plain git, wall", "ratio", "limit"), ("---",) * 6]
    with tempfile.TemporaryDirectory(prefix="prong-snapshots-") as folder:
        rows += rows_of(Path(folder), options.rounds, small=options.small)
    print(f"Best of {options.rounds}; wall time, and the CPU time of all processes.\n")
    print("\n".join("| " + " | ".join(each) + " |" for each in rows))


if __name__ == "__main__":
    main()
