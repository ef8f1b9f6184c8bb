"""Text from a session is data: whatever it holds, a terminal obeys none of it."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.shell import NOW, Shell
from tests.samples.codex import CodexSample

EVIL = (
    "\x1b[31mred\x1b]0;title\x07 \x9b2J\x9d0;c1\x9c \x08\x7f "
    "\u202eabc\u2066def\u200f\u061c \u2028line\u2029par \u200bhidden\U000e0041 \r\nFAKE LINE"
)
THREAD = "01a1e076-654d-7c10-8a51-5f3f9e1b0d04"
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069"
    "\U000e0000-\U000e007f]"
)


def commands() -> Iterator[list[str]]:
    claude, codex = "claude:00000001", f"codex:{THREAD}"
    yield ["list"]
    yield ["list", "--all"]
    yield ["tree", "--all"]
    yield ["tree", claude]
    yield ["doctor"]
    yield ["find", "prompt", "answer", "entry"]
    yield ["find", EVIL, f"agent:{EVIL}", f"file:{EVIL}"]
    yield ["find", "red", "--sessions", "--project", f"/srv/{EVIL}"]
    yield ["find", f"project:{EVIL}", EVIL]
    for ref in (claude, codex):
        yield ["turns", ref, "--all"]
        yield ["show", ref]
        yield ["show", ref, "--full"]
        yield ["show", ref, "--context"]
        yield ["show", f"{ref}@1"]


@pytest.fixture
def evil(shell: Shell) -> Shell:
    """Sessions with escapes in every text that a person or a model can bring in."""
    cwd = f"/srv/{EVIL}"
    sample = shell.session(1, cwd="/srv/shop")
    sample.cwd = cwd
    sample.branch = f"branch {EVIL}"
    sample.entrypoint = f"entry {EVIL}"
    first = sample.prompt(f"prompt {EVIL}")
    sample._assistant({"type": "thinking", "thinking": EVIL}, "m")
    sample.tools((f"Tool {EVIL}", {"command": EVIL, EVIL: EVIL}, f"Exit code 1\n{EVIL}"))
    sample.tools(("Write", {"file_path": f"{cwd}/{EVIL}"}, EVIL))
    sample.answer(f"answer {EVIL}")
    sample.compact(f"summary {EVIL}")
    sample.prompt(f"again {EVIL}")
    sample.lines[-1]["uuid"] = f"id {EVIL}"
    sample.lines[2]["message"]["model"] = f"model {EVIL}"
    sample.side("custom-title", customTitle=f"title {EVIL}")
    sample.cwd = "/srv/shop"
    sample.write(shell.home.claude)
    fork = sample.branch_off("00000002-0000-4000-8000-000000000002", first)
    fork.prompt(EVIL)
    fork.write(shell.home.claude)
    thread = CodexSample(THREAD, cwd, NOW, source="cli")
    thread.turn(EVIL, EVIL, commands=[(EVIL, 1)], files=[f"{cwd}/{EVIL}"])
    thread.write(shell.home.codex)
    name = shell.home.codex / "session_index.jsonl"
    name.write_text(json.dumps({"id": THREAD, "thread_name": EVIL}) + "\n", encoding="utf-8")
    return shell


def harmless(text: str) -> bool:
    return FORBIDDEN.search(text) is None


@pytest.mark.parametrize("columns", ["", "40", "80", "140"])
def test_human_output(evil: Shell, columns: str) -> None:
    for words in commands():
        result = evil.run(*words, COLUMNS=columns)
        assert result.exit_code == 0, result.stderr
        assert harmless(result.stdout), words
        assert harmless(result.stderr), words


def test_a_title_is_one_line(evil: Shell) -> None:
    assert not any(line.startswith("FAKE") for line in evil.ok("list").splitlines())
    assert not any(line.startswith("FAKE") for line in evil.ok("tree", "--all").splitlines())
    header = evil.ok("turns", "claude:00000001").splitlines()[:2]
    assert all("FAKE LINE" in line for line in header)


def test_json_output_is_harmless_and_loses_no_word(evil: Shell) -> None:
    for words in commands():
        if "--full" in words:
            continue
        result = evil.run(*words, "--json")
        assert result.exit_code == 0
        assert harmless(result.stdout), words
    session = evil.json("turns", "claude:00000001")["session"]
    words_left = " ".join(session["title"].split())
    assert words_left == "title red 2J0;c1 abcdef line par hidden FAKE LINE"
    assert session["branch"] == f"branch {EVIL}"


@pytest.mark.parametrize(
    "words",
    [
        ["show", EVIL.replace("\r\n", "")],
        ["show", f"claude:{EVIL}"],
        ["show", f"{EVIL}:x"],
        ["show", f"claude:00000001@{EVIL}"],
        ["show", f"./{EVIL}"],
        ["show", "claude:0000"],
        ["show", "claude:00000001@id"],
        ["list", "--agent", EVIL],
        ["list", "--since", EVIL],
        [EVIL],
    ],
)
def test_errors(evil: Shell, words: list[str]) -> None:
    for options in ([], ["--json"]):
        result = evil.run(*words, *options)
        assert harmless(result.stdout)
        assert harmless(result.stderr)


def test_an_ambiguous_id_lists_titles_in_one_line_each(evil: Shell) -> None:
    said = evil.fails(3, "show", "claude:0000")
    assert len(said.splitlines()) == 4
    assert "  claude:00000001-0000-4000-8000-000000000001  title red" in said


def test_file_names(shell: Shell) -> None:
    id_ = shell.simple(1)
    [path] = shell.home.claude.rglob(f"{id_}.jsonl")
    path.parent.rename(path.parent.with_name("evil \x1b[31m\x9b\u202e\n"))
    broken = path.parent.with_name("evil \x1b[31m\x9b\u202e\n") / f"{'x' * 8}\x1b.jsonl"
    broken.symlink_to(shell.home.root / "loop")
    for words in (["list"], ["doctor"], ["show", id_], ["show", str(broken)]):
        for options in ([], ["--json"]):
            result = shell.run(*words, *options)
            assert harmless(result.stdout)
            assert harmless(result.stderr)


def test_what_a_program_says_to_doctor(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = shell.home.root / "bin"
    folder.mkdir()
    program = folder / "claude"
    program.write_text("#!/bin/sh\nprintf '\\033[31m1.0\\033[0m\\302\\233 evil\\n'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    assert "1.0" in shell.ok("doctor")
    assert harmless(shell.ok("doctor"))
    assert harmless(shell.ok("doctor", "--json"))


def test_completion(evil: Shell) -> None:
    for kind in ("bash", "zsh", "fish"):
        result = evil.process(
            env=evil.env(
                _PRONG_COMPLETE=f"{kind}_complete", COMP_WORDS="prong show ", COMP_CWORD="2"
            )
        )
        assert result.stdout
        assert harmless(result.stdout.decode())


def test_show_raw_is_harmless_on_a_terminal(evil: Shell, tmp_path: Path) -> None:
    from tests.cli.terminal import on_terminal

    text: Any = on_terminal(evil, "show", "claude:00000001", "--raw").output
    assert '"parentUuid"' in text
    assert harmless(text.replace("\r\n", "\n"))
