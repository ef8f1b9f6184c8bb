"""Forks of real sessions send what the agent itself would send: a fixed sample of the corpus.

`python -m benchmarks.real_fidelity` judges every turn of every session in the same way. The sample
covers what real sessions contain: results between the calls of one message, signature-only
thinking, parallel results, progress, interrupts, compactions, local commands, missing parents.
"""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.corpus import corpus
from tests.e2e.fidelity import real_claude, real_codex
from tests.e2e.fidelity.real_claude import ClaudeJudge
from tests.e2e.fidelity.real_codex import CodexJudge
from tests.e2e.fidelity.real_sessions import Judge, Outcome, RealSession, verdicts

FIND = {"claude": real_claude.session_at, "codex": real_codex.session_at}
JUDGES: dict[str, Callable[[RealSession, Path], Judge]] = {
    "claude": ClaudeJudge,
    "codex": CodexJudge,
}
CLASSES = (
    "interleaved message",
    "signature-only thinking",
    "parallel results",
    "progress",
    "attachment",
    "interrupt",
    "local_command",
    "compact_boundary",
    "bash mode",
    "image",
    "missing parent",
)


class Row(NamedTuple):
    agent: str
    file: str
    turn: int


def sample() -> list[Row]:
    table = Path(__file__).with_name("real_sample.tsv")
    with table.open(encoding="utf-8", newline="") as lines:
        return [
            Row(row["agent"], row["file"], int(row["turn"]))
            for row in csv.DictReader(lines, delimiter="\t")
        ]


SAMPLE = sample()


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not corpus.corpus_folder().is_dir():
        pytest.skip("the shared corpus is not beside the project; PRONG_CORPUS names its folder")
    target = tmp_path_factory.mktemp("corpus")
    corpus.unpack(target)
    return target


def found(row: Row, folder: Path) -> RealSession:
    session = FIND[row.agent](folder / row.file, folder)
    assert session is not None
    return session


@pytest.mark.parametrize("row", SAMPLE, ids=str)
def test_a_fork_sends_what_the_agent_would_send(row: Row, unpacked: Path, tmp_path: Path) -> None:
    with JUDGES[row.agent](found(row, unpacked), tmp_path / "home") as judge:
        point = judge.points()[row.turn - 1]
        (verdict,) = verdicts(judge, point, ["prong"])
    assert verdict.outcome is Outcome.EXACT, str(verdict)


def test_the_sample_covers_every_class(unpacked: Path) -> None:
    classes = Counter(
        name for row in SAMPLE if row.agent == "claude" for name in found(row, unpacked).classes
    )
    assert [name for name in CLASSES if not classes[name]] == []
    assert len(SAMPLE) >= 40
