"""Every launch does what it says, with the real programs."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from prong.agents.argv import Command
from prong.agents.base import AgentStore
from prong.agents.claude.output import seed_answer
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex import output as codex_output
from prong.agents.codex.store import CodexStore
from prong.model.forks import Child, ForkPoint, Launch
from prong.model.record import replace
from prong.model.sessions import Session, View
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Fail, Reply, Text, Thinking, ToolCall, say
from prong.testing.server import FakeModelServer, Request, RequestKind
from prong.testing.wait import wait_until
from tests.drivers.claude_cli import ClaudeCli, read_lines
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_terminal import CodexTerminal
from tests.drivers.requests import anthropic_items, openai_items

PROMPTS = [
    "-x --resume nothing",
    "two lines:\n'one' \"two\" $HOME `id` ; & é",
    # Also the name of a subcommand.
    "doctor",
]
_LINE = "abcdefghij é日本 \u2028 \x1b[31m </x> & $HOME\n"
BIG = f"[PRONG_FORK_SEED] x\n{_LINE * 9_500}end"


def claude(command: Command, roots: Sequence[Path]) -> ClaudeStore:
    return ClaudeStore(roots).with_command(command if isinstance(command, str) else tuple(command))


def codex(command: Command, roots: Sequence[Path]) -> CodexStore:
    return CodexStore(roots).with_command(command if isinstance(command, str) else tuple(command))


def session_at(store: AgentStore, path: Path) -> Session:
    session = store.session_at(path)
    assert session is not None
    return session


def child_of(session: Session, cwd: Path, id_: str | None = None) -> Child:
    return Child(id_, cwd, ForkPoint(session.ref, 1, "turn"))


def run(
    launch: Launch, env: dict[str, str], text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Start it without a terminal."""
    return subprocess.run(
        launch.argv,
        cwd=launch.cwd,
        env={**env, **launch.env},
        input=text or "",
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def texts(request: Request) -> list[str]:
    """What the user said in a request, as it arrived."""
    if "input" in request.body:
        return [item.text for item in openai_items(request.body) if item.role == "user"]
    return [item.text for item in anthropic_items(request.body) if item.role == "user"]


def tools(request: Request) -> set[str]:
    return {str(tool.get("name") or tool["type"]) for tool in request.body.get("tools") or ()}


def arrived(server: FakeModelServer, text: str) -> bool:
    """Whether some request has exactly this text in it."""
    wanted = json.dumps(text)
    return any(wanted in json.dumps(request.body) for request in server.requests())


class TestClaude:
    @pytest.fixture
    def store(self, isolated_home: IsolatedHome) -> ClaudeStore:
        return ClaudeStore([isolated_home.claude])

    @pytest.fixture
    def headless(self, claude_cli: ClaudeCli) -> list[str]:
        """A base command that needs no terminal, with old session flags in it."""
        return [str(claude_cli.program), "-pr", "old", "--session-id=x"]

    @pytest.fixture
    def source(
        self, claude_cli: ClaudeCli, isolated_home: IsolatedHome, store: ClaudeStore
    ) -> Session:
        run = claude_cli.run("first one", isolated_home.project())
        return session_at(store, claude_cli.session_file(run.session_id))

    @pytest.mark.parametrize("prompt", PROMPTS)
    def test_start_resume_and_fork(
        self,
        claude_cli: ClaudeCli,
        fake_anthropic: FakeAnthropic,
        isolated_home: IsolatedHome,
        store: ClaudeStore,
        headless: list[str],
        prompt: str,
    ) -> None:
        cwd = isolated_home.project("a folder (1)")
        id_ = str(uuid.uuid4())
        nothing = session_at(store, claude_cli.session_file(claude_cli.run("x", cwd).session_id))
        start = claude(headless, store.roots).start(child_of(nothing, cwd, id_), prompt)
        done = run(start, claude_cli.env())
        assert (done.returncode, done.stderr) == (0, "")
        session = session_at(store, claude_cli.session_file(id_))
        assert session.cwd == str(cwd)

        launch = claude(headless, store.roots).resume(session, cwd, f"{prompt} 2")
        assert run(launch, claude_cli.env()).returncode == 0
        assert texts(fake_anthropic.last_prompted(f"{prompt} 2")) == [prompt, f"{prompt} 2"]

        before = session.path.read_bytes()
        for target in (cwd, isolated_home.project("other")):
            child = replace(child_of(session, target, str(uuid.uuid4())), title="-my 'fork'")
            launch = claude(headless, store.roots).native_fork(session, child, prompt)
            assert run(launch, claude_cli.env()).returncode == 0
            fork = session_at(store, claude_cli.session_file(str(child.id)))
            assert fork.path.parent == claude_cli.project_folder(target)
            assert (fork.cwd, fork.title, fork.turn_count) == (str(target), "-my 'fork'", 3)
        sent = texts(fake_anthropic.conversation_requests()[-1])
        assert sent == [prompt, f"{prompt} 2", prompt]
        assert session.path.read_bytes() == before
        assert len(claude_cli.session_ids()) == 4

    def test_a_line_for_a_shell(
        self,
        claude_cli: ClaudeCli,
        fake_anthropic: FakeAnthropic,
        isolated_home: IsolatedHome,
        store: ClaudeStore,
        source: Session,
    ) -> None:
        cwd = isolated_home.project("a folder")
        child = child_of(source, isolated_home.project(), str(uuid.uuid4()))
        line = f'cd "{cwd}" && {claude_cli.program} -r old --model opus -p && echo done'
        launch = claude(line, store.roots).native_fork(source, child, "it's $HOME")
        done = run(launch, claude_cli.env())
        assert done.stdout.endswith("done\n")
        assert session_at(store, claude_cli.session_file(str(child.id))).cwd == str(cwd)
        assert texts(fake_anthropic.last_prompted("it's $HOME")) == ["first one", "it's $HOME"]

    def test_another_root(
        self, claude_cli: ClaudeCli, isolated_home: IsolatedHome, headless: list[str]
    ) -> None:
        root = isolated_home.root / "laptop"
        cwd = isolated_home.project()
        done = claude_cli.run("one", cwd, env={"CLAUDE_CONFIG_DIR": str(root)})
        (path,) = root.glob("projects/*/*.jsonl")
        session = session_at(ClaudeStore([root]), path)
        launch = claude(headless, [isolated_home.claude, root]).resume(session, cwd, "go")
        assert run(launch, claude_cli.env()).stdout == "ECHO: go\n"
        assert session_at(ClaudeStore([root]), path).turn_count == 2
        assert [done.session_id] == [file.stem for file in root.glob("projects/*/*.jsonl")]
        assert claude_cli.session_ids() == []

    @pytest.mark.parametrize("prompt", PROMPTS)
    def test_in_a_terminal(
        self,
        claude_cli: ClaudeCli,
        fake_anthropic: FakeAnthropic,
        isolated_home: IsolatedHome,
        store: ClaudeStore,
        source: Session,
        prompt: str,
    ) -> None:
        base = [str(claude_cli.program), "--dangerously-skip-permissions", "--continue"]
        cwd = isolated_home.project("a folder")
        child = child_of(source, cwd, str(uuid.uuid4()))
        launch = claude(base, store.roots).native_fork(source, child, prompt)
        assert launch.argv[:2] == tuple(base[:2])
        with ClaudeTerminal.open(claude_cli, cwd, launch.argv[2:]) as terminal:
            assert terminal.session_id() == child.id
            fake_anthropic.wait_for_prompt(prompt)
            terminal.wait_idle()
            terminal.exit()
        fork = session_at(store, claude_cli.session_file(str(child.id)))
        resume = claude(base, store.roots).resume(fork, cwd)
        with ClaudeTerminal.open(claude_cli, cwd, resume.argv[2:]) as terminal:
            terminal.prompt("last one")
        assert texts(fake_anthropic.last_prompted("last one")) == ["first one", prompt, "last one"]

    def test_seed(
        self,
        claude_cli: ClaudeCli,
        fake_anthropic: FakeAnthropic,
        isolated_home: IsolatedHome,
        store: ClaudeStore,
        source: Session,
    ) -> None:
        ran = isolated_home.root / "ran"
        cwd = isolated_home.project("a folder")
        self.loosen(isolated_home, cwd, ran)
        child = replace(child_of(source, cwd, str(uuid.uuid4())), title="my seed")
        fake_anthropic.enqueue(
            Reply(Thinking("hm"), ToolCall("Bash", {"command": f"touch {ran}"})),
            Reply(Thinking("hm"), Text("Rea"), Text("dy.")),
            kind=RequestKind.TITLE,  # the server takes a request without tools for that
        )
        base = [str(claude_cli.program), "--dangerously-skip-permissions", "--model", "opus"]
        done = run(claude(base, store.roots).seed(child), claude_cli.env(), BIG)
        answer = seed_answer(done.stdout.split("\n"))
        assert (answer.session_id, answer.text, answer.error) == (child.id, "Ready.", None)
        assert not ran.exists()
        assert len(BIG.encode()) > 400_000
        assert arrived(fake_anthropic, BIG)
        assert [tools(request) for request in fake_anthropic.requests()[1:]] == [set(), set()]
        assert '"permissionMode":"dontAsk"' in done.stdout

        session = session_at(store, claude_cli.session_file(str(child.id)))
        assert (session.title, session.turn_count) == ("my seed", 1)
        said = [message.text for message in store.messages(session, view=View.CONTEXT)]
        assert said[0] == BIG
        self.forget(isolated_home, cwd)
        resume = claude([str(claude_cli.program)], store.roots).resume(session, cwd)
        with ClaudeTerminal.open(claude_cli, cwd, resume.argv[1:]) as terminal:
            terminal.tmux.wait_for("dy.")
            terminal.prompt("go on")
        request = fake_anthropic.last_prompted("go on")
        assert texts(request)[0] == BIG
        assert {"Bash", "Edit", "Read"} <= tools(request)
        # The system prompt of a run without a terminal did not stay.
        assert "You are Claude Code" in json.dumps(request.body["system"])

    def loosen(self, home: IsolatedHome, cwd: Path, ran: Path) -> None:
        """Settings that a seed must not follow."""
        hook = {"hooks": [{"type": "command", "command": f"touch {ran}"}]}
        settings = {
            "permissions": {"defaultMode": "bypassPermissions"},
            "enableAllProjectMcpServers": True,
            "hooks": {"Stop": [hook], "UserPromptSubmit": [hook]},
        }
        (home.claude / "settings.json").write_text(json.dumps(settings))
        server = {"command": "touch", "args": [str(ran)]}
        (cwd / ".mcp.json").write_text(json.dumps({"mcpServers": {"x": server}}))

    def forget(self, home: IsolatedHome, cwd: Path) -> None:
        (home.claude / "settings.json").unlink()
        (cwd / ".mcp.json").unlink()

    def test_a_seed_that_is_refused(
        self,
        claude_cli: ClaudeCli,
        fake_anthropic: FakeAnthropic,
        store: ClaudeStore,
        source: Session,
    ) -> None:
        fake_anthropic.respond = lambda _: Fail(400, "no such thing")
        child = child_of(source, Path(source.cwd or ""), str(uuid.uuid4()))
        base = [str(claude_cli.program)]
        done = run(claude(base, store.roots).seed(child), claude_cli.env(), "seed")
        answer = seed_answer(done.stdout.split("\n"))
        assert answer.text == ""
        assert "no such thing" in (answer.error or "")
        assert read_lines(claude_cli.session_file(str(child.id)))


class TestCodex:
    @pytest.fixture
    def store(self, isolated_home: IsolatedHome) -> CodexStore:
        return CodexStore([isolated_home.codex])

    @pytest.fixture
    def base(self, codex_cli: CodexCli) -> list[str]:
        return [str(codex_cli.program), "resume", "--last", "-C", "/"]

    @pytest.fixture
    def source(
        self, codex_cli: CodexCli, isolated_home: IsolatedHome, store: CodexStore
    ) -> Session:
        thread = codex_cli.run("first one", isolated_home.project()).thread_id
        return session_at(store, codex_cli.live_rollout(thread))

    @pytest.mark.parametrize("prompt", PROMPTS)
    def test_start_and_resume(
        self,
        codex_cli: CodexCli,
        fake_openai: FakeOpenAI,
        isolated_home: IsolatedHome,
        store: CodexStore,
        source: Session,
        base: list[str],
        prompt: str,
    ) -> None:
        cwd = isolated_home.project("a folder (1)")
        start = codex(base, store.roots).start(child_of(source, cwd), prompt)
        with CodexTerminal.open(codex_cli, cwd, start.argv[1:]) as terminal:
            fake_openai.wait_for_prompt(prompt)
            terminal.wait_idle()
            thread = terminal.thread_id()
            terminal.exit()
        session = session_at(store, codex_cli.live_rollout(thread))
        assert (session.cwd, session.turn_count) == (str(cwd), 1)
        resume = codex(base, store.roots).resume(session, cwd, f"{prompt} 2")
        with CodexTerminal.open(codex_cli, cwd, resume.argv[1:], thread) as terminal:
            request = fake_openai.wait_for_prompt(f"{prompt} 2")
            wait_until(lambda: terminal.ended_turns() == 2)
        assert texts(request) == [prompt, f"{prompt} 2"]

    def test_native_fork(
        self,
        codex_cli: CodexCli,
        fake_openai: FakeOpenAI,
        isolated_home: IsolatedHome,
        store: CodexStore,
        source: Session,
        base: list[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        for name, value in codex_cli.env().items():
            monkeypatch.setenv(name, value)
        cwd = isolated_home.root / "no repository"
        cwd.mkdir()
        codex_cli.trust(cwd)
        config = isolated_home.codex / "config.toml"
        config.write_text(config.read_text().replace('approval_policy = "never"\n', ""))
        before = source.path.read_bytes()
        child = child_of(source, cwd)
        thread = codex(base, store.roots).fork_natively(source, child)
        assert thread not in ("", source.id)
        assert len(fake_openai.requests()) == 1
        fork = session_at(store, codex_cli.live_rollout(thread))
        assert fork.parent == source.ref
        named = replace(child, id=thread)
        launch = codex(base, store.roots).native_fork(source, named, "go on")
        with CodexTerminal.open(codex_cli, cwd, launch.argv[1:], thread) as terminal:
            request = fake_openai.wait_for_prompt("go on")
            terminal.wait_idle()
        assert texts(request) == ["first one", "go on"]
        assert permissions(fork.path) == [("danger-full-access", "on-request")]
        assert source.path.read_bytes() == before

    def test_seed(
        self,
        codex_cli: CodexCli,
        fake_openai: FakeOpenAI,
        isolated_home: IsolatedHome,
        store: CodexStore,
        source: Session,
    ) -> None:
        ran = isolated_home.root / "ran"
        cwd = isolated_home.root / "no repository"
        cwd.mkdir()
        config = isolated_home.codex / "config.toml"
        server = f'[mcp_servers."a b"]\ncommand = "touch"\nargs = ["{ran}"]\n'
        config.write_text(f'notify = ["touch", "{ran}"]\n{config.read_text()}{server}')
        fake_openai.enqueue(
            Reply(ToolCall("exec_command", {"cmd": f"touch {ran}"})),
            Reply(Thinking("hm"), Text("Rea"), Text("dy.")),
        )
        base = [str(codex_cli.program), "--yolo", "-m", "another-model"]
        child = child_of(source, cwd)
        done = run(codex(base, store.roots).seed(child), codex_cli.env(), BIG)
        answer = codex_output.seed_answer(done.stdout.split("\n"))
        assert (answer.text, answer.error) == ("Ready.", None)
        assert not ran.exists()
        requests = fake_openai.requests()[1:]
        assert [tools(request) for request in requests] == [set(), set()]
        assert {request.body["model"] for request in requests} == {"another-model"}
        assert texts(requests[0]) == [BIG]
        assert answer.session_id is not None
        path = codex_cli.live_rollout(answer.session_id)
        assert permissions(path) == [("read-only", "never")]

        session = session_at(store, path)
        assert (session.cwd, session.turn_count) == (str(cwd), 1)
        loose = 'approval_policy = "never"\nsandbox_mode = "danger-full-access"\n'
        codex_cli.trust(cwd)  # writes the configuration anew
        config.write_text(config.read_text().replace(loose, ""))
        resume = codex([base[0]], store.roots).resume(session, cwd)
        with CodexTerminal.open(codex_cli, cwd, resume.argv[1:], session.id) as terminal:
            terminal.tmux.wait_for("dy.")
            terminal.prompt("go on")
        request = fake_openai.last_prompted("go on")
        assert texts(request) == [BIG, "go on"]
        assert tools(request) >= tools(fake_openai.requests()[0]) >= {"exec_command"}
        # Codex would have kept what the seed had to do with.
        assert permissions(path) == [("read-only", "never"), ("workspace-write", "on-request")]

    def test_a_seed_that_is_refused(
        self, codex_cli: CodexCli, fake_openai: FakeOpenAI, store: CodexStore, source: Session
    ) -> None:
        fake_openai.enqueue(Fail(400, "no such thing"), say("never asked"))
        child = child_of(source, Path(source.cwd or ""))
        launch = codex([str(codex_cli.program)], store.roots).seed(child)
        done = run(launch, codex_cli.env(), "seed")
        answer = codex_output.seed_answer(done.stdout.split("\n"))
        assert (answer.text, answer.error) == ("", "no such thing")


def permissions(path: Path) -> list[tuple[str, str]]:
    """The sandbox and the approval policy of each turn."""
    rows: list[dict[str, Any]] = read_lines(path)
    turns = [row["payload"] for row in rows if row["type"] == "turn_context"]
    return [(turn["sandbox_policy"]["type"], turn["approval_policy"]) for turn in turns]
