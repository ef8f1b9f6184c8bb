"""`prong hooks install` and real turns: every turn has its code, and the user's hooks run too."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import tomllib
from pathlib import Path
from typing import Any

import pytest

from prong.agents.base import AgentStore
from prong.agents.claude.store import ClaudeStore
from prong.agents.codex.store import CodexStore
from prong.app import App
from prong.code.snapshots import snapshot as snapshots
from prong.hook import spool
from prong.model.code import Snapshot, TurnKey
from prong.model.forks import Launch
from prong.model.sessions import Turn
from prong.testing.anthropic import FakeAnthropic
from prong.testing.home import IsolatedHome
from prong.testing.openai import FakeOpenAI
from prong.testing.script import Fail, Hold, Reply, Text, ToolCall, call, say
from prong.testing.wait import wait_until
from tests.cli.shell import prong
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.claude_terminal import ClaudeTerminal
from tests.drivers.codex_cli import CodexCli
from tests.drivers.codex_terminal import CodexTerminal
from tests.e2e.labs.code_lab import SOURCE, HookedClaude, HookedCodex


@pytest.fixture
def claude(claude_cli: ClaudeCli) -> HookedClaude:
    return HookedClaude(claude_cli.home, claude_cli.url, claude_cli.program)


@pytest.fixture
def codex(codex_cli: CodexCli, monkeypatch: pytest.MonkeyPatch) -> HookedCodex:
    monkeypatch.setenv("PATH", f"{codex_cli.program.parent}{os.pathsep}{os.environ['PATH']}")
    return HookedCodex(codex_cli.home, codex_cli.url, codex_cli.program)


@pytest.fixture
def project(isolated_home: IsolatedHome) -> Path:
    return isolated_home.project("shop")


def hooks(command: str, agent: str) -> dict[str, Any]:
    """`prong hooks ...`, in this process's throw-away home."""
    done = subprocess.run(
        prong("hooks", command, "--agent", agent, "--yes", "--json"),
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    [told] = json.loads(done.stdout)["hooks"]
    return told


def users_hook(home: IsolatedHome) -> tuple[dict[str, Any], Path]:
    """A hook as a user may have it, and what it leaves behind."""
    seen = home.root / "user hook ran"
    return {"hooks": [{"type": "command", "command": f"echo $PWD >> '{seen}'"}]}, seen


def files(folder: Path) -> dict[str, str]:
    """The working tree as it is now."""
    found = (path for path in folder.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(folder)): path.read_text() for path in found}


def kept(folder: Path, snapshot: Snapshot) -> dict[str, str]:
    """The files of a snapshot."""
    names = git(folder, "ls-tree", "-r", "--name-only", snapshot.tree).splitlines()
    return {name: git(folder, "show", f"{snapshot.commit}:{name}") for name in names}


def git(folder: Path, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=folder, capture_output=True, text=True, check=True
    ).stdout


def by_turn(folder: Path, session: str) -> dict[str, Snapshot]:
    """Of the ends of turns, and that before the first prompt; not those of the prompts between."""
    found = (one for one in snapshots.find(folder) if one.session == session)
    return {one.turn_id: one for one in found if one.key.is_turn or one.turn_id == TurnKey.BASELINE}


def turns(store: AgentStore, path: Path) -> tuple[Turn, ...]:
    session = store.session_at(path)
    assert session is not None
    return store.conversation(session).turns


def events(session: str) -> list[tuple[str, str | None]]:
    return [(one["event"], one["state"]) for one in spool.waiting() if one["session"] == session]


def problems() -> list[str]:
    return [one["degraded"] for one in spool.waiting() if one["degraded"]]


def write_file(name: str, text: str) -> Reply:
    return call("Bash", command=f"printf '{text}' > {name}")


def test_claude_without_a_terminal(
    claude: HookedClaude, fake_anthropic: FakeAnthropic, project: Path
) -> None:
    theirs, seen = users_hook(claude.home)
    settings = claude.home.claude / "settings.json"
    settings.write_text(json.dumps({"hooks": {"Stop": [theirs]}}, indent=2))
    before = settings.read_bytes()
    assert hooks("install", "claude")["changed"]

    states = [files(project)]
    fake_anthropic.enqueue(write_file("a.txt", "one"), say("first answer"))
    session = claude.run("alpha", project).session_id
    states.append(files(project))
    (project / "mine.txt").write_text("typed by hand")
    git(project, "add", "mine.txt")
    fake_anthropic.enqueue(write_file("a.txt", "two"), say("second answer"))
    assert claude.run("beta", project, resume=session).session_id == session
    states.append(files(project))
    fake_anthropic.respond = lambda _: Fail(400)
    assert claude.run("gamma", project, resume=session).is_error

    assert not problems()
    path = claude.session_file(session)
    found = by_turn(project, session)
    told = turns(ClaudeStore(), path)
    assert [turn.prompt for turn in told] == ["alpha", "beta", "gamma"]
    assert set(found) == {"0", *(turn.id for turn in told)}
    shots = [found["0"], *(found[turn.id] for turn in told)]
    assert [kept(project, shot) for shot in shots] == [*states, states[-1]]
    assert [shot.number for shot in shots] == [0, *(turn.index for turn in told)]
    said = [json.loads(line) for line in path.read_bytes().split(b"\n") if line]
    answers = {
        line["uuid"]: line["message"]["content"][0]["text"]
        for line in said
        if line["type"] == "assistant" and line["message"]["content"][0]["type"] == "text"
    }
    assert [answers[shot.message_id or ""] for shot in shots[1:3]] == [
        "first answer",
        "second answer",
    ]
    assert events(session)[:4] == [
        ("SessionStart", "idle"),
        ("UserPromptSubmit", "busy"),
        ("Stop", "idle"),
        ("SessionEnd", "gone"),
    ]
    # Without a terminal Claude Code ends before the hook of a failed turn does; the end of the
    # session is told in any case.
    assert events(session)[-1] == ("SessionEnd", "gone")
    assert seen.read_text().splitlines() == [str(project)] * 2
    # Nothing of ours is in the conversation.
    assert b"prong" not in b"".join(
        json.dumps(line.get("message", "")).encode() for line in said if line["type"] == "user"
    )

    assert hooks("remove", "claude")["changed"]
    assert settings.read_bytes() == before


def test_claude_interrupted(
    claude: HookedClaude, fake_anthropic: FakeAnthropic, project: Path
) -> None:
    hooks("install", "claude")
    with ClaudeTerminal.open(claude, project) as terminal:
        terminal.prompt("alpha")
        session = terminal.session_id()
        fake_anthropic.enqueue(call("Bash", command="printf half > half.txt; sleep 60"))
        terminal.submit("beta")
        terminal.wait_path(project / "half.txt")
        terminal.interrupt()
        assert not (set(by_turn(project, session)) - {"0", terminal_turn(terminal, 0).id})
        interrupted = files(project)
        fake_anthropic.enqueue(
            Reply(ToolCall("Bash", {"command": "sleep 1; echo late > late.txt"})), say("done")
        )
        terminal.submit("gamma")
        terminal.wait_written(b"sleep 1")
        terminal.queue("typed while it works")
        terminal.wait_idle()
        terminal.wait_quiet()
        found = by_turn(project, session)
        told = [terminal_turn(terminal, number) for number in range(3)]
    assert set(found) == {"0", *(turn.id for turn in told)}
    assert told[2].queued == ("typed while it works",)
    assert kept(project, found[told[1].id]) == interrupted
    assert kept(project, found[told[2].id]) == files(project)
    assert "late.txt" in files(project)
    late = [
        one["snapshot"] for one in spool.waiting() if one["snapshot"] and one["snapshot"]["late"]
    ]
    assert [one["turn"] for one in late] == [told[1].id]
    assert not problems()


def terminal_turn(terminal: ClaudeTerminal, number: int) -> Turn:
    path = terminal.session_path()
    assert path is not None
    return turns(ClaudeStore(), path)[number]


def test_claude_for_one_run(
    claude: HookedClaude, fake_anthropic: FakeAnthropic, project: Path
) -> None:
    fake_anthropic.enqueue(write_file("a.txt", "one"), say("done"))
    with App() as app:
        launch = app.setup.hooks.for_one_run("claude", Launch(("claude",), project, {}, ""))
    session = claude.run("alpha", project, arguments=launch.argv[1:]).session_id
    [turn] = turns(ClaudeStore(), claude.session_file(session))
    assert set(by_turn(project, session)) == {"0", turn.id}
    assert not (claude.home.claude / "settings.json").exists()


def shell_call(command: str) -> Reply:
    return call("exec_command", cmd=command)


def test_codex_without_a_terminal(
    codex: HookedCodex, fake_openai: FakeOpenAI, project: Path
) -> None:
    codex.trust(project)
    theirs, seen = users_hook(codex.home)
    (codex.home.codex / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [theirs]}}))
    before = (codex.home.codex / "config.toml").read_bytes()
    assert hooks("install", "codex")["changed"]
    trust_all(codex)

    states = [files(project)]
    fake_openai.enqueue(shell_call("printf one > a.txt"), say("first answer"))
    run = codex.run("alpha", project)
    states.append(files(project))
    fake_openai.enqueue(shell_call("rm a.txt; printf two > b.txt"), say("second answer"))
    codex.resume(run.thread_id, "beta", project)
    states.append(files(project))
    fake_openai.enqueue(shell_call("printf three > c.txt"), Fail(400))
    codex.resume(run.thread_id, "gamma", project)
    states.append(files(project))

    assert not problems()
    told = turns(CodexStore(), codex.live_rollout(run.thread_id))
    found = by_turn(project, run.thread_id)
    assert [turn.prompt for turn in told] == ["alpha", "beta", "gamma"]
    # Neither Stop nor notify is called for a failed turn; the end of the session is.
    assert set(found) == {"0", *(turn.id for turn in told)}
    shots = [found["0"], *(found[turn.id] for turn in told)]
    assert [kept(project, shot) for shot in shots] == states
    assert all(shot.message_id for shot in shots[1:3])
    assert ("Stop", "idle") in events(run.thread_id)
    assert ("agent-turn-complete", "idle") in events(run.thread_id)
    assert seen.read_text().splitlines() == [str(project)] * 2

    hooks("remove", "codex")
    text = (codex.home.codex / "config.toml").read_bytes()
    assert text.startswith(before)
    assert b"prong" not in text
    codex.run("delta", project)
    assert len(seen.read_text().splitlines()) == 3  # still trusted


def trust_all(codex: HookedCodex) -> None:
    """Trust the user's hook as well, as the user would have done."""
    from prong.agents.codex.app_server import AppServer

    with AppServer([str(codex.program), "app-server"], codex.home.codex) as server:
        listed = server.call("hooks/list", cwds=[str(codex.home.root)])["data"][0]["hooks"]
    config = codex.home.codex / "config.toml"
    assert {one["trustStatus"] for one in listed if "prong" in one["command"]} == {"trusted"}
    for one in listed:
        if one["trustStatus"] != "trusted":
            text = f'\n[hooks.state."{one["key"]}"]\ntrusted_hash = "{one["currentHash"]}"\n'
            config.write_text(config.read_text() + text)


def test_codex_interrupted(codex: HookedCodex, fake_openai: FakeOpenAI, project: Path) -> None:
    codex.trust(project)
    before = (codex.home.codex / "config.toml").read_bytes()
    hooks("install", "codex")
    gate = threading.Event()
    with CodexTerminal.open(codex, project) as terminal:
        terminal.prompt("alpha")
        fake_openai.enqueue(
            shell_call("printf half > half.txt"), Reply(Text("and"), Hold(gate), Text(" more"))
        )
        terminal.submit("beta")
        wait_until((project / "half.txt").exists, what="half.txt")
        terminal.interrupt()
        gate.set()
        interrupted = files(project)
        fake_openai.enqueue(shell_call("printf late > late.txt"), say("done"))
        terminal.prompt("gamma")
        thread = terminal.thread_id()
        wait_until(lambda: len(by_turn(project, thread)) == 4, what="four snapshots")
        ended = files(project)
        # Interrupted and taken back as well: Codex ends the session then, and resumes it.
        gate.clear()
        fake_openai.enqueue(
            shell_call("printf back > back.txt"), Reply(Text("and"), Hold(gate), Text(" more"))
        )
        terminal.submit("delta")
        wait_until((project / "back.txt").exists, what="back.txt")
        terminal.interrupt()
        gate.set()
        taken_back = files(project)
        terminal.rewind("delta")
        fake_openai.enqueue(shell_call("rm back.txt"), say("done"))
        terminal.prompt("epsilon")
    session = CodexStore().session_at(codex.live_rollout(thread))
    assert session is not None
    told = CodexStore().conversation(session)
    (left,) = told.abandoned
    assert [turn.prompt for turn in told.turns] == ["alpha", "beta", "gamma", "epsilon"]
    found = by_turn(project, thread)
    assert set(found) == {"0", left.id, *(turn.id for turn in told.turns)}
    states = [interrupted, ended, files(project)]
    assert [kept(project, found[turn.id]) for turn in told.turns[1:]] == states
    assert kept(project, found[left.id]) == taken_back
    # The thread in which Codex makes up a title is nobody's session.
    assert {one["session"] for one in spool.waiting()} == {thread}
    assert not problems()
    hooks("remove", "codex")
    assert (codex.home.codex / "config.toml").read_bytes() == before


def test_codex_for_one_run(codex: HookedCodex, fake_openai: FakeOpenAI, project: Path) -> None:
    codex.trust(project)
    fake_openai.enqueue(shell_call("printf one > a.txt"), say("done"))
    with App() as app:
        words = (str(codex.program), "exec", "-C", str(project), "alpha")
        launch = app.setup.hooks.for_one_run("codex", Launch(words, project, {}, ""))
    done = subprocess.run(
        launch.argv,
        cwd=project,
        env=codex.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0
    [thread] = codex.thread_ids()
    [turn] = turns(CodexStore(), codex.live_rollout(thread))
    wait_until(lambda: bool(by_turn(project, thread)), what="the snapshot")
    assert kept(project, by_turn(project, thread)[turn.id]) == files(project)


def test_codex_edits_its_settings_itself(codex: HookedCodex, project: Path) -> None:
    codex.trust(project)
    config = codex.home.codex / "config.toml"
    before = config.read_text()
    hooks("install", "codex")
    installed = config.read_text()
    other = codex.home.project("other")
    subprocess.run(
        [str(codex.program), "exec", "--trust", "-C", str(other), "alpha"],
        cwd=other,
        env=codex.env(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=True,
    )
    edited = config.read_text()
    assert edited != installed  # it trusts the folder from now on
    assert snapshots.find(other)
    hooks("remove", "codex")
    after = tomllib.loads(config.read_text())
    expected = tomllib.loads(before)
    expected["projects"][str(other)] = {"trust_level": "trusted"}
    assert after == expected
    assert config.read_text().startswith(before.rstrip())
