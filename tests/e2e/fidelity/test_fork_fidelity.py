"""The proof: a fork at turn k sends the model exactly the first k turns.

Every messy session that the real agents built is forked at every turn, into another folder. The
real agent resumes the fork, and what reaches the fake model is held against what the agent itself
sent when the session was built (native.py). What may differ is listed and explained in
`Normalisation`. The source's files have the same bytes afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise

import pytest

from prong.model.sessions import Turn, View
from prong.testing.openai import CODEX_INJECTED as INJECTED
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_terminal import CodexTerminal
from tests.drivers.requests import Item
from tests.e2e.fidelity.compare import (
    Bench,
    Case,
    ClaudeBench,
    CodexBench,
    bench_of,
    judge,
    path_with_codex,
)
from tests.e2e.fidelity.native import begins, ended, in_free_order, spoken
from tests.e2e.fidelity.test_resume_equivalence import MADE_UP_RESULTS, as_items, as_text
from tests.e2e.labs import claude_scenarios, codex_scenarios
from tests.e2e.labs.cache import ScenarioCache
from tests.e2e.scenario import PROBE


@pytest.fixture
def threads(codex_threads: ScenarioCache, monkeypatch: pytest.MonkeyPatch) -> ScenarioCache:
    """The messy Codex threads, with Codex on PATH."""
    monkeypatch.setenv("PATH", path_with_codex())
    return codex_threads


def prove(bench: Bench, cases: Iterable[Case]) -> None:
    """Run the forks; each must send what it should."""
    wrong = [verdict for verdict in bench.verdicts(cases) if not verdict.is_faithful]
    assert not wrong, "\n".join(map(str, wrong))
    assert bench.is_source_untouched()


# -- headless --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", claude_scenarios.BUILDERS)
def test_claude_at_every_turn(name: str, claude_sessions: ScenarioCache) -> None:
    """Once more with --before-compaction where there is a summary."""
    with bench_of(claude_sessions.get(name)) as claude:
        prove(claude, chain(claude.at_every_turn(), claude.before_compaction()))


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_codex_at_every_turn(name: str, threads: ScenarioCache) -> None:
    """By Codex itself where it can: at a finished turn of the active conversation."""
    with bench_of(threads.get(name)) as codex:
        prove(codex, chain(codex.at_every_turn(), codex.before_compaction()))


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_codex_at_every_turn_written_by_prong(name: str, threads: ScenarioCache) -> None:
    with bench_of(threads.get(name)) as codex:
        prove(codex, codex.at_every_turn(written=True))


@pytest.mark.parametrize("name", claude_scenarios.BUILDERS)
def test_claude_native_at_the_end_and_retry(name: str, claude_sessions: ScenarioCache) -> None:
    with bench_of(claude_sessions.get(name)) as claude:
        native = claude.native_at_the_end()
        prove(claude, [native, claude.retry(claude.retryable()[-1])])
        # It lies in the project of the other folder, under the id that the plan named.
        written = (claude.home.claude / "projects").glob(f"*/{native.fork.child.id}.jsonl")
        assert [path.parent.name.endswith("-forks") for path in written] == [True]


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_codex_native_at_the_end_and_retry(name: str, threads: ScenarioCache) -> None:
    with bench_of(threads.get(name)) as codex:
        prove(codex, [codex.native_at_the_end(), codex.retry(codex.retryable()[-1])])


@pytest.mark.parametrize("name", ["custom_command", "queued_two", "tool_calls"])
def test_claude_retry_of_every_prompt(name: str, claude_sessions: ScenarioCache) -> None:
    """From the first turn, where the fork is a new session, to a command of the user's own."""
    with bench_of(claude_sessions.get(name)) as claude:
        prove(claude, claude.retry_of_every_prompt())


@pytest.mark.parametrize("name", ["queued", "tool_calls"])
def test_codex_retry_of_every_prompt(name: str, threads: ScenarioCache) -> None:
    with bench_of(threads.get(name)) as codex:
        prove(codex, codex.retry_of_every_prompt())


# -- what the items do not show --------------------------------------------------------------------


def test_a_long_result_can_be_read_in_the_fork(claude_sessions: ScenarioCache) -> None:
    with bench_of(claude_sessions.get("big_output")) as claude:
        case = claude.at(claude.native.turns[1])
        claude.run(case.fork)
        (told,) = [i.text for i in claude.sent_by(case.fork.child.id) if i.role == "result"]
        assert case.fork.path is not None
        (copy,) = (case.fork.path.with_suffix("") / "tool-results").iterdir()
        assert str(copy) in told
        assert copy.read_text().split() == [str(number) for number in range(1, 60_001)]


# -- in the terminal -------------------------------------------------------------------------------


def turn_of(bench: Bench, prompt: str) -> Turn:
    return next(turn for turn in bench.native.turns if turn.prompt == prompt)


def typed(case: Case) -> list[str]:
    """What to type behind the program's name."""
    assert case.fork.launch is not None
    return list(case.fork.launch.argv[1:])


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("tool_calls", "beta two"),
        ("parallel_tools", "alpha one"),
        ("subagent_foreground", "beta two"),
        ("compact_then_turns", "delta four"),
        ("rewind", "epsilon five"),
        ("rewind", "gamma three"),  # on the abandoned branch
    ],
)
def test_claude_in_the_terminal(name: str, prompt: str, claude_sessions: ScenarioCache) -> None:
    """The command that prong prints, typed as it is: the fork answers its first prompt."""
    with ClaudeBench(claude_sessions.get(name)) as claude:
        case = claude.at(turn_of(claude, prompt))
        with ClaudeTerminal.open(claude.cli, claude.elsewhere, typed(case)) as terminal:
            terminal.tmux.wait_for(f"ECHO: {PROBE}")
            assert terminal.session_id() == case.fork.child.id
            terminal.wait_quiet()
            terminal.exit()
        verdict = judge(claude, case, claude.sent_by(case.fork.child.id))
        assert verdict.is_faithful, str(verdict)
        assert claude.is_source_untouched()


@pytest.mark.parametrize(
    ("name", "prompt"),
    [
        ("tool_calls", "beta two"),
        ("parallel_tools", "alpha one"),
        ("subagent", "beta two"),
        ("subagent_late", "beta two"),
        ("compact_then_turns", "delta four"),
        ("rewind", "delta four"),
        ("rewind", "gamma three"),  # on the abandoned branch
    ],
)
def test_codex_in_the_terminal(name: str, prompt: str, threads: ScenarioCache) -> None:
    with CodexBench(threads.get(name)) as codex:
        case = codex.at(turn_of(codex, prompt))
        id_ = case.fork.child.id
        with CodexTerminal.open(codex.cli, codex.elsewhere, typed(case), id_) as terminal:
            terminal.tmux.wait_for(f"ECHO: {PROBE}")
            terminal.wait_quiet()
            terminal.exit()
        verdict = judge(codex, case, codex.sent_by(id_))
        assert verdict.is_faithful, str(verdict)
        assert codex.is_source_untouched()


# -- the measure itself, without a fork ------------------------------------------------------------


def as_read(bench: Bench) -> list[Item]:
    """The last turn's history as our reader has it."""
    items = as_items(bench.store.messages(bench.session, view=View.CONTEXT))
    told = [item for item in items if item.role != "user" or not item.text.startswith(INJECTED)]
    return stripped(ended(told))


def stripped(items: Iterable[Item]) -> list[Item]:
    """As readers have them, without thoughts and results that the agent made up."""
    kept = [item for item in in_free_order(items) if not item.text.startswith(MADE_UP_RESULTS)]
    return spoken(map(as_text, kept))


@pytest.mark.parametrize("name", claude_scenarios.BUILDERS)
def test_the_measure_of_claude(name: str, claude_sessions: ScenarioCache) -> None:
    with bench_of(claude_sessions.get(name)) as claude:
        agrees(claude)


@pytest.mark.parametrize("name", codex_scenarios.BUILDERS)
def test_the_measure_of_codex(name: str, threads: ScenarioCache) -> None:
    with bench_of(threads.get(name)) as codex:
        agrees(codex)


def agrees(bench: Bench) -> None:
    """Turns only ever add to what was said, and the last history is the one that we read.

    Without thoughts: which of them are sent depends on the model of the next turn.
    """
    native = bench.native
    words = [native.until_in_full(turn) for turn in native.conversation.turns]
    assert all(begins(after, before) for before, after in pairwise(words))
    assert stripped(ended(native.until(native.conversation.turns[-1]))) == as_read(bench)
    for turn in native.turns:
        if not native.is_summarised(turn):
            assert stripped(ended(native.until(turn))) == stripped(native.until_in_full(turn))


def test_the_measure_sees_the_prompt_of_a_later_turn(claude_sessions: ScenarioCache) -> None:
    with bench_of(claude_sessions.get("tool_calls")) as claude:
        early, late = claude.native.turns[1:3]
        case = Case("one too many", early, claude.fork(late), claude.native.until(early))
        assert list(claude.leaked(case)) == [late.prompt]


def test_the_measure_sees_a_turn_too_few(claude_sessions: ScenarioCache) -> None:
    with bench_of(claude_sessions.get("tool_calls")) as claude:
        early, late = claude.native.turns[1:3]
        case = Case("one too few", late, claude.fork(early), claude.native.until(late))
        assert not claude.verdict(case).is_faithful
