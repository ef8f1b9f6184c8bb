"""Fork real sessions at every turn and compare with what the agent itself would send.

    python -m benchmarks.real_fidelity [--agent claude|codex] [--minutes N] [--seed N] [--sdk]
    python -m benchmarks.real_fidelity --agent claude --damage [--seed N]

Takes the sessions of ../shared/corpus (or PRONG_CORPUS). At each turn the real program says what it
sends to the model when it forks there; then prong's fork is resumed, and both are compared
(docs/internals/fork-fidelity.md). PRONG_TEST_CLAUDE and PRONG_TEST_CODEX name other versions of the
programs. Exits with 1 when a fork is not exact.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from benchmarks.fork_fidelity import isolate
from tests.corpus import corpus
from tests.e2e.fidelity import real_claude, real_codex
from tests.e2e.fidelity.damage import damaged
from tests.e2e.fidelity.real_claude import ClaudeJudge
from tests.e2e.fidelity.real_codex import CodexJudge
from tests.e2e.fidelity.real_sessions import (
    Judge,
    Outcome,
    Point,
    RealSession,
    Table,
    Verdict,
    markdown,
    spread,
    verdicts,
)

SESSIONS = {"claude": real_claude.sessions, "codex": real_codex.sessions}
JUDGES: dict[str, Callable[[RealSession, Path], Judge]] = {
    "claude": ClaudeJudge,
    "codex": CodexJudge,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--agent", choices=sorted(JUDGES), action="append")
    parser.add_argument("--minutes", type=float, help="stop after this long, for each agent")
    parser.add_argument("--pairs", type=int, help="stop after this many turns of each agent")
    parser.add_argument("--seed", type=int, default=0, help="order of the turns (default: 0)")
    parser.add_argument("--session", help="only sessions whose path contains this")
    parser.add_argument("--class", dest="class_", help="only sessions of this class")
    parser.add_argument(
        "--damage", action="store_true", help="judge the end of a damaged copy of each session"
    )
    parser.add_argument("--sdk", action="store_true", help="judge claude-agent-sdk as well")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    exact = True
    with tempfile.TemporaryDirectory(prefix="prong-real-") as name:
        folder = Path(name)
        isolate(folder)
        corpus.unpack(folder / "corpus")
        for agent in options.agent or sorted(JUDGES):
            makers = ["prong", "sdk"] if options.sdk and agent == "claude" else ["prong"]
            run = Run(agent, folder / agent, makers)
            found = [
                session
                for session in SESSIONS[agent](folder / "corpus")
                if not options.session or options.session in session.name
                if not options.class_ or options.class_ in session.classes
            ]
            if options.damage and agent == "claude":
                found = damaged(found, folder / "damaged", options.seed)
                points = [run.points(session)[-1] for session in found]
            else:
                points = spread([p for session in found for p in run.points(session)], options.seed)
            deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
            run.judge(points[: options.pairs], options.jobs, deadline)
            run.print()
            exact = exact and run.table.is_exact("prong")
    return 0 if exact else 1


@dataclass
class Run:
    """The judgement of one agent's sessions."""

    agent: str
    folder: Path
    makers: Sequence[str]
    table: Table = field(default_factory=Table)
    _numbers: Iterator[int] = field(default_factory=count)

    def points(self, session: RealSession) -> list[Point]:
        """The turns of a session."""
        with self._open(session) as judge:
            return judge.points()

    def judge(self, points: Sequence[Point], jobs: int, deadline: float | None) -> None:
        """Judge the turns, several at a time, until the deadline or Ctrl-C."""

        def one(point: Point) -> list[Verdict]:
            if deadline is not None and time.monotonic() > deadline:
                return []
            with self._open(point.session) as judge:
                return list(verdicts(judge, point, self.makers))

        with ThreadPoolExecutor(jobs) as pool:
            try:
                for number, found in enumerate(pool.map(one, points), 1):
                    self.table.verdicts += found
                    for verdict in found:
                        if verdict.outcome is not Outcome.EXACT:
                            print(verdict, file=sys.stderr, flush=True)
                    if number % 50 == 0:
                        print(f"{number} of {len(points)} turns", file=sys.stderr, flush=True)
            except KeyboardInterrupt:
                # The table of what was judged so far is worth printing.
                pool.shutdown(cancel_futures=True)

    def _open(self, session: RealSession) -> Judge:
        return JUDGES[self.agent](session, self.folder / f"{next(self._numbers):05d}")

    def print(self) -> None:
        """Print the outcomes, and those of each class of session."""
        judged = {verdict.point for verdict in self.table.verdicts}
        print(f"\n## {self.agent}: {len(judged)} turns of ", end="")
        print(f"{len({point.session for point in judged})} sessions\n")
        print(markdown((maker, self.table.counts(maker)) for maker in self.makers))
        classes = sorted({name for point in judged for name in point.session.classes})
        for maker in self.makers:
            print(f"\n{maker}, by what the session contains:\n")
            print(markdown((name, self.table.counts(maker, name)) for name in classes))


if __name__ == "__main__":
    sys.exit(main())
