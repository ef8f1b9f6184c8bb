"""What workers know of the real programs: which session is open, what they wait for, trust."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.model.sessions import Activity
from prong.model.workers import NewSession, RunOptions
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Fail, Reply, Text, call
from prong.testing.wait import wait_until
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.drivers.tmux import Tmux
from tests.e2e.workers import worker_lab
from tests.e2e.workers.worker_lab import NAME, hooked, open_in, pane, told, wait_open, wait_told

SKIP = RunOptions(skip_permissions=True)
ASKS = RunOptions(extra=("--permission-mode", "default"))


@pytest.fixture
def claude(claude_cli: ClaudeCli) -> ClaudeStore:
    return worker_lab.worker_store(
        ClaudeStore([claude_cli.home.claude]), (str(claude_cli.program),), ASKS
    )


@pytest.fixture
def codex(codex_cli: CodexCli) -> CodexStore:
    return worker_lab.worker_store(
        CodexStore([codex_cli.home.codex]), (str(codex_cli.program), "--no-alt-screen"), SKIP
    )


def asking(codex_cli: CodexCli) -> CodexStore:
    """Codex that asks before it leaves its sandbox."""
    command = (str(codex_cli.program), "--no-alt-screen")
    extra = ("-c", 'approval_policy="on-request"', "-c", 'sandbox_mode="workspace-write"')
    store = CodexStore([codex_cli.home.codex])
    return worker_lab.worker_store(store, command, RunOptions(extra=extra))


def submit(tmux: Tmux, text: str) -> None:
    """Type a prompt, press Enter when it is shown."""
    tmux.send_text(text)
    tmux.wait_for(text)
    for _ in range(10):
        try:
            tmux.wait_for(lambda screen: text in screen.splitlines()[-1], timeout=0.3)
        except TimeoutError:
            break
    tmux.key("Enter")


def press(tmux: Tmux, key: str, until: Callable[[], bool]) -> None:
    """Press a key until it has an effect: one that comes while a dialog is drawn is lost.

    Codex too throws away what was typed before it read its first key, and it draws first.
    """
    for _ in range(20):
        tmux.key(key)
        with suppress(TimeoutError):
            return wait_until(until, timeout=1.5)
    raise TimeoutError(tmux.capture())


def stays(words: str, tmux: Tmux) -> bool:
    """True when it is still there after a while: the dialog is drawn anew, and then says No."""
    if words in tmux.capture():
        time.sleep(1)
        return words in tmux.capture()
    return False


class TestClaude:
    def test_a_permission_and_a_session_that_moves(
        self,
        isolated_home: IsolatedHome,
        fake_anthropic: FakeAnthropic,
        claude_cli: ClaudeCli,
        claude: ClaudeStore,
    ) -> None:
        project = isolated_home.project()
        claude_cli.prepare(project)
        id_ = str(uuid4())
        launch = hooked(claude, claude.begin(NewSession(id_, project, NAME)), isolated_home)
        fake_anthropic.enqueue(
            call("Bash", command="touch made.txt", description="t"), Reply(Text("done"))
        )
        with pane(isolated_home, launch, claude_cli.env()) as tmux:
            wait_until(lambda: getattr(open_in(claude, tmux), "activity", "") is Activity.IDLE)
            assert wait_open(claude, tmux).session == id_
            submit(tmux, "please do it")
            wait_until(lambda: getattr(open_in(claude, tmux), "waits_for", None) is not None)
            asked = wait_open(claude, tmux)
            assert (asked.activity, asked.waits_for) == (Activity.BUSY, "permission prompt")
            assert asked.since is not None
            event = wait_told("PermissionRequest")
            assert (event["state"], event["worker"], event["detail"]) == ("waiting", NAME, "Bash")
            # The question is drawn before its answers, by which the dialog is recognized.
            wait_until(lambda: claude.dialog_on(tmux.capture()) == "permission")
            press(tmux, "Enter", until=lambda: "Do you want" not in tmux.capture())
            wait_told("Stop")
            wait_until(lambda: wait_open(claude, tmux).activity is Activity.IDLE)
            after = wait_open(claude, tmux)
            assert after.waits_for is None
            assert after.since is not None
            assert after.since > asked.since
            assert claude.dialog_on(tmux.capture()) is None
            assert (project / "made.txt").exists()

            submit(tmux, "/clear")
            wait_until(lambda: wait_open(claude, tmux).session != id_)
            wait_until(lambda: told("SessionStart")[-1]["detail"] == "clear")
            started = told("SessionStart")[-1]
            assert (started["worker"], started["session"]) == (
                NAME,
                wait_open(claude, tmux).session,
            )

    def test_behind_a_shell(
        self, isolated_home: IsolatedHome, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic
    ) -> None:
        project = isolated_home.project()
        claude_cli.prepare(project)
        store = ClaudeStore([isolated_home.claude])
        store.command = f"cd . && {claude_cli.program} ; echo bye"
        store.command = store.command_with(SKIP)
        id_ = str(uuid4())
        launch = store.begin(NewSession(id_, project))
        with pane(isolated_home, launch, claude_cli.env()) as tmux:
            assert wait_open(store, tmux).session == id_
            entry = next((isolated_home.claude / "sessions").glob("*.json"))
            assert entry.stem != str(tmux.pid())

    def test_the_question_of_trust(
        self,
        isolated_home: IsolatedHome,
        claude_cli: ClaudeCli,
        claude: ClaudeStore,
        fake_anthropic: FakeAnthropic,
    ) -> None:
        claude_cli.prepare(isolated_home.project("other"))
        project = isolated_home.project("shop")
        worktree = isolated_home.root / "worktree"
        worker_lab.git(project, "worktree", "add", "--quiet", str(worktree))
        launch = claude.begin(NewSession(str(uuid4()), worktree))
        assert not claude.is_trusted(worktree)
        ours = json.loads(claude.trusting(worktree)[2])["projects"]
        with pane(isolated_home, launch, claude_cli.env()) as tmux:
            screen = tmux.wait_for("Yes, I trust this folder")
            assert claude.dialog_on(screen) == "trust"
            assert open_in(claude, tmux) is None
            press(tmux, "Down", until=lambda: stays("\u276f Yes, I trust", tmux))
            press(tmux, "Enter", until=lambda: open_in(claude, tmux) is not None)
        theirs = worker_lab.projects_of_claude(isolated_home)
        assert ours.keys() == theirs.keys()
        assert ours[str(project)].items() <= theirs[str(project)].items()
        assert claude.is_trusted(worktree)
        assert claude.is_trusted(project)

    def test_trust_as_prong_records_it(
        self,
        isolated_home: IsolatedHome,
        claude_cli: ClaudeCli,
        claude: ClaudeStore,
        fake_anthropic: FakeAnthropic,
    ) -> None:
        claude_cli.prepare(isolated_home.project("other"))
        project = isolated_home.project("shop")
        path, before, after = claude.trusting(project)
        assert path.read_bytes() == before
        path.write_bytes(after)
        launch = claude.begin(NewSession(str(uuid4()), project))
        with pane(isolated_home, launch, claude_cli.env()) as tmux:
            wait_open(claude, tmux)

    def test_turns_without_a_terminal(
        self, isolated_home: IsolatedHome, claude_cli: ClaudeCli, fake_anthropic: FakeAnthropic
    ) -> None:
        store = ClaudeStore([isolated_home.claude])
        worktree, bare = worker_lab.own_worktree(isolated_home, isolated_home.project())
        store = worker_lab.worker_store(store, (str(claude_cli.program),), SKIP)
        session = NewSession(str(uuid4()), worktree, NAME)
        env = claude_cli.env({"PRONG_COMMIT_TURNS": "1", "PRONG_PUSH": "origin"})

        fake_anthropic.enqueue(
            call("Bash", command="echo one > a.txt", description="t"), Reply(Text("made it"))
        )
        launch = hooked(store, store.headless(session, resume=False), isolated_home)
        code, events = worker_lab.turn(store, launch, "make a.txt", env)
        assert (code, events.session_id, events.is_over) == (0, session.id, True)
        assert (events.reply, events.error) == ("made it", None)
        assert_committed(worktree, bare, "Turn 1: make a.txt")

        launch = hooked(store, store.headless(session, resume=True), isolated_home)
        code, events = worker_lab.turn(store, launch, "and now?", env)
        assert (code, events.session_id, events.reply) == (0, session.id, "ECHO: and now?")
        assert wait_told("Stop", 2)["commit"]["reason"] == "nothing changed"
        assert "make a.txt" in json.dumps(fake_anthropic.last_prompted("and now?").body)

        fake_anthropic.respond = lambda _: Fail(400)
        code, events = worker_lab.turn(store, launch, "fail", env)
        assert (code, events.is_over) == (1, True)
        assert "fake error" in (events.error or "")

        gone = NewSession(str(uuid4()), worktree)
        code, events = worker_lab.turn(store, store.headless(gone, resume=True), "x", env)
        assert code == 1
        assert "No conversation found" in (events.error or "")


class TestCodex:
    def test_a_permission(
        self, isolated_home: IsolatedHome, fake_openai: FakeOpenAI, codex_cli: CodexCli
    ) -> None:
        project = isolated_home.project()
        codex_cli.trust(project)
        store = asking(codex_cli)
        launch = hooked(store, store.begin(NewSession(None, project)), isolated_home)
        leave = {"sandbox_permissions": "require_escalated", "justification": "it must"}
        fake_openai.enqueue(
            call("exec_command", cmd="touch made.txt", **leave), Reply(Text("done"))
        )
        with pane(isolated_home, launch, codex_cli.env()) as tmux:
            opened = wait_open(store, tmux)
            assert opened.activity is Activity.IDLE
            tmux.wait_for("Ask Codex")
            submit(tmux, "please do it")
            event = wait_told("PermissionRequest")
            assert (event["state"], event["worker"]) == ("waiting", NAME)
            assert event["session"] == opened.session
            assert store.dialog_on(tmux.wait_for("Yes, proceed")) == "permission"
            busy = wait_open(store, tmux)
            assert busy.activity is Activity.BUSY
            assert busy.since is not None
            assert busy.since.isoformat() < event["time"].replace("Z", "+00:00")
            press(tmux, "Enter", until=lambda: "Yes, proceed" not in tmux.capture())
            wait_told("Stop")
            wait_until(lambda: wait_open(store, tmux).activity is Activity.IDLE)
            assert store.dialog_on(tmux.capture()) is None
            assert (project / "made.txt").exists()

    def test_a_thread_that_moves(
        self,
        isolated_home: IsolatedHome,
        fake_openai: FakeOpenAI,
        codex_cli: CodexCli,
        codex: CodexStore,
    ) -> None:
        project = isolated_home.project()
        codex_cli.trust(project)
        launch = codex.begin(NewSession(None, project), "alpha one")
        with pane(isolated_home, launch, codex_cli.env()) as tmux:
            first = wait_open(codex, tmux).session
            tmux.wait_for("ECHO: alpha one")
            wait_until(lambda: wait_open(codex, tmux).activity is Activity.IDLE)
            submit(tmux, "/clear")
            wait_until(lambda: wait_open(codex, tmux).session != first)
            second = wait_open(codex, tmux).session
            tmux.wait_for("Ask Codex")
            submit(tmux, "beta two")
            tmux.wait_for("ECHO: beta two")
            assert wait_open(codex, tmux).session == second
            assert codex_cli.live_rollout(second).exists()

    def test_the_question_of_trust(
        self,
        isolated_home: IsolatedHome,
        codex_cli: CodexCli,
        codex: CodexStore,
        fake_openai: FakeOpenAI,
    ) -> None:
        project = isolated_home.project("shop")
        worktree = isolated_home.root / "worktree"
        worker_lab.git(project, "worktree", "add", "--quiet", str(worktree))
        assert not codex.is_trusted(worktree)
        path, before, after = codex.trusting(worktree)
        assert path.read_bytes() == before
        launch = codex.begin(NewSession(None, worktree))
        with pane(isolated_home, launch, codex_cli.env()) as tmux:
            assert codex.dialog_on(tmux.wait_for("Trust this folder?")) == "trust"
            assert open_in(codex, tmux) is None
            press(tmux, "Enter", until=lambda: "Trust this folder?" not in tmux.capture())
            wait_open(codex, tmux)
        assert path.read_bytes() == after
        assert codex.is_trusted(worktree)
        with pane(isolated_home, launch, codex_cli.env()) as tmux:
            wait_open(codex, tmux)

    def test_turns_without_a_terminal(
        self, isolated_home: IsolatedHome, codex_cli: CodexCli, fake_openai: FakeOpenAI
    ) -> None:
        store = CodexStore([isolated_home.codex])
        store = worker_lab.worker_store(store, (str(codex_cli.program),), SKIP)
        worktree, bare = worker_lab.own_worktree(isolated_home, isolated_home.project())
        env = codex_cli.env({"PRONG_COMMIT_TURNS": "1", "PRONG_PUSH": "origin"})
        new = NewSession(None, worktree)

        fake_openai.enqueue(call("exec_command", cmd="echo one > a.txt"), Reply(Text("made it")))
        launch = hooked(store, store.headless(new, resume=False), isolated_home)
        code, events = worker_lab.turn(store, launch, "make a.txt", env)
        assert (code, events.is_over, events.reply, events.error) == (0, True, "made it", None)
        assert_committed(worktree, bare, "make a.txt")

        again = NewSession(events.session_id, worktree)
        launch = hooked(store, store.headless(again, resume=True), isolated_home)
        code, events = worker_lab.turn(store, launch, "and now?", env)
        assert (code, events.session_id, events.reply) == (0, again.id, "ECHO: and now?")
        assert "make a.txt" in json.dumps(fake_openai.last_prompted("and now?").body)

        fake_openai.enqueue(Fail(400))
        code, events = worker_lab.turn(store, launch, "fail", env)
        assert (code, events.is_over) == (1, True)
        assert "fake error" in (events.error or "")

        unknown = NewSession("01a1e557-442b-74d3-9e56-f603bf9f241d", worktree)
        code, events = worker_lab.turn(store, store.headless(unknown, resume=True), "x", env)
        assert (code, events.is_over) == (1, False)
        assert events.error is not None

    def test_the_end_of_a_turn_by_notify_alone(
        self, isolated_home: IsolatedHome, codex_cli: CodexCli, fake_openai: FakeOpenAI
    ) -> None:
        worktree, bare = worker_lab.own_worktree(isolated_home, isolated_home.project())
        codex_cli.configure(f"notify = {json.dumps([*worker_lab.HOOK, 'codex', 'notify'])}")
        fake_openai.enqueue(call("exec_command", cmd="echo one > a.txt"), Reply(Text("made it")))
        env = {"PRONG_COMMIT_TURNS": "1", "PRONG_PUSH": "origin", "PRONG_WORKER": NAME}
        codex_cli.run("make a.txt", worktree, env=env)
        wait_told("agent-turn-complete")
        assert_committed(worktree, bare, "make a.txt")

    def test_a_worktree_of_somebody_else_is_left_alone(
        self, isolated_home: IsolatedHome, codex_cli: CodexCli, fake_openai: FakeOpenAI
    ) -> None:
        project = isolated_home.project()
        head = worker_lab.git(project, "rev-parse", "HEAD")
        codex_cli.configure(f"notify = {json.dumps([*worker_lab.HOOK, 'codex', 'notify'])}")
        fake_openai.enqueue(call("exec_command", cmd="echo one > a.txt"), Reply(Text("made it")))
        codex_cli.run("make a.txt", project, env={"PRONG_COMMIT_TURNS": "1", "PRONG_WORKER": NAME})
        event = wait_told("agent-turn-complete")
        assert event["commit"]["commit"] is None
        assert "is not a worktree" in event["commit"]["reason"]
        assert worker_lab.git(project, "rev-parse", "HEAD") == head


def assert_committed(worktree: Path, bare: Path, title: str) -> None:
    """The last turn is a commit on the branch, and the remote gets it."""
    event = next(one for one in reversed(worker_lab.spool.waiting()) if one["commit"])
    commit = worker_lab.git(worktree, "rev-parse", "HEAD")
    assert event["commit"] == {"commit": commit, "reason": None, "push": "origin"}
    assert title in worker_lab.git(worktree, "log", "-1", "--format=%s")
    assert worker_lab.git(worktree, "show", "HEAD:a.txt") == "one"

    def pushed() -> bool:
        words = ["git", "rev-parse", "--quiet", "--verify", f"refs/heads/prong/{NAME}"]
        done = subprocess.run(words, cwd=bare, capture_output=True, text=True, check=False)
        return done.stdout.strip() == commit

    wait_until(pushed, what="the commit in the remote")
