"""Several roots of one agent: other accounts, copies from other machines."""

import shutil
from pathlib import Path

import pytest

from tests.cli.shell import API, PARSER, SEARCH, Shell


def configure(shell: Shell, text: str) -> None:
    path = shell.home.root / ".config/prong/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def only(root: Path, id_: str) -> Path:
    [path] = root.rglob(f"*{id_}.jsonl")
    return path


@pytest.fixture
def laptop(samples: Shell) -> Path:
    """A second root of Claude, a copy of the first, and in the configuration."""
    folder = samples.home.root / "laptop/.claude"
    shutil.copytree(samples.home.claude, folder)
    configure(samples, "[agents.claude]\nroots = ['~/laptop/.claude']\n")
    return folder


def test_sessions_of_both_are_listed(samples: Shell, laptop: Path) -> None:
    only(laptop, API).unlink()
    only(samples.home.claude, SEARCH).unlink()
    found = samples.json("list", "--agent", "claude")["sessions"]
    assert len(found) == 3
    assert samples.ok("show", SEARCH)


def test_a_session_in_both_is_listed_once_and_its_copy_named(samples: Shell, laptop: Path) -> None:
    for id_ in {path.stem for path in laptop.rglob("*.jsonl")} - {API}:
        only(laptop, id_).unlink()
    result = samples.run("list")
    assert result.stdout.count("claude:60309e1e ") == 1
    assert "1 older copy left out: prong doctor" in result.stderr
    assert "could not be used" not in result.stderr
    found = samples.json("list")
    assert found["total"] == 5
    own, copy = only(samples.home.claude, API), only(laptop, API)
    [skipped] = found["skipped"]
    assert skipped == {"path": str(copy), "reason": f"a copy of {own}", "offset": None}
    assert f"{copy}: a copy of {own}" in samples.ok("doctor")


def test_the_copy_that_went_on_is_the_one_that_counts(samples: Shell, laptop: Path) -> None:
    sample = samples.session(1)
    sample.prompt("Hello")
    sample.answer("Done.")
    sample.write(samples.home.claude)
    sample.prompt("Go on")
    copy = sample.write(laptop)
    assert samples.json("turns", sample.id)["session"]["path"] == str(copy)
    assert "> Go on" in samples.ok("show", sample.id)


def test_all_of_them_have_copies(samples: Shell, laptop: Path) -> None:
    assert "3 older copies left out: prong doctor" in samples.run("list").stderr
    text = samples.ok("doctor")
    assert f"{laptop}: " in text
    assert f"{samples.home.claude}: " in text


def test_lineage_crosses_roots(samples: Shell) -> None:
    folder = samples.home.root / "old/codex/sessions"
    folder.mkdir(parents=True)
    shutil.move(only(samples.home.codex, PARSER), folder)
    configure(samples, "[agents.codex]\nroots = ['~/old/codex']\n")
    roots = samples.json("tree")["roots"]
    [codex] = [root for root in roots if root["ref"] == f"codex:{PARSER}"]
    assert not codex["missing"]
    assert len(codex["children"]) == 1


@pytest.mark.parametrize("again", ["~/.claude", "~/.claude/", "~/link"])
def test_the_same_root_twice_is_one(samples: Shell, again: str) -> None:
    (samples.home.root / "link").symlink_to(samples.home.claude)
    configure(samples, f"[agents.claude]\nroots = ['{again}', '{again}']\n")
    result = samples.run("list")
    assert (len(result.stdout.splitlines()), result.stderr) == (5, "")


def test_a_root_that_does_not_exist_is_ignored(samples: Shell) -> None:
    configure(samples, "[agents.claude]\nroots = ['/no/such/folder']\n")
    result = samples.run("list")
    assert (len(result.stdout.splitlines()), result.stderr) == (5, "")
    assert "/no/such/folder does not exist" in samples.ok("doctor")


def test_claude_config_dir(samples: Shell) -> None:
    assert len(samples.json("list", CLAUDE_CONFIG_DIR="/nowhere")["sessions"]) == 2
    assert len(samples.json("list", CODEX_HOME="/nowhere")["sessions"]) == 3


def test_an_xdg_variable_that_is_relative_is_ignored(samples: Shell) -> None:
    configure(samples, "colour = 1")
    assert samples.run("list", XDG_CONFIG_HOME="relative").exit_code == 2
    elsewhere = str(samples.home.root / "elsewhere")
    assert samples.run("list", XDG_CONFIG_HOME=elsewhere).exit_code == 0
