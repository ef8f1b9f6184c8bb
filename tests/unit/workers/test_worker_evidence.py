"""What claims about a worker amount to: each row of the table, and what no claims may ever do."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prong.model.workers import Evidence, WorkerState
from prong.workers.evidence import COMMAND, LIVE, NO_TURN, OPENED, SETTLED, WRITTEN, judge

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
BUSY, IDLE, WAITING = WorkerState.BUSY, WorkerState.IDLE, WorkerState.WAITING
GONE, STARTING, UNKNOWN = WorkerState.GONE, WorkerState.STARTING, WorkerState.UNKNOWN


def claim(
    state: WorkerState, source: str, ago: float | None = None, detail: str | None = None
) -> Evidence:
    time = None if ago is None else NOW - timedelta(seconds=ago)
    return Evidence(state, source, time, detail)


def state(*claims: Evidence) -> WorkerState:
    return judge(claims, NOW).state


def test_what_ended_is_gone_whatever_else_is_said() -> None:
    newer = [claim(BUSY, "hook", 0), claim(IDLE, "registry", 0), claim(WAITING, "dialog", 0)]
    assert state(*newer, claim(GONE, "process")) is GONE
    assert state(*newer, claim(GONE, "pane")) is GONE


def test_a_headless_turn() -> None:
    assert state(claim(BUSY, "process", 4000)) is BUSY
    assert state(claim(IDLE, "log", 0)) is IDLE
    assert state(claim(GONE, "log", 0)) is GONE


def test_who_wants_a_person_waits() -> None:
    assert state(claim(WAITING, "registry", 9000)) is WAITING
    assert state(claim(BUSY, "registry", 60), claim(WAITING, "hook", 50)) is WAITING
    assert state(claim(WAITING, "hook", 9000)) is WAITING


@pytest.mark.parametrize("live", [claim(BUSY, "lock", 40), claim(IDLE, "lock", 40)])
def test_who_was_answered_waits_no_longer(live: Evidence) -> None:
    assert state(live, claim(WAITING, "hook", 50)) is live.state


def test_who_goes_on_writing_waits_no_longer() -> None:
    asked = claim(WAITING, "hook", 50)
    assert state(claim(BUSY, "lock", 60), asked, claim(UNKNOWN, WRITTEN, 20)) is BUSY
    assert state(asked, claim(UNKNOWN, WRITTEN, 20)) is UNKNOWN
    assert state(asked, claim(UNKNOWN, WRITTEN, 49)) is WAITING  # the question itself


def test_a_turn_that_a_hook_calls_over_is_not_over_before_the_program_says_so() -> None:
    assert state(claim(BUSY, "registry", 60), claim(IDLE, "hook", 30)) is BUSY


def test_an_idle_program() -> None:
    assert state(claim(IDLE, "registry", 90000)) is IDLE
    assert state(claim(IDLE, "lock")) is IDLE  # nothing was asked yet
    assert state(claim(IDLE, "registry", 20), claim(BUSY, "hook", 30)) is IDLE
    assert state(claim(IDLE, "registry", 20), claim(BUSY, "prompt", 30)) is IDLE


@pytest.mark.parametrize("source", ["hook", "prompt"])
def test_a_prompt_is_newer_than_the_idle(source: str) -> None:
    assert state(claim(IDLE, "registry", 20), claim(BUSY, source, 3)) is BUSY
    assert state(claim(IDLE, "registry", 200), claim(BUSY, source, 100)) is UNKNOWN
    assert state(claim(IDLE, "lock"), claim(BUSY, source, 3)) is BUSY


def test_a_turn_that_is_too_short_for_the_registry_is_seen_by_hooks() -> None:
    prompt = claim(BUSY, "prompt", 20)
    found = judge([claim(IDLE, "registry", 60), prompt, claim(IDLE, "hook", 10)], NOW)
    assert (found.state, found.source) == (IDLE, "hook")
    assert state(claim(IDLE, "registry", 60), prompt, claim(IDLE, "hook", 30)) is UNKNOWN
    opened = claim(IDLE, "hook", 10, "startup")
    assert state(claim(IDLE, "registry", 60), prompt, opened) is UNKNOWN


@pytest.mark.parametrize("live", LIVE)
def test_a_command_of_the_agents_own_begins_no_turn(live: str) -> None:
    command = claim(BUSY, "prompt", 8, COMMAND)
    for idle in (claim(IDLE, live, 60), claim(IDLE, live, 6, "opened")):
        found = judge([idle, command], NOW)
        assert (found.state, found.source, found.detail) == (IDLE, live, NO_TURN)
        assert state(idle, claim(BUSY, "prompt", 8)) is BUSY  # any other prompt may be slow
        assert state(idle, claim(BUSY, "prompt", 3, COMMAND)) is BUSY
        assert state(idle, command, claim(BUSY, "hook", 5)) is BUSY
    assert state(claim(IDLE, live, 60, "opened"), claim(BUSY, "prompt", 800)) is UNKNOWN
    assert state(claim(IDLE, live, 2, "opened"), command) is BUSY  # it takes prompts since then
    assert state(claim(BUSY, live, 5), command) is BUSY
    # It does not tell since when it takes any.
    assert state(claim(IDLE, live), command) is BUSY
    assert state(claim(IDLE, live), claim(BUSY, "prompt", 20, COMMAND)) is UNKNOWN
    assert state(claim(IDLE, live), claim(BUSY, "prompt", 40, COMMAND)) is IDLE


def test_a_late_notice_of_the_turn_before_ends_no_turn() -> None:
    prompt = claim(BUSY, "prompt", 1.5)
    assert state(claim(IDLE, "lock", 2), prompt, claim(IDLE, "hook", 1)) is BUSY


@pytest.mark.parametrize("source", ["registry", "hook"])
def test_a_program_that_was_just_opened_has_ended_no_turn(source: str) -> None:
    for detail in OPENED:
        opened = claim(IDLE, source, 2, detail)
        assert state(opened) is IDLE
        assert state(opened, claim(BUSY, "prompt", 5)) is BUSY
        assert state(opened, claim(BUSY, "prompt", 500)) is UNKNOWN


@pytest.mark.parametrize("source", ["registry", "lock", "hook"])
def test_a_queued_prompt_may_follow_at_once(source: str) -> None:
    assert state(claim(IDLE, source, 0.02)) is BUSY
    assert state(claim(IDLE, source, SETTLED.total_seconds() + 0.01)) is IDLE


def test_hooks_alone() -> None:
    assert state(claim(BUSY, "hook", 60)) is BUSY
    assert state(claim(BUSY, "hook", 3600)) is UNKNOWN
    assert state(claim(BUSY, "hook", 3600), claim(UNKNOWN, WRITTEN, 30)) is BUSY
    assert state(claim(IDLE, "hook", 60)) is IDLE
    assert state(claim(IDLE, "hook", 60), claim(BUSY, "prompt", 5)) is BUSY
    assert state(claim(IDLE, "hook", 600), claim(BUSY, "prompt", 500)) is UNKNOWN
    assert state(claim(IDLE, "hook", 600), claim(BUSY, "prompt", 700)) is IDLE


def test_an_old_idle_of_a_hook_is_believed_while_nothing_was_written() -> None:
    old = claim(IDLE, "hook", 90000)
    assert state(old) is UNKNOWN
    assert state(old, claim(UNKNOWN, WRITTEN, 90000)) is IDLE
    assert state(old, claim(UNKNOWN, WRITTEN, 40)) is UNKNOWN


def test_nothing_open_yet() -> None:
    start = claim(STARTING, "record", 5)
    assert state(start) is STARTING
    assert state(start, claim(WAITING, "dialog", 5, "trust")) is WAITING
    assert state(claim(STARTING, "record", 500)) is UNKNOWN
    assert state(claim(GONE, "hook", 3), start) is STARTING
    assert state() is UNKNOWN


def test_a_clock_that_was_set_back() -> None:
    assert state(claim(IDLE, "registry", -3600)) is IDLE  # it says so at this moment
    assert state(claim(IDLE, "hook", -3600)) is UNKNOWN


def test_evidence_says_who_claims_it_and_since_when() -> None:
    found = judge([claim(IDLE, "registry", 20), claim(STARTING, "record", 50)], NOW)
    assert (found.source, found.time) == ("registry", NOW - timedelta(seconds=20))
    found = judge([claim(WAITING, "hook", 5, "permission_prompt")], NOW)
    assert (found.source, found.detail) == ("hook", "permission_prompt")


ago = st.one_of(st.none(), st.floats(-100, 100_000))
details = st.sampled_from([None, "clear", "startup", "permission_prompt"])


def claims_of(source: str, *states: WorkerState) -> st.SearchStrategy[list[Evidence]]:
    one = st.builds(claim, st.sampled_from(states), st.just(source), ago, details)
    return st.lists(one, max_size=1)


LIVING = st.tuples(
    claims_of("hook", BUSY, IDLE, WAITING, GONE),
    st.one_of(*(claims_of(source, BUSY, IDLE, WAITING) for source in LIVE)),
    claims_of("prompt", BUSY),
    claims_of(WRITTEN, UNKNOWN),
    claims_of("dialog", WAITING),
    claims_of("record", STARTING),
).map(lambda found: [one for some in found for one in some])


@given(LIVING)
def test_never_idle_while_something_newer_says_otherwise(claims: list[Evidence]) -> None:
    found = judge(claims, NOW)
    if found.state is not IDLE:
        return
    assert found in claims
    live = [one for one in claims if one.source in LIVE]
    assert all(one.state is IDLE for one in live)
    long_ago = datetime.min.replace(tzinfo=UTC)
    since = long_ago if found.detail in OPENED else found.time or long_ago
    for one in claims:
        if one.state is BUSY or (one.source == "hook" and one.state is WAITING and live):
            written = [w.time or long_ago for w in claims if w.source == WRITTEN]
            went_on = any(w > (one.time or long_ago) for w in written)
            assert (one.time or long_ago) <= since or (one.state is WAITING and went_on)


@given(LIVING)
def test_the_order_of_claims_does_not_matter(claims: list[Evidence]) -> None:
    assert judge(claims, NOW) == judge(list(reversed(claims)), NOW)


@given(LIVING, st.sampled_from(["process", "pane"]))
def test_the_end_always_wins(claims: list[Evidence], source: str) -> None:
    assert judge([*claims, Evidence(GONE, source)], NOW).state is GONE
