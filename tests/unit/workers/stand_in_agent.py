"""A program that behaves as Claude Code does towards its surroundings, and answers by itself.

It takes pasted text and Enter in a terminal, keeps its entry in `sessions/<pid>.json` and its
conversation in `projects/`. A prompt `work 1.5` takes 1.5 seconds; `ask` wants a person until Enter
is pressed; `/clear` begins another session; `/help` asks nothing; `die 7` ends it with that status.

    stand_in_agent.py ROOT [--id ID] [--prompt TEXT] [--swallow N] [--suggest TEXT] [--strange]
"""

import argparse
import json
import os
import select
import sys
import termios
import time
import tty
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any


class Agent:
    def __init__(self, root: Path, id_: str, options: argparse.Namespace) -> None:
        self.root = root
        self.id = id_
        self.swallow: int = options.swallow
        self.suggested: str = options.suggest
        self.sign = ">" if options.strange else "\u276f"
        self.input: list[str] = []
        self.status = ""
        self.changed = 0.0
        self.parent: str | None = None
        self.queue: list[str] = []
        self.until = 0.0
        self.set_status("idle")
        self.draw()

    # -- what it leaves behind --------------------------------------------------------------------

    def set_status(self, status: str, waiting_for: str | None = None) -> None:
        self.status, self.changed = status, time.time() * 1000
        self.register(waiting_for)

    def register(self, waiting_for: str | None = None) -> None:
        ticks = Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]
        entry: dict[str, Any] = {"pid": os.getpid(), "procStart": ticks, "sessionId": self.id}
        entry |= {"status": self.status, "statusUpdatedAt": self.changed}
        entry |= {"waitingFor": waiting_for} if waiting_for else {}
        path = self.root / "sessions" / f"{os.getpid()}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.with_suffix(".new").write_text(json.dumps(entry))
        path.with_suffix(".new").rename(path)

    def write(self, kind: str, message: dict[str, Any] | None = None, **fields: Any) -> None:
        line: dict[str, Any] = {"parentUuid": self.parent, "isSidechain": False, "type": kind}
        line |= {"message": message} if message else {}
        line |= {"uuid": str(uuid.uuid4()), "timestamp": datetime.now(UTC).isoformat()}
        line |= {"cwd": str(Path.cwd()), "sessionId": self.id, "version": "2.1.326", **fields}
        self.parent = str(line["uuid"])
        path = self.root / "projects" / "-stand-in" / f"{self.id}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")

    # -- what it does -----------------------------------------------------------------------------

    def submit(self, text: str) -> None:
        text = text.strip()  # as Claude Code: blanks at both ends are no part of a prompt
        if text == "/clear":
            self.id, self.parent = str(uuid.uuid4()), None
            self.register()
        elif text.startswith("die"):
            sys.exit(int(text.partition(" ")[2] or 1))
        elif text == "/help":
            show("\r\nthere is no help")
        elif self.status == "busy":
            self.queue.append(text)
        else:
            self.begin(text)

    def begin(self, text: str) -> None:
        self.set_status("busy")
        self.prompt = text
        self.write("user", {"role": "user", "content": text}, entrypoint="cli")
        words = text.split()
        self.until = time.monotonic() + (float(words[1]) if words[0] == "work" else 0.0)
        if text == "ask":
            self.set_status("waiting", "permission prompt")

    def end(self) -> None:
        answer = [{"type": "text", "text": f"thinking about it\nanswer to {self.prompt}"}]
        body = {"id": f"m{time.time()}", "role": "assistant", "content": answer}
        self.set_status("idle")
        self.write("assistant", {**body, "stop_reason": "end_turn", "model": "m"})
        self.write("system", subtype="turn_duration")
        if self.queue:
            self.begin(self.queue.pop(0))

    def draw(self) -> None:
        pieces = [one if len(one) < 500 else f"[Pasted text {len(one)}]" for one in self.input]
        shown = "".join(pieces).replace("\n", "\r\n  ")
        rule = "\u2500" * 40
        show(f"\x1b[2J\x1b[H{self.status}\r\n{rule}\r\n{self.sign} {shown}\x1b7")
        show(f"{'' if self.input else self.suggested}\r\n{rule}\x1b8")

    def key(self, text: str) -> None:
        if self.status == "waiting":
            if text == "\r":
                self.set_status("busy")
        elif text == "\r":
            if self.swallow:
                self.swallow -= 1
                return
            submitted, self.input = "".join(self.input), []
            if submitted.strip():
                self.submit(submitted)
        elif text == "\x7f":
            self.input = self.input[:-1]
        else:
            self.input += [text] if len(text) >= 500 else text
        self.draw()

    def run(self) -> None:
        pasted: str | None = None
        while True:
            if self.status == "busy" and time.monotonic() >= self.until:
                self.end()
                self.draw()
            if not select.select([0], [], [], 0.02)[0]:
                continue
            data = os.read(0, 1 << 20).decode()
            while data:
                if pasted is None and data.startswith("\x1b[200~"):
                    pasted, data = "", data.removeprefix("\x1b[200~")
                elif data.startswith("\x1b[3~"):
                    data = data.removeprefix("\x1b[3~")  # nothing is behind the cursor
                elif pasted is not None:
                    piece, mark, data = data.partition("\x1b[201~")
                    pasted += piece
                    if mark:
                        self.key(pasted)
                        pasted = None
                else:
                    self.key(data[0])
                    data = data[1:]


def show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=Path)
    parser.add_argument("--id", default=str(uuid.uuid4()))
    parser.add_argument("--prompt")
    parser.add_argument("--swallow", type=int, default=0)
    parser.add_argument("--starts", type=float, default=0.0)
    parser.add_argument("--suggest", default="")
    parser.add_argument("--strange", action="store_true")
    options = parser.parse_args()
    before = termios.tcgetattr(0)
    tty.setraw(0)
    show("\x1b[?2004h")
    try:
        time.sleep(options.starts)
        agent = Agent(options.root, options.id, options)
        if options.prompt:
            time.sleep(0.4)  # it is idle before it takes its first prompt
            agent.submit(options.prompt)
        agent.run()
    finally:
        termios.tcsetattr(0, termios.TCSANOW, before)


if __name__ == "__main__":
    main()
