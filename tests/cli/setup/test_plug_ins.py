"""A plug-in is somebody else's code: it may add an agent, and must not break prong."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from prong.agents.base import AgentStore, ScanCache
from prong.model.sessions import (
    Conversation,
    Message,
    Scan,
    Session,
    SessionRef,
    Turn,
    TurnKind,
    View,
)
from tests.cli.shell import API, Shell
from tests.packages import install

HERE = "tests.cli.setup.test_plug_ins"


class Toy(AgentStore):
    """An agent as a plug-in would bring it: nothing but the core protocol."""

    name = "toy"

    def __init__(self, roots: Sequence[Path] | None = None) -> None:
        self.roots = tuple(roots or (Path("/toy"),))

    def scan(self, cache: ScanCache) -> Scan:
        return Scan((Session(SessionRef("toy", "one"), "/toy/one", "Toy session"),))

    def session_at(self, path: Path) -> Session | None:
        return None

    def conversation(self, session: Session) -> Conversation:
        return Conversation(session, (Turn(1, "t1", TurnKind.HUMAN, "Play"),))

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        yield Message("user", "Play", 1)

    def raw(self, session: Session, *, turn: str | None = None) -> Iterator[bytes]:
        yield b"{}"


class Failing(Toy):
    """Fails wherever it is asked."""

    def scan(self, cache: ScanCache) -> Scan:
        raise RuntimeError("no \x1b luck")

    def session_at(self, path: Path) -> Session | None:
        raise RuntimeError("no luck")

    @property
    def program(self) -> Any:
        raise RuntimeError("no luck")


class Nonsense(Toy):
    """Answers, but not what was asked."""

    def scan(self, cache: ScanCache) -> Any:
        return "nonsense"


class Silent(Toy):
    """Has a session in which nothing was said."""

    def conversation(self, session: Session) -> Conversation:
        return Conversation(session, ())

    def messages(
        self, session: Session, *, view: View = View.HISTORY, turn: str | None = None
    ) -> Iterator[Message]:
        yield from ()


class Empty(Toy):
    """Has no session."""

    def scan(self, cache: ScanCache) -> Scan:
        return Scan(())


class Nameless:
    """Is no store at all."""

    def __init__(self, roots: object = None) -> None:
        pass


def explode(roots: object = None) -> None:
    raise OSError("cannot start")


def warnings(shell: Shell) -> list[str]:
    found = shell.json("doctor")["findings"]
    return [one["message"] for one in found if one["topic"] == "plug-ins" and one["level"] != "ok"]


def test_an_agent_more(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Toy"))
    assert "toy:one" in samples.ok("list")
    assert "Toy session" in samples.ok("list", "--agent", "toy")
    assert "> Play" in samples.ok("show", "toy:o")
    assert samples.run("show", "toy:one", "--raw").stdout == "{}\n"
    assert samples.json("turns", "toy:one")["turns"][0]["prompt"] == "Play"
    assert f"toy ({HERE}:Toy)" in samples.ok("doctor")
    assert warnings(samples) == []


def test_more_roots_for_it(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Toy"))
    path = shell.home.root / ".config/prong/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("[agents.toy]\nroots = ['/more']\n", encoding="utf-8")
    assert "/more does not exist" in shell.ok("doctor")


@pytest.mark.parametrize(
    ("name", "target", "reason"),
    [
        ("broken", "no.such.module:Store", "ModuleNotFoundError"),
        ("broken", f"{HERE}:NoSuchClass", "AttributeError"),
        ("broken", f"{HERE}:explode", "OSError: cannot start"),
        ("broken", f"{HERE}:Nameless", "AttributeError"),
        ("broken", f"{HERE}:Toy", "it calls itself 'toy'"),
        ("claude", f"{HERE}:Toy", "another plug-in already provides agent claude"),
        ("broken", "", "broken"),
    ],
)
def test_one_that_does_not_load_is_a_warning_and_no_more(
    samples: Shell, monkeypatch: pytest.MonkeyPatch, name: str, target: str, reason: str
) -> None:
    install(monkeypatch, (name, target), ("toy", f"{HERE}:Toy"))
    result = samples.run("list")
    assert (result.exit_code, result.stderr) == (0, "")
    assert len(result.stdout.splitlines()) == 6
    [warning] = warnings(samples)
    assert warning.startswith(f"{name} ({target}) is broken: ")
    assert reason in warning
    assert "try: set PRONG_PLUGINS=none" in samples.ok("doctor")


def test_two_of_the_same_name(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Toy"), ("toy", f"{HERE}:Toy"))
    [warning] = warnings(samples)
    assert "another plug-in already provides agent toy" in warning


@pytest.mark.parametrize("class_", ["Failing", "Nonsense"])
def test_one_that_fails_later_hides_nothing(
    samples: Shell, monkeypatch: pytest.MonkeyPatch, class_: str
) -> None:
    install(monkeypatch, ("toy", f"{HERE}:{class_}"))
    result = samples.run("list")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 5)
    assert result.stderr == "the plug-in toy failed: prong doctor\n"
    assert list(samples.json("list")["failed"]) == ["toy"]
    assert samples.ok("show", API)
    assert samples.ok("tree")
    [warning] = warnings(samples)
    assert "is broken" in warning
    assert "\x1b" not in samples.ok("doctor")
    # A path is shown to every agent.
    [path] = samples.home.claude.rglob(f"{API}.jsonl")
    assert samples.ok("turns", str(path))


def test_one_that_fails_at_everything_in_an_empty_home(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Failing"))
    result = shell.run("list")
    assert result.exit_code == 0
    assert "set CLAUDE_CONFIG_DIR or CODEX_HOME, or run: prong demo" in result.stderr
    other = shell.home.root / "other.json"
    other.write_text("{}\n", encoding="utf-8")
    assert "is not a session file" in shell.fails(7, "show", str(other))
    assert "prong" in shell.ok("doctor")


def test_a_session_in_which_nothing_was_said(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Silent"))
    assert shell.run("show", "toy:one").stderr == "no messages\n"
    assert shell.run("turns", "toy:one").stderr == "no turns\n"
    assert "has 0 turns" in shell.fails(3, "show", "toy:one@1")
    assert "has 0 turns" in shell.fails(3, "show", "toy:one@-1")
    assert shell.json("show", "toy:one")["messages"] == []


def test_an_agent_without_sessions_and_without_a_program(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Empty"))
    said = shell.run("list", "--agent", "toy").stderr
    assert said == "no sessions under /toy\nrun: prong demo\n"


def test_plug_ins_can_be_left_out(samples: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ("toy", f"{HERE}:Toy"), ("broken", f"{HERE}:explode"))
    assert len(samples.json("list", PRONG_PLUGINS="none")["sessions"]) == 5
    assert len(samples.json("list", PRONG_PLUGINS="toy, other")["sessions"]) == 6
    assert "broken" not in samples.ok("doctor", PRONG_PLUGINS="toy")
    assert "broken" in samples.ok("doctor")
