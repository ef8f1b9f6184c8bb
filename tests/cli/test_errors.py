"""Bad input gets a clear message, a hint, and the exit status that scripts rely on."""

import json
from pathlib import Path

import pytest

from prong.app import App
from prong.model.sessions import Session
from prong.session.service import SessionService
from tests.cli.shell import API, Shell


@pytest.fixture
def config(shell: Shell) -> Path:
    path = shell.home.root / ".config/prong/config.toml"
    path.parent.mkdir(parents=True)
    return path


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["nonsense"], "No such command 'nonsense'", "prong --help"),
        (["list", "--nonsense"], "No such option '--nonsense'", "prong list --help"),
        (["show"], "Missing argument 'SESSION[@TURN]'", "prong show --help"),
        (["turns", "a", "b"], "unexpected extra argument", "prong turns --help"),
        (["list", "--limit", "many"], "'many' is not a valid integer", "prong list --help"),
        (["list", "--agent"], "requires an argument", "prong list --help"),
        (["completion", "tcsh"], "'tcsh' is not one of", "prong completion --help"),
        (["spawn"], "No such command 'spawn'", "prong run --help"),
        (["kill"], "No such command 'kill'", "prong stop --help"),
        (["workers"], "No such command 'workers'", "prong ps --help"),
        (["send", "parser"], "Missing argument 'TEXT|-'", "prong send --help"),
    ],
)
def test_wrong_words(shell: Shell, words: list[str], message: str, hint: str) -> None:
    said = shell.fails(2, *words)
    assert said.startswith("prong: ")
    assert message in said
    assert said.endswith(f"try: {hint}\n")
    problem = json.loads(shell.fails(2, words[0], "--json", *words[1:]))
    assert problem["code"] == "usage"
    assert problem["details"] == {}


def test_an_error_goes_to_stderr_with_what_to_type(samples: Shell) -> None:
    assert samples.fails(3, "show", "claude:none") == (
        "prong: no session claude:none\ntry: prong list --agent claude --all\n"
    )


def test_the_same_as_json(samples: Shell) -> None:
    assert samples.problem(3, "show", "claude:none") == {
        "code": "not_found",
        "message": "no session claude:none",
        "hint": "prong list --agent claude --all",
        "details": {},
    }


@pytest.mark.parametrize(
    "content",
    [b"", b"garbage\nmore garbage\n", b"\x00" * 100, b"\xff\xfe", b'{"half', b"\n\n\n", b"[1]\n"],
    ids=["empty", "text", "zeros", "bytes", "half", "blank", "list"],
)
def test_a_file_of_which_nothing_is_left(shell: Shell, content: bytes) -> None:
    path = shell.home.root / "broken.jsonl"
    path.write_bytes(content)
    assert str(path) in shell.fails(7, "show", str(path))
    problem = shell.problem(7, "turns", str(path))
    assert problem["code"] == "corrupt"
    assert problem["details"] == {"path": str(path)}


def test_a_file_that_is_something_else(shell: Shell) -> None:
    path = shell.home.root / "package.json"
    path.write_text('{"name": "shop", "version": "1.0"}\n', encoding="utf-8")
    said = shell.fails(7, "show", str(path))
    assert "is not a session file" in said
    assert "claude, codex" in said


def test_a_file_that_cannot_be_read(shell: Shell) -> None:
    # CI runs as root, who may read everything but this: it fails when it is read, not when opened.
    said = shell.fails(7, "show", "/proc/self/mem")
    assert "cannot read /proc/self/mem" in said


def test_a_corrupt_session_does_not_hide_the_others(samples: Shell) -> None:
    [path] = samples.home.claude.rglob(f"{API}.jsonl")
    path.write_bytes(b"garbage\n")
    assert len(samples.json("list")["sessions"]) == 4


def test_a_session_that_vanishes_is_not_found(
    samples: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = App().sessions.all()
    [path] = samples.home.claude.rglob(f"{API}.jsonl")
    path.unlink()

    def before(_: SessionService, agent: str | None = None) -> list[Session]:
        return sessions

    monkeypatch.setattr(SessionService, "all", before)
    assert "is gone" in samples.fails(3, "show", API)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("colour = 1", "unknown setting colour"),
        ("[agents.claude]\nroot = []", "unknown setting agents.claude.root"),
        ("agents = 3", "agents must be a table"),
        ("[agents]\nclaude = 3", "agents.claude must be a table"),
        ("[agents.claude]\nroots = '/x'", "agents.claude.roots must be a list of folders"),
        ("[agents.claude]\nroots = [1]", "agents.claude.roots must be a list of folders"),
        ("[agents.claude]\nroots = ['x/y']", "agents.claude.roots: 'x/y' must begin with / or ~"),
        ("[agents.claude]\nroots = ['~nobody-here/x']", "must begin with / or ~"),
        ("[agents\nx", "line 1"),
    ],
)
def test_a_wrong_configuration_names_the_file_and_the_place(
    shell: Shell, config: Path, text: str, place: str
) -> None:
    config.write_text(text, encoding="utf-8")
    for words in (["list"], ["show", "x"], ["turns", "x"], ["tree"], ["doctor"]):
        said = shell.fails(2, *words)
        assert f"{config}: " in said
        assert place in said
    assert shell.problem(2, "list")["code"] == "config"


def test_a_configuration_that_is_no_text(shell: Shell, config: Path) -> None:
    config.write_bytes(b"\xff\xfe")
    assert str(config) in shell.fails(2, "list")


def test_a_configuration_that_cannot_be_read(shell: Shell, config: Path) -> None:
    config.mkdir()
    assert f"cannot read {config}: a folder, not a file" in shell.fails(2, "list")


def test_a_wrong_configuration_does_not_stop_help_or_demo(shell: Shell, config: Path) -> None:
    config.write_text("colour = 1", encoding="utf-8")
    assert shell.ok("--help")
    assert shell.ok("demo")


def break_list(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(SessionService, "list", fail)


def test_a_bug_says_that_it_is_one(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    break_list(monkeypatch, ValueError("un\x1bexpected"))
    result = shell.run("list")
    assert (result.exit_code, result.stdout) == (1, "")
    assert "Traceback" in result.stderr
    assert "this is a bug in prong" in result.stderr
    assert "\x1b" not in result.stderr
    result = shell.run("list", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    problem = json.loads(result.stderr)
    assert (problem["code"], problem["message"]) == ("internal", "ValueError: un\x1bexpected")
    assert "Traceback" in problem["details"]["trace"]


def test_trouble_with_the_machine_is_no_bug(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    break_list(monkeypatch, OSError(28, "No space left on device"))
    assert "No space left on device" in shell.fails(1, "list")
    assert shell.problem(1, "list")["code"] == "internal"
