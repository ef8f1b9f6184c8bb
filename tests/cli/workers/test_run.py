"""`prong run`: a worker in a pane, or without one."""

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest

from prong.paths import state_dir
from prong.storage.workers import WorkerRecords
from tests.cli.shell import Shell, prong
from tests.cli.worker_lab import WorkerLab
from tests.drivers.tmux import Tmux
from tests.interrupts import ending, unmeasured


def recorded() -> list[str]:
    return [one.name for one in WorkerRecords(state_dir() / "state.db").all()]


def test_a_worker_has_a_name_a_session_a_worktree_and_a_pane(lab: WorkerLab) -> None:
    worker = lab.run("--name", "parser", "write", "the parser")
    assert worker["name"] == "parser"
    assert worker["branch"] == "prong/parser"
    assert Path(worker["workspace"], "README.md").exists()
    assert re.fullmatch(r"claude:[0-9a-f-]{36}", worker["session"])
    assert worker["pane"]["terminal"] == "tmux"
    found = lab.until("parser", "idle")
    assert found["last_input"] == "write the parser"
    assert found["last_line"] == "You said: write the parser"
    assert found["turn"] == 1


def test_what_is_told_on_a_terminal(lab: WorkerLab) -> None:
    shown = lab.on_terminal("run", *lab.here, "--name", "parser")
    assert shown.status == 0, shown.output
    first, *rows, last = shown.lines
    assert first == "started parser (claude)"
    assert [row.split()[0] for row in rows] == ["session", "folder", "branch", "pane"]
    assert last.strip() == 'prong attach parser    prong send parser "..."'


def test_a_name_is_made_up(lab: WorkerLab) -> None:
    one, other = lab.run()["name"], lab.run()["name"]
    assert one != other
    assert all(re.fullmatch(r"[a-z]+-[a-z]+(-\d+)?", name) for name in (one, other))


def test_a_name_in_use(lab: WorkerLab) -> None:
    lab.run("--name", "parser")
    assert lab.shell.problem(2, "run", *lab.here, "--name", "parser")["code"] == "taken"


def test_the_prompt_may_come_from_a_pipe(lab: WorkerLab) -> None:
    text = "first line\n$(touch owned); 'quoted' \"twice\"\n- a list"
    done = subprocess.run(
        prong("run", *lab.here, "--name", "parser", "--wait", "-"),
        input=text.encode(),
        env=lab.shell.env(PRONG_TMUX_SOCKET=str(lab.socket)),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.decode() == f"You said: {text}\n"
    assert lab.status("parser")["last_input"] == text


def test_words_behind_two_dashes_are_for_the_agent(lab: WorkerLab) -> None:
    words = ("--model", "opus", "--dry-run", "--json", "--", "--verbose", "--effort", "high")
    plan = json.loads(lab.shell.ok("run", *lab.here, "hello", *words))["plan"]
    assert plan["command"][0] == "claude"
    for expected in (["--model", "opus"], ["--effort", "high"], ["--verbose"]):
        at = plan["command"].index(expected[0])
        assert plan["command"][at : at + len(expected)] == expected
    assert plan["prompt"] == "hello"


def test_a_dry_run_does_nothing(lab: WorkerLab) -> None:
    text = lab.shell.ok("run", *lab.here, "--name", "parser", "--dry-run", "do it")
    assert "parser" in text
    assert "(a new worktree)" in text
    assert "claude --session-id" in text
    assert recorded() == []
    assert not lab.socket.exists()


def test_no_worktree(lab: WorkerLab) -> None:
    worker = lab.run("--no-worktree")
    assert worker["workspace"] == str(lab.project)
    assert worker["worktree"] is None
    assert worker["branch"] is None


def test_variables(lab: WorkerLab) -> None:
    worker = lab.run("--env", "FLAVOUR=a=b c", "--env", "SECRET_TOKEN=abc")
    environ = Path(f"/proc/{worker['pid']}/environ").read_bytes().split(b"\0")
    assert b"FLAVOUR=a=b c" in environ
    assert b"SECRET_TOKEN=abc" in environ
    assert f"PRONG_WORKER={worker['name']}".encode() in environ
    assert b"abc" not in (state_dir() / "state.db").read_bytes()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--resume", "a", "--fork", "b"], "--resume and --fork exclude each other"),
        (["--resume", "a", "--continue"], "--resume and --continue exclude each other"),
        (["--no-worktree", "--branch", "b"], "--branch and --base need a worktree"),
        (["--headless"], "a headless worker needs a prompt"),
        (["--headless", "hi", "--terminal", "tmux"], "a headless worker has no pane"),
        (["--split", "--tab"], "--split or --tab, not both"),
        (["--env", "FLAVOUR"], "--env FLAVOUR: expected NAME=VALUE"),
        (["--wait"], "--wait needs a prompt"),
        (["--name", "Parser"], "'Parser' is not a valid worker name"),
        (["--name", "deadbeef"], "deadbeef looks like a session id"),
        (["--name", "claude"], "claude is a reserved name"),
    ],
)
def test_what_does_not_go_together(lab: WorkerLab, words: list[str], message: str) -> None:
    problem = lab.shell.problem(2, "run", *lab.here, *words)
    assert problem["message"] == message
    assert problem["hint"]
    assert recorded() == []


def test_a_session_that_is_not_there(lab: WorkerLab) -> None:
    assert lab.shell.problem(3, "run", *lab.here, "--resume", "00000000")["code"] == "not_found"
    assert recorded() == []


def test_trust_is_asked_for_and_shown(lab: WorkerLab) -> None:
    refused = lab.shell.problem(2, "run", "--project", str(lab.project), "--trust")
    assert ".claude.json" in refused["message"]
    assert recorded() == []


@pytest.mark.parametrize("answer", ["y", "n"])
def test_trust_is_shown_and_agreed_to_on_a_terminal(lab: WorkerLab, answer: str) -> None:
    with Tmux(lab.shell.home.root, (120, 40)) as tmux:
        words = prong("run", "--project", str(lab.project), "--trust", "--name", "parser")
        script = '"$@"; echo "status $?"; read -r end'
        tmux.start(["sh", "-c", script, "sh", *words], lab.project, lab.env())
        screen = tmux.wait_for("Let the agent work in this folder?")
        assert ".claude.json" in screen
        assert "hasTrustDialogAccepted" in screen
        assert recorded() == []
        tmux.send_text(answer)
        tmux.key("Enter")
        tmux.wait_for("status 0" if answer == "y" else "status 130")
    assert recorded() == (["parser"] if answer == "y" else [])
    trusted = (lab.shell.home.root / ".claude.json").exists()
    assert trusted is (answer == "y")


def test_turns_are_pushed_to_a_remote_that_is_there(lab: WorkerLab) -> None:
    for remote in ("origin", "https://ada:secret@example.invalid/shop"):
        problem = lab.shell.problem(2, "run", *lab.here, "--push", remote)
        assert problem["message"].endswith(f"has no remote {remote}")
    assert recorded() == []


def test_a_headless_worker_answers_once(lab: WorkerLab) -> None:
    answer = lab.shell.run("run", *lab.here, "--headless", "--wait", "--name", "once", "hi")
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout == "You said: hi\n"
    assert "started once (claude)" in answer.stderr
    found = lab.status("once")
    assert (found["state"], found["pane"], found["headless"]) == ("idle", None, True)
    assert lab.shell.json("send", "once", "more", "--wait")["reply"] == "You said: more"
    assert not lab.socket.exists()


def test_an_agent_that_ends_at_once_is_told_of(lab: WorkerLab, shell: Shell) -> None:
    program = shell.home.root / "bin" / "claude"
    program.write_text(program.read_text().replace("PYTHONPATH=", "echo 'Out of luck'; exit 9; "))
    problem = shell.problem(8, "run", *lab.here, "--name", "parser")
    assert "Out of luck" in problem["message"]
    assert "9" in problem["message"]


def test_a_worktree_stays_when_a_long_prompt_meets_the_question_of_trust(
    lab: WorkerLab, shell: Shell
) -> None:
    program = shell.home.root / "bin" / "claude"
    program.write_text(program.read_text().replace("PYTHONPATH=", "sleep 60; "))
    done = subprocess.run(
        prong("run", "--project", str(lab.project), "--name", "parser", "--json", "-"),
        input=b"x" * 150_000,
        env=lab.env(),
        capture_output=True,
        check=False,
    )
    assert done.returncode == 4
    assert b"is waiting for input (trust)" in done.stderr
    found = lab.status("parser")
    assert found["state"] == "waiting"
    assert Path(found["workspace"], "README.md").exists()


def test_the_worktree_of_an_agent_in_this_terminal_is_finished(
    lab: WorkerLab, shell: Shell
) -> None:
    with Tmux(shell.home.root, (120, 40)) as tmux:
        words = prong("run", *lab.here, "--name", "parser", "--terminal", "exec")
        tmux.start(words, lab.project, lab.env())
        tmux.wait_for("stand-in")
        shell.ok("doctor", "--fix")
        (worktree,) = shell.json("worktrees")["worktrees"]
        assert worktree["state"] != "under way"
        assert Path(worktree["path"], "README.md").exists()


def test_ctrl_c_while_it_starts_leaves_a_whole_worker(lab: WorkerLab, shell: Shell) -> None:
    program = shell.home.root / "bin" / "claude"
    program.write_text(program.read_text().replace("PYTHONPATH=", "sleep 60; "))
    process = subprocess.Popen(
        prong("run", *lab.here, "--name", "parser"),
        env=unmeasured(shell.env(PRONG_TMUX_SOCKET=str(lab.socket))),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with ending(process):
        lab.until_recorded("parser")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out == b""
    assert b"parser keeps running; to stop it: prong stop parser" in err
    assert lab.status("parser")["state"] == "starting"
    shell.ok("stop", "parser", "--force")


def test_a_command_to_type_elsewhere(lab: WorkerLab) -> None:
    text = lab.shell.ok("run", *lab.here, "--name", "parser", "--terminal", "print", "hello")
    first, *_, last = text.splitlines()
    assert first == "started parser (claude)"
    assert "claude " in last
    assert "PRONG_WORKER=parser" in last
    assert not lab.socket.exists()


def test_an_id_that_the_agent_would_not_take_starts_nothing(lab: WorkerLab) -> None:
    for more in ([], ["--headless"]):
        problem = lab.shell.problem(2, "run", *lab.here, "--id", "123", *more, "do it")
        assert problem["message"] == "'123' is not a session id: session ids are UUIDs"
    assert recorded() == []


def test_a_push_needs_a_remote(lab: WorkerLab) -> None:
    problem = lab.shell.problem(2, "run", *lab.here, "--push", "origin", "do it")
    assert problem["message"].endswith("has no remote origin")
    assert recorded() == []


def test_what_is_not_committed_is_told_with_an_option_of_run(lab: WorkerLab) -> None:
    (lab.project / "new.txt").write_text("new")
    (warning,) = lab.shell.json("run", *lab.here, "--dry-run")["plan"]["warnings"]
    assert warning == "uncommitted, so not included: new.txt; commit first, or --no-worktree"


@pytest.mark.parametrize("command", [["run"], ["send", "parser"]])
def test_a_prompt_that_looks_like_an_option(lab: WorkerLab, command: list[str]) -> None:
    problem = lab.shell.problem(2, *command, "-do not")
    assert "on stdin" in problem["hint"]
