"""`prong hooks`: shown, asked for, backed up, and given back byte for byte."""

import json
import os
import pty
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import prong as package
from prong.setup.hooks import hook_command
from prong.testing.home import IsolatedHome
from tests.cli.shell import Shell, prong
from tests.unit.agents.codex import hook_server

SOURCE = str(Path(package.__file__).parents[1])
THEIRS = {"hooks": [{"type": "command", "command": "say done"}]}
Refusal = Callable[[Path], None]
SETTINGS = json.dumps({"model": "opus", "hooks": {"Stop": [THEIRS]}}, indent=4)


@pytest.fixture
def settings(shell: Shell) -> Path:
    path = shell.home.claude / "settings.json"
    path.write_text(SETTINGS)
    path.chmod(0o640)
    return path


def install(shell: Shell, *words: str) -> str:
    return shell.ok("hooks", "install", "--agent", "claude", "--yes", *words)


def remove(shell: Shell, *words: str) -> str:
    return shell.ok("hooks", "remove", "--agent", "claude", "--yes", *words)


def state(shell: Shell, *words: str) -> str:
    [one] = shell.json("hooks", "status", "--agent", "claude", *words)["hooks"]
    return one["state"]


def test_install_and_remove(shell: Shell, settings: Path) -> None:
    assert state(shell) == "none"
    text = install(shell)
    assert '+            {"' not in text
    assert '+        "SessionStart": [' in text
    assert "claude: installed" in text
    data = json.loads(settings.read_text())
    assert data["hooks"]["Stop"][0] == THEIRS
    assert data["hooks"]["Stop"][1]["hooks"][0]["command"].endswith(" claude")
    assert settings.stat().st_mode & 0o777 == 0o640
    assert state(shell) == "installed"
    assert "claude: removed" in remove(shell)
    assert settings.read_text() == SETTINGS
    assert settings.stat().st_mode & 0o777 == 0o640
    assert state(shell) == "none"
    assert list((shell.home.root / ".local/state/prong/hooks").iterdir()) == []


def test_a_second_time_nothing_is_done_and_said(shell: Shell, settings: Path) -> None:
    install(shell)
    before = settings.read_bytes()
    assert install(shell) == "claude: the hooks are already installed\n"
    assert settings.read_bytes() == before
    remove(shell)
    assert remove(shell) == "claude: no prong hooks are installed\n"
    assert settings.read_text() == SETTINGS


@pytest.mark.parametrize("content", [None, b"", b"{}", b"{ }\n", b"\xef\xbb\xbf{\r\n}\r\n"])
def test_files_with_little_in_them_come_back_exactly(shell: Shell, content: bytes | None) -> None:
    path = shell.home.claude / "settings.json"
    if content is not None:
        path.write_bytes(content)
    install(shell)
    assert len(json.loads(path.read_bytes().decode("utf-8-sig"))["hooks"]) == 7
    remove(shell)
    assert (path.read_bytes() if path.exists() else None) == content


def test_a_file_that_the_agent_changed_loses_our_entries_only(shell: Shell, settings: Path) -> None:
    install(shell)
    data = json.loads(settings.read_text())
    data["theme"] = "dark"
    settings.write_text(json.dumps(data, indent=2))  # as Claude Code writes it
    assert state(shell) == "installed"
    remove(shell)
    wanted = {**json.loads(SETTINGS), "theme": "dark"}
    assert settings.read_text() == json.dumps(wanted, indent=2)


def test_a_file_that_the_agent_wrote_anew_is_taken_as_it_is(shell: Shell, settings: Path) -> None:
    install(shell)
    settings.write_text('{"theme": "dark"}')
    assert state(shell) == "none"
    assert remove(shell) == "claude: no prong hooks are installed\n"
    install(shell)
    remove(shell)
    assert settings.read_text() == '{"theme": "dark"}'


def test_hooks_that_know_fewer_events_are_outdated(shell: Shell, settings: Path) -> None:
    install(shell)
    data = json.loads(settings.read_text())
    del data["hooks"]["PermissionRequest"]
    settings.write_text(json.dumps(data, indent=2))
    assert state(shell) == "outdated"
    install(shell)
    assert state(shell) == "installed"


def test_hooks_of_another_prong_are_replaced(shell: Shell, settings: Path) -> None:
    install(shell)
    text = settings.read_text()
    settings.write_text(text.replace(shlex.join(hook_command()), "/old/prong-hook", 3))
    assert state(shell) == "outdated"
    install(shell)
    assert settings.read_text() == text
    remove(shell)
    assert settings.read_text() == SETTINGS


def test_the_project(shell: Shell, settings: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shell.home.projects / "shop"
    folder.mkdir()
    monkeypatch.chdir(folder)
    install(shell, "--project")
    assert (folder / ".claude/settings.local.json").exists()
    assert settings.read_text() == SETTINGS
    assert (state(shell), state(shell, "--project")) == ("none", "installed")
    remove(shell, "--project")
    assert list(folder.iterdir()) == []


def test_git_would_show_the_new_file(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shell.home.project("shop")
    (folder / "deep").mkdir()
    monkeypatch.chdir(folder / "deep")

    def notes(*words: str) -> list[str]:
        arguments = ("hooks", "install", "--agent", "claude", "--dry-run", *words)
        [plan] = shell.json(*arguments)["hooks"]
        return plan["notes"]

    [note] = notes("--project")
    assert "deep/.claude/settings.local.json" in note
    assert notes() == []
    # As the note says.
    exclude = folder / ".git/info/exclude"
    exclude.parent.mkdir(exist_ok=True)
    subprocess.run(["sh", "-c", note.partition(": ")[2]], check=True)
    assert "settings.local.json" in exclude.read_text()
    assert notes("--project") == []
    exclude.unlink()
    # One that is there already is the user's business.
    (folder / "deep/.claude").mkdir()
    (folder / "deep/.claude/settings.local.json").write_text("{}")
    assert notes("--project") == []


def test_a_link_stays_a_link(shell: Shell, settings: Path) -> None:
    real = shell.home.root / "dotfiles.json"
    settings.rename(real)
    settings.symlink_to(real)
    install(shell)
    assert settings.is_symlink()
    assert len(json.loads(real.read_text())["hooks"]) == 7
    remove(shell)
    assert settings.is_symlink()
    assert real.read_text() == SETTINGS


def test_a_read_only_file_is_left_alone(shell: Shell, settings: Path) -> None:
    settings.chmod(0o444)
    words = shell.fails(2, "hooks", "install", "--agent", "claude", "--yes", "--json")
    problem = json.loads(words)
    assert problem["code"] == "config"
    assert problem["message"] == f"{settings} is read-only"
    assert problem["hint"] == f"chmod u+w {settings}"
    assert settings.read_text() == SETTINGS
    settings.chmod(0o644)
    install(shell)
    settings.chmod(0o444)
    shell.problem(2, "hooks", "remove", "--agent", "claude", "--yes")
    assert state(shell) == "installed"


def test_comments_are_refused_clearly(shell: Shell, settings: Path) -> None:
    settings.write_text('{\n  // mine\n  "model": "opus"\n}')
    problem = shell.problem(2, "hooks", "install", "--agent", "claude", "--yes")
    assert "has comments, which JSON does not know: prong leaves it unchanged" in problem["message"]
    [one] = shell.json("hooks", "status", "--agent", "claude")["hooks"]
    assert one["state"] == "none"


@pytest.mark.parametrize("kind", ["folder", "dangling"])
def test_what_is_no_file(shell: Shell, kind: str) -> None:
    path = shell.home.claude / "settings.json"
    if kind == "folder":
        path.mkdir()
        words = "cannot be read"
    else:
        path.symlink_to(shell.home.root / "nowhere")
        words = "a link that leads nowhere"
    result = shell.run("hooks", "install", "--agent", "claude", "--yes")
    assert result.exit_code in (7, 8)
    assert words in result.stderr


def test_nothing_is_changed_unasked(shell: Shell, settings: Path) -> None:
    problem = shell.problem(2, "hooks", "install", "--agent", "claude")
    assert "--yes" in problem["hint"]
    result = shell.run("hooks", "install", "--agent", "claude")
    assert result.exit_code == 2
    assert "+++" in result.stdout  # what it would have been
    [plan] = shell.json("hooks", "install", "--agent", "claude", "--dry-run")["hooks"]
    assert plan["changed"] is False
    [file] = plan["files"]
    assert file["change"] == "change"
    assert '+        "SessionEnd": [' in file["diff"]
    assert settings.read_text() == SETTINGS
    assert not (shell.home.root / ".local/state/prong/hooks").exists()


def answer(shell: Shell, word: bytes, *words: str) -> tuple[int, bytes]:
    """Type a command in a terminal, and a word when it asks; the status, and what was shown."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        prong("hooks", *words, "--agent", "claude"),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env=shell.env(PYTHONPATH=SOURCE),
    )
    os.close(slave)
    shown = b""
    while b"[y/N]" not in shown:
        shown += os.read(master, 4096)
    os.write(master, word + b"\n")
    status = process.wait(30)
    os.close(master)
    return status, shown


def test_a_person_is_asked(shell: Shell, settings: Path) -> None:
    status, shown = answer(shell, b"n", "install")
    assert status == 130
    assert b"SessionEnd" in shown
    assert settings.read_text() == SETTINGS
    assert answer(shell, b"y", "install")[0] == 0
    assert state(shell) == "installed"
    assert answer(shell, b"", "remove")[0] == 130
    assert state(shell) == "installed"


def test_the_backup_is_told(shell: Shell, settings: Path) -> None:
    [plan] = shell.json("hooks", "install", "--agent", "claude", "--yes")["hooks"]
    assert plan["changed"] is True
    saved = Path(plan["files"][0]["backup"])
    assert saved.read_text() == SETTINGS
    assert saved.stat().st_mode & 0o777 == 0o600


def test_a_backup_that_is_lost(shell: Shell, settings: Path) -> None:
    settings.write_text(json.dumps(json.loads(SETTINGS), indent=2))
    before = settings.read_bytes()
    install(shell)
    for path in (shell.home.root / ".local/state/prong/hooks").iterdir():
        path.unlink()
    remove(shell)
    assert settings.read_bytes() == before


@pytest.fixture
def codex(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> IsolatedHome:
    """A program that answers as Codex does."""
    folder = shell.home.root / "bin"
    folder.mkdir()
    (folder / "codex").write_text(hook_server.PROGRAM)
    (folder / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    (shell.home.codex / "config.toml").write_text('model = "x"')
    return shell.home


def test_both_agents_at_once(shell: Shell, settings: Path, codex: IsolatedHome) -> None:
    text = shell.ok("hooks", "install", "--yes")
    assert "claude: installed" in text
    assert "codex: installed" in text
    assert shell.ok("hooks", "install") == (
        "claude: the hooks are already installed\ncodex: the hooks are already installed\n"
    )
    states = [one["state"] for one in shell.json("hooks", "status")["hooks"]]
    assert states == ["installed", "installed"]
    shell.ok("hooks", "remove", "--yes")
    assert settings.read_text() == SETTINGS
    assert (codex.codex / "config.toml").read_text() == 'model = "x"'
    assert not (codex.codex / "hooks.json").exists()


def test_half_a_change_is_taken_back(shell: Shell, codex: IsolatedHome) -> None:
    (codex.codex / "config.toml").chmod(0o444)
    problem = shell.problem(2, "hooks", "install", "--agent", "codex", "--yes")
    assert "config.toml is read-only" in problem["message"]
    assert not (codex.codex / "hooks.json").exists()


def test_without_codex(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    problem = shell.problem(5, "hooks", "install", "--agent", "codex", "--yes")
    assert problem["message"] == "codex is not installed"
    assert problem["hint"] == "npm install -g @openai/codex"
    assert "codex: not installed" in shell.ok("hooks", "status", "--agent", "codex")


def test_what_one_agent_lacks_stops_no_other(
    shell: Shell, settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    result = shell.run("hooks", "install", "--yes")
    assert result.exit_code == 5
    assert "claude: installed" in result.stdout
    assert result.stderr.startswith("codex: codex is not installed\ntry: npm install")
    claude, codex = shell.json("hooks", "remove", "--yes")["hooks"]
    assert (claude["changed"], codex["changed"]) == (True, False)
    assert settings.read_text() == SETTINGS


def make_read_only(path: Path) -> None:
    path.chmod(0o444)


def make_the_folder_read_only(path: Path) -> None:
    path.parent.chmod(0o555)


def add_a_comment(path: Path) -> None:
    path.write_text("{} // mine")


REFUSALS: dict[Refusal, tuple[str, str]] = {
    make_read_only: ("{file} is read-only", "chmod u+w {file}"),
    make_the_folder_read_only: (
        "{file} cannot be written: {folder} is read-only",
        "chmod u+w {folder}",
    ),
    add_a_comment: (
        "{file} has comments, which JSON does not know: prong leaves it unchanged",
        "make it plain JSON, then try again",
    ),
}


@pytest.mark.parametrize("refuse", REFUSALS)
@pytest.mark.parametrize("as_json", [True, False])
def test_what_one_agent_refuses_stops_no_other(
    shell: Shell, settings: Path, codex: IsolatedHome, refuse: Refusal, as_json: bool
) -> None:
    message, hint = (
        words.format(file=settings, folder=settings.parent) for words in REFUSALS[refuse]
    )
    refuse(settings)
    before = settings.read_bytes()
    try:
        result = shell.run("hooks", "install", "--yes", *(["--json"] if as_json else []))
    finally:
        settings.parent.chmod(0o755)
    assert result.exit_code == 2
    assert settings.read_bytes() == before
    assert (codex.codex / "hooks.json").exists()
    if as_json:
        one, other = json.loads(result.stdout)["hooks"]
        assert (one["changed"], one["problem"]) == (False, message)
        assert (other["changed"], other["problem"]) == (True, None)
        assert all(file["backup"] is None for file in one["files"])
    else:
        assert f"claude: {message}\ntry: {hint}\n" in result.stderr
        assert "codex: installed" in result.stdout
        assert "claude: installed" not in result.stdout


def test_a_folder_that_is_read_only(shell: Shell) -> None:
    folder = shell.home.claude
    folder.chmod(0o555)
    try:
        problem = shell.problem(2, "hooks", "install", "--agent", "claude", "--yes")
    finally:
        folder.chmod(0o755)
    assert problem["message"] == f"{folder}/settings.json cannot be written: {folder} is read-only"
    assert problem["hint"] == f"chmod u+w {folder}"
    assert list(folder.glob("*.json")) == []


def test_what_one_agent_refuses_stops_no_removal(
    shell: Shell, settings: Path, codex: IsolatedHome
) -> None:
    shell.ok("hooks", "install", "--yes")
    settings.chmod(0o444)
    result = shell.run("hooks", "remove", "--yes")
    assert result.exit_code == 2
    assert "codex: removed" in result.stdout
    assert f"claude: {settings} is read-only" in result.stderr
    assert not (codex.codex / "hooks.json").exists()
    assert state(shell) == "installed"


def test_codex_in_one_project(
    shell: Shell, codex: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`notify` has no folder: it would tell of turns in other ones."""

    def project(name: str) -> dict[str, Any]:
        folder = shell.home.projects / name
        folder.mkdir(exist_ok=True)
        monkeypatch.chdir(folder)
        [one] = shell.json("hooks", "status", "--agent", "codex", "--project")["hooks"]
        return one

    assert project("shop")["state"] == "none"
    shell.ok("hooks", "install", "--agent", "codex", "--project", "--yes")
    config = (codex.codex / "config.toml").read_text()
    assert "notify" not in config
    assert "trusted_hash" in config
    assert project("shop")["state"] == "installed"
    assert (project("other")["state"], project("other")["found"]) == ("none", {})
    [user] = shell.json("hooks", "status", "--agent", "codex")["hooks"]
    assert (user["state"], user["found"]) == ("none", {})
    # The hooks for all folders come and go beside it.
    shell.ok("hooks", "install", "--agent", "codex", "--yes")
    assert "notify" in (codex.codex / "config.toml").read_text()
    assert project("other")["state"] == "none"
    assert project("shop")["state"] == "installed"
    shell.ok("hooks", "remove", "--agent", "codex", "--yes")
    assert (codex.codex / "config.toml").read_text() == config
    assert project("shop")["state"] == "installed"
    shell.ok("hooks", "remove", "--agent", "codex", "--project", "--yes")
    assert (codex.codex / "config.toml").read_text() == 'model = "x"'


def test_hooks_that_are_turned_off(shell: Shell, settings: Path) -> None:
    settings.write_text('{"disableAllHooks": true}')
    words = f'{settings} has "disableAllHooks": Claude Code runs none'
    for _ in range(2):  # the second time they are there already
        result = shell.run("hooks", "install", "--agent", "claude", "--yes")
        assert result.exit_code == 0
        assert words in result.stderr
    [one] = shell.json("hooks", "status", "--agent", "claude")["hooks"]
    assert (one["state"], one["problem"]) == ("installed", words)
    result = shell.run("hooks", "status", "--agent", "claude")
    assert result.stderr == f'{words}\ntry: take "disableAllHooks" out of {settings}\n'


def test_hooks_of_an_agent_that_is_gone(
    shell: Shell, codex: IsolatedHome, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell.ok("hooks", "install", "--agent", "codex", "--yes")
    monkeypatch.setenv("PATH", "/nowhere")
    result = shell.run("hooks", "status", "--agent", "codex")
    assert result.stdout.startswith("codex: unknown  ")
    assert result.stderr.startswith("codex is not installed, so its hooks are unknown\n")
    shell.ok("hooks", "remove", "--agent", "codex", "--yes")
    assert not (codex.codex / "hooks.json").exists()


def test_an_agent_that_does_not_exist(shell: Shell) -> None:
    assert "unknown agent 'gemini'" in shell.fails(3, "hooks", "status", "--agent", "gemini")
