"""Looking runs no program that a repository names, whichever setting of git names it."""

import os
import shlex
import subprocess
from pathlib import Path

import pytest
from textual.widgets import Button

from prong.app import App
from prong.tui.screens.fork_dialog import ForkDialog
from prong.tui.screens.turns_screen import TurnsScreen
from tests.cli.code_lab import CodeLab, git
from tests.cli.hostile_repository import PROGRAMS, Trap, set_pipes, set_trap, spoil
from tests.cli.shell import API, PARSER, Shell
from tests.cli.terminal import on_terminal
from tests.mcp.agent import in_memory
from tests.samples.claude import ClaudeSample
from tests.tui.driving import Person, drive
from tests.unit.agents.stores import START, uuid
from tests.unit.hook.hook_agent import Agent

LOOKING = [
    ["list", "--all"],
    ["find", "redis", "counters"],
    ["show", API],
    ["show", f"{API}@2", "--full"],
    ["turns", API, "--all"],
    ["diff", API],
    ["diff", f"{API}@2"],
    ["diff", f"{API}@1..4", "--stat"],
    ["tree", "--all"],
    ["doctor"],
    ["worktrees"],
    ["worktrees", "prune", "--dry-run"],
    ["ps", "--all"],
    ["hooks", "status"],
    ["fork", f"{API}@2", "--dry-run"],
    ["fork", f"{API}@3", "--dry-run", "--yes"],
    ["fork", f"{API}@2", "--code", "head", "--dry-run"],
    ["fork", f"{API}@2", "--code", "now", "--dry-run"],
    ["fork", PARSER, "--dry-run", "--yes"],
    ["run", "do it", "--headless", "--dry-run"],
    ["run", "do it", "--fork", f"{API}@2", "--headless", "--dry-run"],
    ["find", "redis", "counters", "--has", "snapshot"],
    ["find", "redis", "counters", "--fork", "1", "--dry-run", "--yes"],
    ["resume", API],
    ["export", "out", "--all", "--dry-run"],
    ["hooks", "install", "--agent", "claude", "--dry-run"],
    ["index"],
    ["snapshot", API],
    ["snapshot", API, "--again"],
]


@pytest.fixture
def code(shop: Shell) -> CodeLab:
    return CodeLab.make(shop)


@pytest.fixture
def worktree(shop: Shell, code: CodeLab) -> Path:
    """One that prong made, with something to lose in it."""
    shop.ok("fork", f"{API}@2", "--branch", "try")
    (made,) = shop.json("worktrees")["worktrees"]
    path = Path(made["path"])
    (path / "new.txt").write_text("new\n")
    return path


@pytest.fixture
def trap(code: CodeLab, worktree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    made = set_trap(code, worktree, tmp_path / "marks")
    monkeypatch.chdir(code.folder)
    return made


def test_the_trap_works(trap: Trap, code: CodeLab) -> None:
    """Git itself springs it, else this would prove nothing."""
    for words in (["status"], ["update-ref", "refs/heads/other", "HEAD"], ["log", "-1"]):
        subprocess.run(["git", *words], cwd=code.folder, capture_output=True, check=False)
    sprung = trap.sprung
    for name in ("core.fsmonitor", "hook reference-transaction", "gpg.openpgp.program"):
        assert name in sprung
    assert any(name.startswith("filter.") for name in sprung)
    assert len(PROGRAMS) > 50


@pytest.mark.parametrize("words", LOOKING, ids=shlex.join)
def test_no_command_that_looks_runs_one(
    trap: Trap, code: CodeLab, worktree: Path, shop: Shell, words: list[str]
) -> None:
    for top in (code.folder, code.folder / "inner", worktree):
        spoil(top)
    result = shop.process(*words, cwd=code.folder)
    assert trap.sprung == []
    assert result.returncode == 0, result.stderr.decode()


@pytest.mark.parametrize("words", LOOKING, ids=shlex.join)
def test_none_waits_for_a_pipe(
    code: CodeLab,
    worktree: Path,
    shop: Shell,
    tmp_path: Path,
    words: list[str],
) -> None:
    set_pipes(code, tmp_path)
    result = shop.process(*words, cwd=code.folder)
    assert result.returncode == 0, result.stderr.decode()


ASKED = [
    ["turns", API],
    ["worktrees"],
    ["fork", f"{API}@2", "--dry-run"],
    ["fork", PARSER, "--dry-run", "--yes"],
]


@pytest.mark.parametrize("name", [".gitattributes", "core.attributesFile", "core.excludesFile"])
def test_none_waits_for_ever_for_a_pipe_that_git_cannot_be_told_to_leave_alone(
    code: CodeLab,
    worktree: Path,
    shop: Shell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
) -> None:
    pipe = code.folder / name if name.startswith(".") else tmp_path / "pipe"
    os.mkfifo(pipe)
    if not name.startswith("."):
        git(code.folder, "config", name, str(pipe))
    monkeypatch.setattr("prong.code.git._PATIENCE", 0.5)
    problems = [shop.run(*words).stderr for words in ASKED]
    assert any("did not end within" in problem for problem in problems)
    assert not any("Traceback" in problem for problem in problems)


@pytest.mark.parametrize(
    "name",
    [
        *("HEAD", "config", "index", "info/exclude", "info/attributes", "packed-refs", "shallow"),
        *("logs/HEAD", "refs/heads/main", "objects/info/alternates", "worktrees/{}/gitdir"),
        *("worktrees/{}/HEAD", "worktrees/{}/commondir", "worktrees/{}/index"),
    ],
)
def test_a_fork_does_not_wait_for_ever_for_a_pipe_below_the_git_folder(
    code: CodeLab, worktree: Path, shop: Shell, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    pipe = code.folder / ".git" / name.format(worktree.name)
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    monkeypatch.setattr("prong.code.git._PATIENCE", 0.5)
    for words in (
        ["fork", f"{API}@2", "--branch", "other", "--yes"],
        ["fork", f"{API}@2", "--code", "head", "--branch", "another", "--yes"],
        ["fork", f"{API}@2", "--code", "now", "--branch", "third", "--yes"],
    ):
        result = shop.run(*words)
        assert "Traceback" not in result.stderr
        assert "bug" not in result.stderr


def test_nor_a_blob_that_a_remote_has_promised(trap: Trap, code: CodeLab, shop: Shell) -> None:
    """Git fetches what is missing, if it may."""
    listed = ("-c", "core.fsmonitor=false", "rev-parse", "HEAD:README.md")
    blob = git(code.folder, *listed).decode().strip()
    (code.folder / f".git/objects/{blob[:2]}/{blob[2:]}").unlink()
    trap.reset()
    for words in LOOKING:
        result = shop.process(*words, cwd=code.folder)
        assert b"Traceback" not in result.stderr
    assert trap.sprung == []


def test_nor_on_a_terminal(trap: Trap, shop: Shell) -> None:
    """Where a pager is wanted."""
    for words in (["diff", f"{API}@2"], ["show", API], ["log", API], ["worktrees"]):
        on_terminal(shop, *words, PAGER="cat")
    assert trap.sprung == []


def test_nor_an_export(trap: Trap, shop: Shell, tmp_path: Path) -> None:
    shop.ok("export", str(tmp_path / "out"), "--all")
    assert trap.sprung == []


def test_nor_the_tools_of_the_mcp_server(trap: Trap, shop: Shell, code: CodeLab) -> None:
    with in_memory() as agent:
        agent.ok("find_sessions", intent="redis counters")
        agent.ok("list_turns", session=API)
        agent.ok("read_session", session=f"{API}@2")
        agent.ok("prong_doctor")
        agent.ok("list_workers")
        agent.ok("smart_fork", intent="redis counters")
        agent.ok("smart_fork", intent="redis counters", fork_index=1, dry_run=True)
        agent.ok("fork_session", session=f"{API}@2", dry_run=True)
        wanted = [{"fork_from": f"{API}@2"}, {"project_path": str(code.folder), "prompt": "x"}]
        agent.ok("spawn_workers", workers=wanted, dry_run=True)
    assert trap.sprung == []


def test_nor_the_hook_that_captures_a_turn(trap: Trap, shop: Shell, code: CodeLab) -> None:
    agent = Agent(shop.home, code.folder)
    sample = ClaudeSample(uuid(1), str(code.folder), START)
    path = code.folder.parent / "s.jsonl"
    assert agent.claude("UserPromptSubmit", path, prompt_id="p")["snapshot"] is not None
    turn = sample.prompt("change it")
    sample.answer("Done.")
    path = sample.write(shop.home.claude)
    for top in (code.folder, code.folder / "inner"):
        spoil(top)
    code.write("README.md", "# Changed\n")
    (code.folder / "inner/one.py").write_text("changed\n")
    told = agent.claude("Stop", path, last_assistant_message="Done.")
    assert told["snapshot"]["turn"] == turn
    assert trap.sprung == []
    taken = agent.snapshots()[turn]
    assert [one.path for one in taken.nested] == ["inner"]
    assert agent.kept(turn, "README.md") == "# Changed\n"


def test_nor_the_screens_of_the_ui(trap: Trap, shop: Shell) -> None:
    async def story(person: Person) -> None:
        with App() as app:
            session = app.sessions.get(API)
        await person.sees_sessions()
        person.ui.push_screen(TurnsScreen(person.ui._lanes, session))
        await person.sees("turns ·")
        await person.press("home", "down", "d")
        await person.sees("Diff", "REDIS")
        await person.press("escape", "F")
        await person.until(lambda: isinstance(person.ui.screen, ForkDialog))
        await person.until(lambda: person.ui.screen.query_one("#fork", Button).display)

    drive(story)
    assert trap.sprung == []
