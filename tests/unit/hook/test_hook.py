"""`prong-hook`, the process: it keeps the code of the turn and never gets in the way of it."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from prong import paths
from prong.code.worktrees import push
from prong.hook import program, spool
from prong.model.code import TurnKey
from prong.testing.home import IsolatedHome
from tests.code.worktrees import making
from tests.samples.claude import ClaudeSample
from tests.samples.codex import CodexSample
from tests.unit.agents.stores import START, uuid
from tests.unit.hook.hook_agent import SOURCE, THREAD, Agent, answer_of, prompt_id


@pytest.fixture
def agent(isolated_home: IsolatedHome) -> Agent:
    return Agent(isolated_home, isolated_home.project("shop"))


@pytest.fixture
def sample(agent: Agent) -> ClaudeSample:
    return ClaudeSample(uuid(1), str(agent.project), START)


def test_a_session_of_claude(agent: Agent, sample: ClaudeSample) -> None:
    path = agent.home.root / "s.jsonl"
    told = agent.claude("SessionStart", path, source="startup")
    assert (told["state"], told["detail"], told["snapshot"]) == ("idle", "startup", None)
    told = agent.claude("UserPromptSubmit", path, prompt_id="p", prompt="secret words")
    assert told["state"] == "busy"
    assert told["snapshot"]["turn"] == "0"
    assert "secret" not in json.dumps(told)

    (agent.project / "a.txt").write_text("one")
    turn = sample.prompt("make a.txt")
    sample.answer("Done.")
    answer = answer_of(sample)
    path = sample.write(agent.home.claude)
    said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
    told = agent.claude("Stop", path, **said)
    assert (told["state"], told["turn"], told["degraded"]) == ("idle", turn, None)
    assert told["snapshot"]["message"] == answer
    assert agent.kept(turn, "a.txt") == "one"
    shot = agent.snapshots()[turn]
    assert (shot.message_id, shot.number) == (answer, 1)
    assert agent.snapshots()["0"].number == 0

    # Another hook kept the turn from ending: it ends once more.
    (agent.project / "a.txt").write_text("one and a half")
    agent.claude("Stop", path, **said, stop_hook_active=True)
    assert agent.kept(turn, "a.txt") == "one and a half"
    assert agent.claude("SessionEnd", path, reason="other")["state"] == "gone"
    assert set(agent.snapshots()) == {"0", turn}


def test_an_interrupted_turn_is_caught_up(agent: Agent, sample: ClaudeSample) -> None:
    first = sample.prompt("make a.txt")
    sample.answer("Done.")
    second = sample.prompt("and b.txt")
    sample.interrupt()
    path = sample.write(agent.home.claude)
    (agent.project / "b.txt").write_text("half")
    told = agent.claude("UserPromptSubmit", path, prompt_id="new")
    assert told["snapshot"]["turn"] == second
    assert told["snapshot"]["late"] is True
    assert agent.snapshots()[second].late is True
    # Once is enough, and what happened before is nobody's guess.
    (agent.project / "b.txt").write_text("changed later")
    told = agent.claude("UserPromptSubmit", path, prompt_id="newer")
    assert told["snapshot"]["turn"] == f"next-{second}"
    assert agent.kept(second, "b.txt") == "half"
    assert first not in agent.snapshots()
    assert "0" not in agent.snapshots()


def test_a_prompt_within_the_turn_ends_nothing(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("work")
    path = sample.write(agent.home.claude)
    told = agent.claude("UserPromptSubmit", path, prompt_id=prompt_id(sample))
    assert (told["state"], told["snapshot"]) == ("busy", None)
    assert agent.snapshots() == {}


def test_the_end_of_a_session_catches_up_as_well(agent: Agent, sample: ClaudeSample) -> None:
    turn = sample.prompt("work")
    path = sample.write(agent.home.claude)
    told = agent.claude("SessionEnd", path, reason="other", prompt_id=prompt_id(sample))
    assert told["snapshot"]["turn"] == turn


def test_the_last_lines_are_waited_for(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("before")
    sample.answer("Done.")
    turn = sample.prompt("work")
    sample.answer("Done.")
    answer = answer_of(sample)
    path = sample.write(agent.home.claude)
    whole = path.read_bytes()
    there = whole.index(turn.encode())  # in the middle of the prompt's line
    path.write_bytes(whole[:there])

    def go_on() -> None:
        with path.open("ab") as file:
            file.write(whole[there:])

    writer = threading.Timer(0.15, go_on)
    writer.start()
    said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
    told = agent.claude("Stop", path, **said)
    writer.join()
    if told["turn"] is None:  # a machine so slow that the 200 ms were over before the lines came
        assert told["degraded"] == "the turn is not in the session file yet"
        told = agent.claude("Stop", path, **said)
    assert (told["turn"], told["snapshot"]["message"]) == (turn, answer)


def test_lines_that_never_come(agent: Agent, sample: ClaudeSample) -> None:
    first = sample.prompt("before")
    sample.answer("Done.")
    path = sample.write(agent.home.claude)
    told = agent.claude("Stop", path, prompt_id="another", last_assistant_message="Done.")
    assert told["degraded"] == "the turn is not in the session file yet"
    assert agent.snapshots() == {}
    turn = sample.prompt("work")
    path.unlink()
    path = sample.write(agent.home.claude)
    # The prompt is there, its answer is not: the turn is known all the same.
    told = agent.claude("Stop", path, prompt_id=prompt_id(sample), last_assistant_message="Well.")
    assert told["snapshot"]["turn"] == turn
    assert first not in agent.snapshots()


def test_a_session_that_is_not_written(agent: Agent) -> None:
    told = agent.claude("Stop", agent.home.root / "none.jsonl", prompt_id="p")
    assert (told["snapshot"], told["degraded"], told["state"]) == (None, None, "idle")


@pytest.mark.parametrize(
    ("event", "payload", "state"),
    [
        ("Notification", {"notification_type": "permission_prompt"}, "waiting"),
        ("Notification", {"notification_type": "idle_prompt"}, None),
        ("SessionStart", {"source": "compact"}, None),
        ("SomethingNew", {}, None),
    ],
)
def test_states(agent: Agent, event: str, payload: dict[str, str], state: str | None) -> None:
    assert agent.claude(event, agent.home.root / "x", **payload)["state"] == state


def test_a_session_of_codex(agent: Agent) -> None:
    sample = CodexSample(THREAD, str(agent.project), START)
    path = agent.home.codex / "sessions/2026/11/16" / f"rollout-2026-11-16T04-48-51-{THREAD}.jsonl"
    path.parent.mkdir(parents=True)

    def write() -> None:
        path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in sample.lines))

    write()
    told = agent.codex("UserPromptSubmit", transcript_path=str(path), turn_id=uuid(7))
    assert told["snapshot"]["turn"] == "0"
    assert told["turn"] == uuid(7)
    first = sample.turn("make a.txt", "Done.")
    write()
    told = agent.codex("Stop", transcript_path=str(path), turn_id=first)
    assert (told["turn"], told["snapshot"]["turn"]) == (first, first)
    second = sample.turn("make b.txt", "stopped")
    sample.lines[-1]["payload"] = {"type": "turn_aborted", "turn_id": second}
    write()
    told = agent.codex("UserPromptSubmit", transcript_path=str(path), turn_id=uuid(8))
    assert (told["snapshot"]["turn"], told["snapshot"]["late"]) == (second, True)

    third = sample.turn("make c.txt", "Done.")
    write()
    note = {"type": "agent-turn-complete", "thread-id": THREAD, "cwd": str(agent.project)}
    agent.hook("codex", "notify", json.dumps({**note, "turn-id": third}))
    told = spool.waiting()[-1]
    assert (told["event"], told["snapshot"]["turn"]) == ("agent-turn-complete", third)
    assert told["transcript"] == str(path)
    # The thread in which Codex makes up a title has no file.
    title = {**note, "thread-id": THREAD.replace("c00a", "c00b"), "turn-id": uuid(9)}
    count = len(spool.waiting())
    agent.hook("codex", "notify", json.dumps(title))
    assert len(spool.waiting()) == count
    assert set(agent.snapshots()) == {"0", first, second, third}


def test_a_fork_says_nothing_of_turns_that_are_not_its_own(
    agent: Agent, sample: ClaudeSample
) -> None:
    """The code that it begins with may be any, so it is kept under a name of its own."""
    sample.prompt("make a.txt")
    sample.answer("Done.")
    fork = sample.branch_off(uuid(2), answer_of(sample))
    path = fork.write(agent.home.claude)
    told = agent.claude("UserPromptSubmit", path, session_id=uuid(2), prompt_id="new")
    assert (told["snapshot"]["turn"], told["snapshot"]["late"]) == (TurnKey.START, False)
    own = fork.prompt("and b.txt")
    fork.answer("Done.")
    path.unlink()
    fork.write(agent.home.claude)
    said = {"prompt_id": prompt_id(fork), "last_assistant_message": "Done."}
    agent.claude("Stop", path, session_id=uuid(2), **said)
    assert set(agent.snapshots()) == {TurnKey.START, own}


def test_a_codex_fork_has_no_baseline(agent: Agent) -> None:
    path = agent.home.root / "rollout.jsonl"
    payload = {"history_base": {"thread_id": uuid(3)}, "forked_from_id": uuid(3)}
    meta = {"type": "session_meta", "payload": payload}
    path.write_text(json.dumps(meta) + "\n")
    told = agent.codex("UserPromptSubmit", transcript_path=str(path), turn_id=uuid(7))
    assert told["snapshot"]["turn"] == TurnKey.START


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        ([], b""),
        (["--help"], b"null"),
        (["claude"], b""),
        (["claude"], b"\xff\xfe"),
        (["claude"], b'{"session_id": 1}'),
        (["codex", "notify", "{"], b""),
        (["codex", "notify", "[]"], b""),
    ],
)
def test_whatever_it_is_given(agent: Agent, words: list[str], stdin: bytes) -> None:
    agent.hook(*words, stdin=stdin)
    assert spool.waiting() == []


@pytest.mark.parametrize("id_", ["../../x", "-x", "a b", "a" * 200])
def test_an_id_that_is_none(agent: Agent, sample: ClaudeSample, id_: str) -> None:
    sample.prompt("work")
    path = sample.write(agent.home.claude)
    told = {"session_id": id_, "transcript_path": str(path), "cwd": str(agent.project)}
    agent.hook("claude", stdin=json.dumps({**told, "hook_event_name": "SessionEnd"}).encode())
    assert agent.snapshots() == {}


def test_a_sub_agent_is_no_session(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("work")
    path = sample.write(agent.home.claude)
    told = {"session_id": uuid(1), "transcript_path": str(path), "cwd": str(agent.project)}
    event = {**told, "hook_event_name": "Stop", "agent_id": "a1"}
    agent.hook("claude", stdin=json.dumps(event).encode())
    assert spool.waiting() == []


def test_turned_off(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("work")
    path = sample.write(agent.home.claude)
    told = {"session_id": uuid(1), "transcript_path": str(path), "hook_event_name": "SessionEnd"}
    agent.hook("claude", stdin=json.dumps(told).encode(), PRONG_HOOK="off")
    assert spool.waiting() == []


def test_the_limit_of_the_configuration(agent: Agent, sample: ClaudeSample) -> None:
    config = paths.config_file()
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[snapshots]\nlimit_mb = 0.001\n")
    (agent.project / "big.txt").write_text("x" * 1001)
    turn = sample.prompt("work")
    path = sample.write(agent.home.claude)
    agent.claude("Stop", path, prompt_id=prompt_id(sample))
    assert [one.path for one in agent.snapshots()[turn].left_out] == ["big.txt"]


def test_a_folder_without_git(agent: Agent, sample: ClaudeSample) -> None:
    turn = sample.prompt("work")
    path = sample.write(agent.home.claude)
    agent.project = agent.home.root / "plain"
    agent.project.mkdir()
    said = {"prompt_id": prompt_id(sample)}
    told = agent.claude("Stop", path, **said)
    assert (told["turn"], told["snapshot"], told["degraded"]) == (turn, None, None)


def test_a_git_that_hangs_costs_no_more_than_the_budget(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("work")
    path = sample.write(agent.home.claude)
    slow = agent.home.root / "slow"
    slow.mkdir()
    (slow / "git").write_text("#!/bin/sh\nexec sleep 50\n")
    (slow / "git").chmod(0o755)
    agent.env = {"PATH": f"{slow}:/usr/bin:/bin", "PRONG_HOOK_SECONDS": "1"}
    began = time.monotonic()
    told = agent.claude("Stop", path, prompt_id=prompt_id(sample))
    assert time.monotonic() - began < 10
    assert told["degraded"]
    assert told["snapshot"] is None
    assert told["state"] == "idle"


def test_a_git_that_fails(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("work")
    path = sample.write(agent.home.claude)
    bad = agent.home.root / "bad"
    bad.mkdir()
    (bad / "git").write_text("#!/bin/sh\necho something >&2; echo out; exit 3\n")
    (bad / "git").chmod(0o755)
    agent.env = {"PATH": f"{bad}:/usr/bin:/bin"}
    told = agent.claude("Stop", path, prompt_id=prompt_id(sample))
    assert told["degraded"]
    agent.env = {"PATH": "/nowhere"}
    assert agent.claude("Stop", path, prompt_id=prompt_id(sample))["degraded"]


def test_a_state_folder_that_cannot_be_written(agent: Agent, sample: ClaudeSample) -> None:
    turn = sample.prompt("work")
    path = sample.write(agent.home.claude)
    blocked = agent.home.root / "file"
    blocked.write_text("")
    told = {
        "session_id": uuid(1),
        "transcript_path": str(path),
        "cwd": str(agent.project),
        "hook_event_name": "Stop",
    }
    agent.hook("claude", stdin=json.dumps(told).encode(), XDG_STATE_HOME=str(blocked))
    assert set(agent.snapshots()) == {turn}


def test_modules_of_the_project_are_not_imported(agent: Agent, sample: ClaudeSample) -> None:
    for name in ("json", "prong", "signal", "re"):
        (agent.project / f"{name}.py").write_text("raise SystemExit(2)")
    turn = sample.prompt("work")
    path = sample.write(agent.home.claude)
    assert agent.claude("Stop", path, prompt_id=prompt_id(sample))["turn"] == turn


def imported(agent: Agent, event: str, path: Path) -> set[str]:
    """The modules that one event needs."""
    told = {
        "session_id": uuid(1),
        "transcript_path": str(path),
        "cwd": str(agent.project),
        "hook_event_name": event,
    }
    found = agent.home.root / "modules"
    script = f"""
import sys
before = set(sys.modules)
from prong.hook.program import main
try:
    main()
except SystemExit:
    pass
open({str(found)!r}, "w").write("\\n".join(set(sys.modules) - before))
"""
    subprocess.run(
        [sys.executable, "-P", "-c", script, "claude"],
        input=json.dumps(told).encode(),
        env=agent.home.env({"PYTHONPATH": SOURCE}),
        check=True,
        timeout=60,
    )
    return set(found.read_text().split())


def test_little_is_imported(agent: Agent, sample: ClaudeSample) -> None:
    turn = sample.prompt("work")
    path = sample.write(agent.home.claude)
    modules = imported(agent, "Stop", path)
    assert set(agent.snapshots()) == {turn}
    tops = {name.partition(".")[0] for name in modules}
    assert tops - {"prong"} <= set(sys.stdlib_module_names)
    ours = {name for name in modules if name.startswith("prong") and "prong.code" not in name}
    few = {
        "prong",
        "prong.files",
        "prong.files.atomic",
        "prong.files.regular",
        "prong.hook",
        "prong.hook.program",
        "prong.hook.spool",
        "prong.paths",
    }
    finding = {"prong.plugins", "prong.agents", "prong.agents.last_turn", "prong.errors"}
    finding |= {"prong.agents.claude", "prong.agents.claude.last_turn"}
    taking = {"prong.files.size_limit", "prong.model", "prong.model.code"}
    assert ours == few | finding | taking
    # Without a snapshot, nothing of what takes one.
    modules = imported(agent, "Notification", path)
    assert {name for name in modules if name.startswith("prong")} == few
    assert not modules & {"subprocess", "asyncio"}


def test_the_name_of_the_baseline() -> None:
    assert program._BASELINE == TurnKey.BASELINE


class TestWorkers:
    """What the environment of a worker adds."""

    def worktree(self, agent: Agent) -> Path:
        """One that prong made, which the agent works in from now on."""
        root = agent.home.root / "managed"
        made = making.create_at(agent.project, "HEAD", root / "w" / "w", "prong/w", root=root)
        agent.project = made.path
        return made.path

    def git(self, folder: Path, *words: str) -> str:
        done = subprocess.run(
            ["git", *words], cwd=folder, capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    def test_their_name_is_told(self, agent: Agent) -> None:
        path = agent.home.root / "s.jsonl"
        assert agent.claude("SessionStart", path)["worker"] is None
        agent.env["PRONG_WORKER"] = "calm-otter"
        assert agent.claude("SessionStart", path)["worker"] == "calm-otter"
        agent.env["PRONG_WORKER"] = "../x"
        assert agent.claude("SessionStart", path)["worker"] is None

    def test_a_question_for_a_person(self, agent: Agent) -> None:
        path = agent.home.root / "s.jsonl"
        told = agent.claude(
            "PermissionRequest", path, tool_name="Bash", tool_input={"command": "x"}
        )
        assert (told["state"], told["detail"], told["snapshot"]) == ("waiting", "Bash", None)
        # Also that of a sub-agent; and without a terminal nobody is asked.
        told = agent.claude("PermissionRequest", path, tool_name="Edit", agent_id="a")
        assert (told["state"], told["detail"]) == ("waiting", "Edit")
        agent.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-cli"
        assert agent.claude("PermissionRequest", path, tool_name="Bash")["state"] is None
        assert agent.codex("PermissionRequest", tool_name="Bash")["state"] == "waiting"

    def test_what_the_agent_committed_is_pushed(
        self, agent: Agent, sample: ClaudeSample, tmp_path: Path
    ) -> None:
        top = self.worktree(agent)
        self.git(tmp_path, "init", "--quiet", "--bare", "remote.git")
        self.git(top, "remote", "add", "origin", str(tmp_path / "remote.git"))
        agent.env |= {"PRONG_WORKER": "w", "PRONG_COMMIT_TURNS": "1", "PRONG_PUSH": "origin"}
        (top / "a.txt").write_text("one")
        self.git(top, "add", "--all")
        self.git(top, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "by the agent")
        sample.prompt("make a.txt and commit it")
        sample.answer("Done.")
        path = sample.write(agent.home.claude)
        said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
        told = agent.claude("Stop", path, **said)
        assert told["commit"] == {"commit": None, "reason": "nothing changed", "push": "origin"}
        assert push.push(top, "origin") is not None  # waits for the other one
        head = self.git(top, "rev-parse", "HEAD")
        assert self.git(tmp_path / "remote.git", "rev-parse", "refs/heads/prong/w") == head

    def test_turns_become_commits(self, agent: Agent, sample: ClaudeSample) -> None:
        top = self.worktree(agent)
        agent.env |= {"PRONG_WORKER": "w", "PRONG_COMMIT_TURNS": "1", "PRONG_PUSH": "nowhere"}
        (top / "a.txt").write_text("one")
        sample.prompt("make a.txt\nplease")
        sample.answer("Done.")
        path = sample.write(agent.home.claude)
        said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
        told = agent.claude("Stop", path, **said)
        head = self.git(top, "rev-parse", "HEAD")
        assert told["commit"] == {
            "commit": head,
            "reason": "unknown remote nowhere",
            "push": None,
        }
        assert self.git(top, "log", "-1", "--format=%s") == "Turn 1: make a.txt"
        assert self.git(top, "show", "HEAD:a.txt") == "one"
        again = agent.claude("Stop", path, **said, stop_hook_active=True)
        assert (again["commit"]["commit"], again["commit"]["reason"]) == (None, "nothing changed")
        assert agent.claude("UserPromptSubmit", path, prompt_id="new")["commit"] is None
        del agent.env["PRONG_COMMIT_TURNS"]
        (top / "a.txt").write_text("two")
        assert agent.claude("Stop", path, **said)["commit"] is None
        assert self.git(top, "rev-parse", "HEAD") == head

    def test_turns_of_codex_by_notify(self, agent: Agent) -> None:
        top = self.worktree(agent)
        agent.env |= {"PRONG_WORKER": "w", "PRONG_COMMIT_TURNS": "1"}
        sample = CodexSample(THREAD, str(top), START)
        turn = sample.turn("make a.txt", "Done.")
        path = sample.write(agent.home.codex)
        day = agent.home.codex / "sessions/2026/11/16"
        day.mkdir(parents=True, exist_ok=True)
        path.replace(day / path.name)
        (top / "a.txt").write_text("one")
        told = {
            "type": "agent-turn-complete",
            "thread-id": THREAD,
            "turn-id": turn,
            "cwd": str(top),
            "input-messages": ["make a.txt"],
            "last-assistant-message": "Done.",
        }
        agent.hook("codex", "notify", json.dumps(told))
        [event] = spool.waiting()
        assert event["commit"]["commit"] == self.git(top, "rev-parse", "HEAD")
        assert self.git(top, "log", "-1", "--format=%s").endswith(": make a.txt")

    def test_only_where_prong_made_the_worktree(self, agent: Agent, sample: ClaudeSample) -> None:
        agent.env |= {"PRONG_WORKER": "w", "PRONG_COMMIT_TURNS": "1"}
        head = self.git(agent.project, "rev-parse", "HEAD")
        other = agent.home.root / "other"
        self.git(agent.project, "worktree", "add", "--quiet", str(other))
        sample.prompt("make a.txt")
        sample.answer("Done.")
        path = sample.write(agent.home.claude)
        said = {"prompt_id": prompt_id(sample), "last_assistant_message": "Done."}
        for folder in (agent.project, other):
            (folder / "a.txt").write_text("one")
            told = agent.claude("Stop", path, **said, cwd=str(folder))
            assert told["commit"]["commit"] is None
            assert told["commit"]["reason"]
            assert self.git(folder, "rev-parse", "HEAD") == head


def test_too_little_memory_is_told(agent: Agent, sample: ClaudeSample) -> None:
    sample.prompt("write much")
    sample.answer("x" * (60 << 20))
    path = sample.write(agent.home.claude)
    limits = f"import resource; resource.setrlimit(resource.RLIMIT_AS, ({100 << 20},) * 2)\n"
    payload = {
        "session_id": uuid(1),
        "transcript_path": str(path),
        "cwd": str(agent.project),
        "hook_event_name": "Stop",
    }
    done = subprocess.run(
        [
            sys.executable,
            "-P",
            "-c",
            f"{limits}from prong.hook.program import main; main()",
            "claude",
        ],
        input=json.dumps(payload).encode(),
        env=agent.home.env({"PYTHONPATH": SOURCE}),
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert spool.waiting()[-1]["degraded"] == "there was not enough memory"
