"""What workers do, seen from outside: real processes in a real tmux, a stand-in for the agent."""

import json
import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from prong.app import App
from prong.model.forks import ForkPoint, SeedHeader
from prong.model.record import replace
from prong.model.sessions import SessionRef
from prong.model.workers import Process, WorkerInfo, WorkerState
from prong.processes.process import end, is_alive, process_of
from prong.testing.home import IsolatedHome
from prong.tui.content.preview import SessionReader
from tests.samples.claude import ClaudeSample
from tests.unit.workers.worker_lab import WorkerLab, until, worker_lab


@pytest.fixture
def lab(isolated_home: IsolatedHome, monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerLab]:
    with worker_lab(isolated_home, monkeypatch) as lab:
        yield lab


def test_a_worker_starts_and_becomes_idle(lab: WorkerLab) -> None:
    lab.start("otter", "--starts", "0.3")
    assert lab.state("otter") is WorkerState.STARTING
    lab.until("otter", WorkerState.IDLE)
    status = lab.app.workers.states.status("otter")
    assert status.evidence.source == "registry"
    assert status.evidence.time is not None


def test_one_that_was_started_with_a_prompt_is_never_idle_before_its_answer(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="work 1")
    seen: list[WorkerState] = []
    file = lab.home.claude / "projects/-stand-in" / f"{worker.session}.jsonl"

    def is_idle() -> bool:
        over = file.exists() and "turn_duration" in file.read_text()
        seen.append(lab.state("otter"))
        assert over or seen[-1] is not WorkerState.IDLE
        return seen[-1] is WorkerState.IDLE

    until(is_idle)
    assert WorkerState.BUSY in seen


def test_turn_and_last_words(lab: WorkerLab) -> None:
    lab.start("otter", prompt="work 0")
    lab.until("otter", WorkerState.IDLE)
    status = lab.app.workers.states.status("otter")
    assert (status.turn, status.last_input) == (1, "work 0")
    assert status.last_line == "answer to work 0"


def test_one_that_asks_a_person_waits(lab: WorkerLab) -> None:
    lab.start("otter", prompt="ask")
    lab.until("otter", WorkerState.WAITING)
    assert lab.app.workers.states.status("otter").evidence.detail == "permission prompt"
    lab.app.workers.prompts.press("otter", "Enter")
    lab.until("otter", WorkerState.IDLE)


def test_an_untrusted_folder_is_a_dialog(lab: WorkerLab) -> None:
    (lab.home.root / ".claude.json").write_text("{}")
    lab.start("otter", "--starts", "60")
    status = lab.app.workers.states.status("otter")
    assert status.state is WorkerState.WAITING
    assert (status.evidence.source, status.evidence.detail) == ("dialog", "trust")


def test_an_ended_program_is_gone_with_its_status(lab: WorkerLab) -> None:
    lab.idle("otter")
    lab.app.workers.prompts.send("otter", "die 7")
    lab.until("otter", WorkerState.GONE)
    assert lab.app.workers.states.status("otter").exit_code == 7


def test_a_killed_pane_is_gone(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    assert worker.pane is not None
    lab.tmux.tmux("kill-pane", "-t", worker.pane.id)
    lab.until("otter", WorkerState.GONE)


def test_a_killed_program_is_gone(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    assert worker.process is not None
    os.kill(worker.process.pid, signal.SIGKILL)
    lab.until("otter", WorkerState.GONE)


def test_after_a_reboot_all_are_gone_though_numbers_are_in_use_again(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    assert worker.process is not None
    ticks = (worker.process.started or "").partition("@")[0]
    records = lab.app.workers.records
    records.change("otter", process=Process(worker.process.pid, f"{ticks}@before"))
    assert lab.state("otter") is WorkerState.GONE
    records.change("otter", process=Process(worker.process.pid, "1"))
    assert lab.state("otter") is WorkerState.GONE


def test_a_pane_whose_number_belongs_to_another_program_is_not_the_workers(lab: WorkerLab) -> None:
    mine, other = lab.idle("otter"), lab.idle("badger")
    lab.app.workers.records.change("otter", pane=other.pane)
    status = lab.app.workers.states.status("otter")
    assert (status.state, status.evidence.source) == (WorkerState.GONE, "pane")
    assert mine.process is not None
    assert is_alive(mine.process)


def test_clear_is_followed_and_recorded(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    lab.app.workers.prompts.send("otter", "/clear", as_command=True)
    until(lambda: lab.app.workers.states.status("otter").worker.session != worker.session)
    entry = lab.home.claude / "sessions" / f"{worker.process.pid if worker.process else 0}.json"
    assert (
        lab.app.workers.records.get("otter").session == json.loads(entry.read_text())["sessionId"]
    )
    lab.until("otter", WorkerState.IDLE)
    lab.app.workers.prompts.send("otter", "work 0")
    lab.app.workers.states.wait(["otter"], timeout=20)
    assert lab.app.workers.prompts.reply("otter") == "thinking about it\nanswer to work 0"


def test_a_hook_that_tells_of_a_question_is_believed(lab: WorkerLab) -> None:
    worker = lab.start("otter", prompt="work 30")
    lab.until("otter", WorkerState.BUSY)
    until(lambda: lab.app.workers.states.status("otter").evidence.source == "registry")
    lab.hook(worker, "Notification", "waiting", detail="permission_prompt")
    status = lab.app.workers.states.status("otter")
    assert (status.state, status.evidence.detail) == (WorkerState.WAITING, "permission_prompt")
    lab.app.code.take_in()  # taken in by another command
    assert lab.state("otter") is WorkerState.WAITING
    lab.hook(worker, "PostToolUse", "busy")
    assert lab.state("otter") is WorkerState.BUSY


def test_a_hook_of_an_earlier_run_counts_no_more(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    before = (datetime.now(UTC) - timedelta(hours=1)).isoformat()
    lab.hook(worker, "Notification", "waiting", time=before)
    assert lab.state("otter") is WorkerState.IDLE


def test_without_a_registry_the_hooks_tell(lab: WorkerLab) -> None:
    worker = lab.start("otter", "--starts", "60")
    lab.hook(worker, "UserPromptSubmit", "busy")
    assert lab.state("otter") is WorkerState.BUSY
    lab.hook(worker, "Stop", "idle")
    lab.until("otter", WorkerState.IDLE)
    assert lab.app.workers.states.status("otter").evidence.source == "hook"


def test_without_a_registry_a_moved_session_is_known_from_hooks(lab: WorkerLab) -> None:
    worker = lab.start("otter", "--starts", "60")
    lab.hook(worker, "SessionEnd", "gone", detail="clear")
    lab.hook(replace(worker, session="11111111-aaaa"), "SessionStart", "idle", detail="clear")
    assert lab.app.workers.states.status("otter").worker.session == "11111111-aaaa"


def test_an_agent_that_a_busy_agent_started_is_not_taken_for_the_worker(lab: WorkerLab) -> None:
    worker = lab.start("otter", "--starts", "60")
    lab.hook(worker, "UserPromptSubmit", "busy")
    lab.hook(replace(worker, session="11111111-aaaa"), "SessionStart", "idle", detail="startup")
    assert lab.app.workers.states.status("otter").worker.session == worker.session
    assert lab.state("otter") is WorkerState.BUSY


def test_a_session_of_another_worker_is_never_taken(lab: WorkerLab) -> None:
    first, second = lab.start("otter", "--starts", "60"), lab.start("badger", "--starts", "60")
    # It was renamed meanwhile: its hooks still say the old name.
    lab.hook(replace(first, session=second.session), "SessionStart", "idle", detail="clear")
    found = {one.worker.name: one.worker.session for one in lab.app.workers.states.all()}
    assert found == {"otter": first.session, "badger": second.session}
    assert lab.app.workers.states.status("otter").worker.session == first.session  # looked at alone


def test_a_stopped_worker_needs_no_question(lab: WorkerLab) -> None:
    worker = lab.idle("otter")
    now = datetime.now(UTC)
    lab.app.workers.records.change("otter", stopped=now)
    status = lab.app.workers.states.status("otter")
    assert (status.state, status.evidence.source) == (WorkerState.GONE, "record")
    assert worker.process is not None


def test_a_terminal_that_does_not_answer_is_no_proof(
    lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab.idle("otter")
    with monkeypatch.context() as patch, App() as app:
        patch.setenv("PATH", str(lab.home.tmp))
        assert app.workers.states.status("otter").state is WorkerState.IDLE


def test_a_name_that_is_only_reserved(lab: WorkerLab) -> None:
    worker = lab.start("otter")
    draft = replace(worker, name="new", pane=None, process=None, started=None)
    lab.app.workers.records.add(draft)
    assert lab.state("new") is WorkerState.STARTING
    lab.app.workers.records.change("new", created=datetime.now(UTC) - timedelta(hours=1))
    assert lab.state("new") is WorkerState.GONE


# -- headless -------------------------------------------------------------------------------------


def headless(lab: WorkerLab, seconds: float, *events: dict[str, Any], **fields: Any) -> WorkerInfo:
    """A turn without a pane that prints these events and runs so long."""
    log = lab.home.tmp / "log.jsonl"
    lines = [{"type": "prong.turn"}, *events]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in lines))
    process = subprocess.Popen(["sleep", str(seconds)])
    now = datetime.now(UTC)
    given: dict[str, Any] = {
        "agent": "claude",
        "command": "claude",
        "session": "60309e1e",
        **fields,
    }
    worker = WorkerInfo(
        name="silent",
        workspace=lab.folder,
        created=now,
        started=now,
        headless=True,
        process=process_of(process.pid),
        log=log,
        **given,
    )
    lab.app.workers.records.add(worker)
    threading.Thread(target=process.wait).start()
    return worker


END = {"type": "result", "subtype": "success", "is_error": False, "result": "done"}


def test_a_headless_turn_is_busy_while_it_runs_and_idle_after_its_end(lab: WorkerLab) -> None:
    headless(lab, 0.5, END | {"session_id": "60309e1e"})
    assert lab.state("silent") is WorkerState.BUSY
    [status] = lab.app.workers.states.wait(["silent"], timeout=20)
    assert (status.state, status.evidence.source) == (WorkerState.IDLE, "log")
    assert lab.app.workers.prompts.reply("silent") == "done"


def test_a_headless_turn_that_was_cut_off_is_gone(lab: WorkerLab) -> None:
    headless(lab, 0)
    lab.until("silent", WorkerState.GONE)
    assert lab.app.workers.states.status("silent").evidence.source == "log"


def test_a_turn_that_has_begun_since_takes_nothing_from_the_one_before(lab: WorkerLab) -> None:
    worker = headless(lab, 0, END)
    assert worker.process is not None
    assert worker.started is not None
    assert worker.log is not None
    process = worker.process
    until(lambda: not is_alive(process))
    mark = {"type": "prong.turn", "time": worker.started.isoformat()}
    later = {"type": "prong.turn", "time": datetime.now(UTC).isoformat()}
    worker.log.write_text("".join(f"{json.dumps(one)}\n" for one in (mark, END, later)))
    # The record was read before the next turn came to it.
    [status] = lab.app.workers.states.lookout().look([worker])
    assert status.state is WorkerState.IDLE


@pytest.mark.parametrize("session", ["60309e1e", None])
def test_one_of_an_agent_that_is_not_installed_any_more_hides_no_other(
    lab: WorkerLab, session: str | None
) -> None:
    worker = headless(lab, 0, END, agent="elsewhere", session=session)
    lab.idle("otter")
    assert worker.process is not None
    process = worker.process
    until(lambda: not is_alive(process))
    states = {one.worker.name: one.state for one in lab.app.workers.states.all()}
    assert states == {"silent": WorkerState.UNKNOWN, "otter": WorkerState.IDLE}


@pytest.mark.parametrize("seconds", [0, 30])
def test_the_session_of_a_headless_turn_is_known_from_its_output(
    lab: WorkerLab, seconds: float
) -> None:
    thread = "019a8f3e-0000-7000-8000-000000000000"
    event = {"type": "thread.started", "thread_id": thread}
    worker = headless(lab, seconds, event, agent="codex", command="codex", session=None)
    until(lambda: lab.app.workers.states.status("silent").worker.session == thread)
    assert lab.app.workers.records.get("silent").session == thread
    assert worker.process is not None
    end(worker.process)


# -- seeds ----------------------------------------------------------------------------------------


def test_a_seed_and_its_acknowledgement_are_no_last_words(lab: WorkerLab) -> None:
    worker = headless(lab, 0, END, session="60309e1e-0000-4000-8000-000000000000")
    assert worker.session is not None
    sample = ClaudeSample(worker.session, str(lab.folder), datetime.now(UTC))
    header = SeedHeader(ForkPoint(SessionRef("codex", "0199"), 3), "0" * 64)
    sample.prompt(f"{header}\n\nBelow is the transcript of an earlier conversation.")
    sample.answer("Ready.")
    path = sample.write(lab.home.claude)
    reader = SessionReader(lab.app.sessions, lab.app.code)
    status = lab.app.workers.states.status("silent")
    assert (status.turn, status.last_line, status.last_input) == (1, "", None)
    assert list(lab.app.workers.prompts.log("silent")) == []
    assert reader.last_turn(status).lines == ()
    sample.prompt("go on")
    sample.answer("Done.")
    path.unlink()
    sample.write(lab.home.claude)
    status = lab.app.workers.states.status("silent")
    assert (status.last_line, status.last_input) == ("Done.", "go on")
    assert reader.last_turn(status).lines
    assert [one.text for one in lab.app.workers.prompts.log("silent")][1:] == [
        "Ready.",
        "go on",
        "Done.",
    ]
