"""A program that stands in for Claude Code: it keeps sessions, tells what it does, and answers.

It answers `You said: ...`, and it waits for a file named `hold` to go away before it does. In its
pane a text is pasted and sent with Enter, as with the real one. `die` ends it, `ask` makes it wait
for a person.
"""

import json
import os
import sys
import time
import tty
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from prong.agents.claude.folders import project_folder
from tests.samples.claude import ClaudeSample

VALUED = ("--session-id", "--resume", "--settings", "--name", "--model", "--output-format")
PASTED = ("\x1b[200~", "\x1b[201~")


def say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


class Session:
    """The conversation, and what others may know of it."""

    def __init__(self, id_: str, *, resumed: bool) -> None:
        self.root = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
        self.sample = ClaudeSample(id_, str(Path.cwd()), datetime.now(UTC))
        self.path = self.root / "projects" / project_folder(self.sample.cwd) / f"{id_}.jsonl"
        self.kept = 0
        if resumed:
            if not self.path.exists():
                say(f"No conversation found with session ID: {id_}\n")
                sys.exit(1)
            self.sample.lines = [json.loads(line) for line in self.path.read_text().splitlines()]
            chained = [line for line in self.sample.lines if "uuid" in line]
            self.sample.leaf = chained[-1]["uuid"]
            self.sample._turns = sum("turnPosition" in line for line in chained)
            self.sample._count = 100 * len(chained)
            self.kept = len(self.sample.lines)

    def tell(self, status: str) -> None:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        folder = self.root / "sessions"
        folder.mkdir(parents=True, exist_ok=True)
        entry = {
            "pid": os.getpid(),
            "sessionId": self.sample.id,
            "status": status,
            "procStart": fields[19],
            "cwd": self.sample.cwd,
            "statusUpdatedAt": int(time.time() * 1000),
        }
        (folder / "new").write_text(json.dumps(entry))
        (folder / "new").rename(folder / f"{os.getpid()}.json")

    def keep(self) -> None:
        """Append what is new, as the real one does."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            for line in self.sample.lines[self.kept :]:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")
        self.kept = len(self.sample.lines)

    def turn(self, prompt: str) -> str:
        self.tell("busy")
        self.sample.now = datetime.now(UTC)
        self.sample.prompt(prompt)
        self.keep()
        while Path("hold").exists():
            time.sleep(0.02)
        if prompt == "die":
            sys.exit(3)
        answer = f"You said: {prompt}"
        self.sample.now = datetime.now(UTC)
        self.sample.answer(answer)
        self.keep()
        return answer


def typed() -> Iterator[str]:
    """What is sent from the keyboard, prompt by prompt."""
    tty.setraw(sys.stdin.fileno())
    say("\x1b[?2004h")
    text, pasting = "", False
    while piece := os.read(sys.stdin.fileno(), 1 << 16).decode():
        for word in piece.replace(PASTED[0], "\0(").replace(PASTED[1], "\0)").split("\0"):
            if word[:1] in "()" and word:
                pasting, word = word[0] == "(", word[1:]  # noqa: PLW2901
            for character in word:
                if character == "\r" and not pasting:
                    say("\r\x1b[2K")
                    if text.strip():
                        yield text.strip()
                    text = ""
                elif character == "\x03":
                    return
                else:
                    text += "\n" if character == "\r" else character
        if text:
            # The line for input, as far as it can be seen.
            say("\r\x1b[2K> " + text.rpartition("\n")[2][-60:])


def main(words: list[str]) -> None:
    options: dict[str, str] = {}
    prompts: list[str] = []
    headless = False
    rest = iter(words)
    for word in rest:
        if word in VALUED:
            options[word] = next(rest)
        elif word in ("-p", "--print"):
            headless = True
        elif not word.startswith("-"):
            prompts.append(word)
    resumed = options.get("--resume")
    session = Session(resumed or options["--session-id"], resumed=resumed is not None)
    if headless:
        answer_once(session, sys.stdin.read())
        return
    say(f"stand-in {session.sample.id}\n")
    session.tell("idle")
    for prompt in prompts:
        say(session.turn(prompt) + "\r\n")
        session.tell("idle")
    for prompt in typed():
        if prompt == "ask":
            session.tell("waiting")
            continue
        say(session.turn(prompt) + "\r\n")
        session.tell("idle")


def answer_once(session: Session, prompt: str) -> None:
    def event(**fields: Any) -> None:
        say(json.dumps({**fields, "session_id": session.sample.id}) + "\n")

    event(type="system", subtype="init", cwd=session.sample.cwd)
    reply = session.turn(prompt.strip())
    event(type="assistant", message={"content": [{"type": "text", "text": reply}]})
    event(type="result", subtype="success", is_error=False, result=reply)


if __name__ == "__main__":
    main(sys.argv[1:])
