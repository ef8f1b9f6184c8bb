"""`prong doctor`: what is there, what is missing, what to type about it."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from prong.agents import versions
from tests.cli.shell import API, Shell
from tests.drivers.claude_cli import ClaudeCli
from tests.drivers.codex_cli import CodexCli
from tests.unit.agents.codex import hook_server

CLAUDE_HELP = "  -r, --resume [value]\n  --fork-session\n  --session-id <uuid>\n  -n, --name <name>"
CODEX_HELP = """Commands:
  exec  Run
  resume  Go on
  app-server  Serve
  -c, --config <key=value>  Setting
  -C, --cd <DIR>  Folder"""


@pytest.fixture
def bin_(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on PATH with agents in it; empty."""
    folder = shell.home.root / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    return folder


def install(folder: Path, name: str, *, version: str = "1.2.3", help_: str = "") -> Path:
    program = folder / name
    program.write_text(
        f'#!/bin/sh\ncase "$1" in\n--version) echo "{version}";;\n--help) echo "{help_}";;\nesac\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return program


def findings(shell: Shell, topic: str, level: str | None = None) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shell.json("doctor")["findings"]
    return [one for one in found if one["topic"] == topic and level in (None, one["level"])]


def test_all_is_well(samples: Shell, bin_: Path) -> None:
    install(bin_, "claude", version=f"{versions.CLAUDE[-1]} (Claude Code)", help_=CLAUDE_HELP)
    install(bin_, "codex", version=f"codex-cli {versions.CODEX[-1]}", help_=CODEX_HELP)
    text = samples.ok("doctor")
    assert f"{bin_ / 'claude'}: Claude Code {versions.CLAUDE[-1]} (tested: 2.1." in text
    assert f"{bin_ / 'codex'}: Codex {versions.CODEX[-1]} (tested: 0." in text
    assert "knows --resume, --fork-session, --session-id, --name" in text
    assert f"{samples.home.claude}: 3 sessions, 8 turns" in text
    assert f"{samples.home.codex}: 2 sessions, 4 turns" in text
    assert "deletes sessions after 30 days (the default of Claude Code)" in text
    assert text.endswith("\n\nno problems found\n")
    assert text.count("try: prong hooks install") == 2
    assert text.count("try: prong mcp install --agent c") == 2
    assert text.count("try:") == 4


def test_an_agent_that_is_missing_comes_with_its_installation(shell: Shell, bin_: Path) -> None:
    text = shell.ok("doctor")
    assert "claude is not on PATH: sessions can be read and forked, but not resumed" in text
    assert "try: npm install -g @anthropic-ai/claude-code" in text
    assert "try: npm install -g @openai/codex" in text
    assert text.endswith("\n\n2 warnings\n")


@pytest.mark.parametrize(
    ("version", "level", "message"),
    [
        ("2.1.1 (Claude Code)", "note", "Claude Code 2.1.1 is older than the tested versions"),
        (f"{versions.CLAUDE[0]} (Claude Code)", "ok", f"Claude Code {versions.CLAUDE[0]}"),
        ("2.1.999 (Claude Code)", "note", "Claude Code 2.1.999 is newer than the tested versions"),
        ("2.2 (Claude Code)", "note", "Claude Code 2.2 is newer than the tested versions"),
        ("10.0.0-beta", "note", "Claude Code 10.0.0 is newer than the tested versions"),
    ],
)
def test_a_version_is_compared_with_the_tested_ones(
    shell: Shell, bin_: Path, version: str, level: str, message: str
) -> None:
    install(bin_, "claude", version=version, help_=CLAUDE_HELP)
    path = bin_ / "claude"
    [found] = [one for one in findings(shell, "claude") if one["details"]]
    assert found["level"] == level
    assert found["message"] == f"{path}: {message} (tested: {', '.join(versions.CLAUDE)})"
    assert found["details"]["path"] == str(path)
    assert found["details"]["version"] == message.split()[2]
    assert found["details"]["tested"] == list(versions.CLAUDE)
    update = "update it: npm install -g @anthropic-ai/claude-code"
    assert found["hint"] == (update if "older" in message else None)
    assert found["message"] in shell.ok("doctor")


def test_a_program_that_tells_no_version_is_shown_as_it_answers(shell: Shell, bin_: Path) -> None:
    install(bin_, "claude", version="a build of mine", help_=CLAUDE_HELP)
    messages = [one["message"] for one in findings(shell, "claude", "ok")]
    assert f"{bin_ / 'claude'}: a build of mine" in messages


def test_an_agent_that_lacks_flags(shell: Shell, bin_: Path) -> None:
    install(bin_, "claude", help_="  --resume\\n  --name")
    [warning] = findings(shell, "claude", "warning")
    assert warning["message"] == "it does not know --fork-session, --session-id"
    assert warning["hint"] == "update it: npm install -g @anthropic-ai/claude-code"


@pytest.mark.parametrize(
    "script",
    ["exit 1", "kill -9 $$", "true", "echo broken >&2; exit 3"],
    ids=["status", "killed", "silent", "stderr"],
)
def test_an_agent_that_does_not_run(shell: Shell, bin_: Path, script: str) -> None:
    (bin_ / "claude").write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (bin_ / "claude").chmod(0o755)
    [warning] = findings(shell, "claude", "warning")
    assert warning["message"] == f"{bin_ / 'claude'} does not run"
    assert warning["hint"].startswith("npm install")


def test_an_agent_without_an_interpreter(shell: Shell, bin_: Path) -> None:
    (bin_ / "codex").write_text("#!/no/such/interpreter\n", encoding="utf-8")
    (bin_ / "codex").chmod(0o755)
    [warning] = findings(shell, "codex", "warning")
    assert "does not run" in warning["message"]


def test_an_agent_that_hangs(shell: Shell, bin_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prong.processes.programs.TIMEOUT", 0.2)
    (bin_ / "claude").write_text("#!/bin/sh\nexec sleep 60\n", encoding="utf-8")
    (bin_ / "claude").chmod(0o755)
    [warning] = findings(shell, "claude", "warning")
    assert "does not run" in warning["message"]


@pytest.mark.e2e
def test_asking_the_real_agents_writes_nothing(
    claude_cli: ClaudeCli, codex_cli: CodexCli, shell: Shell, bin_: Path
) -> None:
    (bin_ / "claude").symlink_to(claude_cli.program)
    (bin_ / "codex").symlink_to(codex_cli.program)
    before = set(shell.home.root.rglob("*"))
    text = shell.ok("doctor")
    assert text.count("knows ") == 2
    cache = shell.home.root / ".cache/prong"
    assert set(shell.home.root.rglob("*")) - before == {cache, cache / "cache.db"}


def test_help_in_colours_is_read(
    claude_cli: ClaudeCli,
    codex_cli: CodexCli,
    shell: Shell,
    bin_: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Some people have all programs colour what they print, also into a pipe."""
    for name in ("CLICOLOR_FORCE", "FORCE_COLOR"):
        monkeypatch.setenv(name, "1")
    (bin_ / "claude").symlink_to(claude_cli.program)
    (bin_ / "codex").symlink_to(codex_cli.program)
    assert shell.ok("doctor").count("knows ") == 2


def test_a_root_that_does_not_exist_is_noted(shell: Shell, bin_: Path) -> None:
    shell.home.codex.rmdir()
    [note] = findings(shell, "codex", "note")
    assert note["message"] == f"{shell.home.codex} does not exist"


def settings(shell: Shell, text: str) -> None:
    (shell.home.claude / "settings.json").write_text(text, encoding="utf-8")


def test_sessions_that_are_about_to_be_deleted(shell: Shell, bin_: Path) -> None:
    install(bin_, "claude", help_=CLAUDE_HELP)
    shell.simple(1, age=1)
    shell.simple(2, age=24 * 22)
    assert findings(shell, "claude", "warning") == []
    shell.simple(3, age=24 * 24)
    [warning] = findings(shell, "claude", "warning")
    assert warning["message"] == "1 session will be deleted within 7 days"
    path = shell.home.claude / "settings.json"
    assert warning["hint"] == f'raise "cleanupPeriodDays" in {path}'
    settings(shell, json.dumps({"cleanupPeriodDays": 10}))
    [warning] = findings(shell, "claude", "warning")
    assert warning["message"] == "2 sessions will be deleted within 7 days"
    assert f"deletes sessions after 10 days (cleanupPeriodDays in {path})" in shell.ok("doctor")


@pytest.mark.parametrize("days", [365, 99_999, 999_999, 10**12])
def test_a_long_period_is_no_problem(shell: Shell, bin_: Path, days: int) -> None:
    install(bin_, "claude", help_=CLAUDE_HELP)
    settings(shell, json.dumps({"cleanupPeriodDays": days}))
    shell.simple(1, age=24 * 40)
    assert findings(shell, "claude", "warning") == []


@pytest.mark.parametrize("text", ["", "garbage", "[]", '{"cleanupPeriodDays": "soon"}', "{}"])
def test_settings_that_say_nothing(shell: Shell, bin_: Path, text: str) -> None:
    settings(shell, text)
    assert "after 30 days (the default of Claude Code)" in shell.ok("doctor")


def test_files_that_cannot_be_used_are_named(shell: Shell, bin_: Path) -> None:
    shell.simple(1)
    folder = shell.home.claude / "projects" / "-srv"
    folder.mkdir()
    path = folder / "00000009-0000-4000-8000-000000000009.jsonl"
    # Root may read everything; what it cannot do is read this.
    path.symlink_to("/proc/self/mem")
    result = shell.run("list")
    assert "1 file could not be read: prong doctor" in result.stderr
    assert result.stdout.count("\n") == 1
    [note] = findings(shell, "files")
    assert note["level"] == "note"
    assert note["message"].startswith(f"{path}: ")


def test_settings_for_an_agent_that_does_not_exist(shell: Shell, bin_: Path) -> None:
    path = shell.home.root / ".config/prong/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[agents.cluade]\nroots = ['/x']\n", encoding="utf-8")
    [warning] = findings(shell, "config", "warning")
    assert warning["message"] == "agents.cluade: unknown agent"
    assert warning["hint"] == f"edit {path}"


def test_it_says_where_the_cache_is_and_that_there_are_no_plug_ins(shell: Shell) -> None:
    text = shell.ok("doctor")
    assert f"{shell.home.root / '.cache/prong'} (may be deleted)" in text
    assert "plug-ins  none" in text


def test_the_columns_are_aligned(samples: Shell, bin_: Path) -> None:
    lines = samples.ok("doctor").splitlines()[:-2]
    assert {line[17] for line in lines} == {" "}
    assert all(line[18] != " " for line in lines)


class TestHooks:
    def test_one_line_for_each_agent(self, shell: Shell, bin_: Path) -> None:
        install(bin_, "claude", help_=CLAUDE_HELP)
        found = [one for one in findings(shell, "claude") if "hooks" in one["message"]]
        assert [(one["level"], one["hint"]) for one in found] == [("note", "prong hooks install")]
        shell.ok("hooks", "install", "--agent", "claude", "--yes")
        (found,) = [one for one in findings(shell, "claude") if "hooks" in one["message"]]
        assert (found["level"], found["hint"]) == ("ok", None)

    def test_outdated(self, shell: Shell, bin_: Path) -> None:
        install(bin_, "claude", help_=CLAUDE_HELP)
        shell.ok("hooks", "install", "--agent", "claude", "--yes")
        path = shell.home.claude / "settings.json"
        told = json.loads(path.read_text())
        del told["hooks"]["Stop"]
        path.write_text(json.dumps(told))
        [warning] = findings(shell, "claude", "warning")
        assert (warning["hint"], "outdated" in warning["message"]) == ("prong hooks install", True)

    def test_settings_that_cannot_be_read(self, shell: Shell, bin_: Path) -> None:
        install(bin_, "claude", help_=CLAUDE_HELP)
        (shell.home.claude / "settings.json").mkdir()
        assert any("hooks:" in one["message"] for one in findings(shell, "claude", "warning"))

    def test_turned_off(self, shell: Shell, bin_: Path) -> None:
        install(bin_, "claude", help_=CLAUDE_HELP)
        path = shell.home.claude / "settings.json"
        path.write_text('{"disableAllHooks": true}')
        shell.ok("hooks", "install", "--agent", "claude", "--yes")
        (found,) = [one for one in findings(shell, "claude") if "ooks" in one["message"]]
        assert found["level"] == "note"
        assert found["message"] == f'hooks: {path} has "disableAllHooks": Claude Code runs none'
        assert found["hint"] == f'take "disableAllHooks" out of {path}'

    def test_an_agent_that_is_gone(self, shell: Shell, bin_: Path) -> None:
        program = bin_ / "codex"
        program.write_text(hook_server.PROGRAM)
        program.chmod(0o755)
        shell.ok("hooks", "install", "--agent", "codex", "--yes")
        program.unlink()
        (found,) = [one for one in findings(shell, "codex") if "hooks" in one["message"]]
        assert found["message"] == ("hooks: codex is not installed, so its hooks are unknown")
        assert found["hint"] == "npm install -g @openai/codex"

    def test_an_agent_that_nobody_uses(self, shell: Shell, bin_: Path) -> None:
        shell.home.codex.rmdir()
        assert not any("hooks" in one["message"] for one in findings(shell, "codex"))


class TestGit:
    def test_there(self, shell: Shell, bin_: Path) -> None:
        [found] = findings(shell, "git")
        assert (found["level"], found["message"][:12]) == ("ok", "git version ")

    def test_missing(self, shell: Shell, bin_: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", str(bin_))
        [found] = findings(shell, "git")
        assert (found["level"], found["hint"]) == ("warning", "install git")

    def test_too_old(self, shell: Shell, bin_: Path) -> None:
        (bin_ / "git").write_text("#!/bin/sh\necho git version 2.25.1\n")
        (bin_ / "git").chmod(0o755)
        [found] = findings(shell, "git")
        assert (found["level"], found["hint"]) == ("warning", "install git 2.31 or newer")


class TestCode:
    @pytest.fixture
    def folder(self, shop: Shell) -> Path:
        """A repository where the sample sessions ran."""
        folder = shop.home.projects / "shop"
        identity = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        for words in (["init", "-q"], [*identity, "commit", "-q", "--allow-empty", "-m", "one"]):
            subprocess.run(["git", *words], cwd=folder, check=True)
        return folder

    def test_a_lost_table_is_made_again(self, shop: Shell, folder: Path) -> None:
        shop.ok("snapshot", API)
        told = {one["message"] for one in findings(shop, "code")}
        assert told == {"1 snapshot of code recorded"}
        (shop.home.root / ".local/state/prong/state.db").unlink()
        [warning] = findings(shop, "code", "warning")
        assert warning["hint"] == "prong doctor --fix"
        fixed = shop.json("doctor", "--fix")["findings"]
        assert any("1 snapshot recovered" in one["message"] for one in fixed)
        assert findings(shop, "code", "warning") == []
        assert shop.json("turns", API)["turns"][-1]["snapshot"]
        again = shop.json("doctor", "--fix")["findings"]
        assert not any("recovered" in one["message"] for one in again)

    def test_a_damaged_table_is_made_again(self, shop: Shell, folder: Path) -> None:
        shop.ok("snapshot", API)
        state = shop.home.root / ".local/state/prong/state.db"
        state.write_bytes(b"damaged" * 1000)
        shop.ok("doctor", "--fix")
        assert shop.json("turns", API)["turns"][-1]["snapshot"]

    def test_no_snapshots_are_no_problem(self, shop: Shell, folder: Path) -> None:
        assert findings(shop, "code") == []

    def test_a_snapshot_for_a_worktree_is_that_of_no_turn(self, shop: Shell, folder: Path) -> None:
        shop.json("fork", API, "--code", "now")
        assert findings(shop, "code", "warning") == []

    def test_work_in_the_worktree_of_a_killed_fork(self, shop: Shell, folder: Path) -> None:
        made = Path(shop.json("fork", API, "--code", "head")["fork"]["workspace"])
        (made / "new.py").write_text("new\n")
        root = shop.home.root / ".local/share/prong/worktrees"
        journal = {"worktree": str(made), "whole": str(made)}
        (root / ".prong" / "0123456789abcdef.jsonl").write_text(json.dumps(journal) + "\n")
        for path in shop.home.claude.glob(f"projects/*{made.name}*/*.jsonl"):
            path.unlink()
        told = shop.json("doctor", "--fix")["findings"]
        (kept,) = [one for one in told if str(made) in one["message"]]
        assert (kept["level"], kept["hint"]) == ("note", "prong worktrees")
        assert (made / "new.py").exists()
        assert [one["path"] for one in shop.json("worktrees")["worktrees"]] == [str(made)]
        assert not any("killed" in one["message"] for one in shop.json("doctor")["findings"])

    def test_worktrees(self, shop: Shell, folder: Path) -> None:
        made = shop.json("fork", API, "--yes")["fork"]
        root = shop.home.root / ".local/share/prong/worktrees"
        assert f"{root}: 1 worktree" in shop.ok("doctor")
        folder.rename(folder.with_name("moved"))
        [stray] = findings(shop, "code", "note")
        assert stray["message"].startswith(made["workspace"])
        assert Path(made["workspace"]).exists()
