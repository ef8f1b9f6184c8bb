"""Prints how faithful forks are: of every turn of every messy session, with the real agents.

    python -m benchmarks.fork_fidelity [--agent claude|codex] [--scenario NAME]...

The real programs build each session and resume each fork, against a fake model on 127.0.0.1, in
throw-away homes. A fork is faithful when the model gets exactly the turns up to its point; what
may differ is listed with how often it did. CI holds the same (tests/e2e/fidelity);
this does the retries of every turn, too. The exit status is 1 when a fork was not faithful.
"""

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from prong.testing.home import ESCAPES, IsolatedHome
from tests.e2e.fidelity.compare import (
    Bench,
    Case,
    Normalisation,
    Verdict,
    bench_of,
    path_with_codex,
)
from tests.e2e.labs import claude_scenarios, codex_scenarios
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import Scenario

Kind = Callable[[Bench], Iterable[Case]]

KINDS: dict[str, dict[str, Kind]] = {
    "claude": {
        "copy, at every turn": lambda claude: claude.at_every_turn(),
        "copy, --before-compaction": lambda claude: claude.before_compaction(),
        "native, at the end": lambda claude: [claude.native_at_the_end()],
        "copy, --retry of every prompt": lambda claude: claude.retry_of_every_prompt(),
    },
    "codex": {
        "copy, at every turn, by Codex where it can": lambda codex: codex.at_every_turn(),
        "copy, at every turn, by prong": lambda codex: codex.at_every_turn(written=True),
        "copy, --before-compaction": lambda codex: codex.before_compaction(),
        "native, at the end": lambda codex: [codex.native_at_the_end()],
        "copy, --retry of every prompt": lambda codex: codex.retry_of_every_prompt(),
    },
}


@dataclass
class Count:
    """What came of one kind of fork."""

    sessions: int = 0
    forks: int = 0
    faithful: int = 0
    untouched: int = 0
    seconds: float = 0.0
    used: Counter[Normalisation] = field(default_factory=Counter[Normalisation])

    def add(self, verdicts: Sequence[Verdict], seconds: float, *, untouched: bool) -> None:
        self.sessions += 1
        self.forks += len(verdicts)
        self.faithful += sum(verdict.is_faithful for verdict in verdicts)
        self.untouched += untouched
        self.seconds += seconds
        for verdict in verdicts:
            self.used.update(verdict.used)

    @property
    def is_perfect(self) -> bool:
        return self.faithful == self.forks and self.untouched == self.sessions

    def row(self, agent: str, kind: str) -> str:
        share = 100 * self.faithful / self.forks if self.forks else 0.0
        cells = [
            agent,
            kind,
            f"{self.sessions}",
            f"{self.forks}",
            f"{self.faithful}",
            f"{share:.1f} %",
            f"{self.untouched} of {self.sessions}",
            f"{self.seconds:.0f} s",
        ]
        return f"| {' | '.join(cells)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--agent", choices=sorted(KINDS), action="append")
    parser.add_argument("--scenario", action="append", metavar="NAME")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="prong-fidelity-") as folder:
        isolate(Path(folder))
        counts = {
            agent: measured(agent, Path(folder) / agent, options.scenario)
            for agent in options.agent or sorted(KINDS)
        }
    print_table(counts)
    perfect = all(count.is_perfect for kinds in counts.values() for count in kinds.values())
    return 0 if perfect else 1


def isolate(folder: Path) -> None:
    """From here on this process, too, has a throw-away home."""
    home = IsolatedHome.create(folder / "home")
    for name in ESCAPES:
        os.environ.pop(name, None)
    os.environ.update(home.variables())
    os.environ["PATH"] = path_with_codex()


def measured(agent: str, folder: Path, names: Sequence[str] | None) -> dict[str, Count]:
    counts = {kind: Count() for kind in KINDS[agent]}
    for scenario in built(agent, folder, names):
        for kind, cases_of in KINDS[agent].items():
            started = time.monotonic()
            with bench_of(scenario) as one:
                verdicts = one.verdicts(cases_of(one))
                untouched = one.is_source_untouched()
            counts[kind].add(verdicts, time.monotonic() - started, untouched=untouched)
            for verdict in verdicts:
                if not verdict.is_faithful:
                    print(f"NOT FAITHFUL, {kind}: {verdict}", file=sys.stderr)
        print(f"{agent} {scenario.name}", file=sys.stderr)
    return counts


def built(agent: str, folder: Path, names: Sequence[str] | None) -> Iterator[Scenario]:
    """The scenarios, built ahead of their use."""
    module = claude_scenarios if agent == "claude" else codex_scenarios
    wanted = [name for name in module.BUILDERS if names is None or name in names]
    with closing(ScenarioCache(module.build, folder)) as cache:
        cache.expect(wanted)
        for name in wanted:
            yield cache.get(name)


def print_table(counts: dict[str, dict[str, Count]]) -> None:
    print("| agent | fork | sessions | forks | faithful | share | sources untouched | time |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    used: Counter[tuple[str, Normalisation]] = Counter()
    for agent, kinds in counts.items():
        for kind, count in kinds.items():
            print(count.row(agent, kind))
            used.update({(agent, normalisation): n for normalisation, n in count.used.items()})
    print(f"\n| what may differ | {' | '.join(KINDS)} |\n|---|---:|---:|")
    for normalisation in Normalisation:
        cells = [f"{used[agent, normalisation]}" for agent in KINDS]
        print(f"| {normalisation} | {' | '.join(cells)} |")


if __name__ == "__main__":
    sys.exit(main())
