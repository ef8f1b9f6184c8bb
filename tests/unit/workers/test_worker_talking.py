"""Prompts and keys into a worker's own pane, and what it says; a stand-in for the agent."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from prong.app import App
from prong.errors import Busy, External, Unavailable, Unsupported, UsageError
from prong.model.workers import Pane, WorkerInfo, WorkerState
from prong.terminals.tmux import Tmux
from prong.testing.home import IsolatedHome
from tests.unit.workers.worker_lab import WorkerLab, until, worker_lab


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    with worker_lab(isolated_home, monkeypatch) as lab:
        yield lab


def prompts(lab: WorkerLab, worker: WorkerInfo) -> list[str]:
    session = lab.app.sessions.get(f"claude:{worker.session}")
    return [turn.prompt for turn in lab.app.sessions.turns(session)]


def test_a_prompt_is_taken_once_and_answered(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["work 0"]
    assert lab.app.workers.prompts.reply("otter").endswith("answer to work 0")


@pytest.mark.parametrize(
    "text",
    [
        "two\nlines",
        "quotes ' \" ` and ;$(touch x) && !! #",
        "trailing newline\n",
        "-l",
        "Enter",
        "ünï 日本 \u2028 x",
        "long " * 20_000,
    ],
)
def test_the_text_arrives_as_it_is(lab: WorkerLab, text: str) -> None:
    worker = lab.idle("otter")
    lab.app.workers.prompts.send("otter", text)
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == [text.strip()]


def test_two_prompts_at_once_are_two_prompts(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    texts = ["work 0.1", "work 0.2", "work 0.3"]

    def send(text: str) -> None:
        with App() as app:
            app.workers.prompts.send("otter", text)

    with ThreadPoolExecutor() as pool:
        list(pool.map(send, texts))
    until(lambda: len(prompts(lab, worker)) == len(texts), "all of them")
    assert sorted(prompts(lab, worker)) == texts


def test_an_enter_that_was_not_taken_is_pressed_again_and_the_text_sent_once(
    lab: WorkerLab,
) -> None:
    worker = lab.idle("otter", "--swallow", "1")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["work 0"]


def test_a_ui_that_takes_no_enter_is_told_of(
    lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.workers.send._TAKEN_WITHIN", 0.2)
    worker = lab.idle("otter", "--swallow", "6")
    for text in ("work 0", "long " * 200):
        with pytest.raises(External, match=r"does not take Enter.* removed again"):
            lab.app.workers.prompts.send("otter", text)
        assert lab.state("otter") is WorkerState.IDLE  # nothing was asked
    lab.app.workers.prompts.send("otter", "work 0.1")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["work 0.1"]


def test_one_that_works_takes_the_next_prompt_when_it_is_done(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="work 1")
    lab.until("otter", WorkerState.BUSY)
    until(lambda: lab.app.workers.states.status("otter").evidence.source == "registry")
    lab.app.workers.prompts.send("otter", "work 0.6")
    [status] = lab.app.workers.states.wait(["otter"], timeout=20)
    assert status.state is WorkerState.IDLE
    assert prompts(lab, worker) == ["work 1", "work 0.6"]
    assert lab.app.workers.prompts.reply("otter").endswith("answer to work 0.6")


def test_one_that_starts_is_given_the_time_for_it(lab: WorkerLab) -> None:
    worker = lab.start("otter", "--starts", "0.5")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["work 0"]


def test_a_command_that_asks_the_model_nothing_leaves_it_idle(
    lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.workers.evidence._BEGINS_WITHIN", timedelta(seconds=1))
    worker = lab.idle("otter")
    lab.app.workers.prompts.send("otter", "/help", as_command=True)
    assert lab.state("otter") is WorkerState.BUSY  # who knows
    [status] = lab.app.workers.states.wait(["otter"], timeout=20)
    assert (status.state, status.evidence.detail) == (WorkerState.IDLE, "no turn")
    lab.app.workers.prompts.send("otter", "work 0")
    [status] = lab.app.workers.states.wait(["otter"], timeout=20)
    assert (status.state, status.evidence.detail) == (WorkerState.IDLE, None)
    assert prompts(lab, worker) == ["work 0"]


def test_a_first_prompt_that_asks_the_model_nothing_leaves_it_idle(
    lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("prong.workers.evidence._BEGINS_WITHIN", timedelta(seconds=1))
    lab.start("otter", prompt="/help")
    [status] = lab.app.workers.states.wait(["otter"], timeout=20)
    assert (status.state, status.evidence.detail) == (WorkerState.IDLE, "no turn")


# -- what a person has typed ----------------------------------------------------------------------


def type_by_hand(lab: WorkerLab, worker: WorkerInfo, *keys: str) -> None:
    assert worker.pane is not None
    before = lab.screen(worker)
    lab.tmux.tmux("send-keys", "-t", worker.pane.id, *keys)
    until(lambda: lab.screen(worker) != before)


def test_a_draft_is_not_sent_along(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    type_by_hand(lab, worker, "my draft")
    before = lab.screen(worker)
    with pytest.raises(Busy, match="something is typed") as error:
        lab.app.workers.prompts.send("otter", "work 0")
    assert error.value.hint == "prong attach otter, or: prong key otter C-u"
    assert lab.screen(worker) == before
    assert lab.state("otter") is WorkerState.IDLE
    assert lab.app.workers.records.get("otter").prompted is None
    type_by_hand(lab, worker, "-N", "8", "BSpace")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["work 0"]


@pytest.mark.parametrize("text", ["work 0", "two\nlines", "日本", "long " * 200])
def test_a_draft_that_shows_only_with_the_text_stays_without_it(
    lab: WorkerLab, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def untold(terminal: Tmux, pane: Pane) -> int:
        raise Unsupported(f"{terminal.name} does not tell where the cursor is in {pane}")

    monkeypatch.setattr(Tmux, "cursor_column", untold)
    worker = lab.idle("otter")
    type_by_hand(lab, worker, "my draft")
    before = lab.screen(worker)
    with pytest.raises(Busy, match=r"sent together with it$"):
        lab.app.workers.prompts.send("otter", text)
    assert lab.screen(worker) == before
    type_by_hand(lab, worker, "Enter")
    until(lambda: prompts(lab, worker) == ["my draft"])


def test_what_the_agent_suggests_is_no_draft(lab: WorkerLab) -> None:
    worker = lab.idle("otter", "--suggest", "Try it out")
    assert "Try it out" in lab.screen(worker)
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["work 0"]


def test_where_the_line_for_input_is_not_known_nobody_looks_for_drafts(lab: WorkerLab) -> None:
    worker = lab.idle("otter", "--strange")
    type_by_hand(lab, worker, "my draft ")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert prompts(lab, worker) == ["my draft work 0"]


def test_a_text_is_no_answer_to_a_dialog(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="ask")
    lab.until("otter", WorkerState.WAITING)
    before = lab.screen(worker)
    with pytest.raises(Busy, match="is waiting for input") as error:
        lab.app.workers.prompts.send("otter", "yes")
    assert error.value.hint is not None
    assert "prong attach otter" in error.value.hint
    assert lab.screen(worker) == before


def test_nothing_is_typed_into_a_pane_of_somebody_else(lab: WorkerLab) -> None:
    mine, other = lab.idle("otter"), lab.idle("badger")
    lab.app.workers.records.change("otter", pane=other.pane)
    before = lab.screen(other)
    with pytest.raises(Unavailable, match="otter is gone"):
        lab.app.workers.prompts.send("otter", "rm -rf")
    with pytest.raises(Unavailable, match="otter is gone"):
        lab.app.workers.prompts.press("otter", "Enter")
    assert lab.screen(other) == before
    assert mine.pane != other.pane


def test_one_that_is_gone_gets_no_text(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    assert worker.process is not None
    os.kill(worker.process.pid, signal.SIGKILL)
    lab.until("otter", WorkerState.GONE)
    with pytest.raises(Unavailable, match="gone") as error:
        lab.app.workers.prompts.send("otter", "work 0")
    assert error.value.hint == "prong restart otter"


def test_nothing_to_send(lab: WorkerLab) -> None:
    lab.idle("otter")
    with pytest.raises(UsageError):
        lab.app.workers.prompts.send("otter", " \n")


def test_one_without_a_pane_cannot_be_typed_into(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.app.workers.records.change("otter", pane=None)
    with pytest.raises(Unsupported):
        lab.app.workers.prompts.send("otter", "work 0")


def test_the_log_follows_what_is_said_also_after_clear(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    seen: list[tuple[str, str]] = []

    def follow() -> None:
        seen.extend(
            (one.role, one.text) for one in lab.app.workers.prompts.log("otter", follow=True)
        )

    listener = threading.Thread(target=follow)
    before = [
        (one.role, one.text.rpartition("\n")[2]) for one in lab.app.workers.prompts.log("otter")
    ]
    assert before == [("user", "work 0"), ("assistant", "answer to work 0")]
    listener.start()
    lab.app.workers.prompts.send("otter", "/clear", as_command=True)
    until(lambda: lab.app.workers.states.status("otter").worker.session != worker.session)
    lab.app.workers.prompts.send("otter", "work 0.1")
    lab.app.workers.states.wait(["otter"], timeout=20)
    time.sleep(0.5)
    lab.app.workers.stop("otter")
    listener.join(20)
    assert [text.rpartition("\n")[2] for _, text in seen] == [
        *("work 0", "answer to work 0", "work 0.1", "answer to work 0.1")
    ]


def test_the_reply_is_that_of_a_later_turn(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert lab.app.workers.prompts.reply("otter", 0).endswith("answer to work 0")
    assert lab.app.workers.prompts.reply("otter", 1) == ""
