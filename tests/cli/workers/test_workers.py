"""The commands that work on a worker by its name."""

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from prong.paths import state_dir
from prong.storage.workers import WorkerRecords
from prong.testing.wait import wait_until
from tests.cli.code_lab import git
from tests.cli.shell import prong
from tests.cli.worker_lab import WorkerLab
from tests.interrupts import ending, unmeasured


@pytest.fixture
def parser(lab: WorkerLab) -> str:
    """A worker that waits for its first prompt."""
    lab.run("--name", "parser")
    lab.until("parser", "idle")
    return "parser"


def test_send_and_its_answer(lab: WorkerLab, parser: str) -> None:
    text = "- a list\n\n'quotes' \"twice\" $(echo no); `date`"
    assert lab.shell.ok("send", parser, "--wait", "--", text) == f"You said: {text}\n"
    answer = lab.shell.json("send", parser, "and", "words", "--wait")
    assert answer["reply"] == "You said: and words"
    assert answer["worker"]["turn"] == 2
    assert lab.shell.json("send", parser, "more") == {"worker": parser, "sent": True}
    assert lab.until(parser, "idle")["turn"] == 3


def test_nothing_to_send(lab: WorkerLab, parser: str) -> None:
    assert "the prompt is empty" in lab.shell.fails(2, "send", parser, " ")


def test_wait_returns_when_it_is_idle_and_not_before(lab: WorkerLab, parser: str) -> None:
    hold = Path(lab.status(parser)["workspace"]) / "hold"
    hold.touch()
    lab.shell.ok("send", parser, "slowly")
    late = lab.shell.problem(4, "wait", parser, "--timeout", "0.3")
    assert late["message"] == "parser is busy after 0.3 s"
    waiting = subprocess.Popen(
        prong("wait", parser), env=lab.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with ending(waiting):
        time.sleep(0.6)
        assert waiting.poll() is None
        hold.unlink()
        out, err = waiting.communicate(timeout=30)
    assert waiting.returncode == 0, err
    assert out.decode().startswith("parser is idle")


def test_wait_ends_when_a_person_is_wanted(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("key", parser, *"ask", "Enter")
    lab.until(parser, "waiting")
    result = lab.shell.run("wait", parser)
    assert result.exit_code == 4
    assert result.stdout.startswith("parser is waiting")
    assert "prong attach parser" in result.stderr
    # What is sent now would be the answer.
    assert lab.shell.problem(4, "send", parser, "hello")["code"] == "busy"


def test_wait_for_any_of_several(lab: WorkerLab, parser: str) -> None:
    slow = lab.run("--name", "slow")
    (Path(slow["workspace"]) / "hold").touch()
    lab.shell.ok("send", "slow", "slowly")
    found = lab.shell.json("wait", "slow", parser, "--any")["workers"]
    assert [(one["worker"], one["state"]) for one in found] == [
        ("slow", "busy"),
        ("parser", "idle"),
    ]
    lab.shell.ok("stop", "slow", "--force")


def test_stop_asks_when_it_is_at_work(lab: WorkerLab, parser: str) -> None:
    (Path(lab.status(parser)["workspace"]) / "hold").touch()
    lab.shell.ok("send", parser, "slowly")
    assert lab.shell.problem(4, "stop", parser)["code"] == "busy"
    lab.until(parser, "busy")
    assert lab.shell.json("stop", parser, "--force") == {"stopped": [parser]}
    found = lab.status(parser)
    assert found["state"] == "gone"
    assert found["stopped"]
    assert Path(found["workspace"]).is_dir()


def test_stop_and_restart_go_on_with_the_same_session(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("send", parser, "first", "--wait")
    before = lab.status(parser)
    stopped = lab.shell.run("stop", parser)
    assert stopped.stdout == "stopped parser\n"
    assert "prong restart parser" in stopped.stderr
    assert lab.shell.run("ps").stdout == ""
    text = lab.shell.ok("restart", parser)
    assert text.startswith("restarted parser (claude)\n")
    after = lab.until(parser, "idle")
    assert after["session"] == before["session"]
    assert after["workspace"] == before["workspace"]
    assert after["stopped"] is None
    assert lab.shell.json("send", parser, "second", "--wait")["worker"]["turn"] == 2


def test_a_restart_closes_no_pane_that_got_the_number_of_the_old_one(
    lab: WorkerLab, parser: str
) -> None:
    lab.shell.ok("send", parser, "first", "--wait")
    lab.run("--name", "other")
    lab.shell.ok("stop", parser)
    records = WorkerRecords(state_dir() / "state.db")
    other = records.named("other")
    assert other is not None
    # As after a reboot: the terminal counts its panes from the beginning.
    records.change(parser, pane=other.pane, stopped=None)
    assert lab.shell.problem(3, "attach", parser)["hint"] == "prong restart parser"
    lab.shell.ok("restart", parser)
    assert lab.until(parser, "idle")["turn"] == 1
    assert lab.until("other", "idle")["pane"] != lab.status(parser)["pane"]


def test_two_restarts_at_once_are_one(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("send", parser, "first", "--wait")
    lab.shell.ok("stop", parser)
    both = [
        subprocess.Popen(
            prong("restart", parser), env=lab.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(2)
    ]
    for one in both:
        one.communicate(timeout=60)
    assert sorted(one.returncode for one in both) == [0, 4]
    assert len(lab.tmux("list-panes", "-a", "-F", "#{pane_id}").split()) == 1


def test_one_that_runs_is_not_restarted(lab: WorkerLab, parser: str) -> None:
    assert lab.shell.problem(4, "restart", parser)["hint"] == "prong attach parser"


def test_a_wrong_name_stops_none_of_the_others(lab: WorkerLab, parser: str) -> None:
    assert lab.shell.problem(3, "stop", parser, "nobody")["code"] == "not_found"
    assert lab.status(parser)["state"] == "idle"


def test_a_forgotten_worker_leaves_its_name(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("stop", parser, "--forget")
    assert lab.shell.json("ps", "--all") == {"workers": []}
    assert lab.run("--name", parser, "--no-worktree")["name"] == parser


def test_a_pane_that_was_killed_is_gone(lab: WorkerLab, parser: str) -> None:
    lab.tmux("kill-pane", "-t", lab.status(parser)["pane"]["id"])
    assert lab.until(parser, "gone")["stopped"] is None
    assert "prong restart parser" in lab.shell.run("ps").stderr


def test_rename(lab: WorkerLab, parser: str) -> None:
    assert lab.shell.ok("rename", parser, "lexer") == "parser is lexer now\n"
    assert lab.status("lexer")["state"] == "idle"
    assert lab.shell.problem(3, "status", parser)["code"] == "not_found"
    assert lab.shell.problem(2, "rename", "lexer", "Bad Name")["code"] == "usage"


def test_a_workers_name_is_a_session(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("send", parser, "first", "--wait")
    assert "> first" in lab.shell.ok("show", parser)
    assert lab.shell.json("turns", parser)["turns"][0]["prompt"] == "first"
    assert "You said: first" in lab.shell.ok("show", f"{parser}@-1")


def test_log(lab: WorkerLab, parser: str) -> None:
    assert "no messages yet" in lab.shell.run("log", parser).stderr
    lab.shell.ok("send", parser, "first", "--wait")
    text = lab.shell.ok("log", parser)
    assert "> first" in text
    assert "You said: first" in text
    messages = lab.shell.json("log", parser)["messages"]
    assert [one["text"] for one in messages] == ["first", "You said: first"]
    assert "--follow and --json" in lab.shell.fails(2, "log", parser, "-f", "--json")


def test_a_log_that_is_followed_ends_with_ctrl_c(lab: WorkerLab, parser: str) -> None:
    process = subprocess.Popen(
        prong("log", "-f", parser),
        env=unmeasured(lab.env()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout
    with ending(process):
        lab.shell.ok("send", parser, "first", "--wait")
        said = b""
        while b"You said: first" not in said:
            piece = os.read(process.stdout.fileno(), 1 << 16)
            assert piece
            said += piece
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in err


def test_attach_without_a_terminal_prints_the_command(lab: WorkerLab, parser: str) -> None:
    assert "tmux" in lab.shell.ok("attach", parser)
    assert lab.shell.json("attach", parser)["command"][0].endswith("tmux")


def test_attach_shows_how_an_agent_ended(lab: WorkerLab, parser: str) -> None:
    worker = lab.status(parser)
    os.kill(worker["pid"], signal.SIGKILL)
    lab.until(parser, "gone")
    assert "tmux" in lab.shell.ok("attach", parser)
    lab.tmux("kill-pane", "-t", worker["pane"]["id"])
    assert lab.shell.problem(3, "attach", parser)["hint"] == "prong restart parser"


def test_attach_focuses_the_pane_where_one_is_inside(lab: WorkerLab, parser: str) -> None:
    other = lab.run("--name", "other")
    inside = lab.inside()
    assert lab.shell.json("attach", parser, **inside)["command"] is None
    active = lab.tmux("display-message", "-p", "#{pane_id}").strip()
    assert active == lab.status(parser)["pane"]["id"]
    assert lab.shell.ok("attach", "other", **inside) == ""
    assert lab.tmux("display-message", "-p", "#{pane_id}").strip() == other["pane"]["id"]


def test_clone_has_the_conversation_and_the_files(lab: WorkerLab, parser: str) -> None:
    folder = Path(lab.status(parser)["workspace"])
    (folder / "new.txt").write_text("not committed")
    lab.shell.ok("send", parser, "first", "--wait")
    result = lab.shell.run("clone", parser, "copy")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("cloned copy (claude)\n")
    copy = lab.until("copy", "idle")
    assert Path(copy["workspace"], "new.txt").read_text() == "not committed"
    assert copy["workspace"] != str(folder)
    assert copy["session"] != lab.status(parser)["session"]
    assert copy["forked_from"] == parser
    assert lab.shell.json("send", "copy", "second", "--wait")["worker"]["turn"] == 2
    assert lab.status(parser)["turn"] == 1


def test_clone_waits_visibly_and_ctrl_c_leaves_nothing(lab: WorkerLab, parser: str) -> None:
    (Path(lab.status(parser)["workspace"]) / "hold").touch()
    lab.shell.ok("send", parser, "slowly")
    process = subprocess.Popen(
        prong("clone", parser, "copy"),
        env=unmeasured(lab.env()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stderr
    with ending(process):
        said = b""
        while b"waiting until parser is idle" not in said:
            piece = os.read(process.stderr.fileno(), 1 << 16)
            assert piece, said
            said += piece
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert [one["name"] for one in lab.shell.json("ps", "--all")["workers"]] == [parser]
    assert len(lab.shell.json("worktrees")["worktrees"]) == 1


def test_clone_says_that_a_person_is_waited_for(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("send", parser, "ask")
    lab.until(parser, "waiting")
    lines = lab.shell.fails(4, "clone", parser, "copy", "--timeout", "0", "--json").splitlines()
    assert "parser is waiting for input" in lines[0]
    told = json.loads(lines[-1])
    assert told["message"] == "parser is waiting for input (a person), still after 0 s"
    assert told["hint"] == "prong attach parser, or: prong fork parser"


def test_names_are_completed(lab: WorkerLab, parser: str) -> None:
    for line in ("prong send par", "prong stop par", "prong show par"):
        words = line.split(" ")
        env = {"_PRONG_COMPLETE": "bash_complete", "COMP_WORDS": line}
        done = lab.shell.process(env=lab.shell.env(COMP_CWORD=str(len(words) - 1), **env))
        assert "plain,parser" in done.stdout.decode().splitlines()


@pytest.mark.parametrize("columns", [60, 200])
def test_what_is_shown_fits_the_terminal(lab: WorkerLab, parser: str, columns: int) -> None:
    lab.shell.ok("send", parser, "word " * 60, "--wait")
    for words in (["ps"], ["status", parser]):
        shown = lab.on_terminal(*words, columns=columns)
        assert shown.status == 0, shown.output
        assert all(len(line) <= columns for line in shown.lines), shown.lines


def test_ctrl_c_ends_the_waiting_and_not_the_worker(lab: WorkerLab, parser: str) -> None:
    (Path(lab.status(parser)["workspace"]) / "hold").touch()
    process = subprocess.Popen(
        prong("send", parser, "slowly", "--wait"),
        env=unmeasured(lab.env()),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    with ending(process):
        wait_until(lambda: lab.status(parser)["turn"] == 1, what="the turn")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"")
    assert b"parser keeps running" in err
    assert lab.status(parser)["state"] == "busy"


def test_terminals_are_completed(lab: WorkerLab) -> None:
    line = "prong run --terminal t"
    env = {"_PRONG_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": "3"}
    done = lab.shell.process(env=lab.shell.env(**env))
    assert done.stdout.decode().split() == ["plain,tmux"]


def test_a_restart_needs_the_folder(lab: WorkerLab, parser: str) -> None:
    lab.shell.ok("stop", parser)
    shutil.rmtree(lab.shell.json("status", parser)["workspace"])
    problem = lab.shell.problem(3, "restart", parser)
    assert problem["message"].startswith("the folder of parser no longer exists")
    # It is still one that was stopped.
    assert lab.shell.json("ps")["workers"] == []


def test_a_headless_worker_that_was_stopped_goes_on_with_send(lab: WorkerLab) -> None:
    lab.run("--name", "judge", "--headless", "--wait", "first")
    shown = lab.on_terminal("stop", "judge")
    assert 'prong send judge "..." resumes its session' in shown.output


def test_the_worktree_of_a_headless_worker_is_in_use_between_two_prompts(lab: WorkerLab) -> None:
    lab.shell.ok("run", *lab.here, "--headless", "--wait", "--name", "quiet", "hello")
    (worktree,) = lab.shell.json("worktrees")["worktrees"]
    assert worktree["state"] == "open"
    lab.shell.ok("stop", "quiet")
    (worktree,) = lab.shell.json("worktrees")["worktrees"]
    assert worktree["state"] == "finished"


def test_a_push_that_failed_is_shown_and_tried_again(lab: WorkerLab) -> None:
    """Of what the agent committed itself."""
    bare = lab.project.parent / "remote.git"
    git(lab.project.parent, "init", "--quiet", "--bare", str(bare))
    git(lab.project, "remote", "add", "origin", str(bare))
    hook = bare / "hooks/pre-receive"
    hook.write_text("#!/bin/sh\necho 'the release is frozen' >&2\nexit 1\n")
    hook.chmod(0o755)
    worker = lab.run("--name", "parser", "--push", "origin")
    lab.until("parser", "idle")
    assert lab.status("parser")["push_failure"] is None
    worktree = Path(worker["worktree"])
    (worktree / "new.py").write_text("new\n")
    git(worktree, "add", "--all")
    git(worktree, "commit", "--quiet", "--message", "by the agent")
    lab.shell.ok("stop", "parser")
    lab.shell.ok("restart", "parser")
    wait_until(lambda: lab.status("parser")["push_failure"] is not None, what="the failed push")
    assert "the release is frozen" in lab.status("parser")["push_failure"]
    assert "the release is frozen" in lab.shell.run("ps").stderr
    assert "failed: " in lab.shell.ok("status", "parser")
    found = [one for one in lab.shell.json("doctor")["findings"] if "frozen" in one["message"]]
    assert [one["level"] for one in found] == ["warning"]
    hook.unlink()
    lab.shell.ok("stop", "parser")
    lab.shell.ok("restart", "parser")
    wait_until(lambda: lab.status("parser")["push_failure"] is None, what="the push")
    head = git(worktree, "rev-parse", "HEAD")
    assert git(bare, "rev-parse", "refs/heads/prong/parser") == head


def test_ps_and_status_have_the_name_twice(lab: WorkerLab, parser: str) -> None:
    """The field was called differently in each; scripts may know either."""
    [listed] = lab.shell.json("ps")["workers"]
    status = lab.status(parser)
    assert (listed["name"], listed["worker"]) == (parser, parser)
    assert (status["name"], status["worker"]) == (parser, parser)
