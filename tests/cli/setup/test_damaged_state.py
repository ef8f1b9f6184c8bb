"""A damaged state.db: commands say so, and what it lacks is recorded anew."""

import os
import subprocess

from prong import paths
from prong.model.workers import Pane
from prong.storage import connection
from prong.storage.forks import ForkRecords
from prong.storage.workers import WorkerRecords
from tests.cli.shell import API, Shell
from tests.cli.worker_lab import WorkerLab


def test_a_command_that_needs_it_says_so_until_the_doctor_has_shown_it(samples: Shell) -> None:
    state = paths.state_dir() / "state.db"
    state.parent.mkdir(parents=True, exist_ok=True)
    state.write_bytes(b"nonsense" * 1000)
    for _ in range(2):
        answer = samples.json("ps")
        assert "state.db was damaged" in answer["warnings"][0]
        assert state.with_name("state.db.damaged-1").read_bytes() == b"nonsense" * 1000
        connection.close_all()
    assert "state.db.damaged-1" in samples.ok("doctor")
    assert "warnings" not in samples.json("ps")


def test_forks_snapshots_and_workers_come_back(shop: Shell) -> None:
    folder = shop.home.projects / "shop"
    identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
    for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "one"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    shop.ok("snapshot", API)
    made = shop.json("fork", API, "--code", "none")["fork"]
    connection.close_all()
    (paths.state_dir() / "state.db").write_bytes(b"nonsense" * 1000)
    environ = {**os.environ, "PRONG_WORKER": "calm-otter", "TMUX_PANE": "%7", "TMUX": "/s/x,1,0"}
    running = subprocess.Popen(["claude", "600"], executable="/bin/sleep", env=environ, cwd=folder)
    try:
        answer = shop.json("turns", API)
        assert answer["turns"][-1]["snapshot"]
        assert "rebuilt" in answer["warnings"][0]
        [worker] = WorkerRecords(paths.state_dir() / "state.db").all()
    finally:
        running.kill()
        running.wait()
    assert (worker.name, worker.agent, worker.workspace) == ("calm-otter", "claude", folder)
    assert worker.pane == Pane("tmux", "%7", "/s/x")
    assert worker.process is not None
    assert worker.process.pid == running.pid
    forks = ForkRecords(paths.state_dir() / "state.db").all()
    assert str(forks[0].child) == made["child"]


def test_headless_workers_and_start_options_come_back(lab: WorkerLab) -> None:
    lab.run("--name", "calm", "--headless", "hello")
    lab.until("calm", "idle")
    lab.run("--name", "tess", "--no-worktree", "--model", "opus", "--env", "TEAM=blue")
    lab.until("tess", "idle")
    state = paths.state_dir() / "state.db"
    before = WorkerRecords(state).all()
    connection.close_all()
    state.write_bytes(b"nonsense" * 1000)
    for log in state.parent.glob("state.db-*"):
        log.unlink()
    answer = lab.shell.json("send", "calm", "and now?", "--wait")
    assert answer["reply"] == "You said: and now?"
    assert "2 workers" in answer["warnings"][0]
    after = WorkerRecords(state).all()
    assert [one.name for one in after] == ["calm", "tess"]
    assert after[1] == before[1]
    assert (after[0].session, after[0].log) == (before[0].session, before[0].log)
    assert lab.status("tess")["state"] == "idle"
