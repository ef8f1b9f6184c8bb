"""The real agents as workers: run, send, wait, fork, restart, stop, each as a person types it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from prong.testing.home import IsolatedHome
from prong.testing.script import Hold, Reply, Text, say
from prong.testing.wait import wait_until
from tests.e2e.workers.typed_workers import WorkerLab, digest, ended, opened


@pytest.fixture(params=["claude", "codex"])
def lab(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Iterator[WorkerLab]:
    with ended(opened(request, isolated_home)) as made:
        yield made


def test_a_day_with_a_worker(lab: WorkerLab) -> None:
    """Run, send, wait, fork into a second pane; both go on for themselves."""
    worker = lab.run("--name", "ada-one", "--no-worktree", "--skip-permissions")
    assert worker["state"] == "idle"
    assert worker["pane"]["terminal"] == "tmux"
    assert worker["workspace"] == str(lab.project)

    written = lab.project / "made.txt"
    gate = threading.Event()
    lab.server.enqueue(
        lab.writes(written, "hello"), Reply(Text("first "), Hold(gate), Text("answer"))
    )
    lab.ok("send", "ada-one", "please write it")
    wait_until(written.exists, what="the file")
    with lab.begun("wait", "ada-one") as waiting:
        assert lab.status("ada-one")["state"] == "busy"
        assert waiting.poll() is None, "it came back while the agent was at work"
        gate.set()
        out, err = waiting.communicate(timeout=60)
        assert waiting.returncode == 0, err + out
    status = lab.status("ada-one")
    assert (status["state"], status["idle"], status["worker"]) == ("idle", True, "ada-one")
    assert written.read_text() == "hello"

    path = lab.path_of(worker)
    before = digest(path)
    fork = lab.json("fork", "ada-one", "--no-worktree", "--yes")
    assert fork["fork"]["parent"].startswith(status["session"])
    assert digest(path) == before
    second = lab.run("--fork", "ada-one", "--no-worktree", "--name", "ada-two")
    assert second["session"] != status["session"]
    assert second["pane"]["id"] != worker["pane"]["id"]
    assert second["fork"] is not None
    assert digest(path) == before

    lab.server.enqueue(say("in the fork"))
    lab.ok("send", "ada-two", "only for the fork", "--wait")
    assert any("please write it" in text for text in lab.prompts("only for the fork"))
    assert digest(path) == before, "the fork wrote into its source"
    lab.server.enqueue(say("in the source"))
    assert "in the source" in lab.ok("send", "ada-one", "only for the source", "--wait")
    assert not any("only for the fork" in text for text in lab.prompts("only for the source"))
    names = [one["name"] for one in lab.json("ps")["workers"]]
    assert names == ["ada-one", "ada-two"]
    last = {one["name"]: one["last_line"] for one in lab.json("ps")["workers"]}
    assert last["ada-one"] == "in the source"


def test_a_pane_that_is_closed_is_gone_and_comes_back(lab: WorkerLab) -> None:
    worker = lab.run("--name", "bob", "--no-worktree", "--skip-permissions", "first question")
    lab.ok("wait", "bob")
    session = lab.status("bob")["session"]
    lab.tmux("kill-pane", "-t", worker["pane"]["id"])
    gone = lab.wait_state("bob", "gone")
    assert gone["idle"] is False
    assert lab.fails(5, "send", "bob", "anybody there?")["hint"] == "prong restart bob"
    restarted = lab.json("restart", "bob")["worker"]
    assert restarted["session"] == session, "it was forked instead of resumed"
    lab.server.enqueue(say("back again"))
    assert "back again" in lab.ok("send", "bob", "and now?", "--wait")
    assert any("first question" in text for text in lab.prompts("and now?"))
    assert lab.status("bob")["session"] == session


def test_a_worktree_of_its_own_with_a_commit_and_a_push_per_turn(
    lab: WorkerLab, tmp_path: Path
) -> None:
    remote = tmp_path / "remote.git"
    lab.git("init", "--quiet", "--bare", str(remote))
    lab.git("remote", "add", "shared", str(remote))
    head = lab.git("rev-parse", "HEAD")
    words = ["--name", "carol", "--trust", "--yes", "--skip-permissions", "--branch", "carol/work"]
    worker = lab.run(*words, "--commit-turns", "--push", "shared")
    assert worker["branch"] == "carol/work"
    place = Path(worker["workspace"])
    assert place != lab.project
    lab.server.enqueue(lab.writes(place / "parser.py", "x = 1"), say("written"))
    lab.ok("send", "carol", "write the parser", "--wait")

    def subject() -> str:
        return lab.git("log", "-1", "--format=%s", "carol/work")

    wait_until(lambda: "write the parser" in subject(), what="the commit of the turn")
    assert lab.git("show", "carol/work:parser.py") == "x = 1"
    assert lab.git("rev-parse", "HEAD") == head, "the user's own branch was moved"
    tip = lab.git("rev-parse", "carol/work")
    wait_until(
        lambda: (
            lab.git("--git-dir", str(remote), "rev-parse", "-q", "--verify", "carol/work") == tip
        ),
        what="the push",
    )


def test_headless_workers_have_the_same_verbs(lab: WorkerLab) -> None:
    path = lab.project / "headless.txt"
    lab.server.enqueue(lab.writes(path, "quiet"), say("done without a pane"))
    out = lab.ok(
        *("run", "--agent", lab.agent, "--headless", "--wait", "--no-worktree"),
        *("--skip-permissions", "--name", "dora", "write it quietly"),
    )
    assert "done without a pane" in out
    assert path.read_text() == "quiet"
    status = lab.status("dora")
    assert (status["state"], status["session"] is not None) == ("idle", True)
    gate = threading.Event()
    lab.server.enqueue(Reply(Text("half "), Hold(gate), Text("whole")))
    lab.ok("send", "dora", "go on")
    lab.server.wait_for_prompt("go on")
    assert lab.status("dora")["state"] == "busy"
    assert lab.fails(4, "send", "dora", "too early")["code"] == "busy"
    gate.set()
    lab.ok("wait", "dora")
    assert any("write it quietly" in text for text in lab.prompts("go on"))
    assert lab.status("dora")["session"] == status["session"]
    lab.server.enqueue(say("forked and quiet"))
    fork = lab.run("--headless", "--fork", "dora", "--no-worktree", "--name", "dora-2", "elsewhere")
    lab.ok("wait", "dora-2")
    assert fork["session"] != status["session"]
    assert any("go on" in text for text in lab.prompts("elsewhere"))


def test_a_session_that_is_not_there_is_reported(lab: WorkerLab) -> None:
    """The pane opens and looks fine; what the agent says in it is what counts."""
    worker = lab.run("--name", "erna", "--no-worktree", "--skip-permissions", "remember me")
    lab.ok("wait", "erna")
    path = lab.path_of(worker)
    lab.ok("stop", "erna")
    path.write_bytes(b"")
    done = lab.process("restart", "erna", "--json")
    assert done.returncode != 0
    assert "Traceback" not in done.stderr


def test_stopping_a_worker_that_is_at_work_wants_a_word(lab: WorkerLab) -> None:
    worker = lab.run("--name", "fay", "--no-worktree", "--skip-permissions")
    gate = threading.Event()
    lab.server.enqueue(Reply(Text("half "), Hold(gate), Text("whole")))
    lab.ok("send", "fay", "a long task")
    lab.wait_state("fay", "busy")
    assert lab.fails(4, "stop", "fay")["code"] == "busy"
    assert lab.status("fay")["state"] == "busy"
    lab.ok("stop", "fay", "--force")
    gate.set()
    assert lab.status("fay")["state"] == "gone"
    assert worker["pane"]["id"] not in lab.panes()


def test_a_question_of_the_agent_is_waited_for_by_a_person(lab: WorkerLab) -> None:
    """A permission is wanted: `waiting`, and no text is typed into the dialog."""
    path = lab.project / "asked.txt"
    lab.run("--name", "gil", "--no-worktree", *lab.asks())
    lab.server.enqueue(lab.asking(path, "allowed"), say("thank you"))
    lab.ok("send", "gil", "write it, but ask")
    seen = lab.wait_state("gil", "waiting")
    assert seen["idle"] is False
    waited = lab.process("wait", "gil")
    assert waited.returncode != 0
    assert "waiting" in waited.stdout + waited.stderr
    assert lab.fails(4, "send", "gil", "yes, do it")["code"] == "busy"
    cloned = lab.process("clone", "gil", "--timeout", "1", "--yes", "--json")
    assert cloned.returncode == 4
    told = json.loads(cloned.stderr.splitlines()[-1])
    assert told["message"].startswith("gil is waiting for input (")
    assert told["hint"].startswith("prong attach gil")
    assert not path.exists()
    lab.ok("key", "gil", "Enter")
    wait_until(path.exists, what="the file")
    lab.wait_state("gil", "idle")


def test_a_folder_that_the_agent_does_not_trust(lab: WorkerLab) -> None:
    """Its dialog says No when Enter is pressed, so nobody does that but a person."""
    other = lab.home.project("unknown")
    worker = lab.run("--name", "hal", "--no-worktree", "--project", str(other))
    assert worker["state"] == "waiting"
    assert lab.status("hal")["detail"] == "trust"
    lab.ok("stop", "hal", "--force")


def test_a_session_that_is_cleared_is_followed(lab: WorkerLab) -> None:
    lab.run("--name", "ines", "--no-worktree", "--skip-permissions", "before")
    lab.ok("wait", "ines")
    before = lab.status("ines")["session"]
    if lab.agent == "claude":
        lab.ok("send", "ines", "/clear", "--as-command")
    else:
        lab.ok("send", "ines", "/new", "--as-command")
        wait_until(lambda: "Where should the new conversation run?" in lab.screens())
        lab.ok("key", "ines", "Enter")
    wait_until(lambda: lab.status("ines")["session"] != before, what="another session")
    lab.server.enqueue(say("a new page"))
    lab.ok("send", "ines", "after", "--wait")
    after = lab.status("ines")["session"]
    assert after != before
    assert not any("before" in text for text in lab.prompts("after"))
    shown = lab.json("show", "ines")
    assert shown["session"]["ref"] == after


def test_a_clone_waits_and_carries_everything(lab: WorkerLab) -> None:
    (lab.project / ".gitignore").write_text("secret.env\n")
    (lab.project / "secret.env").write_text("KEY=1\n")
    worker = lab.run("--name", "jon", "--no-worktree", "--skip-permissions", "remember: blue")
    lab.ok("wait", "jon")
    gate = threading.Event()
    written = lab.project / "late.txt"
    lab.server.enqueue(
        Reply(Text("half "), Hold(gate), *lab.writes(written, "late").blocks), say("done")
    )
    lab.ok("send", "jon", "a long turn")
    lab.wait_state("jon", "busy")
    with lab.begun("clone", "jon", "jon-copy", "--yes", "--trust") as cloning:
        assert lab.status("jon")["state"] == "busy"
        assert cloning.poll() is None
        gate.set()
        out, err = cloning.communicate(timeout=120)
        assert cloning.returncode == 0, err + out
    assert "jon" in err, "it did not say what it waits for"
    path = lab.path_of(worker)
    before = digest(path)
    lab.ok("wait", "jon-copy")
    clone = lab.status("jon-copy")
    place = Path(clone["workspace"])
    assert place != lab.project
    assert (place / "secret.env").read_text() == "KEY=1\n"
    assert (place / "late.txt").read_text() == "late"
    lab.server.enqueue(say("blue"))
    lab.ok("send", "jon-copy", "which colour?", "--wait")
    history = lab.prompts("which colour?")
    assert any("remember: blue" in text for text in history)
    assert any("a long turn" in text for text in history)
    assert digest(path) == before
