"""What a daemon tells of workers that others start, use and end."""

import time
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import pytest

from prong.app import App
from prong.model.workers import WorkerState
from tests.serve.lab import Lab, listening


def test_the_first_line_tells_how_things_are(lab: Lab) -> None:
    lab.worker("calm-otter")
    lab.serve()
    with listening(lab.daemon) as heard:
        first = heard.wait("connected")
        assert [one["name"] for one in first["workers"]] == ["calm-otter"]
        lab.worker("brave-wren")
        heard.wait("worker_created", worker="brave-wren")


def test_a_day_of_a_worker_in_order(lab: Lab) -> None:
    lab.serve()
    lab.daemon.call("GET", "/list")
    with listening(lab.daemon) as heard:
        worker = lab.worker("calm-otter", forked_from="brave-wren")
        created = heard.wait("worker_created", worker="calm-otter")
        assert created["forked_from"] == "brave-wren"
        assert created["session"] == f"claude:{worker.session}"
        lab.tell(worker, "UserPromptSubmit", "busy")
        heard.wait("worker_state", worker="calm-otter", state="busy")
        lab.tell(worker, "Stop", "idle")
        heard.wait("worker_state", state="idle", was="busy")
        heard.wait("turn_finished", worker="calm-otter")
        lab.kill(worker)
        heard.wait("worker_gone", worker="calm-otter", stopped=False)
        order = [name for name in heard.names if name != "connected"]
        assert order[0] == "worker_created"
        assert order.index("turn_finished") > order.index("worker_state")
        assert order[-1] == "worker_gone"
        numbers = [event["number"] for _, event in heard.events]
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def test_idle_is_seen_within_half_a_second(lab: Lab) -> None:
    worker = lab.worker("calm-otter")
    lab.serve()
    lab.daemon.call("GET", "/list")
    with listening(lab.daemon) as heard:
        late: list[float] = []
        for _ in range(3):
            heard.events.clear()
            lab.tell(worker, "UserPromptSubmit", "busy")
            heard.wait("worker_state", state="busy")
            told = lab.tell(worker, "Stop", "idle")
            seen, _ = heard.moment("worker_state", state="idle")
            late.append(seen - told)
            heard.wait("turn_finished")
        # The quickest of three: others run on this machine, too.
        assert min(late) < 0.5, late


def test_a_worker_that_is_renamed_is_not_gone(lab: Lab) -> None:
    lab.worker("calm-otter")
    lab.serve()
    lab.daemon.call("GET", "/list")
    with listening(lab.daemon) as heard, App() as app:
        app.workers.records.rename("calm-otter", "brave-wren")
        heard.wait("worker_renamed", worker="brave-wren", was="calm-otter")
        assert "worker_gone" not in heard.names


def test_a_fork_that_anybody_makes_is_told(lab: Lab) -> None:
    from prong.model.forks import Fork, ForkPoint, Method
    from prong.model.sessions import SessionRef

    lab.serve()
    lab.daemon.call("GET", "/list")
    parent, child = SessionRef("claude", str(uuid4())), SessionRef("claude", str(uuid4()))
    with listening(lab.daemon) as heard, App() as app:
        app.forks.record(
            Fork(
                id=str(uuid4()),
                parent=ForkPoint(parent, 3, "t"),
                parent_workspace=None,
                child=child,
                method=Method.COPY,
                created=datetime.now(UTC),
                tokens=0,
            )
        )
        told = heard.wait("fork_created", child=str(child))
        assert told["parent"] == f"{parent}@3"


def test_waiting_ends_with_the_turn_and_not_before(lab: Lab) -> None:
    from threading import Thread

    worker = lab.worker("calm-otter")
    lab.serve()
    lab.tell(worker, "UserPromptSubmit", "busy")
    found: list[tuple[float, dict[str, str]]] = []

    def wait() -> None:
        states = lab.daemon.wait(["calm-otter"], [WorkerState.IDLE], 20)
        found.append((time.monotonic(), states))

    waiting = Thread(target=wait)
    waiting.start()
    time.sleep(1.5)  # two slow looks see nothing new
    assert not found
    told = lab.tell(worker, "Stop", "idle")
    waiting.join(10)
    seen, states = found[0]
    assert states == {"calm-otter": "idle"}
    assert seen - told < 2


def test_waiting_looks_before_it_answers(lab: Lab) -> None:
    """What was told just before counts, not what was seen long ago."""
    worker = lab.worker("calm-otter")
    lab.tell(worker, "Stop", "idle")
    lab.serve()
    assert lab.daemon.wait(["calm-otter"], ["idle"], 10) == {"calm-otter": "idle"}
    lab.tell(worker, "UserPromptSubmit", "busy")
    began = time.monotonic()
    assert lab.daemon.wait(["calm-otter"], ["idle"], 0.5) == {"calm-otter": "busy"}
    assert time.monotonic() - began >= 0.5


def test_waiting_for_any_and_for_one_that_ends(lab: Lab) -> None:
    first, second = lab.worker("calm-otter"), lab.worker("brave-wren")
    lab.serve()
    lab.tell(first, "UserPromptSubmit", "busy")
    lab.tell(second, "UserPromptSubmit", "busy")
    names = ["calm-otter", "brave-wren"]
    lab.kill(second)
    states = lab.daemon.wait(names, ["idle"], 10, any_=True)
    assert states == {"calm-otter": "busy", "brave-wren": "gone"}
    with App() as app:
        app.workers.records.remove("calm-otter")
    with pytest.raises(Exception, match="no worker named calm-otter"):
        lab.daemon.wait(names, ["idle"], 10)


def test_an_old_worker_is_no_news(lab: Lab) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=3)
    lab.worker("calm-otter", created=long_ago, started=long_ago, process=None)
    lab.serve()
    lab.daemon.call("GET", "/list")
    with listening(lab.daemon) as heard:
        lab.worker("brave-wren")
        heard.wait("worker_created", worker="brave-wren")
        assert "worker_gone" not in heard.names
