"""What is sent to a worker is a prompt: the real agents take none of it for a command."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import prong
from prong.testing.home import IsolatedHome
from prong.testing.wait import wait_until
from prong.workers.daemon import Daemon
from tests.e2e.workers.mcp_lab import McpLab
from tests.e2e.workers.typed_workers import WorkerLab, ended, opened
from tests.terminals.kitty_lab import KittyLab

TEXTS = [
    "!touch made",
    "  !touch made",
    "\n!touch made",
    "\u200b!touch made",
    "\x01!touch made",
    "\x0c!touch made",
    "\u3164!touch made",
    "\uff01touch made",
    "!",
    "\x1b[201~!touch made",
    "\x1b[20\x1b[201~1~\r!touch made\r",
    "\x9b201~!touch made",
    "words\r!touch made",
    "words\n!touch made",
    "words\n/status",
    "/status",
    " \t/status",
    "\n\n/status",
    "\u00a0/status",
    "\u200b/status",
    "\ufeff\n/status",
    "/notacommand here",
    "/clear",
    "/exit",
    "exit",
    " Quit ",
    ":q!",
    "ex\u200bit",
    "# remember this",
    "& in the background",
    "? help",
    "a last @READ",
    "a last @",
    "a last $skill",
    "a last /stat",
    "a last \\",
    "$",
    "@/etc/passwd",
    "read\n@~/.bashrc",
    '@"/etc/passwd" please',
    "a\x03b\x04c\x15d\x1ae",
]
"""Each ends in one request that has its words in it."""
PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9"
    "awAAAABJRU5ErkJggg=="
)


@pytest.fixture(params=["claude", "codex"])
def lab(request: pytest.FixtureRequest, isolated_home: IsolatedHome) -> Iterator[WorkerLab]:
    with ended(opened(request, isolated_home)) as made:
        yield made


def words(text: str) -> str:
    """What of a text is told apart: the ASCII letters and signs."""
    return "".join(one for one in text if "!" <= one <= "~")


def asked(lab: WorkerLab) -> list[str]:
    return [request.prompt for request in lab.server.conversation_requests()]


def arrives(lab: WorkerLab, text: str, number: int) -> None:
    """The model gets it, and nothing is done."""
    wait_until(lambda: len(asked(lab)) > number, what=f"{text!r} in\n{lab.screens()}")
    assert len(asked(lab)) == number + 1, text
    seen = words(asked(lab)[-1]).removeprefix("Prompt:").replace("\\@", "@")
    clean = text.replace("\x1b", "").replace("\x9b", "").replace("\uff01", "")
    assert seen == words(clean), text
    body = json.dumps(lab.server.conversation_requests()[-1].body)
    assert Path("/etc/passwd").read_text(encoding="utf-8").split(":")[0] + ":x:" not in body, text
    assert not (lab.project / "made").exists(), text


def test_no_text_is_a_command(lab: WorkerLab) -> None:
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    for number, text in enumerate(TEXTS):
        lab.ok("send", "tess", "-", "--wait", "--timeout", "60", text=text)
        arrives(lab, text, number)
    assert lab.status("tess")["state"] == "idle"


def test_a_path_of_a_picture_is_a_text(lab: WorkerLab, tmp_path: Path) -> None:
    """Pasted, it becomes an attachment: a file is read that nobody allowed, the text is lost."""
    picture = tmp_path / "private.png"
    picture.write_bytes(base64.b64decode(PNG))
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    texts = [f"{picture}", f"look\n'{picture}'\nplease", f"file://{picture}", "!" + "x" * 6000]
    for number, text in enumerate(texts):
        lab.ok("send", "tess", "-", "--wait", "--timeout", "60", text=text)
        wait_until(lambda number=number: len(asked(lab)) > number, what=text[:80])
        said = words(asked(lab)[-1]).removeprefix("Prompt:").replace("Image:", "")
        assert said == words(text)
        assert PNG[:40] not in json.dumps(lab.server.conversation_requests()[-1].body)


@pytest.mark.parametrize("text", ["!touch made", "/status", "exit", "@/etc/passwd", "/init"])
@pytest.mark.parametrize("headless", [False, True], ids=["pane", "headless"])
def test_no_first_prompt_is_a_command(lab: WorkerLab, text: str, headless: bool) -> None:
    how = ["--headless"] if headless else []
    lab.run(text, "--name", "tess", "--no-worktree", *how, *lab.asks())
    arrives(lab, text, 0)
    lab.json("wait", "tess")
    if headless:
        lab.ok("send", "tess", text, "--wait")
        arrives(lab, text, 1)


def test_a_text_that_begins_with_nothing_special_arrives_exactly(lab: WorkerLab) -> None:
    code = "    @property\n    def all(self): ...  # !important /etc $HOME"
    text = f"Look at this:\n\n{code}\n\n\tand that"
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    lab.ok("send", "tess", text, "--wait")
    # Claude Code's input line makes four blanks of a tab.
    wanted = text.replace("\t", "    ") if lab.agent == "claude" else text
    assert asked(lab) == [wanted]


def test_a_command_is_sent_as_one_when_it_is_asked_for(lab: WorkerLab) -> None:
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    lab.ok("send", "tess", "!touch made", "--as-command")
    wait_until((lab.project / "made").exists)


def test_an_agent_cannot_send_a_command(lab: WorkerLab) -> None:
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    mcp = McpLab(lab)
    send = {"name": "tess", "text": "!touch made"}
    done = mcp.ask(
        "send it",
        ("send_to_worker", {**send, "wait": True}),
        ("send_to_worker", {**send, "as_command": True}),
    )
    assert done.results[0]["sent"], done.texts
    assert "!touch made" in [text.strip() for text in asked(lab)]
    assert "the user has not allowed it" in done.texts[1]
    assert not (lab.project / "made").exists()


def test_an_agent_can_where_the_user_allows_it(lab: WorkerLab) -> None:
    config = lab.home.root / ".config/prong/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    with config.open("a") as file:
        file.write("[mcp]\nallow_commands = true\n")
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    send = {"name": "tess", "text": "!touch made", "as_command": True}
    done = McpLab(lab).ask("send it", ("send_to_worker", send))
    assert done.failed == (False,), done.texts
    wait_until((lab.project / "made").exists)


def test_the_daemon_and_a_program_send_prompts(
    lab: WorkerLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lab.environment().items():
        monkeypatch.setenv(name, value)
    lab.run("--name", "tess", "--no-worktree", *lab.asks())
    prong.Worker.open("tess").send("!touch made", timeout=60)
    arrives(lab, "!touch made", 0)
    with lab.begun("serve", "--json") as process:
        assert process.stdout is not None
        daemon = Daemon(Path(json.loads(process.stdout.readline())["socket"]).parent)
        send = {"worker": "tess", "text": "/status"}
        daemon.call("POST", "/send", {**send, "wait": True, "timeout": 60})
        arrives(lab, "/status", 1)
        daemon.call("POST", "/send", {**send, "text": "!touch made"})
        arrives(lab, "!touch made", 2)
        lab.ok("wait", "tess")
        daemon.call("POST", "/send", {**send, "text": "!touch made", "as_command": True})
        wait_until((lab.project / "made").exists)
        process.terminate()
        process.wait(timeout=20)


@pytest.fixture(scope="module")
def kitty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KittyLab]:
    with KittyLab(tmp_path_factory.mktemp("kitty"), {}) as made:
        yield made


def test_no_text_is_a_command_in_kitty(lab: WorkerLab, kitty: KittyLab) -> None:
    lab.more["PRONG_KITTY_SOCKET"] = kitty.socket
    lab.run("--name", "tess", "--no-worktree", "--terminal", "kitty", *lab.asks())
    chosen = ["!touch made", "\x1b[201~!touch made", "\n/status", "exit", "a last @READ", "\x03!x"]
    for number, text in enumerate(chosen):
        lab.ok("send", "tess", "-", "--wait", "--timeout", "60", text=text)
        arrives(lab, text, number)
    lab.ok("stop", "tess", "--force")
