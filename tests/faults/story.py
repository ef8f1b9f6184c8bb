"""The session that these tests fork: three turns, a sub-agent, a large tool result, a memory."""

import hashlib
import json
import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from prong.agents.claude.folders import project_folder
from tests.cli.shell import Shell
from tests.faults.tree import Tree, tree_of
from tests.samples.claude import ClaudeSample

ID = "00000001-0000-4000-8000-000000000001"
OTHER = "00000005-0000-4000-8000-000000000005"
NEW = "00000009-0000-4000-8000-000000000009"


@dataclass
class Story:
    """A session in the project `shop`, to be forked into the folder `into`."""

    shell: Shell
    sample: ClaudeSample
    path: Path
    into: Path
    written: int
    """How many lines of the sample are in the file."""
    used: bool = False
    """The agent knows the folder `into` already: it made an empty memory for it."""
    known: str = ""
    """The digest of the session as the test wrote it; nobody else may write to it."""

    @classmethod
    def write(cls, shell: Shell) -> "Story":
        home = shell.home
        shop, into = home.projects / "shop", home.projects / "into"
        shop.mkdir()
        into.mkdir()
        sample = shell.session(1, cwd=str(shop))
        path = home.claude / "projects" / project_folder(shop) / f"{sample.id}.jsonl"
        result = path.with_suffix("") / "tool-results" / "big.txt"
        _write(result, "all that the tool said")
        sample.prompt("one")
        sample.tools(("Bash", {"command": "make"}, f"saved to {result}"))
        sample.answer("first")
        sample.prompt("two")
        sample.tools(("Agent", {"prompt": "look"}, "found"))
        sample.lines[-1]["toolUseResult"] = {"agentId": "a1"}
        sample.answer("second")
        sample.prompt("three")
        sample.answer("third")
        line = {"type": "user", "uuid": sample.uuid(), "isSidechain": True, "sessionId": ID}
        agent = path.with_suffix("") / "subagents" / "agent-a1.jsonl"
        _write(agent, json.dumps({**line, "message": {"role": "user", "content": "look"}}) + "\n")
        _write(agent.with_suffix(".meta.json"), json.dumps({"agentType": "Explore"}))
        _write(path.parent / "memory" / "MEMORY.md", "likes tabs")
        _write(path.parent / "memory" / "deep" / "note.md", "deep")
        sample.write(home.claude)
        story = cls(shell, sample, path, into, len(sample.lines))
        story.keep()
        return story

    def use(self) -> None:
        """Let the folder `into` be one that the agent has worked in."""
        self.used = True
        (self.project / "memory").mkdir(parents=True)
        (self.project / f"{OTHER}.jsonl").write_text("{}\n")

    @property
    def project(self) -> Path:
        """Where the agent keeps the sessions of the folder `into`."""
        return self.path.parent.with_name(project_folder(self.into))

    @property
    def fork(self) -> Path:
        return self.project / f"{NEW}.jsonl"

    def words(self, turn: int = 2) -> list[str]:
        """The command that forks the session."""
        return ["fork", f"{ID}@{turn}", "--into", str(self.into), "--id", NEW, "--json"]

    def tree(self) -> Tree:
        return tree_of(self.shell.home.root)

    def forked(self) -> Tree:
        """What is in the project of the fork."""
        project = str(self.project.relative_to(self.shell.home.root))
        return {path: what for path, what in self.tree().items() if path.startswith(project)}

    def told(self, *words: str) -> list[str]:
        """What `prong doctor` says about forks."""
        findings = self.shell.json("doctor", *words)["findings"]
        return [found["message"] for found in findings if found["topic"] == "forks"]

    def turns(self, id_: str) -> list[str]:
        """The ids of the turns of a session."""
        return [turn["id"] for turn in self.shell.json("turns", id_)["turns"]]

    def make(self) -> Tree:
        """Fork it and look at it closely: the home with a whole fork in it."""
        before = self.tree()
        made = self.shell.json(*self.words()[:-1])["fork"]
        assert made["path"] == str(self.fork)
        assert self.turns(NEW) == self.turns(ID)[:2]
        after = self.tree()
        at = str(self.project.relative_to(self.shell.home.root))
        files = {
            path.removeprefix(f"{at}/")
            for path, content in after.items()
            if content is not None and path not in before
        }
        assert files == {
            f"{NEW}.jsonl",
            f"{NEW}/subagents/agent-a1.jsonl",
            f"{NEW}/subagents/agent-a1.meta.json",
            f"{NEW}/tool-results/big.txt",
            "memory/MEMORY.md",
            "memory/deep/note.md",
        }
        return after

    def reset(self) -> None:
        """Take the fork away, and all that came with it."""
        self.fork.unlink(missing_ok=True)
        shutil.rmtree(self.fork.with_suffix(""), ignore_errors=True)
        shutil.rmtree(self.project / "memory", ignore_errors=True)
        if self.used:
            (self.project / "memory").mkdir()
        else:
            self.project.rmdir()

    def grow(self, prompt: str, size: int) -> None:
        """One more turn, with an answer of so many characters in many lines."""
        self.sample.prompt(prompt)
        for _ in range(size // 50_000):
            self.sample.tools(("Bash", {"command": "seq"}, "0123456789" * 5_000))
        self.sample.answer("done")
        self.path.unlink()
        self.sample.write(self.shell.home.claude)
        self.keep()

    def answer(self, prompt: str) -> None:
        """The agent adds a turn to the file."""
        self.sample.prompt(prompt)
        self.sample.answer(f"answer to {prompt}")
        self._flush()

    def ask(self, prompt: str) -> None:
        """A turn begins."""
        self.sample.prompt(prompt)
        self._flush()

    def work(self) -> None:
        """The agent is at work on the last turn: this process plays it."""
        self._process.parent.mkdir(exist_ok=True)
        self._process.write_text(json.dumps({"pid": os.getpid(), "sessionId": ID}))

        self.sample.tools(("Bash", {"command": "make"}, "made"))
        self._flush()

    def rest(self) -> None:
        """It is done."""
        self.say("finished at last")
        self._process.unlink()

    @property
    def _process(self) -> Path:
        return self.shell.home.claude / "sessions" / f"{os.getpid()}.json"

    def say(self, text: str) -> None:
        """The agent adds to its last turn."""
        self.sample.answer(text)
        self._flush()

    def _flush(self) -> None:
        new = self.sample.lines[self.written :]
        self.written += len(new)
        self.append_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in new))

    def append_bytes(self, data: bytes) -> None:
        with self.path.open("ab") as file:
            file.write(data)
        self.keep()

    @contextmanager
    def growing(self) -> Generator[None]:
        """An agent that adds turns all the time; within limits, for a slow machine."""
        enough = threading.Event()

        def write() -> None:
            for _ in range(2000):
                self.answer("and on")
                if enough.wait(0.001):
                    break

        writer = threading.Thread(target=write)
        writer.start()
        try:
            yield
        finally:
            enough.set()
            writer.join()

    def rewrite(self, text: str, *, rename: bool) -> None:
        """Another session under the name of this one: a new file, or in the same one."""
        if rename:
            new = self.path.with_suffix(".new")
            new.write_text(text)
            new.replace(self.path)
        else:
            self.path.write_text(text)
        self.keep()

    def is_as_before(self, before: Tree) -> None:
        """True when nothing of a fork is left that was under way then."""
        project = str(self.project.relative_to(self.shell.home.root))
        journals = ".local/state/prong/journal/"
        assert self.tree() == {
            path: content
            for path, content in before.items()
            if not path.startswith((project, journals))
        }

    def keep(self) -> None:
        """From now on it is as it is."""
        self.known = self.digest()

    def digest(self) -> str:
        """Of the session, its folder and its memory."""
        found = hashlib.sha256()
        for place in (self.path, self.path.with_suffix(""), self.path.parent / "memory"):
            for file in (place, *sorted(place.rglob("*"))):
                if file.is_file():
                    found.update(str(file).encode() + b"\0" + file.read_bytes())
        return found.hexdigest()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
